// SPDX-License-Identifier: MIT
// fast/look_up.cc: see look_up.h.
#include "fast/look_up.h"

#include <algorithm>

#include "fast/kernels/kernels.h"

namespace rankfeed::fast {

void LookUp::Scratch::Carve(Layout& layout, uint32_t cache_bytes) {
  cache.Carve(layout, cache_bytes);
  constexpr uint32_t kEntries = kMaxBatch + kVectorSlack;
  batch.keys = layout.Take<SegmentKey>(kEntries);
  for (uint64_t*& part : batch.parts) part = layout.Take<uint64_t>(kEntries);
  batch.hashes = layout.Take<uint64_t>(kEntries);
  batch.hits = layout.Take<int32_t>(kEntries);
  batch.found = layout.Take<Found>(kEntries);
  batch.lacking = layout.Take<uint16_t>(kEntries);
  batch.misses = layout.Take<uint16_t>(kEntries);
  slots = layout.Take<uint16_t>(kRepeatSlots);
  repeats = layout.Take<Repeat>(kEntries);
  inserts = layout.Take<uint16_t>(kEntries);
}

void LookUp::Miss() {
  scratch_.batch.misses[0] = 0;
  miss_count_ = 1;
  repeat_count_ = 0;
}

void LookUp::Run(SegmentQueue& queue, uint32_t count) {
  // Looked up at once: what that fetches stays in the first level cache.
  constexpr uint32_t kTogether = 128;
  const KernelTable& kernels = count < kFewSegments ? *kernels_.few : kernels_;
  const LookUpBatch& batch = scratch_.batch;
  const Segments segments = queue.segments();
  const auto match_table = words_ ? kernels.match_words : kernels.match_table;
  SegmentQueue::Place next = queue.next_text();
  repeat_count_ = 0;
  uint32_t run = 0, lacking = 0;
  for (uint32_t begin = 0, made = 0; begin < count; begin = made) {
    const uint32_t end = std::min(count, begin + kTogether);
    while (made < end) {
      const SegmentRun& of = queue.RunOf(made, &run);
      const uint32_t size = std::min(queue.end(of), end) - made;
      kernels.make_keys(tables_, of.stretch.data(), of.stretch.size() + of.beyond,
                        segments.From(made), size, made, batch);
      made += size;
    }
    if (queue.more()) queue.Fetch(&next);
    lacking = match_table(tables_, begin, end, batch, lacking);
  }
  batch.lacking[lacking] = LookUpBatch::kNoSegment;
  miss_count_ = kernels.match_cache(tables_, batch, lacking);
  if (kernels.match_longs != nullptr) miss_count_ = kernels.match_longs(tables_, batch, miss_count_);
  if (miss_count_ < 2) return;
  // The words that a text is about come several times in a batch.
  batch.keys[kMaxBatch] = {{SegmentKey::Tag(0x7f, false), 0, 0, 0}};  // equals no segment, for slots that are empty
  miss_count_ = kernels.find_repeats(batch, kMaxBatch, miss_count_, scratch_.slots,
                                     scratch_.repeats, &repeat_count_);
}

void LookUp::ForgetRepeats(uint32_t k) {
  uint16_t* const misses = scratch_.batch.misses;
  Repeat* const repeats = scratch_.repeats;
  const uint16_t first = misses[k];
  const uint32_t count = repeat_count_;
  repeat_count_ = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (repeats[i].of < first) {
      repeats[repeat_count_++] = repeats[i];
    } else {
      misses[miss_count_++] = repeats[i].segment;
    }
  }
  std::sort(misses + k + 1, misses + miss_count_);
}

void LookUp::Insert() {
  const LookUpBatch batch = scratch_.batch;
  const LookUpTables tables = tables_;
  const uint16_t* const inserts = scratch_.inserts;
  const uint32_t count = scratch_.cache.enabled() ? insert_count_ : 0;
  for (uint32_t k = 0; k < count; ++k) {
    const uint32_t i = inserts[k];
    const SegmentKey& key = batch.keys[i];
    if (key.size() > SegmentKey::kMaxBytes) continue;
    const Found& found = batch.found[i];
    Keep(key, found.ids, found.info, tables.Line(batch.hashes[i]), tables.OtherLine(batch.hashes[i]));
  }
  insert_count_ = 0;
}

}  // namespace rankfeed::fast
