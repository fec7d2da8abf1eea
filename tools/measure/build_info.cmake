# cmake -DSOURCE_DIR=... -DOUTPUT=... -DCOMPILER=... -DFLAGS=... -DBUILD_TYPE=... -P build_info.cmake
# Writes rankfeed_build_info.h when it would change: the revision is the one that is built, not the one
# that was configured. Sources without git (a release archive) have an empty revision.
execute_process(COMMAND git -C "${SOURCE_DIR}" rev-parse --short=12 HEAD
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(modified 0)
if(revision)
  execute_process(COMMAND git -C "${SOURCE_DIR}" status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    set(modified 1)
  endif()
endif()
set(content "#pragma once
#define RANKFEED_BUILD_REVISION \"${revision}\"
#define RANKFEED_BUILD_MODIFIED ${modified}
#define RANKFEED_BUILD_COMPILER \"${COMPILER}\"
#define RANKFEED_BUILD_FLAGS \"${FLAGS}\"
#define RANKFEED_BUILD_TYPE \"${BUILD_TYPE}\"
")
set(old "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT old STREQUAL content)
  file(WRITE "${OUTPUT}" "${content}")
endif()
