# rankfeed_add_test(NAME SOURCES... [LIBRARIES ...] [LABELS ...] [TIMEOUT s] [COST s])
# One GoogleTest executable, registered with ctest as one test (start-up is dearer than the cases).
# With several at once ctest begins with the dearest: COST is for those that would run alone at the end.
# Every test sees where real inputs are through the environment variable RANKFEED_SHARED_DATA and
# the source tree through RANKFEED_SOURCE_DIR.
find_package(GTest REQUIRED)

function(rankfeed_add_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;COST" "LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE rankfeed_flags ${arg_LIBRARIES} GTest::gtest GTest::gtest_main
                        Threads::Threads)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                             ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/gpu_handoff)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
    ENVIRONMENT "RANKFEED_SHARED_DATA=${RANKFEED_SHARED_DATA};RANKFEED_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  if(arg_COST)
    set_tests_properties(${name} PROPERTIES COST ${arg_COST})
  endif()
endfunction()
