/* SPDX-License-Identifier: MIT
 * Scores rows of ids on the CPU with the cross-encoder of a folder: a row a line on standard input, ids
 * and blanks; a logit a line on standard output, with the digits that tell floats apart. Rows are packed
 * into one batch. For a machine that has the library alone (scripts/aarch64.sh). */
#include <rankfeed/crossencoder.h>

#include <stdio.h>
#include <stdlib.h>

enum { kRows = 256, kTokens = 1 << 16 };
static int32_t ids[kTokens], types[kTokens], ends[kRows + 1];
static float logits[kRows];

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rankfeed_crossencoder* model = NULL;
  rankfeed_crossencoder_error error = {.struct_size = sizeof error};
  if (rankfeed_crossencoder_open(argv[1], NULL, &model, &error)) {
    return fprintf(stderr, "%s\n", error.message), 1;
  }
  uint32_t rows = 0, longest = 0;
  int32_t tokens = 0, id = 0;
  char end = '\n';
  while (rows < kRows && tokens < kTokens && scanf("%d%c", &id, &end) == 2) {
    ids[tokens++] = id;
    if (end != '\n') continue;
    const uint32_t size = (uint32_t)(tokens - ends[rows]);
    longest = size > longest ? size : longest;
    ends[++rows] = tokens;
  }
  rankfeed_packed_batch batch = {.struct_size = sizeof batch,
                                 .rows = rows,
                                 .tokens = (uint32_t)ends[rows],
                                 .max_seqlen = longest,
                                 .input_ids = ids,
                                 .cu_seqlens = ends,
                                 .token_type_ids = types};
  rankfeed_mem_req need;
  if (rankfeed_crossencoder_workspace(model, rows, batch.tokens, longest, &need)) return 3;
  void* workspace = aligned_alloc(
      need.alignment, (need.size + need.alignment - 1) / need.alignment * need.alignment);
  if (rankfeed_crossencoder_score(model, &batch, workspace, need.size, logits)) return 4;
  for (uint32_t i = 0; i < rows; ++i) printf("%.9g\n", logits[i]);
  free(workspace);
  rankfeed_crossencoder_close(model);
  return 0;
}
