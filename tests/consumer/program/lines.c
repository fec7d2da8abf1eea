/* The runtime alone, from C: ids of each line of standard input with special tokens, a line each,
 * as `rankfeed encode --special` prints them. */
#define _POSIX_C_SOURCE 200809L
#include <rankfeed/rankfeed.h>
#include <stdio.h>
#include <stdlib.h>

static void* allocate(rankfeed_mem_req need) {
  return aligned_alloc(need.alignment, (need.size + need.alignment - 1) & ~(need.alignment - 1));
}

int main(int argc, char** argv) {
  rankfeed_mapping image;
  if (argc < 2 || rankfeed_image_map(argv[1], &image, NULL) != RANKFEED_OK) return 2;
  rankfeed_mem_req need = rankfeed_model_mem_req();
  void* storage = allocate(need);
  rankfeed_model* model;
  if (rankfeed_model_open(image.data, image.size, 0, storage, need.size, &model, NULL)) return 3;
  enum { kLongest = 1 << 20 };
  rankfeed_limits limits = {
      .struct_size = sizeof limits, .max_text_bytes = kLongest, .cache_bytes = 1 << 18};
  if (rankfeed_encoder_mem_req(model, &limits, &need) != RANKFEED_OK) return 4;
  void* scratch = allocate(need);
  rankfeed_encoder* encoder;
  if (rankfeed_encoder_init(model, &limits, scratch, need.size, &encoder) != RANKFEED_OK) return 5;
  rankfeed_encode_options options = {.struct_size = sizeof options,
                                     .flags = RANKFEED_ADD_SPECIAL_TOKENS};
  int32_t* ids = malloc(sizeof(int32_t) * kLongest);
  char* line = NULL;
  size_t capacity = 0;
  for (ssize_t size; (size = getline(&line, &capacity, stdin)) >= 0;) {
    if (size > 0 && line[size - 1] == '\n') --size;
    rankfeed_encoding io = {.struct_size = sizeof io, .capacity = kLongest, .input_ids = ids};
    rankfeed_text text = {line, (size_t)size};
    if (rankfeed_encode(encoder, text, &options, &io) != RANKFEED_OK) return 6;
    for (uint32_t i = 0; i < io.count; ++i) printf(i == 0 ? "%d" : " %d", ids[i]);
    printf("\n");
  }
  free(line);
  free(ids);
  free(scratch);
  free(storage);
  rankfeed_image_unmap(&image);
  return 0;
}
