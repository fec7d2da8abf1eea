// SPDX-License-Identifier: MIT
// capi/version.cc: version of the linked library.
#include "rankfeed/version.h"

#define RANKFEED_TEXT_(x) #x
#define RANKFEED_TEXT(x) RANKFEED_TEXT_(x)

uint32_t rankfeed_version(void) { return RANKFEED_VERSION; }

const char* rankfeed_version_string(void) {
  return RANKFEED_TEXT(RANKFEED_VERSION_MAJOR) "." RANKFEED_TEXT(
      RANKFEED_VERSION_MINOR) "." RANKFEED_TEXT(RANKFEED_VERSION_PATCH);
}
