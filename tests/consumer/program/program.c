/* The runtime alone, from C: maps an image and prints the ids of a text with special tokens. */
#include <rankfeed/rankfeed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* allocate(rankfeed_mem_req need) {
  return aligned_alloc(need.alignment, (need.size + need.alignment - 1) & ~(need.alignment - 1));
}

int main(int argc, char** argv) {
  rankfeed_mapping image;
  if (argc < 3 || rankfeed_image_map(argv[1], &image, NULL) != RANKFEED_OK) return 2;
  rankfeed_mem_req need = rankfeed_model_mem_req();
  void* storage = allocate(need);
  rankfeed_model* model;
  if (rankfeed_model_open(image.data, image.size, 0, storage, need.size, &model, NULL)) return 3;
  rankfeed_limits limits = {.struct_size = sizeof limits, .max_text_bytes = 1 << 16};
  if (rankfeed_encoder_mem_req(model, &limits, &need) != RANKFEED_OK) return 4;
  void* scratch = allocate(need);
  rankfeed_encoder* encoder;
  if (rankfeed_encoder_init(model, &limits, scratch, need.size, &encoder) != RANKFEED_OK) return 5;
  int32_t ids[512];
  rankfeed_encode_options options = {.struct_size = sizeof options,
                                     .flags = RANKFEED_ADD_SPECIAL_TOKENS};
  rankfeed_encoding io = {.struct_size = sizeof io, .capacity = 512, .input_ids = ids};
  rankfeed_text text = {argv[2], strlen(argv[2])};
  if (rankfeed_encode(encoder, text, &options, &io) != RANKFEED_OK) return 6;
  for (uint32_t i = 0; i < io.count; ++i) printf("%d ", ids[i]);
  printf("\n");
  free(scratch);
  free(storage);
  rankfeed_image_unmap(&image);
  return 0;
}
