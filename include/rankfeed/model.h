/* SPDX-License-Identifier: MIT
 * rankfeed/model.h: vocabulary images and the model opened over one.
 *
 * An image is one little-endian, versioned, checksummed block of bytes made by the builder
 * (rankfeed/builder.h, `rankfeed compile`). A rankfeed_model is a view over an image: it lives in
 * storage of the caller, borrows the image, and holds no other resource.
 *
 * rankfeed_model: immutable, share freely between threads. The image must outlive it. */
#ifndef RANKFEED_MODEL_H_
#define RANKFEED_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/export.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

/* Size and alignment of caller storage, in bytes. alignment is a power of two. */
typedef struct {
  size_t size, alignment;
} rankfeed_mem_req;

/* Reference that the ids equal. Fixed when the image is compiled and part of its config_hash.
 * SentencePiece changed how it sums scores in 0.2.2 (docs/parity.md). A rule keeps its number: a
 * later release with other ids gets a number of its own, and RANKFEED_PARITY_SENTENCEPIECE becomes
 * that one. */
enum {
  RANKFEED_PARITY_HUGGINGFACE = 0,         /* tokenizers 0.23.3 */
  RANKFEED_PARITY_SENTENCEPIECE_0_2_1 = 1, /* sentencepiece 0.1.97 to 0.2.1 */
  RANKFEED_PARITY_SENTENCEPIECE = 2        /* the newest: sentencepiece 0.2.2 and 0.2.3 */
};

/* The name of a parity mode, as command line and Python have it: "huggingface",
 * "sentencepiece-0.2.1", "sentencepiece"; null for other numbers. Static storage. O(1), any thread.
 */
RANKFEED_API const char* rankfeed_parity_name(uint32_t parity);
/* The mode of a name, to *parity (written on success only). Errors: ARGUMENT, NOT_FOUND. O(1), any
 * thread. */
RANKFEED_API rankfeed_status rankfeed_parity_from_name(const char* name, uint32_t* parity);

typedef struct rankfeed_model rankfeed_model;

/* Checks magic, version, size, checksum and every index the encoder relies on, in one linear pass
 * over image_size bytes (XXH3 plus one look at each unit). Reads image[0, image_size); writes only
 * *detail (nullable). image must be 64-byte aligned. Any thread.
 * Errors: ARGUMENT, ALIGNMENT, IMAGE_MAGIC, IMAGE_VERSION, IMAGE_CHECKSUM, IMAGE_STRUCTURE,
 * PLATFORM. O(image_size). */
RANKFEED_API rankfeed_status rankfeed_image_verify(const void* image, size_t image_size,
                                                   rankfeed_error_detail* detail);

/* A read-only image in memory: of a file, by rankfeed_image_map, or filled in by the caller for
 * bytes that are elsewhere. Plain data; one owner. */
typedef struct {
  const void* data;
  size_t size;
  uint32_t page_size_obtained; /* bytes per page backing data, as far as known; 0 = unknown */
  uint32_t reserved;
  void* base; /* of the mapping, for unmap */
  size_t base_size;
} rankfeed_mapping;

/* Reads a file to private read-only memory, on transparent huge pages where there are some. What
 * becomes of the file afterwards changes nothing: the bytes that rankfeed_model_open verifies are
 * those that are used. *out is written on success only. Errors: ARGUMENT, IO (detail->item = errno;
 * ESTALE: the file gets shorter all the time). O(file). Any thread. */
RANKFEED_API rankfeed_status rankfeed_image_map(const char* path, rankfeed_mapping* out,
                                                rankfeed_error_detail* detail);
/* Maps the file itself, read-only: for commands that look at little of it, and for many processes
 * that share one copy in the page cache. Only for files that nobody else changes: verifying says
 * nothing about what is written to the file later. When it is written to, calls may read and write
 * outside their buffers (they end, whatever the bytes are); when it is cut off, the kernel answers
 * with SIGBUS. Replacing it by rename, as the builder does, is safe. SECURITY.md, "Files that
 * change". *out is written on success only. Errors: ARGUMENT, IO (detail->item = errno). O(1) plus
 * page faults on use. Any thread. */
RANKFEED_API rankfeed_status rankfeed_image_map_file(const char* path, rankfeed_mapping* out,
                                                     rankfeed_error_detail* detail);
/* Ends the mapping and zeroes *mapping; models opened over it must not be used any more. Null or
 * zeroed is a no-op. O(1). */
RANKFEED_API void rankfeed_image_unmap(rankfeed_mapping* mapping);

/* Pages that may hold an image, the largest first: those asked for, and those obtained. */
enum {
  RANKFEED_PAGES_AUTO = 0,        /* asked for: hugetlb, else transparent huge, else base pages */
  RANKFEED_PAGES_HUGETLB = 1,     /* preallocated 2 MiB pages (vm.nr_hugepages), or an error */
  RANKFEED_PAGES_TRANSPARENT = 2, /* transparent huge pages, else base pages */
  RANKFEED_PAGES_BASE = 3,        /* base pages only */
  RANKFEED_PAGES_FILE = 4         /* the file itself, mapped, as rankfeed_image_map_file does */
};
/* "auto", "hugetlb", "transparent", "base", "file", and null beyond those. O(1), any thread. */
RANKFEED_API const char* rankfeed_pages_name(uint32_t pages);
/* Flags of rankfeed_image_place; of the last three at most one, none is AUTO. */
enum {
  RANKFEED_PLACE_SHARED = 1u,
  RANKFEED_PLACE_HUGETLB = 2u,
  RANKFEED_PLACE_TRANSPARENT = 4u,
  RANKFEED_PLACE_BASE = 8u
};

/* The pages of rankfeed_image_open and rankfeed_image_place. Error fields hold errno values. */
typedef struct {
  uint32_t struct_size;
  uint32_t pages;            /* RANKFEED_PAGES_...: the step that was taken, never AUTO */
  uint64_t huge_bytes;       /* of the copy on huge pages, as the kernel tells; UINT64_MAX: it does not */
  int32_t hugetlb_error;     /* why that step was left; 0: it was not; ECANCELED: not asked for */
  int32_t transparent_error; /* likewise; ENODATA: advice accepted, base pages given */
  int32_t fd;                /* RANKFEED_PLACE_SHARED: the memfd, to pass on and close; else -1 */
  uint32_t reserved;
} rankfeed_placement;

/* Reads a file to private read-only memory on the pages asked for (RANKFEED_PAGES_...), or maps it
 * for FILE. Encoding from a cold cache is some percent faster on huge pages (bench/NOTES.md). What
 * becomes of a file that was read changes nothing; for FILE see rankfeed_image_map_file. End with
 * rankfeed_image_unmap. *out and *report (nullable, struct_size set) are written on success only.
 * Errors: ARGUMENT, STRUCT_SIZE, IO (detail->item = errno; of HUGETLB, why there are none; ESTALE:
 * the file gets shorter all the time). O(file). Any thread. */
RANKFEED_API rankfeed_status rankfeed_image_open(const char* path, uint32_t pages,
                                                 rankfeed_mapping* out, rankfeed_placement* report,
                                                 rankfeed_error_detail* detail);

/* Copies image[0, image_size) to read-only memory on the largest pages there are, or those that a
 * flag names. With RANKFEED_PLACE_SHARED the copy lies in a sealed memfd that other
 * processes map with rankfeed_image_map_fd; several processes then share one copy. Verify the copy,
 * by opening the model over it without RANKFEED_OPEN_TRUSTED_IMAGE: what was verified before, in
 * memory that others write to, need not be what was copied. End with rankfeed_image_unmap. *out and
 * *report (nullable, struct_size set) are written on success only. Errors: ARGUMENT, STRUCT_SIZE,
 * IO (detail->item = errno). O(image_size). Any thread. */
RANKFEED_API rankfeed_status rankfeed_image_place(const void* image, size_t image_size,
                                                  uint32_t flags, rankfeed_mapping* out,
                                                  rankfeed_placement* report,
                                                  rankfeed_error_detail* detail);

/* The image in an open file, of another process's placement say. A file sealed against writing and
 * shrinking (fcntl(2), F_SEAL_WRITE and F_SEAL_SHRINK), as the memfd of a placement is, is mapped
 * and its memory shared; of any other a private copy is made, as rankfeed_image_map does.
 * image_size: 0, or fewer bytes than the file has (a memfd on hugetlb pages is rounded up to them).
 * The descriptor may be closed afterwards. End with rankfeed_image_unmap. Errors: ARGUMENT, IO
 * (detail->item = errno). O(1) plus page faults on use when sealed, else O(file). Any thread. */
RANKFEED_API rankfeed_status rankfeed_image_map_fd(int fd, size_t image_size,
                                                   rankfeed_mapping* out,
                                                   rankfeed_error_detail* detail);

/* Storage that rankfeed_model_open needs. Constant for one library version. O(1), any thread. */
RANKFEED_API rankfeed_mem_req rankfeed_model_mem_req(void);

enum {
  /* Skip the linear verify pass: only for images this process or its deployment has verified
   * before and that nobody has written to since. Header, version, sizes and section table are still
   * checked: O(added tokens). */
  RANKFEED_OPEN_TRUSTED_IMAGE = 1u
};

/* Opens a model over image in storage. On success *out points into storage; on failure *out is
 * null and storage may hold garbage. There is no close: release image and storage when no thread
 * uses the model. Errors: those of rankfeed_image_verify, WORKSPACE_SIZE. O(image_size), or
 * O(added tokens) when trusted. */
RANKFEED_API rankfeed_status rankfeed_model_open(const void* image, size_t image_size,
                                                 uint32_t flags, void* storage,
                                                 size_t storage_size, rankfeed_model** out,
                                                 rankfeed_error_detail* detail);

/* Facts about an opened model. Ids that the model lacks are -1. */
typedef struct {
  uint32_t struct_size;
  uint32_t parity;          /* RANKFEED_PARITY_* */
  uint32_t id_count;        /* ids are 0 .. id_count-1, added tokens included */
  uint32_t piece_count;     /* distinct pieces in the trie */
  int32_t unk_id, bos_id, eos_id, pad_id, cls_id, sep_id, mask_id;
  uint32_t pad_type_id;
  uint32_t max_piece_chars; /* code points of the longest piece */
  uint32_t specials_single, specials_pair; /* ids the template adds */
  uint32_t position_offset; /* first position id: pad_id + 1 for RoBERTa-like models, else 0 */
  uint32_t position_pad;    /* position id of a pad token */
  uint32_t has_token_type_ids; /* template assigns a type other than 0 */
  uint32_t byte_fallback;
  uint64_t image_size;
  uint8_t config_hash[16];  /* XXH3-128 of the source file, parity and compile options */
} rankfeed_model_info;

/* Fills *info (set struct_size first). Errors: ARGUMENT, STRUCT_SIZE. O(1), any thread. */
RANKFEED_API rankfeed_status rankfeed_model_get_info(const rankfeed_model* model,
                                                     rankfeed_model_info* info);

/* The kind of model, as files name it in lower case: "unigram", "wordpiece" or "bpe"; null for no model. Static
 * storage. O(1), any thread. */
RANKFEED_API const char* rankfeed_model_kind(const rankfeed_model* model);

/* Why no text of this vocabulary takes the fast road (rankfeed/encode.h, rankfeed_reason: all go by
 * "pipeline"), in the words of its file, with the type of the element it is about, if any:
 * "byte_fallback", "pre-tokenizer, Punctuation". Null where texts may take it, and for no model. Static
 * storage; words for people, which another version may change. O(1), any thread. */
RANKFEED_API const char* rankfeed_model_off_fast_road(const rankfeed_model* model);

/* The piece of an id: *data points into the image (not NUL-terminated), *size gets its bytes.
 * Errors: ARGUMENT, ID_RANGE. O(1), any thread. */
RANKFEED_API rankfeed_status rankfeed_model_id_to_piece(const rankfeed_model* model, uint32_t id,
                                                        const char** data, size_t* size);
/* The id of a piece or added token by its exact bytes; -1 when there is none, and for null
 * arguments. O(size * log id_count), any thread. */
RANKFEED_API int32_t rankfeed_model_piece_to_id(const rankfeed_model* model, const char* data,
                                                size_t size);

RANKFEED_END_C

#endif /* RANKFEED_MODEL_H_ */
