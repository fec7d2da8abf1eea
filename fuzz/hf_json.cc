// SPDX-License-Identifier: MIT
// fuzz/hf_json.cc: hostile tokenizer.json files (the property is in model_file.h).
#include "model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || data[0] != '{') return 0;
  rankfeed::fuzz::TryModelFile(data, size);
  return 0;
}
