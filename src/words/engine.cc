// SPDX-License-Identifier: MIT
// words/engine.cc: see engine.h.
#include "words/engine.h"

#include <algorithm>
#include <cstring>

#include "general/hf_encode.h"
#include "segment/kernels/kernels.h"
#include "segment/scan.h"

namespace rankfeed::words {

using segment::CacheLine;
using segment::Found;
using segment::SegmentRun;
using segment::Segments;

namespace {

// Stops the loop that writes ids: there are more than it copies, or none yet.
constexpr image::PathInfo Stops(uint32_t count) { return {static_cast<uint8_t>(count), 0, 1}; }

}  // namespace

void Scratch::Carve(Layout& layout, const Model& model, uint32_t cache_bytes) {
  look_up.Carve(layout, cache_bytes);
  speller.Carve(layout, model);
  ids = layout.Take<int32_t>(Engine::kMaxIds + CacheLine::kMaxIds);
  queue.Carve(layout);
}

Engine::Engine(const Model& model, const segment::KernelTable& kernels, const ByteSet& stop_bytes,
               const segment::NormalizedTokens& normalized_tokens, const segment::Cuts& cuts,
               general::Scratch& general, Scratch& scratch)
    : model_(model),
      kernels_(kernels),
      classes_(segment::SegmentScanner::ClassesOf(*model.segment.config, stop_bytes,
                                                  normalized_tokens.first_bytes())),
      queue_(model, kernels, classes_, scratch.queue, normalized_tokens, cuts),
      look_up_(model, kernels, scratch.look_up),
      speller_(model, scratch.speller),
      looks_for_normalized_(!normalized_tokens.empty()),
      general_(general),
      scratch_(scratch) {}

rankfeed_status Engine::Encode(const segment::Texts& texts, uint32_t flags, TokenSink* sink,
                               rankfeed_road_counts* roads) {
  texts_ = &texts;
  sink_ = sink;
  roads_ = roads;
  flags_ = flags;
  done_ = 0;
  last_left_ = texts.texts.size();
  left_texts_ = left_bytes_ = 0;
  text_begin_ = stretch_begin_ = sink->count;
  queue_.Start(texts.texts, texts.added, /*parts=*/false);
  for (;;) {
    if (queue_.waiting() < kBatch && queue_.has_room()) queue_.Fill(kBatch);
    if (queue_.empty()) return RANKFEED_OK;
    if (sink_->count >= TokenSink::kMost) return RANKFEED_E_LIMIT;
    const uint32_t count = queue_.BeforeLeaving(std::min(queue_.waiting(), kBatch));
    count != 0 ? look_up_.Run(queue_, count) : look_up_.Skip();
    SpellMisses(count);
    bool left = false;
    const rankfeed_status status = EmitBatch(count, &left);
    look_up_.Insert();
    if (status != RANKFEED_OK) return status;
    if (!left) queue_.PopSegments(count);
  }
}

// Spells what neither table has and what there is room for; what is like it in the batch is the same.
void Engine::SpellMisses(uint32_t count) {
  Found* const found = look_up_.found_to_write();
  uint16_t* const inserts = look_up_.inserts();
  uint32_t insert_count = 0;
  TokenSink ids{scratch_.ids, nullptr, nullptr, kMaxIds, 0};
  for (uint32_t k = 0; k < look_up_.miss_count(); ++k) {
    const uint32_t i = look_up_.misses()[k];
    const segment::SegmentKey& key = look_up_.keys()[i];
    found[i] = {nullptr, 0, Stops(0)};
    if (key.size() > segment::SegmentKey::kMaxBytes || kMaxIds - ids.count < kMostOfOne) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(key.part) + 1, key.size());
    const uint32_t first = ids.count;
    const Speller::Outcome outcome = speller_.Spell(bytes, 0, &ids);
    const uint32_t size = ids.count - first;
    if (outcome.general || outcome.missing || size > 255) {
      ids.count = first;
      continue;
    }
    if (size > CacheLine::kMaxIds) {
      found[i] = {scratch_.ids + first, 0, Stops(size)};
      continue;
    }
    const bool covers_all = size == 1 && !outcome.gaps;
    found[i] = {scratch_.ids + first, 0,
                {static_cast<uint8_t>(size), kHoldsAlways, covers_all ? kCoversAll : uint16_t{0}}};
    inserts[insert_count++] = static_cast<uint16_t>(i);
  }
  look_up_.SetInserts(insert_count);
  for (const segment::Repeat& repeat : look_up_.repeats()) {
    if (repeat.segment < count) found[repeat.segment] = found[repeat.of];
  }
}

// Segments [0, count) in order, and what comes after each run of them. left: a stretch took the general
// path, and the segments before its end are gone from the queue.
rankfeed_status Engine::EmitBatch(uint32_t count, bool* left) {
  const Segments segments = queue_.segments();
  const bool places = sink_->begin != nullptr || sink_->end != nullptr;
  for (; !queue_.empty(); queue_.PopRun()) {
    SegmentRun& run = queue_.front();
    const uint32_t begin = queue_.begin(run), end = queue_.end(run);
    if (begin > count) break;
    const bool rest = end > count && run.reason == RANKFEED_REASON_NONE;
    if (rest && begin == count) break;
    if ((run.marks & SegmentRun::kBeginsText) != 0) BeginText();
    if ((run.marks & SegmentRun::kBeginsStretch) != 0) stretch_begin_ = sink_->count;
    run.marks &= static_cast<uint8_t>(~(SegmentRun::kBeginsText | SegmentRun::kBeginsStretch));
    rankfeed_status status = RANKFEED_OK;
    if (run.reason == RANKFEED_REASON_NONE) {
      const uint32_t to = rest ? count : end;
      status = places ? EmitSegments<true>(&run, segments, begin, to)
                      : EmitSegments<false>(&run, segments, begin, to);
      if (status != RANKFEED_OK) return status;
      const bool ends = !rest && (run.marks & SegmentRun::kEndsStretch) != 0;
      if (ends && texts_->refuse_special && HoldsSpecial()) run.reason = RANKFEED_REASON_OPTIONS;
    }
    if (run.reason != RANKFEED_REASON_NONE) {
      *left = true;
      return LeaveStretch(run);
    }
    if (rest) break;
    status = EndRun(run);
    if (status != RANKFEED_OK) return status;
  }
  return RANKFEED_OK;
}

// The stretch of the first run takes the general path.
rankfeed_status Engine::LeaveStretch(const SegmentRun& run) {
  sink_->count = stretch_begin_;
  const rankfeed_status status = General(run.stretch, run.reason);
  queue_.DropStretch();
  return status;
}

// What comes after the segments of a run.
rankfeed_status Engine::EndRun(const SegmentRun& run) {
  if (run.token != nullptr) {
    if (texts_->added->refuse_special && (run.token->flags & image::kSpecial) != 0) {
      return RANKFEED_E_SPECIAL_IN_TEXT;
    }
    sink_->Push(run.token->id, run.token_begin, run.token_end);
  }
  if ((run.marks & SegmentRun::kEndsText) != 0) EndText();
  return RANKFEED_OK;
}

// Segments [begin, end) of the run.
template <bool kPlaces>
rankfeed_status Engine::EmitSegments(SegmentRun* run, const Segments& segments,
                                     uint32_t begin, uint32_t end) {
  const Found* const found = look_up_.found();
  for (uint32_t i = begin; i < end; ++i) {
    const uint64_t room = sink_->capacity > sink_->count ? sink_->capacity - sink_->count : 0;
    const auto fits = static_cast<uint32_t>(std::min<uint64_t>(end - i, room / CacheLine::kMaxIds));
    if (!kPlaces && fits != 0) {
      int32_t* out = sink_->ids + sink_->count;
      uint64_t sum = 0;
      i = kernels_.emit(found, i, i + fits, &out, &sum);
      sink_->count = static_cast<uint32_t>(out - sink_->ids);
      if (i == end) break;
    }
    const rankfeed_status status = EmitSegment<kPlaces>(run, segments, i);
    if (status != RANKFEED_OK || run->reason != RANKFEED_REASON_NONE) return status;
  }
  return RANKFEED_OK;
}

// A segment with offsets, or whose ids may not fit, or that was not spelled.
template <bool kPlaces>
rankfeed_status Engine::EmitSegment(SegmentRun* run, const Segments& segments, uint32_t i) {
  const Found& found = look_up_.found()[i];
  const uint32_t offset = OffsetOf(run->stretch) + segments.begin(i);
  if (!kPlaces && found.ids != nullptr) {
    Copy(found.ids, found.info.count);
    return RANKFEED_OK;
  }
  if (kPlaces && found.info.count == 1 && found.info.score_bound == kCoversAll) {
    const uint32_t end = OffsetOf(run->stretch) + segments.ends[i];
    sink_->Push(static_cast<uint32_t>(found.ids[0]), offset, end);
    return RANKFEED_OK;
  }
  const std::string_view bytes = segments.Bytes(run->stretch, i);
  const uint32_t first = sink_->count;
  const Speller::Outcome outcome = speller_.Spell(bytes, offset, sink_);
  if (!outcome.general) return outcome.missing ? RANKFEED_E_UNK_ID : RANKFEED_OK;
  // Its characters may become an added token together with those beside the segment, and a sign that
  // is read with a mark after it a letter of the word before it.
  const bool begins_with_sign = classes_.common.Has(static_cast<uint8_t>(bytes[0]));
  if (looks_for_normalized_ || begins_with_sign) {
    run->reason = RANKFEED_REASON_CHARACTER;
    return RANKFEED_OK;
  }
  sink_->count = first;
  return General(bytes, RANKFEED_REASON_CHARACTER);
}

void Engine::Copy(const int32_t* ids, uint32_t count) {
  if (uint64_t{sink_->count} + count <= sink_->capacity) {
    std::memcpy(sink_->ids + sink_->count, ids, count * sizeof(int32_t));
    sink_->count += count;
    return;
  }
  for (uint32_t i = 0; i < count; ++i) sink_->Push(static_cast<uint32_t>(ids[i]), 0, 0);
}

// A stretch, or a segment of one: bytes of the text that is being encoded.
rankfeed_status Engine::General(std::string_view bytes, rankfeed_reason reason) {
  roads_[reason].texts += last_left_ != done_;
  roads_[reason].bytes += bytes.size();
  left_texts_ += last_left_ != done_;
  left_bytes_ += bytes.size();
  last_left_ = done_;
  const rankfeed_text& text = texts_->texts[done_];
  const uint32_t begin = OffsetOf(bytes);
  general::CarriedScore score = {};
  return general::EncodeHuggingFaceStretch(model_, general_, {text.data, text.size}, begin,
                                           begin + static_cast<uint32_t>(bytes.size()), false,
                                           flags_, *sink_, &score);
}

// Bytes of the text that is being encoded: where they begin in it.
uint32_t Engine::OffsetOf(std::string_view bytes) const {
  return static_cast<uint32_t>(bytes.data() - texts_->texts[done_].data);
}

void Engine::BeginText() {
  text_begin_ = sink_->count;
  for (const uint32_t id : texts_->before) sink_->Push(id, 0, 0);
}

void Engine::EndText() {
  for (const uint32_t id : texts_->after) sink_->Push(id, 0, 0);
  if (texts_->ends != nullptr) texts_->ends[done_] = sink_->count;
  ++done_;
  text_begin_ = sink_->count;
}

// Whether a piece of the stretch is a special token, other than the unknown one.
bool Engine::HoldsSpecial() const {
  for (uint32_t i = stretch_begin_; i < sink_->count; ++i) {
    if (i >= sink_->capacity) return true;  // there are no ids to look at
    const auto id = static_cast<uint32_t>(sink_->ids[i]);
    if (id != model_.config->unk_id && (model_.id_flags[id] & image::kIdSpecial) != 0) return true;
  }
  return false;
}

}  // namespace rankfeed::words
