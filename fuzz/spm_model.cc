// SPDX-License-Identifier: MIT
// fuzz/spm_model.cc: hostile SentencePiece .model files (the property is in model_file.h).
#include "model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0 && data[0] == '{') return 0;  // hf_json's business
  rankfeed::fuzz::TryModelFile(data, size);
  return 0;
}
