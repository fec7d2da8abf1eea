# Fails when an object file of the ring's hot part refers to a lock, the heap, stdio or exceptions.
# Usage: cmake -DNM=nm -DOBJECTS="a.o;b.o" -P ring_symbols_test.cmake
cmake_minimum_required(VERSION 3.22)
set(forbidden malloc calloc realloc free aligned_alloc posix_memalign abort printf fprintf getenv
    pthread_mutex_lock pthread_cond_wait __cxa_throw __cxa_allocate_exception __cxa_guard_acquire)
set(seen 0)
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} -u ${object} OUTPUT_VARIABLE symbols RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} -u ${object}: ${result}")
  endif()
  string(REGEX MATCHALL "U [^\n]+" symbols "${symbols}")
  foreach(symbol IN LISTS symbols)
    math(EXPR seen "${seen} + 1")
    string(REGEX REPLACE "^U ([^@]+).*" "\\1" symbol "${symbol}")
    # _Zn* is operator new, _Zd* operator delete
    if(symbol IN_LIST forbidden OR symbol MATCHES "^_Z(nw|na|dl|da)")
      message(SEND_ERROR "${object} refers to ${symbol}")
    endif()
  endforeach()
endforeach()
if(seen EQUAL 0)
  message(FATAL_ERROR "no symbols seen in '${OBJECTS}'")
endif()
