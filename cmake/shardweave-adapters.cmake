# Each adapter as a target, with what it needs: shardweave::json is adapters/json.hpp. In this project
# and, after the installed package is found, in a user's: they depend on what is on that machine, not on
# the one that installed.
if(NOT TARGET nlohmann_json::nlohmann_json)
    find_package(nlohmann_json 3.11 QUIET GLOBAL)
endif()
if(TARGET nlohmann_json::nlohmann_json AND NOT TARGET shardweave::json)
    add_library(shardweave::json INTERFACE IMPORTED GLOBAL)
    set_property(
        TARGET shardweave::json PROPERTY INTERFACE_LINK_LIBRARIES shardweave::shardweave
                                         nlohmann_json::nlohmann_json)
endif()

# libsodium has no CMake package of its own; Conan's and vcpkg's targets are taken where they exist.
if(NOT TARGET shardweave::sodium)
    set(sodium "")
    if(TARGET libsodium::libsodium)
        set(sodium libsodium::libsodium)
    elseif(TARGET unofficial-sodium::sodium)
        set(sodium unofficial-sodium::sodium)
    else()
        find_package(PkgConfig QUIET)
        if(PkgConfig_FOUND)
            pkg_check_modules(PC_sodium QUIET libsodium)
        endif()
        find_path(sodium_INCLUDE_DIR sodium.h HINTS ${PC_sodium_INCLUDEDIR})
        find_library(sodium_LIBRARY sodium HINTS ${PC_sodium_LIBDIR})
        mark_as_advanced(sodium_INCLUDE_DIR sodium_LIBRARY)
        if(sodium_INCLUDE_DIR AND sodium_LIBRARY)
            set(sodium ${sodium_LIBRARY})
        endif()
    endif()
    if(sodium)
        add_library(shardweave::sodium INTERFACE IMPORTED GLOBAL)
        set_property(
            TARGET shardweave::sodium PROPERTY INTERFACE_LINK_LIBRARIES shardweave::shardweave
                                               ${sodium})
        if(NOT TARGET ${sodium})
            set_property(
                TARGET shardweave::sodium PROPERTY INTERFACE_INCLUDE_DIRECTORIES
                                                   ${sodium_INCLUDE_DIR})
        endif()
    endif()
    unset(sodium)
endif()

# Asio is headers alone. Before 1.24 it does not see by itself that clang has coroutines.
if(NOT TARGET shardweave::asio)
    set(asio "")
    if(TARGET asio::asio)
        set(asio asio::asio)
    else()
        find_path(asio_INCLUDE_DIR asio.hpp)
        mark_as_advanced(asio_INCLUDE_DIR)
    endif()
    if(asio OR asio_INCLUDE_DIR)
        add_library(shardweave::asio INTERFACE IMPORTED GLOBAL)
        set_property(
            TARGET shardweave::asio PROPERTY INTERFACE_LINK_LIBRARIES shardweave::shardweave ${asio})
        set_property(
            TARGET shardweave::asio
            PROPERTY INTERFACE_COMPILE_DEFINITIONS
                     "$<$<CXX_COMPILER_ID:Clang,AppleClang>:ASIO_HAS_CO_AWAIT=1;ASIO_HAS_STD_COROUTINE=1>")
        if(NOT asio)
            set_property(
                TARGET shardweave::asio PROPERTY INTERFACE_INCLUDE_DIRECTORIES ${asio_INCLUDE_DIR})
        endif()
    endif()
    unset(asio)
endif()
