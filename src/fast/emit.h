// SPDX-License-Identifier: MIT
// fast/emit.h: writes the ids of a stretch, segment by segment, from what was found or searched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/token_sink.h"
#include "fast/decode.h"
#include "fast/kernels/kernels.h"
#include "fast/look_up.h"
#include "fast/offsets.h"
#include "fast/signs.h"
#include "fast/sp_offsets.h"
#include "models/model.h"

namespace rankfeed::fast {

struct EmitScratch {
  unigram::LedgerScratch ledger;
  uint16_t* codes = nullptr;  // of one segment
  void Carve(Layout& layout) {
    codes = layout.Take<uint16_t>(SpanDecoder::kMaxSegmentCodes);
    ledger.Carve(layout);
  }
};

class Emitter {
 public:
  Emitter(const Model& model, const KernelTable& kernels, const unigram::ExactnessRule& rule,
          const SpanDecoder& decoder, const LookUp& look_up, const EmitScratch& scratch)
      : model_(model),
        kernels_(kernels),
        decoder_(decoder),
        spans_(decoder.paths()),
        look_up_(look_up),
        scratch_(scratch),
        found_(look_up.found()),
        leaves_(unigram::Path::Leaves(model.has(image::kByteFallback))),
        signs_(model),
        ledger_(model, rule, scratch.ledger),
        places_(model.huggingface() ? Places(std::in_place_type<Offsets>, model)
                                    : Places(std::in_place_type<SpOffsets>, model)) {
    const uint32_t space = model.PieceOfCode(model.segment.config->space_code);
    if (!rule.goes_on() && space != trie::kNoValue && space != model.config->unk_id) {
      space_id_ = space;
    }
  }

  // Where tokens go from now on.
  void Start(TokenSink* sink) {
    sink_ = sink;
    wants_offsets_ = sink->begin != nullptr || sink->end != nullptr;
  }

  // offset: of the stretch in its text. score: of what comes before it.
  void BeginStretch(std::string_view stretch, uint32_t offset, double score) {
    stretch_ = stretch;
    if (wants_offsets_) AtPlaces([&](auto& places) { places.Begin(stretch, offset, sink_->count); });
    Begin(score);
    closed_ = false;
  }
  std::string_view stretch() const { return stretch_; }

  // A part of the stretch comes that is not written here. *score: of what comes before it, where
  // that goes on. False if it cannot be told.
  bool EndPart(double* score) {
    return !ledger_.goes_on() || ledger_.End(*sink_, score) == RANKFEED_REASON_NONE;
  }
  // The general path wrote that part: the stretch goes on after it.
  void Resume(std::string_view part, double score) {
    Begin(ledger_.goes_on() ? score : 0);
    const auto end = static_cast<uint32_t>(part.data() + part.size() - stretch_.data());
    closed_ = end == stretch_.size();
    if (auto* const sp = std::get_if<SpOffsets>(&places_)) sp->Skip(end);
  }
  // This tells whether places after the first part of the stretch are known without a look at that part.
  bool MayPartAtBegin() const {
    const auto* const hf = wants_offsets_ ? std::get_if<Offsets>(&places_) : nullptr;
    return hf == nullptr || hf->begins_plainly();
  }

  // A batch begins: what was decoded of it is taken in order from here on.
  void BeginBatch() {
    next_decoded_ = 0;
    unplaced_.segment = kNone;
  }

  // The first segment of the batch whose tokens' places are not known, kNone if there is none, and
  // the first of these tokens.
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Unplaced {
    uint32_t segment = kNone, token = 0;
  };
  const Unplaced& unplaced() const { return unplaced_; }

  // Writes segments [begin, end) of the batch, and what was decoded of those before decoded_end, all of this
  // stretch: segment `end` is one of them where its begin was decoded and the rest comes in the next batch. All
  // functions below return why the stretch takes the general path, if it does.
  [[gnu::always_inline]] rankfeed_reason Emit(const Segments& segments, uint32_t begin,
                                              uint32_t end, uint32_t decoded_end) {
    for (const uint32_t count = look_up_.decoded_count(); next_decoded_ < count; ++next_decoded_) {
      const Decoded& decoded = look_up_.decoded()[next_decoded_];
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
      const bool placed = !wants_offsets_ || goes_on_ || Place(segments, begin, segment_token_, sink_->count);
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
    auto* const sp = wants_offsets_ ? std::get_if<SpOffsets>(&places_) : nullptr;
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
    trailing_space_ |= !stretch_.empty() && fast::IsSeparator(model_.segment, stretch_.back());
    if (!trailing_space_) return RANKFEED_REASON_NONE;
    const uint32_t token = sink_->count;
    const rankfeed_reason reason = EmitWordOfSpace();
    if (reason != RANKFEED_REASON_NONE || !wants_offsets_) return reason;
    const bool placed = AtPlaces([&](const auto& places) { return places.PlaceTrailing(token, *sink_); });
    return placed ? reason : RANKFEED_REASON_OPTIONS;
  }

  // Writes segments [begin, end), all of which were found in a table or in the cache, or were searched.
  [[gnu::always_inline]] rankfeed_reason EmitFound(const Segments& segments, uint32_t begin, uint32_t end) {
    const bool places = wants_offsets_;
    if (begin < end) trailing_space_ = false;
    for (uint32_t i = begin; i < end; ++i) {
      const uint32_t first = i, token = sink_->count;
      i = EmitHolding(found_, i, end);
      if (places && !PlaceHolding(segments, first, i, token)) return RANKFEED_REASON_OPTIONS;
      if (i == end) break;
      // One that has to be searched, or that may not fit.
      const uint32_t last_token = sink_->count;
      const Found& found = found_[i];
      if (ledger_.Holds(found.info)) {
        Copy(found.ids, found.info.count);
      } else {
        const uint32_t count = decoder_.reader().CodesOf(segments.Bytes(stretch_, i), segments.word_start(i),
                                                         {scratch_.codes, SpanDecoder::kMaxSegmentCodes});
        if (count == 0) return RANKFEED_REASON_LENGTH;
        const rankfeed_reason reason = ledger_.Search({scratch_.codes, count}, *sink_);
        if (reason != RANKFEED_REASON_NONE) return reason;
      }
      if (places && !Place(segments, i, last_token, sink_->count)) return RANKFEED_REASON_OPTIONS;
    }
    return RANKFEED_REASON_NONE;
  }

  // Writes a segment where words end beside signs; goes_on: its end comes in the next batch. Separators in front
  // of a sign may make a word of one U+2581. Where the scanner sees both, that word is a segment; where a
  // character becomes a space, or vanishes between the two, it is written here.
  [[gnu::noinline]] rankfeed_reason EmitBesideSigns(const Segments& segments,
                                                    const Decoded& decoded, bool goes_on) {
    const uint32_t begin = segments.begin(decoded.segment), end = segments.ends[decoded.segment];
    if (!goes_on_ && segments.word_start(decoded.segment) && begin != 0) {
      const bool is_segment = signs_.after_space() && signs_.Has(stretch_[begin]);
      trailing_space_ |= !is_segment && fast::IsSeparator(model_.segment, stretch_[begin - 1]);
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
    if (!placed && last <= sink_->capacity) unplaced_ = {i, token};
    return placed;
  }
  // Segments [begin, end), from that token on, as EmitHolding wrote them.
  bool PlaceHolding(const Segments& segments, uint32_t begin, uint32_t end, uint32_t token) {
    for (uint32_t i = begin; i < end; ++i) {
      const uint32_t last = token + found_[i].info.count;
      if (!Place(segments, i, token, last)) return false;
      token = last;
    }
    return true;
  }

  // Writes found[begin, end) without a look at anything but their infos, as far as they hold and
  // there is room for all; returns where it stopped.
  [[gnu::always_inline]] uint32_t EmitHolding(const Found* found, uint32_t begin, uint32_t end) {
    const uint64_t room = sink_->capacity > sink_->count ? sink_->capacity - sink_->count : 0;
    const uint32_t stop =
        begin + static_cast<uint32_t>(std::min<uint64_t>(end - begin, room / CacheLine::kMaxIds));
    if (stop == begin) return begin;  // where ids are only counted, there is no place to write to
    int32_t* out = sink_->ids + sink_->count;
    const uint32_t done = kernels_.emit(found, begin, stop, &out, ledger_.bound());
    sink_->count = static_cast<uint32_t>(out - sink_->ids);
    return done;
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
      const Found found = spans_.found(k);
      if (found.info.count == 0) {
        if (const rankfeed_reason reason = EmitPath(k)) return reason;
        continue;
      }
      const uint32_t done = EmitHolding(spans_.run_found(k), 0, decoded.last - k);
      if (done != 0) {
        k += done - 1;
      } else if (ledger_.Holds(found.info)) {
        Copy(found.ids, found.info.count);
      } else if (const rankfeed_reason reason = ledger_.Search(spans_.codes(k), *sink_)) {
        return reason;
      }
    }
    return RANKFEED_REASON_NONE;
  }

  // A span whose path is not kept, as it has too many ids or unknown tokens, or was not searched.
  rankfeed_reason EmitPath(uint32_t span) {
    const unigram::Path* const searched = spans_.path(span);
    if (searched == nullptr) return ledger_.Search(spans_.codes(span), *sink_);
    const unigram::Path& path = *searched;
    if ((path.flags & leaves_) != 0) return RANKFEED_REASON_UNKNOWN;
    const int32_t* const ids = spans_.ids() + path.first_id;
    if (!ledger_.Holds(path.info) || !ledger_.NoteFused(path, ids, *sink_)) {
      return ledger_.Search(spans_.codes(span), *sink_);
    }
    Copy(ids, path.count);
    return RANKFEED_REASON_NONE;
  }

  // ids may be read up to CacheLine::kMaxIds.
  void Copy(const int32_t* ids, uint32_t count) {
    if (sink_->count + std::max(count, CacheLine::kMaxIds) <= sink_->capacity) {
      std::memcpy(sink_->ids + sink_->count, ids, std::max(count, CacheLine::kMaxIds) * sizeof(int32_t));
      sink_->count += count;
      return;
    }
    for (uint32_t i = 0; i < count; ++i) sink_->Push(static_cast<uint32_t>(ids[i]), 0, 0);
  }

  const Model& model_;
  const KernelTable& kernels_;
  const SpanDecoder& decoder_;
  const unigram::SpanPaths& spans_;
  const LookUp& look_up_;
  const EmitScratch& scratch_;
  const Found* const found_;  // of the batch
  const uint8_t leaves_;      // Path::flags
  const Signs signs_;
  uint32_t space_id_ = kNone;   // of a word of one U+2581, if that is known
  unigram::ScoreLedger ledger_;
  Places places_;
  bool wants_offsets_ = false;
  bool goes_on_ = false;        // the last segment was written in part
  uint32_t segment_token_ = 0;  // its first one
  TokenSink* sink_ = nullptr;
  std::string_view stretch_;
  bool trailing_space_ = false;  // a separator came after the last word
  bool closed_ = false;          // a part ended the stretch
  uint32_t next_decoded_ = 0;
  Unplaced unplaced_;
};

}  // namespace rankfeed::fast
