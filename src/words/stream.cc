// SPDX-License-Identifier: MIT
// words/stream.cc: see stream.h.
#include "words/stream.h"

#include <algorithm>

namespace rankfeed::words {

void Stream::Carve(Layout& layout) {
  codes_ = layout.Take<uint16_t>(kCapacity + 1);
  visits_ = layout.Take<Visit>(kCapacity + Lattice::kAhead);
  sum_ = layout.Take<uint64_t>(kCapacity + 1 + Lattice::kMaxChars);
  nodes_ = layout.Take<image::WordNode>(kCapacity + 1);
  ids_ = layout.Take<int32_t>(kCapacity + 8);
}

void Stream::Solve(const Model& model, const Kernels& kernels,
                   std::span<const Sequence> sequences) {
  const Lattice lattice{model.word_units.data(),
                        model.word_fails.data(),
                        model.word_states.data(),
                        model.word_edges.data(),
                        model.word_begins.data(),
                        model.config->code_count,
                        codes_,
                        visits_,
                        sum_ + Lattice::kMaxChars,
                        nodes_};
  kernels.solve(lattice, sequences.data(), static_cast<uint32_t>(sequences.size()));
}

StreamResult Stream::Result(const Model& model, const ExactnessRule& rule,
                            const Sequence& sequence) {
  const int32_t begin = sequence.begin, end = sequence.end;
  uint32_t margin = rule.most_margin(), special = 0;
  int32_t* const ids = ids_ + 1;
  int32_t first = end;  // in ids: every character is at most one id
  // Three tokens at a time, past the first too: how many there are follows no pattern that a branch
  // predictor could learn.
  for (int32_t node = end; node > begin;) {
    for (int k = 0; k < 3; ++k) {
      const uint32_t more = node > begin ? ~uint32_t{0} : 0;
      const image::WordNode& at = nodes_[node];
      const uint32_t id = image::EdgeId(at.last) & more;
      margin = std::min(margin, at.margin | ~more);
      special = std::max(special, id);
      ids[first - 1] = static_cast<int32_t>(id);
      first += static_cast<int32_t>(more);
      node -= static_cast<int32_t>(image::EdgeChars(at.last) & more);
    }
  }
  bool unknown = false, literal = false;
  if (special >= image::kEdgeLiteral) [[unlikely]] {
    for (int32_t i = first; i < end; ++i) {
      unknown |= ids[i] == int32_t{image::kEdgeUnknown};
      literal |= ids[i] == int32_t{image::kEdgeLiteral};
    }
  }
  const auto steps = static_cast<uint32_t>(end - first);
  StreamResult result{static_cast<uint32_t>(first), steps, {}, unknown, literal};
  result.exact = rule.Make(sum_[Lattice::kMaxChars + end] >> image::kEdgeCostShift, margin, steps,
                           static_cast<uint32_t>(end - begin));
  if (unknown) {
    // Consecutive unknown characters are one token.
    constexpr auto kUnknown = static_cast<int32_t>(image::kEdgeUnknown);
    const auto unk_id = static_cast<int32_t>(model.config->unk_id);
    int32_t* out = ids + first;
    bool after_unknown = false;
    for (int32_t i = first; i < end; ++i) {
      const bool is_unknown = ids[i] == kUnknown;
      if (!(is_unknown && after_unknown)) *out++ = is_unknown ? unk_id : ids[i];
      after_unknown = is_unknown;
    }
    result.count = static_cast<uint32_t>(out - (ids + first));
  }
  return result;
}

}  // namespace rankfeed::words
