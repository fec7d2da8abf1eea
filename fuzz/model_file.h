// SPDX-License-Identifier: MIT
// fuzz/model_file.h: what every model file, however made, must keep to: it is refused with a status
// and a message, or its image verifies, and any text then encodes within bounds, the same with and
// without offsets (plain and fast path), and decodes. Reading it
// costs no more than load_cost.h allows.
#pragma once

#include "engine.h"
#include "load_cost.h"

namespace rankfeed::fuzz {

inline void TryModel(const rankfeed_model* model) {
  using namespace std::string_view_literals;
  Encoder plain(model, 96, true, 0), fast(model, 96, false, 4096);
  for (const std::string_view text :
       {""sv, "hello  world \t"sv, "\xff\x00\xe2\x96"sv,
        "e\xcc\x81\xef\xbc\xa1\xcc\x81 \xe2\x96\x81</s>aaaaaaaaaaaa"sv}) {
    const ExactText exact(text);
    const Tokens a = plain.Encode(exact.view()), b = fast.Encode(exact.view());
    FUZZ_ASSERT(a.status == RANKFEED_OK || a.status == RANKFEED_E_UNK_ID);
    FUZZ_ASSERT(a.status == b.status && a.ids == b.ids);
    for (size_t i = 0; i < a.ids.size(); ++i) {
      FUZZ_ASSERT(a.begin[i] <= a.end[i] && a.end[i] <= text.size());
    }
    std::string decoded;
    if (a.ids.size() <= 96) FUZZ_ASSERT(plain.Decode(a.ids, 0, &decoded) == RANKFEED_OK);
  }
}

inline void TryModelFile(std::span<const uint8_t> file, const char* preset = nullptr) {
  ++counters.executions;
  rankfeed_builder_error error;
  LoadCost cost(file.size());
  const auto model =
      Compile({reinterpret_cast<const char*>(file.data()), file.size()}, &error,
              RANKFEED_PARITY_AUTO, preset);
  cost.Done(model != nullptr ? model->size() : 0);
  if (model == nullptr) return;
  ++counters.accepted;
  TryModel(model->get());
}

// Good files to damage, made once: compiling one takes longer than refusing hundreds.
class Pool {
 public:
  template <class Make>
  const Bytes& Pick(Random& random, const Make& make) {
    constexpr size_t kFiles = 64;
    constexpr size_t kUses = 20000;  // then the next generation
    if (files_.empty() || ++uses_ % kUses == 0) {
      files_.clear();
      for (size_t i = 0; i < kFiles; ++i) files_.push_back(make());
    }
    return files_[random.Below(files_.size())];
  }

 private:
  std::vector<Bytes> files_;
  size_t uses_ = 0;
};

inline Bytes ToBytes(std::string_view text) {
  return {text.begin(), text.end()};
}

}  // namespace rankfeed::fuzz
