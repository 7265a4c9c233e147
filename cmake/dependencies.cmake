# Each dependency is an existing target, else what find_package finds, else a download pinned by its
# hash. FETCHCONTENT_TRY_FIND_PACKAGE_MODE and FETCHCONTENT_FULLY_DISCONNECTED steer this as usual.
include(FetchContent)
set(shardweave_fetched "")

if(NOT TARGET xxHash::xxhash)
    # Only the header is used, so nothing of the archive is built: it has no such subfolder.
    FetchContent_Declare(
        xxHash
        URL https://github.com/Cyan4973/xxHash/archive/refs/tags/v0.8.3.tar.gz
        URL_HASH SHA256=aae608dfe8213dfd05d909a57718ef82f30722c392344583d3f39050c7f29a80
        DOWNLOAD_EXTRACT_TIMESTAMP FALSE
        SOURCE_SUBDIR header-only
        FIND_PACKAGE_ARGS 0.8 GLOBAL)
    list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
    FetchContent_MakeAvailable(xxHash)
    list(POP_FRONT CMAKE_MODULE_PATH)
    if(NOT TARGET xxHash::xxhash)
        list(APPEND shardweave_fetched xxHash)
        add_library(shardweave_xxhash INTERFACE)
        add_library(xxHash::xxhash ALIAS shardweave_xxhash)
        target_include_directories(shardweave_xxhash SYSTEM INTERFACE ${xxhash_SOURCE_DIR})
    endif()
endif()

if(NOT TARGET fmt::fmt-header-only AND NOT TARGET fmt::fmt)
    FetchContent_Declare(
        fmt
        URL https://github.com/fmtlib/fmt/archive/refs/tags/11.1.4.tar.gz
        URL_HASH SHA256=ac366b7b4c2e9f0dde63a59b3feb5ee59b67974b14ee5dc9ea8ad78aa2c1ee1e
        DOWNLOAD_EXTRACT_TIMESTAMP FALSE
        SYSTEM
        FIND_PACKAGE_ARGS 9 GLOBAL)
    FetchContent_MakeAvailable(fmt)
    if(NOT fmt_FOUND)
        list(APPEND shardweave_fetched fmt)
    endif()
endif()

# A parent, or a package, that has the compiled library only.
if(NOT TARGET fmt::fmt-header-only)
    add_library(fmt::fmt-header-only INTERFACE IMPORTED GLOBAL)
    target_link_libraries(fmt::fmt-header-only INTERFACE fmt::fmt)
endif()
