# The umbrella includes every public header but the adapters and what is for tests,
# sorted: -DINCLUDE=<include dir> -P this.
file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/*.hpp)
list(FILTER headers EXCLUDE REGEX "/(detail|adapters|testing)/|^shardweave/shardweave.hpp$")
list(SORT headers)
list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>")

file(STRINGS ${INCLUDE}/shardweave/shardweave.hpp included REGEX "^#include")
if(NOT included STREQUAL headers)
    list(JOIN headers "\n" headers)
    message(FATAL_ERROR "shardweave.hpp should have these includes:\n${headers}")
endif()
