/* SPDX-License-Identifier: MIT
 * rankfeed/rankfeed.h: umbrella of the runtime's C API. */
#ifndef RANKFEED_RANKFEED_H_
#define RANKFEED_RANKFEED_H_

#include "rankfeed/encode.h"
#include "rankfeed/model.h"
#include "rankfeed/status.h"
#include "rankfeed/version.h"

#endif /* RANKFEED_RANKFEED_H_ */
