/* SPDX-License-Identifier: MIT
 * rankfeed/status.h: status codes and the optional detail record.
 *
 * Every fallible function returns a rankfeed_status. Nothing is printed, allocated, thrown or
 * aborted on failure. Numbers are grouped with gaps and never change once released. */
#ifndef RANKFEED_STATUS_H_
#define RANKFEED_STATUS_H_

#include <stdint.h>

#include "rankfeed/export.h"

RANKFEED_BEGIN_C

typedef int32_t rankfeed_status; /* fixed width: the same in C, C++ and every FFI */

enum {
  RANKFEED_OK = 0,
  /* what the caller passed */
  RANKFEED_E_ARGUMENT = 1,       /* null, out of range, contradictory */
  RANKFEED_E_ALIGNMENT = 2,      /* storage not aligned as its requirement says */
  RANKFEED_E_WORKSPACE_SIZE = 3, /* storage smaller than its requirement */
  RANKFEED_E_OUTPUT_SIZE = 4,    /* output too small; the count needed is reported */
  RANKFEED_E_LIMIT = 5,          /* over a field of a limits struct, or over rankfeed_max_text_bytes */
  RANKFEED_E_STRUCT_SIZE = 6,    /* struct_size of an argument is not one this library knows */
  /* image and model files */
  RANKFEED_E_IMAGE_MAGIC = 20,
  RANKFEED_E_IMAGE_VERSION = 21,
  RANKFEED_E_IMAGE_CHECKSUM = 22,
  RANKFEED_E_IMAGE_STRUCTURE = 23,
  RANKFEED_E_PARSE = 24,       /* model file is not what its format says */
  RANKFEED_E_UNSUPPORTED = 25, /* model kind or pipeline element that is not implemented */
  RANKFEED_E_PARITY = 26,      /* parity mode that the file cannot have */
  RANKFEED_E_PLATFORM = 27,    /* big-endian host */
  RANKFEED_E_VOCABULARY = 28,  /* corpus store made with another vocabulary or other options */
  /* state */
  RANKFEED_E_BUSY = 40,
  RANKFEED_E_STATE = 41,
  RANKFEED_E_CANCELLED = 42,
  RANKFEED_E_DEADLINE = 43,
  RANKFEED_E_STALE = 44, /* batch of an earlier request, or of another reranker */
  /* system */
  RANKFEED_E_NO_MEMORY = 60,
  RANKFEED_E_IO = 61,
  /* devices */
  RANKFEED_E_DEVICE = 80,
  RANKFEED_E_NO_DEVICE = 81,
  /* text, ids and rows */
  RANKFEED_E_UNK_ID = 100,        /* text holds an unknown piece and the model has no unknown id */
  RANKFEED_E_ID_RANGE = 101,      /* id outside the vocabulary (SentencePiece decode) */
  RANKFEED_E_SPECIAL_IN_TEXT = 102, /* literal special token in a text, and the caller forbade it */
  RANKFEED_E_TRUNCATION = 103,    /* row cannot be cut to max_length by the chosen strategy */
  RANKFEED_E_TOO_LONG = 104,      /* row longer than max_length and truncation is off */
  RANKFEED_E_NOT_FOUND = 105      /* no such document, name or token */
};

/* Optional companion of a failed call, owned by the caller. Set struct_size before the call;
 * the library fills the rest on failure and leaves it untouched on success. */
typedef struct {
  uint32_t struct_size;
  rankfeed_status code;
  uint64_t byte_offset; /* position in the image, file or text the error was found at */
  uint32_t section;     /* image section id, or 0 */
  uint32_t item;        /* index of the element (unit, piece, row, step), or 0 */
} rankfeed_error_detail;

/* Name such as "RANKFEED_E_IMAGE_MAGIC"; "RANKFEED_E_?" for unknown numbers, never null. Static
 * storage. O(1), any thread. */
RANKFEED_API const char* rankfeed_status_name(rankfeed_status status);
/* One sentence for people; never null. Static storage. O(1), any thread. */
RANKFEED_API const char* rankfeed_status_message(rankfeed_status status);

RANKFEED_END_C

#endif /* RANKFEED_STATUS_H_ */
