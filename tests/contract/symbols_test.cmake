# cmake -DNM=... -DREADELF=... -DARCHIVE=librankfeed_runtime.a -P symbols_test.cmake
#
# The runtime archive must not refer to anything that allocates, locks, prints, reads the
# environment, throws or ends the process, nor to a library of the builder; and of what it defines
# only the C API may be visible outside a shared object.
foreach(variable NM READELF ARCHIVE)
  if(NOT EXISTS "${${variable}}")
    message(FATAL_ERROR "${variable} '${${variable}}' does not exist")
  endif()
endforeach()

# Names as nm prints them, without version suffix. Mangled: _Zn operator new, _Zd operator delete,
# _ZSt std:: (a std::string or std::vector leaves its _ZNSt members undefined).
set(forbidden
    malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc
    "_Zn[wa].*" "_Zd[la].*" "mi_.*" sbrk brk
    abort exit _exit quick_exit __assert_fail "__cxa_.*throw.*" __cxa_allocate_exception
    __cxa_pure_virtual __cxa_guard_acquire __cxa_guard_release __cxa_atexit "_Unwind_.*"
    __gxx_personality_v0 "_ZSt[0-9]+__throw_.*" "_ZN?K?St.*" "_ZTI.*" "_ZTV.*" __dynamic_cast
    "v?f?s?n?printf(_chk)?" "__.*printf_chk" puts fputs putchar fputc fwrite perror "std(in|out|err)"
    fopen fopen64 fdopen fclose fread getline
    getenv secure_getenv setenv setlocale newlocale
    "pthread_.*" "sem_.*" "mtx_.*" "cnd_.*" thrd_create fork signal sigaction raise
    rand srand random time localtime
    "u_.*" "uset_.*" "unorm2?_.*" "ubrk_.*" "_ZN?K?(3|2)icu.*" "icu_.*" "_ZN?K?8simdjson.*"
    "_ZN?K?9protozero.*" "_ZN?K?3fmt.*" "_ZN?K?3CLI.*")

execute_process(COMMAND "${NM}" --undefined-only --print-file-name "${ARCHIVE}"
                OUTPUT_VARIABLE listing RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "nm failed on ${ARCHIVE}")
endif()
string(REPLACE ";" "," listing "${listing}")
string(REGEX MATCHALL "[^\n]+" lines "${listing}")
set(undefined 0)
set(problems "")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^(.*): +[Uwv] ([^ @]+)")
    continue()
  endif()
  set(object "${CMAKE_MATCH_1}")
  set(symbol "${CMAKE_MATCH_2}")
  math(EXPR undefined "${undefined} + 1")
  foreach(pattern IN LISTS forbidden)
    if(symbol MATCHES "^(${pattern})$")
      string(APPEND problems "\n  ${object} uses ${symbol}")
    endif()
  endforeach()
endforeach()
# An archive of this size refers at least to memcpy; less means that nm's output was not understood.
if(undefined LESS 5)
  message(FATAL_ERROR "only ${undefined} undefined symbols found in ${ARCHIVE}")
endif()
if(problems)
  message(FATAL_ERROR "the runtime must not use:${problems}")
endif()

execute_process(COMMAND "${READELF}" --symbols --wide "${ARCHIVE}" OUTPUT_VARIABLE listing
                RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "readelf failed on ${ARCHIVE}")
endif()
string(REPLACE ";" "," listing "${listing}")
string(REGEX MATCHALL "[^\n]+" lines "${listing}")
set(exported 0)
foreach(line IN LISTS lines)
  # number: value size TYPE GLOBAL DEFAULT section name; section UND is a use, not a definition
  if(line MATCHES " (FUNC|OBJECT|TLS|GNU_IFUNC) +(GLOBAL|WEAK|UNIQUE) +(DEFAULT|PROTECTED) +[0-9]+ ([^ ]+)")
    set(symbol "${CMAKE_MATCH_4}")
    if(symbol MATCHES "^rankfeed_[a-z0-9_]+$")
      math(EXPR exported "${exported} + 1")
    elseif(NOT symbol MATCHES "^__(asan|tsan|ubsan|odr_asan|sanitizer|emutls)")
      string(APPEND problems "\n  ${symbol}")
    endif()
  endif()
endforeach()
if(problems)
  message(FATAL_ERROR "visible symbols that are not the C API:${problems}")
endif()
if(exported LESS 10)
  message(FATAL_ERROR "only ${exported} exported symbols found in ${ARCHIVE}")
endif()
message(STATUS "${undefined} uses checked, ${exported} exported symbols")
