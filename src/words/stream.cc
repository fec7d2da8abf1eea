// SPDX-License-Identifier: MIT
// words/stream.cc: see stream.h.
#include "words/stream.h"

#include <algorithm>

namespace rankfeed::words {

void Stream::Carve(Layout& layout) {
  codes_ = layout.Take<uint16_t>(kCapacity + kRow);
  best_ = layout.Take<uint64_t>(kCapacity + kRow + 1);
  second_ = layout.Take<uint64_t>(kCapacity + kRow + 1);
  rows_ = layout.Take<uint64_t>(kWindow * kRow);
  row_size_ = layout.Take<uint8_t>(kWindow);
  walkers_ = layout.Take<uint64_t>(kWindow);
  ids_ = layout.Take<int32_t>(kCapacity + 8);
}

void Stream::Solve(const Model& model) {
  for (uint32_t i = 0; i < kRow; ++i) codes_[size_ + i] = 0;
  best_[0] = 0;
  for (uint32_t i = 0; i < size_; ++i) {
    best_[i + 1] = codes_[i] == 0 ? 0 : kNone;
    second_[i + 1] = kNone;
  }
  for (uint32_t i = 1; i < kRow; ++i) best_[size_ + i] = second_[size_ + i] = kNone;
  for (uint32_t begin = 0; begin < size_; begin += kWindow) {
    const uint32_t end = std::min(size_, begin + kWindow);
    Walk(model, begin, end);
    Search(begin, end);
  }
}

void Stream::Walk(const Model& model, uint32_t begin, uint32_t end) {
  const uint64_t* units = model.word_units.data();
  const uint32_t first_unit = model.word_config->first_unit;
  uint32_t live = 0;
  for (uint32_t i = begin; i < end; ++i) {
    const uint32_t code = codes_[i], next = codes_[i + 1], row = i - begin;
    const uint32_t unit = first_unit + code;
    const uint64_t u = units[unit];
    uint64_t* const edges = rows_ + size_t{row} * kRow;
    // Four entries at least, so that the search runs four without looking at the size.
    edges[0] = code == 0 ? kNone : u >> 40 << 28 | unit;
    edges[1] = edges[2] = edges[3] = kNone;
    row_size_[row] = 1;
    const uint32_t base = trie::Base(u);
    walkers_[live] = (base + next) | uint64_t{row} << 32;
    live += (base != 0) & (next != 0);
    __builtin_prefetch(units + base + next);
  }
  // A real trie is at most kRow deep; the bound holds for a crafted one too.
  for (uint32_t depth = 1; live != 0 && depth < kRow; ++depth) {
    const uint16_t* const codes = codes_ + begin + depth;
    const uint32_t count = live;
    live = 0;
    for (uint32_t k = 0; k < count; ++k) {
      const auto unit = static_cast<uint32_t>(walkers_[k]);
      const auto row = static_cast<uint32_t>(walkers_[k] >> 32);
      const uint64_t u = units[unit];
      const uint32_t code = codes[row], next = codes[row + 1];
      const bool found = trie::Label(u) == code;
      const uint64_t cost = u >> 40;
      const uint32_t size = row_size_[row];
      rows_[size_t{row} * kRow + size] = found & (cost != image::kNoCost)
                                             ? cost << 28 | uint64_t{depth} << 24 | unit
                                             : kNone;
      row_size_[row] = static_cast<uint8_t>(size + (found & (cost != image::kNoCost)));
      const uint32_t base = trie::Base(u);
      walkers_[live] = (base + next) | uint64_t{row} << 32;
      live += found & (base != 0) & (next != 0);
      __builtin_prefetch(units + base + next);
    }
  }
}

void Stream::Search(uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) {
    const uint64_t sum = best_[i] & kSumMask;
    const uint64_t* const edges = rows_ + size_t{i - begin} * kRow;
    const auto relax = [&](uint64_t edge) {
      const uint64_t candidate = sum + edge;
      const uint32_t node = i + 1 + static_cast<uint32_t>(edge >> 24 & 15);
      const uint64_t best = best_[node];
      second_[node] = std::min(second_[node], std::max(best, candidate));
      best_[node] = std::min(best, candidate);
    };
    for (uint32_t k = 0; k < 4; ++k) relax(edges[k]);
    for (uint32_t k = 4; k < row_size_[i - begin]; ++k) relax(edges[k]);
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
