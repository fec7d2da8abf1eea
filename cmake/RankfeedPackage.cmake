# `cpack` in a build folder makes three Debian packages, split as Debian splits libraries:
# librankfeed0.1 (shared libraries, named after the SONAME), librankfeed-dev (headers, static
# libraries, CMake package, pkg-config) and rankfeed (the command line); and one for each vendor's
# backend that was built, librankfeed-cuda0.1 and librankfeed-hip0.1.
find_program(RANKFEED_GZIP gzip)
if(RANKFEED_GZIP)
  execute_process(COMMAND ${RANKFEED_GZIP} -9nc ${PROJECT_SOURCE_DIR}/packaging/changelog
                  OUTPUT_FILE ${PROJECT_BINARY_DIR}/changelog.gz COMMAND_ERROR_IS_FATAL ANY)
endif()

# What Debian asks of every package.
function(rankfeed_package_docs component package)
  install(FILES LICENSE DESTINATION share/doc/${package} RENAME copyright COMPONENT ${component}
          EXCLUDE_FROM_ALL)
  if(RANKFEED_GZIP)
    install(FILES ${PROJECT_BINARY_DIR}/changelog.gz DESTINATION share/doc/${package}
            COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
  if(RANKFEED_SBOM)
    install(FILES ${RANKFEED_SBOM} DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
endfunction()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rankfeed)
set(CPACK_PACKAGE_VENDOR rankfeed)
set(CPACK_PACKAGE_CONTACT "rankfeed maintainers <maintainers@rankfeed.example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL libs dev)
if(TARGET rankfeed_cli)
  list(APPEND CPACK_COMPONENTS_ALL bin)
endif()
foreach(vendor IN LISTS RANKFEED_GPU_VENDORS)
  if(TARGET rankfeed_gpu_${vendor})
    list(APPEND CPACK_COMPONENTS_ALL ${vendor})
    string(TOUPPER ${vendor} component)
    set(CPACK_DEBIAN_${component}_PACKAGE_NAME librankfeed-${vendor}${RANKFEED_ABI})
    set(CPACK_DEBIAN_${component}_PACKAGE_SECTION libs)
    set(CPACK_COMPONENT_${component}_DESCRIPTION "rankfeed: ${vendor} backend of the slot ring, with its kernels")
    set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)
    rankfeed_package_docs(${vendor} librankfeed-${vendor}${RANKFEED_ABI})
  endif()
endforeach()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps looks for the libraries of the same build.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
    ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/src ${PROJECT_BINARY_DIR}/gpu_handoff ${PROJECT_BINARY_DIR}/bin)

set(CPACK_DEBIAN_LIBS_PACKAGE_NAME librankfeed${RANKFEED_ABI})
set(CPACK_DEBIAN_LIBS_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBS_DESCRIPTION "Exact Unigram, WordPiece and BPE tokenization for rerankers, shared libraries")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_LIBS_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_LIBS_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)

# Libraries and archives lie in the folder of their architecture, so that those of two can be installed (CMake 3.31 and
# later write the field; the others know it not).
set(CPACK_DEBIAN_LIBS_PACKAGE_MULTIARCH same)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME librankfeed-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_MULTIARCH same)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "librankfeed${RANKFEED_ABI} (= ${PROJECT_VERSION})")
# For static linking only.
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "libhwy-dev, libicu-dev, libsimdjson-dev, libtbb-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Exact Unigram, WordPiece and BPE tokenization for rerankers, development files")

set(CPACK_DEBIAN_BIN_PACKAGE_NAME rankfeed)
set(CPACK_DEBIAN_BIN_PACKAGE_MULTIARCH foreign)
set(CPACK_DEBIAN_BIN_PACKAGE_SECTION utils)
set(CPACK_COMPONENT_BIN_DESCRIPTION "Exact Unigram, WordPiece and BPE tokenization for rerankers, command line")

foreach(package libs:librankfeed${RANKFEED_ABI} dev:librankfeed-dev bin:rankfeed)
  string(REPLACE ":" ";" package ${package})
  list(GET package 0 component)
  list(GET package 1 name)
  rankfeed_package_docs(${component} ${name})
endforeach()
include(CPack)
