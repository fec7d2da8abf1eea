// SPDX-License-Identifier: MIT
// fast/unigram.h: what the engine asks of Unigram models: spans of codes for segments that were not found,
// their best paths, and the ids of a stretch as long as they hold at its score.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/token_sink.h"
#include "fast/decode.h"
#include "fast/offsets.h"
#include "fast/segment_writer.h"
#include "stretch/signs.h"
#include "fast/sp_offsets.h"
#include "models/unigram/exactness.h"
#include "models/unigram/ledger.h"
#include "models/unigram/search.h"
#include "reference/scratch.h"

namespace rankfeed::fast {

class Unigram : public SegmentWriter {
 public:
  // A segment that cannot be written leaves with the part of its stretch around it.
  static constexpr bool kPartsLeave = true;

  struct Scratch {
    unigram::SpanPaths::Scratch paths;
    SpanDecoder::Scratch decoder;
    unigram::LedgerScratch ledger;
    uint16_t* codes = nullptr;  // of one segment
    void Carve(Layout& layout, const Model& model);
    // Carves what most texts do not touch, after all else.
    void CarveLast(Layout& layout);
  };

  Unigram(const Model& model, const KernelTable& kernels, const NormalizedTokens& normalized_tokens,
          const reference::Scratch&, LookUp& look_up, Scratch& scratch);

  // Begins a call, whose tokens go to the sink.
  void Start(TokenSink* sink) {
    SegmentWriter::Start(sink);
    decoder_.ForgetCursor();
    batch_ = kFirstBatch;
  }

  // Returns how many segments to look up together.
  uint32_t batch() const { return batch_; }
  // Returns whether the next batch is the rest of one segment.
  bool resumes() const { return decoder_.resumes(); }

  // Finds what the tables lack of the first `count` segments; returns how many of these can be written.
  uint32_t Solve(SegmentQueue& queue, uint32_t count);

  // A part or a stretch took the general path. What was looked up and decoded of the segments after it is done
  // again, and more such stretches may follow.
  void Forget() {
    decoder_.ForgetCursor();
    batch_ = kBatchAfterLeaving;
  }

  // offset: of the stretch in its text. score: of what comes before it.
  void BeginStretch(std::string_view stretch, uint32_t offset, double score) {
    stretch_ = stretch;
    if (wants_places_) AtPlaces([&](auto& places) { places.Begin(stretch, offset, sink_->count); });
    Begin(score);
    closed_ = false;
  }

  // A part of the stretch takes the general path, inside of it or at its begin. *score: of what comes before it,
  // where that goes on. Returns whether the part can leave alone.
  bool EndPart(bool inside, double* score) {
    const auto* const hf = wants_places_ ? std::get_if<Offsets>(&places_) : nullptr;
    const bool placed = inside || hf == nullptr || hf->begins_plainly();
    return placed && (!ledger_.goes_on() || ledger_.End(*sink_, score) == RANKFEED_REASON_NONE);
  }
  // The general path wrote that part: the stretch goes on after it.
  void Resume(std::string_view part, double score) {
    Begin(ledger_.goes_on() ? score : 0);
    const auto end = static_cast<uint32_t>(part.data() + part.size() - stretch_.data());
    closed_ = end == stretch_.size();
    if (auto* const sp = std::get_if<SpOffsets>(&places_)) sp->Skip(end);
  }
  // Writes segments [begin, end) of the batch, and what was decoded of those before decoded_end, all of this
  // stretch: segment `end` is one of them where its begin was decoded and the rest comes in the next batch. All
  // functions below return why the stretch takes the general path, if it does.
  [[gnu::always_inline]] rankfeed_reason Emit(const Segments& segments, uint32_t begin,
                                              uint32_t end, uint32_t decoded_end) {
    for (const uint32_t count = decoded_count_; next_decoded_ < count; ++next_decoded_) {
      const Decoded& decoded = decoder_.decoded()[next_decoded_];
      if (decoded.segment >= decoded_end) break;
      if (const rankfeed_reason reason = EmitFound(segments, begin, decoded.segment)) return reason;
      begin = decoded.segment;
      // Separators were skipped before it.
      if (segments.word_start(begin) && !signs_.any())
        trailing_space_ |= segments.begin(begin) != 0;
      if (!goes_on_) segment_token_ = sink_->count;
      const rankfeed_reason reason =
          signs_.any() ? EmitBesideSigns(segments, decoded, decoded.segment >= end)
                       : EmitDecoded(decoded);
      if (reason != RANKFEED_REASON_NONE) return reason;
      goes_on_ = decoded.segment >= end;  // in the next batch
      const bool placed = !wants_places_ || goes_on_ || Place(segments, begin, segment_token_, sink_->count);
      if (!placed) return RANKFEED_REASON_OPTIONS;
      ++begin;
    }
    return EmitFound(segments, begin, end);
  }

  // Separators after the last word may make a word of one U+2581. score (nullable): what it
  // becomes.
  rankfeed_reason EndStretch(double* score) {
    rankfeed_reason reason = RANKFEED_REASON_NONE;
    if ((model_.segment.config->rules & image::kTrailingSpaceIsWord) != 0 && !closed_) {
      reason = EmitTrailing();
    }
    if (score != nullptr && reason == RANKFEED_REASON_NONE) [[unlikely]]
      reason = ledger_.End(*sink_, score);
    auto* const sp = wants_places_ ? std::get_if<SpOffsets>(&places_) : nullptr;
    if (sp != nullptr) [[unlikely]]
      sp->End(*sink_, closed_);
    return reason;
  }

 private:
  using Places = std::variant<Offsets, SpOffsets>;

  // This calls `use` with the places of the parity mode.
  template <class Use>
  std::invoke_result_t<Use, Offsets&> AtPlaces(const Use& use) {
    auto* const sp = std::get_if<SpOffsets>(&places_);
    return sp != nullptr ? use(*sp) : use(*std::get_if<Offsets>(&places_));
  }

  void Begin(double score) {
    goes_on_ = false;
    trailing_space_ = false;
    ledger_.Begin(sink_->count, score);
  }

  // Writes a word of one U+2581, if separators end the stretch.
  [[gnu::noinline]] rankfeed_reason EmitTrailing() {
    trailing_space_ |= !stretch_.empty() && rankfeed::IsSeparator(model_.segment, stretch_.back());
    if (!trailing_space_) return RANKFEED_REASON_NONE;
    const uint32_t token = sink_->count;
    const rankfeed_reason reason = EmitWordOfSpace();
    if (reason != RANKFEED_REASON_NONE || !wants_places_) return reason;
    const bool placed = AtPlaces([&](const auto& places) { return places.PlaceTrailing(token, *sink_); });
    return placed ? reason : RANKFEED_REASON_OPTIONS;
  }

  // Writes segments [begin, end), all of which were found in a table or in the cache, or were searched.
  [[gnu::always_inline]] rankfeed_reason EmitFound(const Segments& segments, uint32_t begin, uint32_t end) {
    if (begin < end) trailing_space_ = false;
    const auto place = [&](uint32_t i, uint32_t token, uint32_t last) { return Place(segments, i, token, last); };
    // One that has to be searched, or that may not fit.
    const auto write = [&](uint32_t i) {
      const Found& found = found_[i];
      if (ledger_.Holds(found.info)) {
        Copy(found.ids, found.info.count);
        return RANKFEED_REASON_NONE;
      }
      const uint32_t count = decoder_.reader().CodesOf(segments.Bytes(stretch_, i), segments.word_start(i),
                                                       {scratch_.codes, SpanDecoder::kMaxSegmentCodes});
      return count == 0 ? RANKFEED_REASON_LENGTH : ledger_.Search({scratch_.codes, count}, *sink_);
    };
    return WriteFound(begin, end, ledger_.bound(), write, place);
  }

  // Writes a segment where words end beside signs; goes_on: its end comes in the next batch. Separators in front
  // of a sign may make a word of one U+2581. Where the scanner sees both, that word is a segment; where a
  // character becomes a space, or vanishes between the two, it is written here.
  [[gnu::noinline]] rankfeed_reason EmitBesideSigns(const Segments& segments,
                                                    const Decoded& decoded, bool goes_on) {
    const uint32_t begin = segments.begin(decoded.segment), end = segments.ends[decoded.segment];
    if (!goes_on_ && segments.word_start(decoded.segment) && begin != 0) {
      const bool is_segment = signs_.after_space() && signs_.Has(stretch_[begin]);
      trailing_space_ |= !is_segment && rankfeed::IsSeparator(model_.segment, stretch_[begin - 1]);
    }
    rankfeed_reason reason = decoded.word_first ? EmitPendingSpace() : RANKFEED_REASON_NONE;
    if (reason == RANKFEED_REASON_NONE) reason = EmitDecoded(decoded);
    const bool before =
        signs_.after_space() && !goes_on && end != stretch_.size() && signs_.Has(stretch_[end]);
    return reason == RANKFEED_REASON_NONE && before ? EmitPendingSpace() : reason;
  }
  rankfeed_reason EmitPendingSpace() {
    if (!trailing_space_) return RANKFEED_REASON_NONE;
    trailing_space_ = false;
    return EmitWordOfSpace();
  }
  // A word of one U+2581: where each word is searched from score 0, it is that piece.
  rankfeed_reason EmitWordOfSpace() {
    if (space_id_ != kNone) {
      sink_->Push(space_id_, 0, 0);
      return RANKFEED_REASON_NONE;
    }
    const auto code = static_cast<uint16_t>(model_.segment.config->space_code);
    return ledger_.Search({&code, 1}, *sink_);
  }

  // A segment that was written to its end, to tokens [token, last).
  bool Place(const Segments& segments, uint32_t i, uint32_t token, uint32_t last) {
    const bool placed = AtPlaces([&](auto& places) {
      return places.Place(segments.begin(i), segments.ends[i], segments.word_start(i), token, last, *sink_);
    });
    if (!placed && last <= sink_->capacity) unwritten_ = {i, token};
    return placed;
  }
  // Writes the spans of one segment, and notes whether spaces come after them.
  [[gnu::always_inline]] rankfeed_reason EmitDecoded(const Decoded& decoded) {
    if (decoded.first != decoded.last) trailing_space_ = false;
    if (const rankfeed_reason reason = EmitSpans(decoded)) return reason;
    trailing_space_ |= decoded.trailing_space;
    return RANKFEED_REASON_NONE;
  }

  [[gnu::always_inline]] rankfeed_reason EmitSpans(const Decoded& decoded) {
    for (uint32_t k = decoded.first; k < decoded.last; ++k) {
      const Found found = paths_.found(k);
      if (found.info.count == 0) {
        if (const rankfeed_reason reason = EmitPath(k)) return reason;
        continue;
      }
      const uint32_t done = WriteHolding(paths_.run_found(k), 0, decoded.last - k, ledger_.bound());
      if (done != 0) {
        k += done - 1;
      } else if (ledger_.Holds(found.info)) {
        Copy(found.ids, found.info.count);
      } else if (const rankfeed_reason reason = ledger_.Search(paths_.codes(k), *sink_)) {
        return reason;
      }
    }
    return RANKFEED_REASON_NONE;
  }

  // A span whose path is not kept, as it has too many ids or unknown tokens, or was not searched.
  rankfeed_reason EmitPath(uint32_t span) {
    const unigram::Path* const searched = paths_.path(span);
    if (searched == nullptr) return ledger_.Search(paths_.codes(span), *sink_);
    const unigram::Path& path = *searched;
    if ((path.flags & leaves_) != 0) return RANKFEED_REASON_UNKNOWN;
    const int32_t* const ids = paths_.ids() + path.first_id;
    if (!ledger_.Holds(path.info) || !ledger_.NoteFused(path, ids, *sink_)) {
      return ledger_.Search(paths_.codes(span), *sink_);
    }
    Copy(ids, path.count);
    return RANKFEED_REASON_NONE;
  }

  void Resolve(uint32_t end);
  void ResolveRepeats(uint32_t end);

  static constexpr uint32_t kLeastBatch = 32, kFirstBatch = 512, kBatchAfterLeaving = 4;

  const Model& model_;
  LookUp& look_up_;
  const Scratch& scratch_;
  const unigram::ExactnessRule rule_;
  unigram::SpanPaths paths_;
  SpanDecoder decoder_;
  const uint8_t leaves_;      // Path::flags
  const Signs signs_;
  uint32_t space_id_ = kNone;   // of a word of one U+2581, if that is known
  unigram::ScoreLedger ledger_;
  Places places_;
  uint32_t batch_ = kFirstBatch;
  bool goes_on_ = false;        // the last segment was written in part
  uint32_t segment_token_ = 0;  // its first one
  bool trailing_space_ = false;  // a separator came after the last word
  bool closed_ = false;          // a part ended the stretch
  uint32_t next_decoded_ = 0, decoded_count_ = 0;  // of those that are neither found nor like one that is
};

}  // namespace rankfeed::fast
