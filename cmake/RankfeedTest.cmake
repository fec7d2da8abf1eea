# rankfeed_add_test(NAME SOURCES... [OPTIMIZED] [LIBRARIES ...] [LABELS ...] [TIMEOUT s] [COST s])
# One GoogleTest executable, registered with ctest as one test (start-up is dearer than the cases).
# With several at once ctest begins with the dearest: COST is for those that would run alone at the end.
# OPTIMIZED: the test works itself as much as what it tests, as those do that have a reference inside.
# Every test sees where real inputs are through the environment variable RANKFEED_SHARED_DATA and
# the source tree through RANKFEED_SOURCE_DIR.
find_package(GTest REQUIRED)

# rankfeed_long(SLICE TESTS...) moves tests of the calling directory to the long suite, which
# `ctest --preset long` runs before a release, in the slice that `-L long-SLICE` names; docs/tests.md says
# why each test is there and what guards the same promise in every run. Names that no test has are ignored,
# because a configuration without some package has fewer tests.
function(rankfeed_long slice)
  foreach(name IN LISTS ARGN)
    if(TEST ${name})
      set_property(TEST ${name} APPEND PROPERTY LABELS long long-${slice})
    endif()
  endforeach()
endfunction()

# A test's own code has no debug information with sanitizers, and no checks of pointers but AddressSanitizer's: clang takes
# a quarter more time for both. Inline functions of the public headers have all checks in the program and the fuzz targets.
set(rankfeed_test_options "")
if(RANKFEED_SANITIZE)
  set(rankfeed_test_options -g0)
endif()
if(RANKFEED_SANITIZE MATCHES undefined)
  list(APPEND rankfeed_test_options -fno-sanitize=null,vptr,alignment,object-size)
endif()

# The headers that nearly every test includes are read once. They belong to a program, because its position-independence has
# to be that of the tests. What clang makes of them differs from clone to clone, so no compiler cache knows the tests of
# another clone; that costs less than reading these headers again for each test of a new one.
set(rankfeed_precompiles OFF)
if(RANKFEED_TOGETHER AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  set(rankfeed_precompiles ON)
  set(headers_main ${PROJECT_BINARY_DIR}/rankfeed_test_headers.cc)
  file(CONFIGURE OUTPUT ${headers_main} CONTENT "int main() {}\n" @ONLY)
  add_executable(rankfeed_test_headers EXCLUDE_FROM_ALL ${headers_main})
  target_link_libraries(rankfeed_test_headers PRIVATE rankfeed_flags GTest::gtest Threads::Threads)
  target_compile_options(rankfeed_test_headers PRIVATE ${rankfeed_test_options} -O0)
  target_precompile_headers(rankfeed_test_headers PRIVATE <gtest/gtest.h> <algorithm> <array> <atomic> <chrono> <cstdint>
    <cstring> <filesystem> <fstream> <functional> <map> <memory> <random> <string> <string_view> <thread> <vector>)
endif()

function(rankfeed_add_test name)
  cmake_parse_arguments(arg "OPTIMIZED" "TIMEOUT;COST" "LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE rankfeed_flags ${arg_LIBRARIES} GTest::gtest GTest::gtest_main
                        Threads::Threads)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                             ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/gpu_handoff)
  target_compile_options(${name} PRIVATE ${rankfeed_test_options})
  # What a test itself does is little beside what it calls; without optimization it compiles in half the time.
  if(NOT arg_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O0)
    if(rankfeed_precompiles)
      target_precompile_headers(${name} REUSE_FROM rankfeed_test_headers)
    endif()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 1800)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
    ENVIRONMENT "RANKFEED_SHARED_DATA=${RANKFEED_SHARED_DATA};RANKFEED_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  if(arg_COST)
    set_tests_properties(${name} PROPERTIES COST ${arg_COST})
  endif()
endfunction()

# rankfeed_add_long(NAME SLICE VARIABLE COMMAND...): a test of the long suite, with a variable of its environment.
function(rankfeed_add_long name slice variable)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 7200
    ENVIRONMENT "${variable};RANKFEED_SHARED_DATA=${RANKFEED_SHARED_DATA};RANKFEED_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  rankfeed_long(${slice} ${name})
endfunction()

# rankfeed_add_sweeps(NAMES...): NAME_sweep_long_test for each, which is NAME_test with everything that it samples in
# other runs (tests/support/sanitizers.h).
function(rankfeed_add_sweeps)
  foreach(name IN LISTS ARGN)
    rankfeed_add_long(${name}_sweep_long_test sweep RANKFEED_SWEEP=1 ${name}_test)
  endforeach()
endfunction()

# TEST runs without these cases from here on, and without those that it was told before.
function(rankfeed_leave_out name)
  get_property(left TEST ${name} PROPERTY rankfeed_left_out)
  list(APPEND left ${ARGN})
  set_property(TEST ${name} PROPERTY rankfeed_left_out "${left}")
  get_property(environment TEST ${name} PROPERTY ENVIRONMENT)
  list(FILTER environment EXCLUDE REGEX "^GTEST_FILTER=")
  list(JOIN left ":" cases)
  set_property(TEST ${name} PROPERTY ENVIRONMENT ${environment} "GTEST_FILTER=-${cases}")
endfunction()

# rankfeed_release_only(TEST CASES...): with sanitizers TEST runs without these, which other tests make unnecessary there
# (docs/tests.md names them).
function(rankfeed_release_only name)
  if(RANKFEED_SANITIZE AND TEST ${name})
    rankfeed_leave_out(${name} ${ARGN})
  endif()
endfunction()

# rankfeed_part(PART TEST CASES...): the test PART runs these cases of TEST's program, and TEST all others.
function(rankfeed_part part name)
  if(TEST ${name})
    list(JOIN ARGN ":" cases)
    get_property(left TEST ${name} PROPERTY rankfeed_left_out)  # also what runs without sanitizers only
    list(JOIN left ":" left)
    add_test(NAME ${part} COMMAND ${name} --gtest_filter=${cases}-${left})
    foreach(property TIMEOUT LABELS COST ENVIRONMENT)
      get_property(value TEST ${name} PROPERTY ${property})
      list(FILTER value EXCLUDE REGEX "^GTEST_FILTER=")
      set_property(TEST ${part} PROPERTY ${property} ${value})
    endforeach()
    rankfeed_leave_out(${name} ${ARGN})
  endif()
endfunction()
