# Toolchain of scripts/wheels.sh: zig's clang, libc++ and C libraries, for a target of its naming.
# RANKFEED_ZIG: folder with the scripts cc, c++, ar and ranlib that the script writes for the target.
# RANKFEED_ZIG_SYSTEM, RANKFEED_ZIG_PROCESSOR: CMake's names. RANKFEED_ZIG_ROOT: where libraries were installed.
set(CMAKE_SYSTEM_NAME ${RANKFEED_ZIG_SYSTEM})
set(CMAKE_SYSTEM_PROCESSOR ${RANKFEED_ZIG_PROCESSOR})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RANKFEED_ZIG RANKFEED_ZIG_SYSTEM RANKFEED_ZIG_PROCESSOR RANKFEED_ZIG_ROOT)
set(CMAKE_C_COMPILER ${RANKFEED_ZIG}/cc)
set(CMAKE_CXX_COMPILER ${RANKFEED_ZIG}/c++)
set(CMAKE_AR ${RANKFEED_ZIG}/ar)
set(CMAKE_RANLIB ${RANKFEED_ZIG}/ranlib)
set(CMAKE_C_COMPILER_AR ${RANKFEED_ZIG}/ar)
set(CMAKE_CXX_COMPILER_AR ${RANKFEED_ZIG}/ar)
set(CMAKE_C_COMPILER_RANLIB ${RANKFEED_ZIG}/ranlib)
set(CMAKE_CXX_COMPILER_RANLIB ${RANKFEED_ZIG}/ranlib)
set(CMAKE_FIND_ROOT_PATH ${RANKFEED_ZIG_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Threads are in the C library of every target; the check would look for pthread_create by linking.
set(CMAKE_THREAD_LIBS_INIT "")
set(CMAKE_HAVE_THREADS_LIBRARY 1)
set(CMAKE_USE_PTHREADS_INIT 1)
set(CMAKE_USE_WIN32_THREADS_INIT 0)
set(Threads_FOUND TRUE)
# CMake asks for this tool where a system of its kind is the target; nothing that is built here needs it.
set(CMAKE_INSTALL_NAME_TOOL /bin/false)
