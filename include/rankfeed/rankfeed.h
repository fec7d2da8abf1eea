/* SPDX-License-Identifier: MIT
 * rankfeed/rankfeed.h: umbrella of the runtime's C API: images, texts, pair batches, corpus
 * stores. builder.h, handoff.h and parallel.h belong to libraries of their own. */
#ifndef RANKFEED_RANKFEED_H_
#define RANKFEED_RANKFEED_H_

#include "rankfeed/corpus.h"
#include "rankfeed/encode.h"
#include "rankfeed/model.h"
#include "rankfeed/rerank.h"
#include "rankfeed/status.h"
#include "rankfeed/version.h"

#endif /* RANKFEED_RANKFEED_H_ */
