// SPDX-License-Identifier: MIT
// fast/cache.h: segments seen before, with their ids. Direct mapped to lines of 64 bytes, in
// the encoder's scratch, never shared. A line holds two short segments of few ids, as most are, or
// one long one. A segment may have another line besides, for when the first has no room for it. A new
// short one takes the first place and the one there the second. An entry is a pure function of the
// model and the segment, but for a word's cuts, which may not be known yet (word_cuts.h): the content of the cache cannot
// change a result, only the time it takes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/layout.h"
#include "fast/key.h"
#include "models/found.h"

namespace rankfeed::fast {

union alignas(64) CacheLine {
  static constexpr uint32_t kMaxIds = Found::kMaxIds;
  // In the tag of a long entry, so that the two kinds are never taken for each other.
  static constexpr uint64_t kLongTag = 0x40;

  struct Short {
    static constexpr uint32_t kMaxBytes = 15, kMaxIds = 3;
    uint64_t key[2];  // of the SegmentKey, whose other parts are 0; all zero in unused entries
    int32_t ids[kMaxIds];
    image::PathInfo info;
  } shorts[2];
  struct Long {
    uint64_t key[4];  // of the SegmentKey, with kLongTag
    uint32_t no_tag;  // 0, where the second short entry would have its tag
    image::PathInfo info;
    int32_t ids[CacheLine::kMaxIds];

    bool Has(const SegmentKey& of) const {
      return ((key[0] ^ of.part[0] ^ kLongTag) | (key[1] ^ of.part[1]) | (key[2] ^ of.part[2]) |
              (key[3] ^ of.part[3])) == 0;
    }
  } whole;

  bool empty() const { return shorts[0].key[0] == 0; }
  bool HasRoom(bool is_long) const {
    return empty() || (!is_long && ((shorts[0].key[0] & kLongTag) | (shorts[1].key[0] & 0xff)) == 0);
  }
};
static_assert(sizeof(CacheLine) == 64);

class SegmentCache {
 public:
  // Takes as many lines as cache_bytes holds, rounded down to a power of two. A cache of none keeps one
  // that is never written, so that looking up needs no test.
  void Carve(Layout& layout, uint32_t cache_bytes) {
    const uint32_t lines = std::bit_floor(cache_bytes / static_cast<uint32_t>(sizeof(CacheLine)));
    enabled_ = lines != 0;
    mask_ = enabled_ ? lines - 1 : 0;
    lines_ = layout.Take<CacheLine>(size_t{mask_} + 2);  // ids are read beyond the last
  }

  void Clear() {
    for (uint32_t i = 0; i <= mask_; ++i) {
      for (CacheLine::Short& entry : lines_[i].shorts) entry.key[0] = 0;
    }
  }

  // Sets the info of the entry that ids of a segment lie in, if they lie in the cache.
  void SetInfo(const Found& found) {
    const auto at = reinterpret_cast<uintptr_t>(found.ids) - reinterpret_cast<uintptr_t>(lines_);
    if (at >= (uintptr_t{mask_} + 1) * sizeof(CacheLine)) return;
    CacheLine& line = lines_[at / sizeof(CacheLine)];
    CacheLine::Short* const entry = line.shorts;
    (found.ids == line.whole.ids ? line.whole.info : entry[found.ids != entry->ids].info) = found.info;
  }

  bool enabled() const { return enabled_; }
  CacheLine* lines() const { return lines_; }
  uint32_t mask() const { return mask_; }

 private:
  CacheLine* lines_ = nullptr;
  uint32_t mask_ = 0;
  bool enabled_ = false;
};

// Keeps a segment of up to CacheLine::kMaxIds ids, as many of which are read, in one of its lines.
inline void Keep(const SegmentKey& key, const int32_t* ids, image::PathInfo info, CacheLine* line, CacheLine* other) {
  const bool is_long = key.size() > CacheLine::Short::kMaxBytes || info.count > CacheLine::Short::kMaxIds;
  if (other != line && !line->HasRoom(is_long) && other->HasRoom(is_long)) line = other;
  if (is_long) {
    CacheLine::Long& entry = line->whole;
    std::memcpy(entry.key, key.part, sizeof(entry.key));
    entry.key[0] |= CacheLine::kLongTag;
    entry.no_tag = 0;
    entry.info = info;
    std::memcpy(entry.ids, ids, sizeof(entry.ids));
    return;
  }
  CacheLine::Short &first = line->shorts[0], &second = line->shorts[1];
  // In the place of a long one there is no second. The same segment again takes no second place.
  const bool was_long = (first.key[0] & CacheLine::kLongTag) != 0;
  if (!was_long && (first.key[0] != key.part[0] || first.key[1] != key.part[1])) second = first;
  std::memcpy(first.key, key.part, sizeof(first.key));
  std::memcpy(first.ids, ids, sizeof(first.ids));
  first.info = info;
}

}  // namespace rankfeed::fast
