// SPDX-License-Identifier: MIT
// words/stream.cc: see stream.h.
#include "words/stream.h"

#include <algorithm>

namespace rankfeed::words {

void Stream::Carve(Layout& layout) {
  codes_ = layout.Take<uint16_t>(kCapacity + kRow + 1);
  best_ = layout.Take<uint64_t>(kCapacity + 2 * kRow);
  second_ = layout.Take<uint64_t>(kCapacity + 2 * kRow);
  rows_ = layout.Take<uint64_t>(Lattice::kPositions * size_t{kRow});
  walkers_ = layout.Take<uint64_t>(Lattice::kPositions + 1);
  ids_ = layout.Take<int32_t>(kCapacity + 8);
}

void Stream::Solve(const Model& model, const Kernels& kernels) {
  std::fill_n(codes_ + size_, kRow + 1, uint16_t{0});
  best_[0] = 0;
  for (uint32_t i = 0; i < size_; ++i) {
    best_[i + 1] = codes_[i] == 0 ? 0 : Lattice::kNone;
    second_[i + 1] = Lattice::kNone;
  }
  std::fill_n(best_ + size_ + 1, kRow + 1, Lattice::kNone);
  std::fill_n(second_ + size_ + 1, kRow + 1, Lattice::kNone);
  for (uint32_t begin = 0; begin < size_; begin += Lattice::kPositions) {
    const Lattice lattice{model.word_units.data(), model.word_config->first_unit,
                          codes_ + begin,          best_ + begin,
                          second_ + begin,         rows_,
                          walkers_};
    kernels.solve(lattice, std::min(Lattice::kPositions, size_ - begin));
  }
}

StreamResult Stream::Result(const Model& model, uint32_t begin, uint32_t end) {
  // Units first, from the back of the room that ids may need, so that their ids can be fetched
  // ahead: every character is at most one id.
  const uint32_t* const unit_ids = model.word_unit_ids.data();
  int32_t* const ids = ids_ + ids_size_;
  const uint32_t chars = end - begin;
  uint32_t at = chars;  // in ids
  uint64_t margin = ~uint64_t{0};
  uint32_t steps = 0;
  for (uint32_t node = end; node > begin;) {
    const uint64_t best = best_[node];
    margin = std::min(margin, (second_[node] >> 28) - (best >> 28));
    const uint32_t unit = static_cast<uint32_t>(best) & 0xffffff;
    __builtin_prefetch(unit_ids + unit);
    ids[--at] = static_cast<int32_t>(unit);
    ++steps;
    node -= static_cast<uint32_t>(best >> 24 & 15) + 1;
  }
  StreamResult result{ids_size_, 0, {}, false, false};
  result.exact = MakeExactness((best_[end] - best_[begin]) >> 28, margin, steps, chars,
                               model.word_config->cost_unit, !model.huggingface());
  const uint32_t unk_id = model.config->unk_id;
  bool after_unknown = false;
  for (; at < chars; ++at) {
    const uint32_t id = unit_ids[ids[at]];
    const bool unknown = id == image::kUnitUnknown;
    result.literal |= id == image::kUnitLiteral;
    result.unknown |= unknown;
    // Consecutive unknown characters are one token.
    ids[result.count] = static_cast<int32_t>(unknown ? unk_id : id);
    result.count += !(unknown & after_unknown);
    after_unknown = unknown;
  }
  ids_size_ += result.count;
  return result;
}

}  // namespace rankfeed::words
