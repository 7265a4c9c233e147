# CMake refuses to export a target whose dependency is in no export set.
if(shardweave_fetched)
    message(STATUS "shardweave: no install rules, since these were downloaded: ${shardweave_fetched}")
    return()
endif()

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/shardweave)

# While the major version is 0, a new minor version may break.
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/shardweave-config-version.cmake
    COMPATIBILITY SameMinorVersion
    ARCH_INDEPENDENT)

install(TARGETS shardweave EXPORT shardweave-targets FILE_SET HEADERS)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/shardweave/adapters
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shardweave)
install(
    EXPORT shardweave-targets
    NAMESPACE shardweave::
    DESTINATION ${package_dir})
install(
    FILES ${PROJECT_SOURCE_DIR}/cmake/shardweave-config.cmake
          ${PROJECT_SOURCE_DIR}/cmake/shardweave-adapters.cmake
          ${PROJECT_SOURCE_DIR}/cmake/FindxxHash.cmake
          ${PROJECT_BINARY_DIR}/shardweave-config-version.cmake
    DESTINATION ${package_dir})
