# shardweave::json is adapters/json.hpp and what it needs. In this project and, after the installed
# package is found, in a user's: it depends on what is on that machine, not on the one that installed.
if(NOT TARGET nlohmann_json::nlohmann_json)
    find_package(nlohmann_json 3.11 QUIET GLOBAL)
endif()
if(TARGET nlohmann_json::nlohmann_json AND NOT TARGET shardweave::json)
    add_library(shardweave::json INTERFACE IMPORTED GLOBAL)
    set_property(
        TARGET shardweave::json PROPERTY INTERFACE_LINK_LIBRARIES shardweave::shardweave
                                         nlohmann_json::nlohmann_json)
endif()
