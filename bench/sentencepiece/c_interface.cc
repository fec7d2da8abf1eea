// SPDX-License-Identifier: MIT
// bench/sentencepiece/c_interface.cc: see c_interface.h. The vector of ids is kept, as a caller in a hurry would.
#include "c_interface.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "config.h"
#include "sentencepiece_processor.h"

#define EXPORTED __attribute__((visibility("default")))

namespace {

struct Processor {
  sentencepiece::SentencePieceProcessor sentencepiece;
  std::vector<int> ids;
};

}  // namespace

EXPORTED const char* bench_sentencepiece_version() { return VERSION; }

EXPORTED void* bench_sentencepiece_load(const char* model) {
  auto processor = std::make_unique<Processor>();
  return processor->sentencepiece.Load(model).ok() ? processor.release() : nullptr;
}

EXPORTED size_t bench_sentencepiece_encode(void* processor, const char* text, size_t size, int32_t* ids, size_t capacity) {
  auto& [sentencepiece, found] = *static_cast<Processor*>(processor);
  if (!sentencepiece.Encode(absl::string_view(text, size), &found).ok() || found.size() > capacity) return SIZE_MAX;
  std::copy(found.begin(), found.end(), ids);
  return found.size();
}
