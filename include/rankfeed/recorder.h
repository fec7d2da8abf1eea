/* SPDX-License-Identifier: MIT
 * rankfeed/recorder.h: writes the requests of a live service as a trace for `rankfeed audit`
 * (docs/audit.md has the format). Library rankfeed_counters; it allocates and writes files.
 *
 * rankfeed_recorder: internally synchronised; any thread may add. Traces hold the texts of queries
 * and documents: treat the file as you treat those. */
#ifndef RANKFEED_RECORDER_H_
#define RANKFEED_RECORDER_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/encode.h"
#include "rankfeed/export.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

typedef struct rankfeed_recorder rankfeed_recorder;

typedef struct {
  uint32_t struct_size;
  uint32_t one_in;    /* record every one_in-th request; 0 and 1: all */
  uint64_t max_bytes; /* stop recording before the file gets larger; 0: no limit */
} rankfeed_recorder_options;

/* Creates path, which must not exist. options may be null.
 * On failure *out is null. Errors: ARGUMENT, STRUCT_SIZE, NO_MEMORY, IO (also when the file
 * exists). O(1). */
RANKFEED_API rankfeed_status rankfeed_recorder_open(const char* path,
                                                    const rankfeed_recorder_options* options,
                                                    rankfeed_recorder** out);

/* Adds a request that arrived at arrival_ns of CLOCK_MONOTONIC; 0: now. Bytes that are not UTF-8
 * become U+FFFD. Requests left out by one_in or max_bytes are OK. Arrivals may come a little out
 * of order (threads): times are made ascending. Errors: ARGUMENT, NO_MEMORY, IO. O(bytes of the
 * texts); buffered, takes a lock. */
RANKFEED_API rankfeed_status rankfeed_recorder_add(rankfeed_recorder* recorder, uint64_t arrival_ns,
                                                   rankfeed_text query,
                                                   const rankfeed_text* candidates, size_t count);

/* Requests written so far. Null gives 0. O(1). */
RANKFEED_API uint64_t rankfeed_recorder_count(const rankfeed_recorder* recorder);

/* Writes what is buffered and closes; no other call may be running. Null is OK. Errors: IO (the
 * file may lack its end). O(buffer). */
RANKFEED_API rankfeed_status rankfeed_recorder_close(rankfeed_recorder* recorder);

RANKFEED_END_C

#endif /* RANKFEED_RECORDER_H_ */
