# The `rankfeed` program of the Python package: the commands that need neither OpenSSL, libzip nor mimalloc. The groups of
# files are those of the whole program, so that a compiler cache knows them.
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(simdjson REQUIRED)
set(program rankfeed_wheel_program)
add_executable(${program} address_space.cc compile.cc device.cc encode.cc help.cc main.cc oracle.cc out_of_memory.cc parity.cc rerank.cc serve.cc text_source.cc
               ${PROJECT_SOURCE_DIR}/src/counters/allocation.cc)
set_target_properties(${program} PROPERTIES OUTPUT_NAME rankfeed RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/program)
target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/gpu_handoff)
target_compile_definitions(${program} PRIVATE RANKFEED_WITH_CROSSENCODER)
set_source_files_properties(main.cc PROPERTIES COMPILE_DEFINITIONS RANKFEED_WHEEL_PROGRAM)
target_link_libraries(${program} PRIVATE rankfeed_flags rankfeed_seldom rankfeed_builder rankfeed_runtime rankfeed_handoff rankfeed_parallel
                      rankfeed_folder rankfeed_crossencoder rankfeed_serve CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json simdjson::simdjson
                      ${CMAKE_DL_LIBS})
if(CMAKE_SYSTEM_NAME STREQUAL Linux)  # sections are apart, so that what no command calls is left out
  target_link_options(${program} PRIVATE LINKER:--gc-sections LINKER:-s)
endif()
rankfeed_together(${program} texts compile.cc encode.cc help.cc oracle.cc parity.cc text_source.cc)
rankfeed_together(${program} scores device.cc rerank.cc serve.cc)
if(SKBUILD_SCRIPTS_DIR)
  install(PROGRAMS $<TARGET_FILE:${program}> DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
endif()
