// SPDX-License-Identifier: MIT
// corpus_builder/level.cc: see level.h.
#include "corpus_builder/level.h"

#include <algorithm>

#include "base/narrow.h"
#include "builder/base/model_spec.h"

namespace rankfeed::corpus_builder {

using builder::BuildError;

LevelSlots BuildSlots(const std::vector<corpus::Entry>& entries) {
  LevelSlots level;
  const uint64_t count = corpus::SlotCount(Size32(entries));
  level.slots.resize(count);
  for (const corpus::Entry& entry : entries) {
    uint64_t at = corpus::FirstSlot(entry.hash, count);
    uint32_t probe = 0;
    while (level.slots[at] != 0) {
      if (++probe > corpus::kMaxProbe) {
        throw BuildError(RANKFEED_E_LIMIT,
                         "more than ", corpus::kMaxProbe,
                         " places in a row of the index are taken: were the ids of documents made "
                         "to share a hash?");
      }
      at = at + 1 == count ? 0 : at + 1;
    }
    level.slots[at] = corpus::MakeSlot(entry.hash, entry.offset);
    level.max_probe = std::max(level.max_probe, probe);
  }
  return level;
}

void PendingIndex::Reserve() {
  if (items_.size() >= corpus::kMaxEntries) {
    throw BuildError(RANKFEED_E_LIMIT,
                     "more than ", corpus::kMaxEntries, " documents in one commit");
  }
  if (items_.size() == items_.capacity()) {
    items_.reserve(std::max<size_t>(64, items_.capacity() + items_.capacity() / 2));
  }
  // At most two thirds full. Only live items are in the table.
  if ((uint64_t{live_} + 1) * 3 <= slots_.size() * uint64_t{2}) return;
  std::vector<uint32_t> grown(std::max<size_t>(128, slots_.size() * 2));
  for (uint32_t number = 0; number < items_.size(); ++number) {
    if (items_[number].replaced) continue;
    uint64_t at = corpus::FirstSlot(items_[number].entry.hash, grown.size());
    while (grown[at] != 0) at = at + 1 == grown.size() ? 0 : at + 1;
    grown[at] = number + 1;
  }
  slots_.swap(grown);
}

void PendingIndex::Add(const Item& item, uint32_t replaces) {
  items_.push_back(item);
  const auto number = Size32(items_);
  uint64_t at = corpus::FirstSlot(item.entry.hash, slots_.size());
  const uint32_t wanted = replaces == kNone ? 0 : replaces + 1;
  while (slots_[at] != wanted) at = at + 1 == slots_.size() ? 0 : at + 1;
  slots_[at] = number;
  if (replaces == kNone) {
    ++live_;
  } else {
    items_[replaces].replaced = true;
  }
}

void PendingIndex::Clear() {
  items_.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
  live_ = 0;
}

}  // namespace rankfeed::corpus_builder
