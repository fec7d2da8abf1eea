# An overlay port: it builds the source tree that it lies in, whatever its state.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
if(NOT EXISTS "${SOURCE_PATH}/include/rankfeed/version.h")
  message(FATAL_ERROR "no rankfeed around this port: use it where it lies, with --overlay-ports=RANKFEED/packaging/vcpkg/ports")
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    builder  RANKFEED_BUILD_BUILDER
    parallel RANKFEED_BUILD_PARALLEL
    tools    RANKFEED_BUILD_CLI
)
# Both kinds of libraries are made where the triplet is dynamic, static ones alone where it is not.
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" BUILD_SHARED)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DRANKFEED_BUILD_CROSSENCODER=OFF
    -DRANKFEED_BUILD_SHARED=${BUILD_SHARED}
    -DRANKFEED_BUILD_TESTS=OFF
    -DRANKFEED_BUILD_BENCH=OFF
    -DBUILD_SHARED_LIBS=OFF
    -DCMAKE_INSTALL_LIBDIR=lib
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/rankfeed)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES rankfeed AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
