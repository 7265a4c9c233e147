# Finds xxHash's header where no CMake package of it is installed (Debian ships pkg-config only) and
# defines xxHash::xxhash. The target links nothing: with XXH_INLINE_ALL the header is all there is.
find_package(xxHash CONFIG QUIET)
if(TARGET xxHash::xxhash)
    return()
endif()

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(PC_xxHash QUIET libxxhash)
endif()
find_path(xxHash_INCLUDE_DIR xxhash.h HINTS ${PC_xxHash_INCLUDEDIR})
mark_as_advanced(xxHash_INCLUDE_DIR)

if(xxHash_INCLUDE_DIR)
    file(STRINGS ${xxHash_INCLUDE_DIR}/xxhash.h lines REGEX "define XXH_VERSION_(MAJOR|MINOR|RELEASE) ")
    string(REGEX REPLACE "[^0-9;]" "" xxHash_VERSION "${lines}")
    list(JOIN xxHash_VERSION "." xxHash_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
    xxHash
    REQUIRED_VARS xxHash_INCLUDE_DIR
    VERSION_VAR xxHash_VERSION)

if(xxHash_FOUND)
    add_library(xxHash::xxhash INTERFACE IMPORTED)
    set_target_properties(
        xxHash::xxhash PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${xxHash_INCLUDE_DIR})
endif()
