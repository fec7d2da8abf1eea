// SPDX-License-Identifier: MIT
// fast/words/engine.cc: see engine.h.
#include "fast/words/engine.h"

#include <algorithm>
#include <cstring>

#include "fast/kernels/kernels.h"
#include "fast/scan.h"
#include "reference/hf_encode.h"
#include "reference/hf_trim_offsets.h"

namespace rankfeed::words {

using fast::CacheLine;
using fast::SegmentRun;
using fast::Segments;

void Scratch::Carve(Layout& layout, const Model& model, uint32_t cache_bytes) {
  look_up.Carve(layout, cache_bytes);
  if (model.wordpiece()) speller.Carve(layout, model);
  ids = layout.Take<int32_t>(Engine::kMaxIds + CacheLine::kMaxIds);
  words = layout.Take<fast::MergeWord>(Engine::kBatch);
  queue.Carve(layout);
}

Engine::Engine(const Model& model, const fast::KernelTable& kernels, const ByteSet& stop_bytes,
               const fast::NormalizedTokens& normalized_tokens, const fast::Cuts& cuts,
               const WordPieceSpeller* wordpiece, const MergeSpeller* merges,
               reference::Scratch& general, Scratch& scratch)
    : model_(model),
      kernels_(kernels),
      classes_(fast::SegmentScanner::ClassesOf(*model.segment.config, stop_bytes,
                                                  normalized_tokens.first_bytes())),
      queue_(model, kernels, classes_, scratch.queue, normalized_tokens, cuts),
      look_up_(model, kernels, scratch.look_up),
      wordpiece_(wordpiece),
      merges_(merges),
      trims_(model.has(image::kTrimOffsets)),
      looks_for_normalized_(!normalized_tokens.empty()),
      general_(general),
      scratch_(scratch) {}

rankfeed_status Engine::Encode(const fast::Texts& texts, uint32_t flags, TokenSink* sink,
                               rankfeed_road_counts* roads) {
  call_.Start(texts, flags, sink, roads);
  queue_.Start(texts.texts, texts.added, /*parts=*/false);
  for (;;) {
    if (queue_.waiting() < kBatch && queue_.has_room()) queue_.Fill(kBatch);
    if (queue_.empty()) return RANKFEED_OK;
    if (sink->count >= TokenSink::kMost) return RANKFEED_E_LIMIT;
    const uint32_t count = queue_.BeforeLeaving(std::min(queue_.waiting(), kBatch));
    look_up_.Run(queue_, count);
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
  Found* const found = look_up_.found();
  uint32_t insert_count = 0, word_count = 0;
  TokenSink ids{scratch_.ids, nullptr, nullptr, kMaxIds, 0};
  for (uint32_t k = 0; k < look_up_.miss_count(); ++k) {
    const uint16_t i = look_up_.misses()[k];
    const fast::SegmentKey& key = look_up_.keys()[i];
    found[i] = {};
    if (key.size() > fast::SegmentKey::kMaxBytes || kMaxIds - ids.count < kMostOfOne) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(key.part) + 1, key.size());
    const uint32_t first = ids.count;
    const bool part = (key.part[0] & image::kKeyWordStart) != 0;
    const Outcome outcome = merges_ != nullptr ? merges_->Begin(bytes, part, &ids) : wordpiece_->Spell(bytes, 0, &ids);
    if (outcome.general || outcome.missing) {
      ids.count = first;
    } else {
      scratch_.words[word_count++] = {first, static_cast<uint16_t>(ids.count - first), i, outcome.gaps};
    }
  }
  auto* const symbols = reinterpret_cast<uint32_t*>(scratch_.ids);
  if (merges_ != nullptr) kernels_.merge(merges_->merger(), symbols, scratch_.words, word_count);
  for (const fast::MergeWord& word : std::span(scratch_.words, word_count)) {
    if (word.count > 255) continue;
    const bool keeps = word.count <= CacheLine::kMaxIds, covers_all = word.count == 1 && !word.gaps;
    const uint8_t holds = keeps ? kHoldsAlways : uint8_t{0};
    const uint16_t bound = covers_all ? kCoversAll : uint16_t{0};
    found[word.segment] = {scratch_.ids + word.begin, 0, {static_cast<uint8_t>(word.count), holds, bound}};
    if (keeps) look_up_.inserts()[insert_count++] = word.segment;
  }
  look_up_.SetInserts(insert_count);
  for (const fast::Repeat& repeat : look_up_.repeats()) {
    if (repeat.segment < count) found[repeat.segment] = found[repeat.of];
  }
}

// Segments [0, count) in order, and what comes after each run of them. left: a stretch took the general
// path, and the segments before its end are gone from the queue.
rankfeed_status Engine::EmitBatch(uint32_t count, bool* left) {
  const Segments segments = queue_.segments();
  for (; !queue_.empty(); queue_.PopRun()) {
    SegmentRun& run = queue_.front();
    const uint32_t begin = queue_.begin(run), end = queue_.end(run);
    if (begin > count) break;
    const bool rest = end > count && run.reason == RANKFEED_REASON_NONE;
    if (rest && begin == count) break;
    if ((run.marks & SegmentRun::kBeginsText) != 0) call_.BeginText();
    if ((run.marks & SegmentRun::kBeginsStretch) != 0) call_.BeginStretch();
    run.marks &= static_cast<uint8_t>(~(SegmentRun::kBeginsText | SegmentRun::kBeginsStretch));
    if (run.reason == RANKFEED_REASON_NONE) {
      const rankfeed_status status = EmitSegments(&run, segments, begin, rest ? count : end);
      if (status != RANKFEED_OK) return status;
      const bool ends = !rest && (run.marks & SegmentRun::kEndsStretch) != 0;
      if (ends && call_.texts().refuse_special &&
          call_.HoldsSpecial(model_, model_.config->unk_id)) {
        run.reason = RANKFEED_REASON_OPTIONS;
      }
    }
    if (run.reason != RANKFEED_REASON_NONE) {
      *left = true;
      call_.DropStretch();
      const rankfeed_status status = General(run.stretch, run.reason);
      queue_.DropStretch();
      return status;
    }
    if (rest) break;
    if (run.token != nullptr && !AddToken(run)) return RANKFEED_E_SPECIAL_IN_TEXT;
    if ((run.marks & SegmentRun::kEndsText) != 0) call_.EndText();
  }
  return RANKFEED_OK;
}

// Segments [begin, end) of the run.
rankfeed_status Engine::EmitSegments(SegmentRun* run, const Segments& segments,
                                     uint32_t begin, uint32_t end) {
  const Found* const found = look_up_.found();
  TokenSink& sink = call_.sink();
  const bool places = sink.begin != nullptr || sink.end != nullptr;
  for (uint32_t i = begin; i < end; ++i) {
    const uint64_t room = sink.capacity > sink.count ? sink.capacity - sink.count : 0;
    const auto fits = static_cast<uint32_t>(std::min<uint64_t>(end - i, room / CacheLine::kMaxIds));
    if (!places && fits != 0) {
      int32_t* out = sink.ids + sink.count;
      const Found *from = found + i, *const stop = from + fits;
      for (; from != stop && from->info.exact_below == kHoldsAlways; ++from) {
        std::memcpy(out, from->ids, CacheLine::kMaxIds * sizeof(int32_t));
        out += from->info.count;
      }
      i = static_cast<uint32_t>(from - found);
      sink.count = static_cast<uint32_t>(out - sink.ids);
      if (i == end) break;
    }
    const rankfeed_status status = EmitSegment(run, segments, i, places);
    if (status != RANKFEED_OK || run->reason != RANKFEED_REASON_NONE) return status;
  }
  return RANKFEED_OK;
}

// A segment with offsets, or whose ids may not fit, or that was not spelled.
rankfeed_status Engine::EmitSegment(SegmentRun* run, const Segments& segments, uint32_t i, bool places) {
  const Found& found = look_up_.found()[i];
  const uint32_t stretch = call_.OffsetOf(run->stretch), offset = stretch + segments.begin(i);
  TokenSink& sink = call_.sink();
  if (!places && found.ids != nullptr) {
    for (uint32_t k = 0; k < found.info.count; ++k) sink.Push(static_cast<uint32_t>(found.ids[k]), 0, 0);
    return RANKFEED_OK;
  }
  const std::string_view bytes = segments.Bytes(run->stretch, i);
  if (places && found.info.count == 1 && found.info.score_bound == kCoversAll) {
    Place place{offset, stretch + segments.ends[i]};
    if (trims_) place = TrimSpaces(bytes, place);
    sink.Push(static_cast<uint32_t>(found.ids[0]), place.begin, place.end);
    return RANKFEED_OK;
  }
  if (places && merges_ != nullptr && found.ids != nullptr &&
      merges_->PlaceIds(bytes, {found.ids, found.info.count}, offset, &sink)) {
    return RANKFEED_OK;
  }
  const uint32_t first = sink.count;
  const Outcome outcome = merges_ != nullptr ? merges_->Spell(bytes, segments.word_start(i), offset, &sink)
                                             : wordpiece_->Spell(bytes, offset, &sink);
  if (!outcome.general) return outcome.missing ? RANKFEED_E_UNK_ID : RANKFEED_OK;
  // Its characters may become an added token together with those beside the segment, and a sign that
  // is read with a mark after it a letter of the word before it.
  const bool begins_with_sign = classes_.common.Has(static_cast<uint8_t>(bytes[0]));
  if (looks_for_normalized_ || begins_with_sign) {
    run->reason = RANKFEED_REASON_CHARACTER;
    return RANKFEED_OK;
  }
  sink.count = first;
  return General(bytes, RANKFEED_REASON_CHARACTER);
}

// The added token after a run. False if the call refuses it.
bool Engine::AddToken(const SegmentRun& run) {
  uint32_t begin = run.token_begin, end = run.token_end;
  if (trims_) {
    const std::string_view text = call_.text();
    const reference::EndSpaces spaces = reference::CountEndSpaces({text.data() + begin, end - begin});
    const uint32_t kept = reference::TrimBack(text, end, spaces.trailing);
    begin = reference::TrimFront(text, begin, end, spaces.leading);
    end = std::max(begin, kept);
  }
  return call_.AddToken(*run.token, begin, end);
}

// A stretch, or a segment of one: bytes of the text that is being encoded.
rankfeed_status Engine::General(std::string_view bytes, rankfeed_reason reason) {
  const uint32_t begin = call_.OffsetOf(bytes);
  reference::CarriedScore score = {};
  const rankfeed_status status = reference::EncodeHuggingFaceStretch(
      model_, general_, call_.text(), begin, begin + static_cast<uint32_t>(bytes.size()), false,
      call_.flags(), call_.sink(), &score);
  if (status == RANKFEED_OK) call_.CountLeft(bytes, reason);
  return status;
}

}  // namespace rankfeed::words
