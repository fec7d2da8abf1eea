/* pyconfig.h for scripts/wheels.sh, where Debian has no interpreter for the target: what the headers of CPython
 * ask of a system under the limited API, said by the compiler. In the place of the one of Debian's interpreter. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_WCHAR_H 1
#define HAVE_LONG_LONG 1
#define HAVE_SSIZE_T 1
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define SIZEOF_PID_T 4

#endif
