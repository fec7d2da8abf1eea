# cmake -DCOMPILER=... -DSOURCE_DIR=... -DINCLUDE_DIRS=a|b -DWORK_DIR=... -DTABLE=ops|sections
#       -DROW=... -DREFUSED=a.cc|b.cc -P forgotten_place.cmake
#
# Adds ROW to src/image/TABLE.def, in a copy that is found first, and compiles the files: each of REFUSED
# has to be refused because of the new name, kForgotten, and all of them have to compile without ROW.
string(REPLACE "|" ";" files "${REFUSED}")
string(REPLACE "|" ";" include_dirs "${INCLUDE_DIRS}")
file(READ "${SOURCE_DIR}/src/image/${TABLE}.def" table)
string(FIND "${table}" "#undef" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${TABLE}.def does not end with #undef")
endif()
string(SUBSTRING "${table}" 0 ${at} rows)
string(SUBSTRING "${table}" ${at} -1 end)
foreach(variant with without)
  set(${variant}_dir "${WORK_DIR}/${variant}")
  file(MAKE_DIRECTORY "${WORK_DIR}/${variant}/image")
endforeach()
file(WRITE "${with_dir}/image/${TABLE}.def" "${rows}${ROW}\n\n${end}")
file(WRITE "${without_dir}/image/${TABLE}.def" "${table}")

set(flags -std=c++20 -fsyntax-only -Wall -Werror=switch)
foreach(dir IN LISTS include_dirs)
  list(APPEND after -isystem "${dir}")
endforeach()
set(problems "")
foreach(file IN LISTS files)
  foreach(variant with without)
    execute_process(
      COMMAND "${COMPILER}" ${flags} "-I${${variant}_dir}" "-I${SOURCE_DIR}/src"
              "-I${SOURCE_DIR}/include" ${after} "${SOURCE_DIR}/${file}"
      RESULT_VARIABLE ${variant}_result ERROR_VARIABLE ${variant}_said)
  endforeach()
  if(NOT without_result EQUAL 0)
    string(APPEND problems "\n${file} does not compile as it is:\n${without_said}")
  elseif(with_result EQUAL 0)
    string(APPEND problems "\n${file} compiles although it does not know kForgotten")
  elseif(NOT with_said MATCHES "orgotten")
    string(APPEND problems "\n${file} is refused for another reason:\n${with_said}")
  endif()
endforeach()
if(problems)
  message(FATAL_ERROR "${problems}")
endif()
