/* SPDX-License-Identifier: MIT
 * rankfeed/encode.h: one text to ids, offsets and back, in memory of the caller.
 *
 * rankfeed_encoder: one thread at a time; lives wholly in the caller's scratch, so there is no free
 * function; many encoders share one model. Not detected: use from two threads at once. */
#ifndef RANKFEED_ENCODE_H_
#define RANKFEED_ENCODE_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/export.h"
#include "rankfeed/model.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

typedef struct rankfeed_encoder rankfeed_encoder;

/* The most bytes of its thread's stack that a call of this header or of rankfeed/rerank.h needs, in a
 * build with optimization, whatever the text: threads with stacks of 64 KiB will do
 * (tests/fault/stack_test.cc, where they need 10 KiB). */
enum { RANKFEED_STACK_BYTES = 32768 };

/* Any bytes; not NUL-terminated. Invalid UTF-8 follows the reference: SentencePiece turns each bad
 * byte into U+FFFD; HuggingFace takes only valid strings, so bad bytes are replaced as Python's
 * bytes.decode("utf-8", "replace") does (maximal subparts) before the pipeline runs. */
typedef struct {
  const char* data;
  size_t size; /* bytes */
} rankfeed_text;

typedef struct {
  uint32_t struct_size;
  uint32_t max_text_bytes; /* longest text one call may encode: a limit, not a size, see below */
  uint32_t with_offsets;   /* 1: calls may ask for offsets */
  uint32_t cache_bytes;    /* word cache kept in the scratch; 0 = none. Never changes an output */
  /* Longest stretch of a text that leaves the fast road and cannot be cut, as a base64 image inside a
   * document; 0: 256 KiB. A longer one, or one that the normalizer makes longer than twice that, is
   * LIMIT for its text alone. Programs compiled before the field was there leave it out of
   * struct_size, which is taken too. */
  uint32_t max_stretch_bytes;
} rankfeed_limits;

/* Scratch an encoder needs for these limits: monotonic in each limit. A text of any length up to
 * max_text_bytes is encoded in it as long as the text can be cut (docs/memory.md). So what grows is the
 * room for one stretch: 26 bytes (42 with offsets) for each normalized byte, of which there are twice
 * max_stretch_bytes, or as many as the normalizer makes of max_text_bytes at worst if that is fewer.
 * With a max_stretch_bytes of 0 that is at most 16 MiB (30 with offsets, or with a Metaspace whose
 * prepend_scheme is "first") beside the word cache; ordinary text touches at most 2 MiB of it.
 * Vocabularies whose decoder has ByteFallback need 1 byte more for each of max_text_bytes, those with a
 * denormalizer twice the worst growth of the normalizer.
 * Errors: ARGUMENT, STRUCT_SIZE, LIMIT (the size overflows). O(1), any thread. */
RANKFEED_API rankfeed_status rankfeed_encoder_mem_req(const rankfeed_model* model,
                                                      const rankfeed_limits* limits,
                                                      rankfeed_mem_req* out);

/* Carves an encoder out of scratch, which it keeps until its last call; model must outlive it.
 * Size and alignment are checked in every build. Errors: ARGUMENT, STRUCT_SIZE, LIMIT, ALIGNMENT,
 * WORKSPACE_SIZE; on failure *out is null. Where the part of the scratch that every text needs holds
 * whole huge pages, they are asked for (madvise). O(cache_bytes). */
RANKFEED_API rankfeed_status rankfeed_encoder_init(const rankfeed_model* model,
                                                   const rankfeed_limits* limits, void* scratch,
                                                   size_t scratch_size, rankfeed_encoder** out);

/* Largest max_text_bytes an encoder of this model can have: positions in the text are 31 bits; with
 * a denormalizer, those in what it makes of the text too. 0 for no model. O(1), any thread. */
RANKFEED_API uint32_t rankfeed_max_text_bytes(const rankfeed_model* model);

/* Touches the pages of the scratch that every text needs, cache and queues, so that the first call
 * does not wait for the system to hand them out; what grows with the text is left alone. Between any
 * two calls; no output changes. Errors: ARGUMENT, IO (no memory for them). O(cache_bytes). */
RANKFEED_API rankfeed_status rankfeed_encoder_warm(rankfeed_encoder* encoder);

/* Hands the pages of the scratch that texts have touched back to the system, where it lies on whole
 * pages: a text that leaves the fast road touches up to 26 bytes (42 with offsets) for each of its
 * normalized bytes, and they stay resident until then. Between any two calls: the working
 * arrays hold nothing from one to the next. The encoder and its word cache are kept, no output
 * changes, and the next texts touch their pages again.
 * The memory is the caller's: private anonymous memory (malloc, new, mmap) shrinks, shared memory
 * and files stay as large as they were, locked and hugetlb pages are refused (IO), and nothing else
 * changes. *dropped (nullable) gets the bytes of those pages, resident or not; 0 after an error,
 * when the encoder is as it was. One system call, madvise with MADV_DONTNEED; on macOS MADV_FREE, after
 * which the pages go when the system needs them.
 * Errors: ARGUMENT, IO. O(resident pages). */
RANKFEED_API rankfeed_status rankfeed_encoder_trim(rankfeed_encoder* encoder, size_t* dropped);

enum {
  RANKFEED_ADD_SPECIAL_TOKENS = 1u,   /* run the single-sequence template */
  RANKFEED_OFFSETS_CODE_POINTS = 2u,  /* offsets count Unicode code points (Python), not bytes */
  RANKFEED_SPLIT_SPECIAL_TOKENS = 4u, /* HuggingFace encode_special_tokens: specials are text */
  RANKFEED_ERROR_ON_SPECIAL = 8u,     /* special token from the text: E_SPECIAL_IN_TEXT */
  RANKFEED_ESCAPE_SPECIAL = 16u,      /* no special token comes from the text, see below */
  RANKFEED_OFFSETS_UTF16 = 32u        /* offsets count UTF-16 code units (JavaScript, Java), of which a
                                         character above U+FFFF has two; not with _CODE_POINTS */
};

/* specials_in_text: what becomes of a special token that somebody typed into a text, as flags. A
 * document from the open web may hold "</s>", which would become a separator of the row it is in.
 * PARSE  it becomes the special token's id, as HuggingFace does by default.
 * ESCAPE its characters are tokenized as any other text: the best path without the pieces that are
 *        special tokens. Ids of special tokens then come from the template alone, apart from the
 *        unknown id. This is more than HuggingFace's encode_special_tokens
 *        (RANKFEED_SPLIT_SPECIAL_TOKENS): there the model still finds "</s>" where it is a piece of
 *        the vocabulary, as in XLM-RoBERTa's files, also when a normalizer made it of other
 *        characters. Texts without special tokens get the same ids in all modes.
 * ERROR  E_SPECIAL_IN_TEXT for that text only, in all those cases; rankfeed_find_special says
 *        where.
 * Tokens of the file that are not special are always parsed. In SentencePiece parity no control piece
 * is ever matched in text, so all three, and SPLIT_SPECIAL_TOKENS, are the same there. ESCAPE wins over
 * ERROR and SPLIT_SPECIAL_TOKENS; ERROR with SPLIT_SPECIAL_TOKENS is the latter. */
enum {
  RANKFEED_SPECIALS_PARSE = 0,
  RANKFEED_SPECIALS_ESCAPE = 16, /* RANKFEED_ESCAPE_SPECIAL */
  RANKFEED_SPECIALS_ERROR = 8    /* RANKFEED_ERROR_ON_SPECIAL */
};

/* SentencePiece extra options, applied in the order written ("reverse:bos" differs from
 * "bos:reverse"; sentencepiece_processor.cc, ApplyExtraOptions, 0.1.97). 0 ends the list. */
enum { RANKFEED_SP_BOS = 1, RANKFEED_SP_EOS = 2, RANKFEED_SP_REVERSE = 3, RANKFEED_SP_UNK = 4 };

/* Bits and numbers that have no name above are refused (ARGUMENT), as are two units of offsets and
 * anything after the end of the sp_extra list. */
typedef struct {
  uint32_t struct_size;
  uint32_t flags;      /* RANKFEED_ADD_SPECIAL_TOKENS ... */
  uint8_t sp_extra[8]; /* RANKFEED_SP_*; HuggingFace parity: all 0, else ARGUMENT */
} rankfeed_encode_options;

/* Output columns, all with one capacity in tokens. Unused columns are null. */
typedef struct {
  uint32_t struct_size;
  uint32_t capacity;
  int32_t* input_ids;            /* nullable only with capacity 0 (to ask for the count) */
  uint32_t *offset_begin, *offset_end; /* half-open, in the original text; need with_offsets */
  uint8_t* special_tokens_mask;  /* 1 for ids the template added */
  uint32_t* token_type_ids;
  uint32_t count;                /* out: tokens written, or needed when E_OUTPUT_SIZE */
} rankfeed_encoding;

/* Encodes one text. options may be null (no flags). On E_OUTPUT_SIZE the columns hold the tokens
 * that fit (of a text that RANKFEED_SP_REVERSE reverses in parts, any), nothing past capacity was
 * written, and count holds the need; the encoder stays usable after every error.
 * Errors: ARGUMENT, STRUCT_SIZE, OUTPUT_SIZE, UNK_ID, SPECIAL_IN_TEXT; LIMIT: the text is longer than
 * max_text_bytes, has more tokens than 32 bits count, or has a stretch that leaves the fast road, cannot
 * be cut and is longer than max_stretch_bytes, or than twice that once it is normalized.
 * O(text.size * max_piece_chars) worst case. */
RANKFEED_API rankfeed_status rankfeed_encode(rankfeed_encoder* encoder, rankfeed_text text,
                                             const rankfeed_encode_options* options,
                                             rankfeed_encoding* io);

/* Ids of several texts, one after the other: text i has
 * input_ids[cu_seqlens[i], cu_seqlens[i + 1]), and as many offsets, which count from its own begin.
 * Offsets may be left out of the struct (struct_size up to offset_begin). */
typedef struct {
  uint32_t struct_size;
  uint32_t capacity;     /* tokens in input_ids */
  int32_t* input_ids;    /* nullable only with capacity 0 (to ask for the counts) */
  uint32_t* cu_seqlens;  /* as many as there are texts, and one */
  uint32_t count;        /* out: tokens written, or needed when E_OUTPUT_SIZE */
  size_t text_count;     /* out: texts encoded; after an error, the index of the text it is about */
  uint32_t *offset_begin, *offset_end; /* nullable; capacity each; need with_offsets */
} rankfeed_encodings;

/* Encodes several texts, each to the ids and offsets that rankfeed_encode gives it. Short texts share the work
 * that would leave the processor waiting for memory if done one by one (bench/NOTES.md), except
 * with sp_extra. On E_OUTPUT_SIZE cu_seqlens and count hold the need of the text_count texts that were
 * encoded, and nothing past capacity was written; with that room the call gives what it would have
 * given, success or an error of a later text. After other errors the texts before the one with the
 * error are complete; the call can go on after it.
 * Errors: those of rankfeed_encode; ARGUMENT also for a unit of offsets without a place for them;
 * LIMIT also for a text with which the count might outgrow 32
 * bits (rankfeed_token_bound). O(bytes * max_piece_chars) worst case. */
RANKFEED_API rankfeed_status rankfeed_encode_batch(rankfeed_encoder* encoder,
                                                   const rankfeed_text* texts, size_t text_count,
                                                   const rankfeed_encode_options* options,
                                                   rankfeed_encodings* io);

/* A text that comes in pieces, cut anywhere, and never is in memory as a whole: the same ids as
 * rankfeed_encode gives the whole text, which may be longer than max_text_bytes and than 4 GiB.
 *
 *   rankfeed_encode_begin(encoder, &options, window, window_bytes);
 *   for each piece: rankfeed_encode_feed(encoder, piece, &io), and use io.input_ids[0, io.count)
 *   rankfeed_encode_end(encoder, &io), and use the last ids
 *
 * Bytes wait in the caller's window until their ids are settled, in parts of about 32 KiB, or of the
 * window if that is smaller. A part ends at one space or line feed (what the vocabulary's normalizer
 * makes a space) between two characters that do not depend on what is beside them, and not next to
 * what may be an added token, of the text or of what the normalizer makes of it. Text without any
 * such place is limited to the size of the window. */
typedef struct {
  uint32_t struct_size;
  uint32_t capacity;  /* tokens in input_ids */
  int32_t* input_ids; /* nullable only with capacity 0 */
  uint32_t count;     /* out: tokens written, complete and in order, also after an error */
  uint32_t needed;    /* out: with E_OUTPUT_SIZE, the capacity with which the call goes on; else 0 */
  size_t consumed;    /* out: bytes of the piece that were taken */
} rankfeed_stream_io;

/* Begins a text; one that was not ended is forgotten. options may be null (no flags). The encoder
 * keeps the window until the text has ended; at most max_text_bytes of it are used. Other calls with
 * this encoder may come in between.
 * Errors: ARGUMENT, STRUCT_SIZE; UNSUPPORTED, where rankfeed_encode_begin_obstacle says why. O(1). */
RANKFEED_API rankfeed_status rankfeed_encode_begin(rankfeed_encoder* encoder,
                                                   const rankfeed_encode_options* options,
                                                   char* window, uint32_t window_bytes);

/* The obstacle to texts of this vocabulary, or with these options (nullable), in pieces: that
 * the pipeline is off the fast road, as rankfeed_model_off_fast_road says it, strips the space that a
 * part would begin with, or has no piece U+2581; that the call asks for sp_extra, or for special tokens
 * of a template that has several texts, or more than 16 of those in a row. Null: nothing, and for no
 * encoder and options that no call takes. Static storage; words for people, which another version may
 * change. O(1). */
RANKFEED_API const char* rankfeed_encode_begin_obstacle(const rankfeed_encoder* encoder,
                                                        const rankfeed_encode_options* options);

/* Takes the next piece and writes the ids that are settled by it. On E_OUTPUT_SIZE nothing is lost:
 * use the ids, and call again with the rest of the piece (from consumed on) and room for `needed`. A
 * piece may be empty. In rankfeed_encoder_roads each part counts as a text.
 * Errors: ARGUMENT (also: no text has begun), STRUCT_SIZE, OUTPUT_SIZE; LIMIT (the window is full and
 * holds no place to cut) and SPECIAL_IN_TEXT, after which the text has ended. O(piece.size *
 * max_piece_chars) worst case. */
RANKFEED_API rankfeed_status rankfeed_encode_feed(rankfeed_encoder* encoder, rankfeed_text piece,
                                                  rankfeed_stream_io* io);

/* Writes the last ids and ends the text. On E_OUTPUT_SIZE call again with room for `needed`.
 * Errors: ARGUMENT (also: no text has begun), STRUCT_SIZE, OUTPUT_SIZE, SPECIAL_IN_TEXT, after which
 * the text has ended. O(window_bytes * max_piece_chars) worst case. */
RANKFEED_API rankfeed_status rankfeed_encode_end(rankfeed_encoder* encoder, rankfeed_stream_io* io);

/* Reasons why a text, or a stretch of it between two added tokens, takes the general path. On the
 * fast road (docs/architecture.md) a text is looked up and searched in pieces that a vocabulary
 * never crosses; the general path takes any pipeline and any text, more slowly. Both give the same
 * ids. */
typedef enum {
  RANKFEED_REASON_NONE = 0,         /* none: the fast road */
  RANKFEED_REASON_PIPELINE = 1,     /* the vocabulary's normalizer or pre-tokenizer */
  RANKFEED_REASON_OPTIONS = 2,      /* offsets that only the general path knows, "reverse",
                                       a special token that is refused */
  RANKFEED_REASON_INVALID_UTF8 = 3, /* given no longer: bytes that are no characters stay */
  RANKFEED_REASON_CHARACTER = 4,    /* a character whose meaning depends on more than its segment,
                                       as a U+2581 written in a text */
  RANKFEED_REASON_CONTEXT = 5,      /* marks or spaces that are read with what comes before them */
  RANKFEED_REASON_LENGTH = 6,       /* over 256 bytes that are normalized together, or about 4,000
                                       characters that cannot be parted */
  RANKFEED_REASON_UNKNOWN = 7,      /* the unknown piece, where its score must be known exactly or
                                       bytes take its place (byte_fallback) */
  RANKFEED_REASON_CAPACITY = 8,     /* tokens that did not fit, where a score depends on them */
  RANKFEED_REASON_ADDED_TOKEN = 9,  /* what may be an added token with "normalized": true, or the end
                                       of a user-defined symbol and a mark (SentencePiece) */
  RANKFEED_REASON_COUNT = 10
} rankfeed_reason;

/* A short name ("pipeline", "invalid utf-8"; "fast road" for none), null for other numbers. O(1),
 * any thread. */
RANKFEED_API const char* rankfeed_reason_name(uint32_t reason);

/* A text counts for its first reason, bytes for that of their stretch; one whose ids are kept: none. */
typedef struct {
  uint64_t texts, bytes;
} rankfeed_road_counts;

/* Texts and bytes encoded since the encoder's start, by rankfeed_reason: fills out[0, count), count
 * at most RANKFEED_REASON_COUNT. Texts of failed calls may be missing. Errors: ARGUMENT. O(1). */
RANKFEED_API rankfeed_status rankfeed_encoder_roads(const rankfeed_encoder* encoder,
                                                    rankfeed_road_counts* out, size_t count);

/* Instruction sets, by name: "scalar", "ssse3", "sse4", "avx2", "avx512", "avx512-gather", "neon".
 * Fills *out with the name of the set number i that there are loops for, null after the last one;
 * *runs (nullable) with whether this CPU can run it. Errors: ARGUMENT. O(1), any thread. */
RANKFEED_API rankfeed_status rankfeed_isa(uint32_t i, const char** out, int32_t* runs);

/* Makes encoders of this process that are initialised from now on run the loops of that set; null:
 * the best for this CPU, as it is without a call. Outputs are the same with each. Errors: ARGUMENT
 * (no such set), UNSUPPORTED (this CPU cannot run it): nothing changes. O(1), any thread. */
RANKFEED_API rankfeed_status rankfeed_force_isa(const char* name);

/* The name of the set that this encoder runs; null for none. O(1), any thread. */
RANKFEED_API const char* rankfeed_encoder_isa(const rankfeed_encoder* encoder);

/* The first special token written in a text: what RANKFEED_SPECIALS_ERROR refuses. Bytes of the
 * text; white space that the token takes with it is included. Special tokens that appear in the
 * normalized text alone are placed exactly by encoders with offsets, else the range is that of the
 * stretch of text they lie in. */
typedef struct {
  uint32_t struct_size;
  uint32_t id;
  uint64_t byte_begin, byte_end;
} rankfeed_special_match;

/* Fills *out. Errors: ARGUMENT, STRUCT_SIZE, LIMIT, NOT_FOUND (there is none, and always in
 * SentencePiece parity), UNK_ID (text before the token has an unknown piece). O(text.size). */
RANKFEED_API rankfeed_status rankfeed_find_special(rankfeed_encoder* encoder, rankfeed_text text,
                                                   rankfeed_special_match* out);

/* Tokens a text of text_bytes can have at most, specials of the single template included
 * (not those of sp_extra, one for each bos and eos); UINT32_MAX when it does not fit. O(1), any
 * thread. */
RANKFEED_API uint32_t rankfeed_token_bound(const rankfeed_model* model, size_t text_bytes);

/* Other bits: ARGUMENT. SentencePiece parity never writes control pieces, with or without it. */
enum { RANKFEED_SKIP_SPECIAL_TOKENS = 1u };

/* Ids back to text, by the reference's rules (HuggingFace drops unknown ids silently, SentencePiece
 * answers ID_RANGE). Writes at most capacity bytes to out; *size gets the bytes written, or needed
 * when E_OUTPUT_SIZE (then out's content is undefined). count is bounded by the encoder's
 * max_text_bytes. Errors: ARGUMENT, LIMIT, OUTPUT_SIZE, ID_RANGE. O(count + bytes written). */
RANKFEED_API rankfeed_status rankfeed_decode(rankfeed_encoder* encoder, const int32_t* input_ids,
                                             size_t count, uint32_t flags, char* out,
                                             size_t capacity, size_t* size);

RANKFEED_END_C

#endif /* RANKFEED_ENCODE_H_ */
