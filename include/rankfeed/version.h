/* SPDX-License-Identifier: MIT
 * rankfeed/version.h: the one place the version lives. CMake parses the three numbers below.
 * The image format and the struct revisions have versions of their own (docs/abi.md). */
#ifndef RANKFEED_VERSION_H_
#define RANKFEED_VERSION_H_

#include <stdint.h>

#include "rankfeed/export.h"

#define RANKFEED_VERSION_MAJOR 0
#define RANKFEED_VERSION_MINOR 1
#define RANKFEED_VERSION_PATCH 0
#define RANKFEED_VERSION \
  (RANKFEED_VERSION_MAJOR * 10000u + RANKFEED_VERSION_MINOR * 100u + RANKFEED_VERSION_PATCH)

RANKFEED_BEGIN_C

/* Version of the linked library, comparable with RANKFEED_VERSION of the header compiled against.
 * O(1), any thread. */
RANKFEED_API uint32_t rankfeed_version(void);
/* The same as text, for example "0.1.0". Static storage. O(1), any thread. */
RANKFEED_API const char* rankfeed_version_string(void);

RANKFEED_END_C

#endif /* RANKFEED_VERSION_H_ */
