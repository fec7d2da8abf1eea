/* SPDX-License-Identifier: MIT */
/* bench/sentencepiece/c_interface.h: what the benchmarks ask of a SentencePiece that is loaded at run time, so that it and
 * Debian's, which is linked, do not meet. bench/newest.h finds and calls it. */
#ifndef RANKFEED_BENCH_SENTENCEPIECE_C_INTERFACE_H_
#define RANKFEED_BENCH_SENTENCEPIECE_C_INTERFACE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The release, such as "0.2.3". */
const char* bench_sentencepiece_version(void);
/* Null where the model does not load. Never freed. */
void* bench_sentencepiece_load(const char* model);
/* How many ids; SIZE_MAX where the text does not encode, or has more ids than capacity. One thread a processor. */
size_t bench_sentencepiece_encode(void* processor, const char* text, size_t size, int32_t* ids, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif  /* RANKFEED_BENCH_SENTENCEPIECE_C_INTERFACE_H_ */
