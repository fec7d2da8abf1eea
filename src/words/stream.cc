// SPDX-License-Identifier: MIT
// words/stream.cc: see stream.h.
#include "words/stream.h"

#include <algorithm>

namespace rankfeed::words {

void Stream::Carve(Layout& layout) {
  codes_ = layout.Take<uint16_t>(kCapacity + 1);
  visits_ = layout.Take<Visit>(kCapacity + Lattice::kAhead);
  sum_ = layout.Take<uint64_t>(kCapacity + 1 + Lattice::kMaxChars);
  last_ = layout.Take<uint32_t>(kCapacity + 1);
  second_ = layout.Take<uint64_t>(kCapacity + 1);
  ids_ = layout.Take<int32_t>(kCapacity + 8);
}

void Stream::Solve(const Model& model, const Kernels& kernels,
                   std::span<const Sequence> sequences) {
  const Lattice lattice{model.word_units.data(),
                        model.word_fails.data(),
                        model.word_states.data(),
                        model.word_edges.data(),
                        model.word_config->root_base,
                        codes_,
                        visits_,
                        sum_ + Lattice::kMaxChars,
                        last_,
                        second_};
  kernels.solve(lattice, sequences.data(), static_cast<uint32_t>(sequences.size()));
}

StreamResult Stream::Result(const Model& model, const ExactnessRule& rule,
                            const Sequence& sequence) {
  const uint64_t* const sum = sum_ + Lattice::kMaxChars;
  const int32_t begin = sequence.begin, end = sequence.end;
  uint64_t margin = rule.most_margin();
  int32_t first = end;  // in ids_: every character is at most one id
  bool unknown = false, literal = false;
  for (int32_t node = end; node > begin;) {
    margin = std::min(margin, (second_[node] - sum[node]) >> image::kEdgeCostShift);
    const uint32_t last = last_[node], id = last & image::kEdgeIdMask;
    unknown |= id == image::kEdgeUnknown;
    literal |= id == image::kEdgeLiteral;
    ids_[--first] = static_cast<int32_t>(id);
    node -= static_cast<int32_t>(last >> 24 & 15) + 1;
  }
  const auto steps = static_cast<uint32_t>(end - first);
  StreamResult result{static_cast<uint32_t>(first), steps, {}, unknown, literal};
  result.exact = rule.Make(sum[end] >> image::kEdgeCostShift, margin, steps,
                           static_cast<uint32_t>(end - begin));
  if (unknown) {
    // Consecutive unknown characters are one token.
    constexpr auto kUnknown = static_cast<int32_t>(image::kEdgeUnknown);
    const auto unk_id = static_cast<int32_t>(model.config->unk_id);
    int32_t* out = ids_ + first;
    bool after_unknown = false;
    for (int32_t i = first; i < end; ++i) {
      const bool is_unknown = ids_[i] == kUnknown;
      if (!(is_unknown && after_unknown)) *out++ = is_unknown ? unk_id : ids_[i];
      after_unknown = is_unknown;
    }
    result.count = static_cast<uint32_t>(out - (ids_ + first));
  }
  return result;
}

}  // namespace rankfeed::words
