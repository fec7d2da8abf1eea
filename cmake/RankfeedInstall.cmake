# What `cmake --install` and CPack put where. Every component but CUDA's and HIP's is one static library,
# and one shared library of the same objects; the package (rankfeed-config.cmake, *.pc) lets a program choose.
#
# Shared libraries export what cmake/symbols/COMPONENT.txt lists and nothing else, under the version
# node RANKFEED_MAJOR.MINOR; tests/consumer compares the lists with the archives. The builder uses
# internals of the runtime, which no shared library exports, so librankfeed_builder.so holds a
# private copy of them.
# On Debian, libraries lie in a folder of their architecture.
if(PROJECT_IS_TOP_LEVEL AND EXISTS /etc/debian_version AND CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "Libraries, below the prefix")
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(RANKFEED_ABI ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})  # SONAME; see docs/abi.md
set(rankfeed_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rankfeed)

# rankfeed_component(NAME LIBRARIES link libraries of the shared form
#                    [COPIES static libraries of which it holds a private copy]
#                    PC file name, PC_REQUIRES public, PC_PRIVATE flags of a static link)
function(rankfeed_component name)
  cmake_parse_arguments(arg "" "PC;PC_DESCRIPTION;PC_REQUIRES;PC_PRIVATE;PC_REQUIRES_PRIVATE"
                        "LIBRARIES;COPIES" ${ARGN})
  set(target rankfeed_${name})
  if(NOT TARGET ${target})
    return()
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name}_static)
  target_compile_features(${target} INTERFACE cxx_std_20)  # the C++ headers; compilers' default may be older
  if(RANKFEED_BUILD_SHARED)
    file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/symbols/${name}.txt symbols REGEX "^rankfeed_")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                 ${PROJECT_SOURCE_DIR}/cmake/symbols/${name}.txt)
    list(JOIN symbols ";\n    " symbols)
    set(map ${PROJECT_BINARY_DIR}/${target}.map)
    file(CONFIGURE OUTPUT ${map} @ONLY
         CONTENT "RANKFEED_@RANKFEED_ABI@ {\n  global:\n    @symbols@;\n  local:\n    *;\n};\n")
    add_library(${target}_shared SHARED $<TARGET_OBJECTS:${target}>)
    if(TARGET ${target}_ring)  # part of rankfeed_handoff, an object library of its own
      target_sources(${target}_shared PRIVATE $<TARGET_OBJECTS:${target}_ring>)
    endif()
    # Debian's archives of other libraries must not leak their symbols either.
    target_link_options(${target}_shared PRIVATE LINKER:--version-script=${map}
                        LINKER:--exclude-libs,ALL LINKER:--no-undefined LINKER:--as-needed)
    target_link_libraries(${target}_shared PRIVATE $<BUILD_INTERFACE:rankfeed_flags>
                          ${arg_COPIES} ${arg_LIBRARIES})
    target_compile_features(${target}_shared INTERFACE cxx_std_20)
    target_include_directories(${target}_shared
                               INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    set_target_properties(${target}_shared PROPERTIES
      OUTPUT_NAME ${target} EXPORT_NAME ${name}_shared LINKER_LANGUAGE CXX
      VERSION ${PROJECT_VERSION} SOVERSION ${RANKFEED_ABI} LINK_DEPENDS ${map})
    if(RANKFEED_INSTALL)
      install(TARGETS ${target}_shared EXPORT rankfeed-${name}-shared
              LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libs NAMELINK_COMPONENT dev
              INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
      install(EXPORT rankfeed-${name}-shared NAMESPACE rankfeed:: DESTINATION ${rankfeed_package_dir}
              COMPONENT dev)
    endif()
  endif()
  if(NOT RANKFEED_INSTALL)
    return()
  endif()
  install(TARGETS ${target} EXPORT rankfeed-${name}-static
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT rankfeed-${name}-static NAMESPACE rankfeed:: DESTINATION ${rankfeed_package_dir}
          COMPONENT dev)
  if(arg_PC)
    # Relative to the file itself, so that the whole installation can be moved.
    file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
    set(pc_library ${target})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/rankfeed.pc.in
                   ${PROJECT_BINARY_DIR}/pkgconfig/${arg_PC}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/${arg_PC}.pc
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
  endif()
endfunction()

if(RANKFEED_BUILD_SHARED)  # imported targets are known in the directory that found them
  find_package(hwy CONFIG REQUIRED)
  if(RANKFEED_BUILD_BUILDER)
    find_package(ICU REQUIRED COMPONENTS uc)
  endif()
  if(RANKFEED_BUILD_BUILDER OR TARGET rankfeed_crossencoder)
    find_package(simdjson REQUIRED)
  endif()
  if(RANKFEED_BUILD_PARALLEL)
    find_package(TBB REQUIRED)
  endif()
endif()

rankfeed_component(runtime LIBRARIES hwy::hwy
  PC rankfeed PC_DESCRIPTION "exact Unigram, WordPiece and BPE tokenization and reranker batches, runtime"
  PC_PRIVATE "-lstdc++" PC_REQUIRES_PRIVATE "libhwy")
rankfeed_component(builder LIBRARIES ICU::uc simdjson::simdjson hwy::hwy COPIES rankfeed_runtime
  PC rankfeed-builder PC_DESCRIPTION "rankfeed: model files to images, corpus stores"
  PC_REQUIRES rankfeed PC_PRIVATE "-lstdc++" PC_REQUIRES_PRIVATE "icu-uc, simdjson")
rankfeed_component(handoff LIBRARIES Threads::Threads ${CMAKE_DL_LIBS}
  PC rankfeed-handoff PC_DESCRIPTION "rankfeed: slot ring to an accelerator, host backend, DLPack"
  PC_PRIVATE "-lstdc++ -pthread")
rankfeed_component(parallel LIBRARIES TBB::tbb
  PC rankfeed-parallel PC_DESCRIPTION "rankfeed: executor over oneTBB"
  PC_PRIVATE "-lstdc++" PC_REQUIRES_PRIVATE "tbb")
rankfeed_component(counters
  PC rankfeed-counters PC_DESCRIPTION "rankfeed: hardware counters of a thread, recorder of requests"
  PC_PRIVATE "-lstdc++ -lm")
if(TARGET rankfeed_crossencoder)
  set(rankfeed_crossencoder_ring "")
  if(TARGET rankfeed_handoff_shared)
    set(rankfeed_crossencoder_ring rankfeed_handoff_shared)
  endif()
  rankfeed_component(crossencoder
    LIBRARIES ${rankfeed_crossencoder_ring} hwy::hwy simdjson::simdjson Threads::Threads
    PC rankfeed-crossencoder PC_DESCRIPTION "rankfeed: forward pass of cross-encoders"
    PC_REQUIRES rankfeed-handoff PC_PRIVATE "-lstdc++ -lm -pthread"
    PC_REQUIRES_PRIVATE "simdjson, libhwy")
  if(TARGET rankfeed_crossencoder_shared)  # finds the ring beside itself, wherever the two are moved
    set_target_properties(rankfeed_crossencoder_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
endif()

# CUDA's and HIP's backend: shared libraries only, that programs link or load by name. Debian packages
# of their own (RankfeedPackage.cmake), because HIP's needs a vendor's runtime.
function(rankfeed_vendor vendor)
  set(target rankfeed_gpu_${vendor})
  if(NOT TARGET ${target})
    return()
  endif()
  set(list ${PROJECT_SOURCE_DIR}/cmake/symbols/handoff_${vendor}.txt)
  file(STRINGS ${list} symbols REGEX "^rankfeed_")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  list(JOIN symbols ";\n    " symbols)
  set(map ${PROJECT_BINARY_DIR}/${target}.map)
  file(CONFIGURE OUTPUT ${map} @ONLY
       CONTENT "RANKFEED_@RANKFEED_ABI@ {\n  global:\n    @symbols@;\n  local:\n    *;\n};\n")
  target_link_options(${target} PRIVATE LINKER:--version-script=${map} LINKER:--exclude-libs,ALL)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  set_target_properties(${target} PROPERTIES EXPORT_NAME handoff_${vendor}_shared
    VERSION ${PROJECT_VERSION} SOVERSION ${RANKFEED_ABI} LINK_DEPENDS ${map})
  if(NOT RANKFEED_INSTALL)
    return()
  endif()
  install(TARGETS ${target} EXPORT rankfeed-handoff_${vendor}-shared
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${vendor} NAMELINK_COMPONENT dev
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT rankfeed-handoff_${vendor}-shared NAMESPACE rankfeed::
          DESTINATION ${rankfeed_package_dir} COMPONENT dev)
endfunction()
foreach(vendor IN LISTS RANKFEED_GPU_VENDORS)
  rankfeed_vendor(${vendor})
endforeach()

# What programs in the same build link, under the names that the package gives them; static unless
# they set BUILD_SHARED_LIBS.
foreach(name runtime builder handoff parallel counters crossencoder)
  if(TARGET rankfeed::${name})
    continue()
  elseif(BUILD_SHARED_LIBS AND TARGET rankfeed_${name}_shared)
    add_library(rankfeed::${name} ALIAS rankfeed_${name}_shared)
  elseif(TARGET rankfeed_${name})
    add_library(rankfeed::${name} ALIAS rankfeed_${name})
  endif()
endforeach()

foreach(vendor IN LISTS RANKFEED_GPU_VENDORS)
  if(TARGET rankfeed_gpu_${vendor})
    add_library(rankfeed::handoff_${vendor} ALIAS rankfeed_gpu_${vendor})
  endif()
endforeach()

if(NOT RANKFEED_INSTALL)
  return()
endif()
set(rankfeed_headers_left_out "")
if(NOT TARGET rankfeed_crossencoder)
  set(rankfeed_headers_left_out PATTERN "crossencoder.h*" EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rankfeed DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT dev FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" ${rankfeed_headers_left_out})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rankfeed-config.cmake.in
  ${PROJECT_BINARY_DIR}/rankfeed-config.cmake INSTALL_DESTINATION ${rankfeed_package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rankfeed-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)  # until 1.0, see docs/abi.md
install(FILES ${PROJECT_BINARY_DIR}/rankfeed-config.cmake
              ${PROJECT_BINARY_DIR}/rankfeed-config-version.cmake
        DESTINATION ${rankfeed_package_dir} COMPONENT dev)
if(TARGET rankfeed_cli)
  install(TARGETS rankfeed_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT bin)
  find_package(Python3 COMPONENTS Interpreter)
  if(RANKFEED_INSTALL AND Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
    set(documents ${PROJECT_BINARY_DIR}/rankfeed.1.gz ${PROJECT_BINARY_DIR}/rankfeed.bash)
    add_custom_command(OUTPUT ${documents}
      COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/cmake/cli_docs.py $<TARGET_FILE:rankfeed_cli>
              ${PROJECT_VERSION} ${PROJECT_BINARY_DIR}
      DEPENDS rankfeed_cli ${PROJECT_SOURCE_DIR}/cmake/cli_docs.py VERBATIM)
    add_custom_target(rankfeed_cli_docs ALL DEPENDS ${documents})
    install(FILES ${PROJECT_BINARY_DIR}/rankfeed.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT bin)
    install(FILES ${PROJECT_BINARY_DIR}/rankfeed.bash RENAME rankfeed
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT bin)
  endif()
  if(TARGET rankfeed_serve)  # the unit names /usr/bin, where the Debian package puts the program
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/rankfeed.service DESTINATION lib/systemd/system COMPONENT bin)
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/rankfeed.default DESTINATION share/doc/rankfeed COMPONENT bin)
  endif()
endif()

# What the build is made of, in SPDX: share/doc/rankfeed/rankfeed.spdx.json, and in every Debian package
# (RankfeedPackage.cmake). Written again when what dpkg has installed changes.
find_package(Python3 COMPONENTS Interpreter)
set(RANKFEED_SBOM "")
if(Python3_FOUND)
  set(RANKFEED_SBOM ${PROJECT_BINARY_DIR}/rankfeed.spdx.json)
  set(sbom_parts "")
  foreach(part runtime builder handoff parallel counters crossencoder cli serve)
    if(TARGET rankfeed_${part})
      list(APPEND sbom_parts ${part})
    endif()
  endforeach()
  foreach(vendor IN LISTS RANKFEED_GPU_VENDORS)
    if(TARGET rankfeed_gpu_${vendor})
      list(APPEND sbom_parts ${vendor})
    endif()
  endforeach()
  if(TARGET rankfeed_gpu_cuda)
    execute_process(COMMAND ${RANKFEED_NVCC} --version OUTPUT_VARIABLE nvcc_says)
    if(nvcc_says MATCHES "release ([0-9.]+)")
      list(APPEND sbom_parts "CUDA runtime=${CMAKE_MATCH_1}")
    endif()
  endif()
  set(sbom_after ${PROJECT_SOURCE_DIR}/cmake/sbom.py)
  if(EXISTS /var/lib/dpkg/status)
    list(APPEND sbom_after /var/lib/dpkg/status)
  endif()
  add_custom_command(OUTPUT ${RANKFEED_SBOM}
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/cmake/sbom.py ${RANKFEED_SBOM} ${PROJECT_VERSION} ${sbom_parts}
    DEPENDS ${sbom_after} VERBATIM)
  add_custom_target(rankfeed_sbom ALL DEPENDS ${RANKFEED_SBOM})
  set(sbom_component dev)
  if(TARGET rankfeed_cli)
    set(sbom_component bin)
  endif()
  install(FILES ${RANKFEED_SBOM} DESTINATION share/doc/rankfeed COMPONENT ${sbom_component})
endif()
