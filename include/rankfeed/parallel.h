/* SPDX-License-Identifier: MIT
 * rankfeed/parallel.h: an executor for rankfeed_request over oneTBB. Library rankfeed_parallel; it
 * allocates and starts threads, which the runtime library never does.
 *
 * rankfeed_parallel: internally synchronised; requests of several rerankers, each on a thread of
 * its own, may share one. */
#ifndef RANKFEED_PARALLEL_H_
#define RANKFEED_PARALLEL_H_

#include <stdint.h>

#include "rankfeed/export.h"
#include "rankfeed/rerank.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

typedef struct rankfeed_parallel rankfeed_parallel;

/* workers: threads that work on a request at the same time, the calling one included; 0: as many as
 * the processors that the process may keep busy (affinity, and the quota of its control groups). On
 * failure *out is null. Errors: ARGUMENT, NO_MEMORY. O(workers).
 *
 * After fork: an executor that the parent opened works in the child too, where the calling thread does
 * all of a request (worker 0), and so does one that the child opens once its parent has opened one;
 * rankfeed_parallel_executor there gives one of a single worker. After exec nothing is different. */
RANKFEED_API rankfeed_status rankfeed_parallel_open(uint32_t workers, rankfeed_parallel** out);

/* The executor to put into requests, valid until close. Its workers field says how many encoders a
 * reranker needs. Null gives null. O(1). */
RANKFEED_API const rankfeed_executor* rankfeed_parallel_executor(const rankfeed_parallel* parallel);

/* No request may be using it; waits for its threads to come to rest. Null is a no-op.
 * O(workers). */
RANKFEED_API void rankfeed_parallel_close(rankfeed_parallel* parallel);

RANKFEED_END_C

#endif /* RANKFEED_PARALLEL_H_ */
