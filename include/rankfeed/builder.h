/* SPDX-License-Identifier: MIT
 * rankfeed/builder.h: model files to vocabulary images. Library rankfeed_builder; it allocates,
 * reads files and may take a second, and is not needed by programs that ship images.
 *
 * All functions: any thread, no shared state. A rankfeed_loaded is immutable until it is freed:
 * share it freely between threads. error is nullable everywhere; set its struct_size before the
 * call, the rest is filled on failure only. */
#ifndef RANKFEED_BUILDER_H_
#define RANKFEED_BUILDER_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/export.h"
#include "rankfeed/model.h"
#include "rankfeed/status.h"
#include "rankfeed/template.h"

RANKFEED_BEGIN_C

/* The error, for people: file, position and reason. */
typedef struct {
  uint32_t struct_size;
  rankfeed_status code;
  uint64_t byte_offset; /* in the source file, where known */
  char message[496];    /* NUL-terminated, cut if longer */
} rankfeed_builder_error;

/* -1: the reference of the file's format (.model: RANKFEED_PARITY_SENTENCEPIECE, tokenizer.json:
 * RANKFEED_PARITY_HUGGINGFACE). */
enum { RANKFEED_PARITY_AUTO = -1 };

typedef struct {
  uint32_t struct_size;
  int32_t parity;     /* RANKFEED_PARITY_AUTO, or a mode of the format's reference */
  const char* preset; /* null, or a model family whose template and ids to use (docs/parity.md) */
} rankfeed_compile_options;

/* Bytes owned by the builder library; release with rankfeed_image_free. data is 64-byte aligned. */
typedef struct {
  void* data;
  size_t size;
} rankfeed_image;

/* Compiles source bytes (SentencePiece .model, HuggingFace tokenizer.json, told apart by content, or
 * vocab.txt with its preset). source and source_name are borrowed for the call; the name appears in
 * messages and may be null. options may be null. On failure *out is zeroed.
 * Errors: ARGUMENT, PARSE, UNSUPPORTED, PARITY, LIMIT, NO_MEMORY. O(source) time and memory. */
RANKFEED_API rankfeed_status rankfeed_compile(const void* source, size_t source_size,
                                              const char* source_name,
                                              const rankfeed_compile_options* options,
                                              rankfeed_image* out, rankfeed_builder_error* error);
/* Frees the bytes and zeroes *image; models over them must not be used any more. Null or zeroed is
 * a no-op. O(1). */
RANKFEED_API void rankfeed_image_free(rankfeed_image* image);

/* Compiles a file, or a model's folder as rankfeed_load takes one, to a file: written to a temporary
 * beside out_path, synced, then renamed, so that a killed or failed run leaves no half image. Errors:
 * those of rankfeed_compile, IO. O(source) time and memory. */
RANKFEED_API rankfeed_status rankfeed_compile_file(const char* source_path, const char* out_path,
                                                   const rankfeed_compile_options* options,
                                                   rankfeed_builder_error* error);

/* A model and everything it owns. */
typedef struct rankfeed_loaded rankfeed_loaded;

/* An image or model file (.model, tokenizer.json, vocab.txt or vocab.json) to a ready model, or a model's
 * folder with one of the last three, whose ids are then those of AutoTokenizer of transformers 5, which may
 * put another normalizer and other added tokens in place of the file's, and lowercased where
 * sentence_bert_config.json says so (docs/parity.md): reads an image to private memory, compiles
 * anything else, on the largest pages there are (RANKFEED_PAGES_AUTO). What becomes of the file
 * afterwards changes nothing. options may be null; of an image, only the parity is compared. On failure
 * *out is null.
 * Errors: those of rankfeed_compile and rankfeed_model_open, IO. O(file). */
RANKFEED_API rankfeed_status rankfeed_load(const char* path, const rankfeed_compile_options* options,
                                           rankfeed_loaded** out, rankfeed_builder_error* error);
/* The same on the pages asked for (RANKFEED_PAGES_... of model.h). FILE maps an image in place, and
 * its memory is shared between processes: only for files that nobody else changes, see
 * rankfeed_image_map_file; the image of a model file is compiled to private memory all the same.
 * Errors: those of rankfeed_compile and rankfeed_model_open, ARGUMENT, IO (HUGETLB where there are
 * too few preallocated pages). O(file). */
RANKFEED_API rankfeed_status rankfeed_load_on(const char* path, uint32_t pages,
                                              const rankfeed_compile_options* options,
                                              rankfeed_loaded** out,
                                              rankfeed_builder_error* error);
/* rankfeed_load_on with RANKFEED_PAGES_FILE. Errors: those of rankfeed_load_on. O(file). */
RANKFEED_API rankfeed_status rankfeed_load_map_file(const char* path,
                                                    const rankfeed_compile_options* options,
                                                    rankfeed_loaded** out,
                                                    rankfeed_builder_error* error);
/* The model, valid until rankfeed_loaded_free. Null gives null. O(1). */
RANKFEED_API const rankfeed_model* rankfeed_loaded_model(const rankfeed_loaded* loaded);
/* The image bytes of the model, valid until rankfeed_loaded_free; *size (nullable) gets their
 * number. Null gives null and 0. O(1). */
RANKFEED_API const void* rankfeed_loaded_image(const rankfeed_loaded* loaded, size_t* size);
/* Writes which pages the image got, and why not larger ones. *out is written on success only.
 * Errors: ARGUMENT, STRUCT_SIZE. O(1). */
RANKFEED_API rankfeed_status rankfeed_loaded_placement(const rankfeed_loaded* loaded,
                                                       rankfeed_placement* out);
/* A sentence for the user: texts that have other ids by a model's folder, as AutoTokenizer of
 * transformers 5 has them, than by its tokenizer.json as it is written; empty where there are none, and
 * of anything but a folder. Valid until rankfeed_loaded_free. Null gives null. O(1). */
RANKFEED_API const char* rankfeed_loaded_note(const rankfeed_loaded* loaded);
/* No thread may use the model any more. Null is a no-op. O(1). */
RANKFEED_API void rankfeed_loaded_free(rankfeed_loaded* loaded);

/* A row template (rankfeed/template.h) and the texts that it refers to. */
typedef struct rankfeed_loaded_template rankfeed_loaded_template;

/* Reads a row template from JSON, whose format docs/batches.md describes; name, for messages, may be
 * null. On failure *out is null. Errors: ARGUMENT, PARSE, LIMIT, NO_MEMORY. O(size). */
RANKFEED_API rankfeed_status rankfeed_template_read(const char* json, size_t size, const char* name,
                                                    rankfeed_loaded_template** out,
                                                    rankfeed_builder_error* error);
/* The template, valid until rankfeed_loaded_template_free. Null gives null. O(1). */
RANKFEED_API const rankfeed_row_template* rankfeed_loaded_template_get(
    const rankfeed_loaded_template* loaded);
/* Null is a no-op. O(1). */
RANKFEED_API void rankfeed_loaded_template_free(rankfeed_loaded_template* loaded);

/* Settings that the files of a model's folder state about its texts, its rows and its scores, read
 * once as CrossEncoder of sentence-transformers 6.2 and AutoTokenizer of transformers 5 read them:
 * config.json, tokenizer_config.json, config_sentence_transformers.json, sentence_bert_config.json,
 * modules.json. Immutable until it is freed. */
typedef struct rankfeed_folder rankfeed_folder;

enum { RANKFEED_FOLDER_OTHER_ACTIVATION = 0x7fffffff };

/* Texts are valid until rankfeed_folder_free, and no NUL need follow them. */
typedef struct {
  uint32_t struct_size;
  uint32_t has_config;   /* 1: there is a config.json */
  uint32_t label_count;  /* names of labels in config.json; 0: it names none */
  uint32_t multi_label;  /* 1: problem_type is multi_label_classification, labels exclude nothing */
  uint32_t activation;   /* what makes a score of the logit of one label: RANKFEED_SCORE_RAW,
                          * RANKFEED_SCORE_SIGMOID, or RANKFEED_FOLDER_OTHER_ACTIVATION for another
                          * function, which activation_fn names */
  uint32_t max_length;   /* tokens of a row, specials included: max_seq_length, else
                          * model_max_length; 0: no limit is said */
  uint32_t lower_case;   /* 1: texts are put in lower case first; a vocabulary that rankfeed_load
                          * made of the folder does it */
  uint32_t split_special_tokens; /* 1: texts are encoded with RANKFEED_SPLIT_SPECIAL_TOKENS */
  uint32_t prompt_count;
  int32_t default_prompt; /* number of the prompt that stands before every query; -1: none */
  rankfeed_text activation_fn, activation_file; /* the function by its name, and the file that names
                          * it; empty: none does, and it is the sigmoid */
  rankfeed_text refusal;  /* a sentence: why the scores of the folder's model would be others than its
                          * author's; empty: they are not. Encoding its texts is not concerned */
  rankfeed_text note;     /* a sentence for the user; empty: nothing */
} rankfeed_folder_info;

/* Reads the folder; files that are not there say nothing. On failure *out is null. Errors: ARGUMENT, IO,
 * NO_MEMORY; PARSE for files that are no JSON or have values of other types; UNSUPPORTED for a key of
 * tokenizer_config.json that is refused. O(bytes of the files). */
RANKFEED_API rankfeed_status rankfeed_folder_open(const char* path, rankfeed_folder** out,
                                                  rankfeed_builder_error* error);
/* Fills *info (set struct_size first). Errors: ARGUMENT, STRUCT_SIZE. O(1). */
RANKFEED_API rankfeed_status rankfeed_folder_get_info(const rankfeed_folder* folder,
                                                      rankfeed_folder_info* info);
/* The name of a label by its number. Errors: ARGUMENT, NOT_FOUND. O(1). */
RANKFEED_API rankfeed_status rankfeed_folder_label(const rankfeed_folder* folder, uint32_t number,
                                                   rankfeed_text* name);
/* The name of a prompt, and the text to put before a query. Errors: ARGUMENT, NOT_FOUND. O(1). */
RANKFEED_API rankfeed_status rankfeed_folder_prompt(const rankfeed_folder* folder, uint32_t number,
                                                    rankfeed_text* name, rankfeed_text* text);
/* Null is a no-op. O(1). */
RANKFEED_API void rankfeed_folder_free(rankfeed_folder* folder);

/* OBEYED: another value makes other rows, ids or scores, or is refused, or noted where `note` says so. HARMLESS:
 * it changes none. REFUSED: only values that ask for nothing are taken (null, false, empty ones), or `taken`. */
enum { RANKFEED_KEY_OBEYED = 0, RANKFEED_KEY_HARMLESS = 1, RANKFEED_KEY_REFUSED = 2 };

typedef struct {
  uint32_t struct_size;
  uint32_t rule;           /* RANKFEED_KEY_* */
  const char *file, *key;  /* static; "*": every key of the file */
  const char *note, *taken; /* why; the value that is taken, as JSON, or null */
} rankfeed_folder_key;

/* Key number i of the files of folders that transformers or sentence-transformers read, and what becomes
 * of it here. Errors: ARGUMENT, STRUCT_SIZE; NOT_FOUND after the last one. O(1). */
RANKFEED_API rankfeed_status rankfeed_folder_key_at(uint32_t i, rankfeed_folder_key* out);

RANKFEED_END_C

#endif /* RANKFEED_BUILDER_H_ */
