/* SPDX-License-Identifier: MIT
 * A program in C with the cross-encoder's and the counters' libraries: scores two packed rows of
 * ids on the CPU, and writes a request to a trace. Arguments: model folder, trace file that does
 * not exist yet. */
#include <rankfeed/counters.h>
#include <rankfeed/crossencoder.h>
#include <rankfeed/recorder.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  rankfeed_crossencoder* model = NULL;
  rankfeed_crossencoder_error error = {.struct_size = sizeof error};
  if (rankfeed_crossencoder_open(argv[1], NULL, &model, &error)) {
    return fprintf(stderr, "%s\n", error.message), 1;
  }
  const int32_t ids[] = {0, 100, 2, 2, 100, 2, 0, 100, 2, 2, 31000, 2};
  const int32_t types[] = {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1};
  const int32_t cu_seqlens[] = {0, 6, 12};
  rankfeed_packed_batch batch = {.struct_size = sizeof batch,
                                 .rows = 2,
                                 .tokens = 12,
                                 .max_seqlen = 6,
                                 .input_ids = ids,
                                 .cu_seqlens = cu_seqlens,
                                 .token_type_ids = types};
  rankfeed_mem_req need;
  if (rankfeed_crossencoder_workspace(model, 2, 12, 6, &need)) return 3;
  void* workspace = aligned_alloc(
      need.alignment, (need.size + need.alignment - 1) / need.alignment * need.alignment);
  float logits[2] = {NAN, NAN};
  if (rankfeed_crossencoder_score(model, &batch, workspace, need.size, logits)) return 4;
  printf("scores %g %g\n", logits[0], logits[1]);
  if (!isfinite(logits[0]) || !isfinite(logits[1]) || logits[0] == logits[1]) return 5;

  rankfeed_recorder* recorder = NULL;
  if (rankfeed_recorder_open(argv[2], NULL, &recorder)) return 6;
  const rankfeed_text query = {"What is a panda?", 16}, candidate = {"A bear.", 7};
  if (rankfeed_recorder_add(recorder, 0, query, &candidate, 1)) return 7;
  if (rankfeed_recorder_count(recorder) != 1 || rankfeed_recorder_close(recorder)) return 8;
  if (strcmp(rankfeed_counter_name(RANKFEED_COUNTER_CYCLES), "cycles") != 0) return 9;
  free(workspace);
  rankfeed_crossencoder_close(model);
  return 0;
}
