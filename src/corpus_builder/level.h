// SPDX-License-Identifier: MIT
// corpus_builder/level.h: makes the index of corpus/format.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "corpus/reader.h"

namespace rankfeed::corpus_builder {

// The slots of a level over entries (distinct document ids), and its longest probe. O(entries).
// Throws BuildError(LIMIT) when an id would need more than kMaxProbe probes.
struct LevelSlots {
  std::vector<corpus::Slot> slots;
  uint32_t max_probe = 0;
};
LevelSlots BuildSlots(const std::vector<corpus::Entry>& entries);

// Documents written since the last commit, by id. Replaced ones drop out.
class PendingIndex {
 public:
  struct Item {
    corpus::Entry entry;
    uint32_t token_count;
    bool removed;   // a tombstone
    bool replaced;  // by a later item
  };
  static constexpr uint32_t kNone = 0xffffffff;

  // The newest item of an id. same_id(item) tells whether an item of equal hash is that id.
  template <class SameId>
  uint32_t Find(uint64_t hash, SameId same_id) const {
    if (slots_.empty()) return kNone;
    for (uint64_t i = corpus::FirstSlot(hash, slots_.size()); slots_[i] != 0;
         i = i + 1 == slots_.size() ? 0 : i + 1) {
      const Item& item = items_[slots_[i] - 1];
      if (item.entry.hash == hash && same_id(item)) return slots_[i] - 1;
    }
    return kNone;
  }
  // Makes room for one Add; after it, Add does not fail. Throws std::bad_alloc, BuildError(LIMIT).
  void Reserve();
  // replaces: the item of the same id that Find gave, or kNone.
  void Add(const Item& item, uint32_t replaces);
  void Clear();

  const std::vector<Item>& items() const { return items_; }
  uint32_t live() const { return live_; }  // items not replaced

 private:
  std::vector<Item> items_;
  std::vector<uint32_t> slots_;  // item number + 1, or 0
  uint32_t live_ = 0;
};

}  // namespace rankfeed::corpus_builder
