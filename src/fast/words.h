// SPDX-License-Identifier: MIT
// fast/words.h: what the engine asks of models whose words are independent of each other: WordPiece and
// BPE. A segment that neither table has is spelled (wordpiece.h, bpe.h).
//
// Segments of WordPiece end at white space and beside the signs of ASCII, where words end too; those of
// BPE are the splits of its pattern, or what lies between spaces, and parts of them, which no merge crosses. So a
// segment has the same ids wherever it stands, and the cache needs no condition; but with ignore_merges, where a split
// that is a piece is that piece and a part of one is not, parts have keys of their own (image::kPartsHaveKeys), and so
// has the segment that a U+2581 is put before (image::kSpaceWords). A segment that is too long for a key is spelled
// when it is written. One whose characters are read together with their neighbours takes the general path, alone or
// with its stretch (Words::Write).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/byte_set.h"
#include "base/layout.h"
#include "base/token_sink.h"
#include "fast/bpe.h"
#include "fast/kernels/kernels.h"
#include "fast/segment_writer.h"
#include "fast/spelling.h"
#include "fast/word_cuts.h"
#include "fast/wordpiece.h"
#include "image/model.h"
#include "rankfeed/encode.h"
#include "reference/scratch.h"

namespace rankfeed::fast {

template <class Speller>
class Words : public SegmentWriter {
 public:
  // A segment that cannot be written leaves alone.
  static constexpr bool kPartsLeave = false;
  static constexpr uint32_t kMaxIds = 8192;  // of the misses of a batch
  static constexpr uint32_t kBatch = 1024;   // segments

  struct Scratch {
    typename Speller::Scratch speller;
    int32_t* ids = nullptr;
    MergeWord* words = nullptr;
    void Carve(Layout& layout, const Model& model) {
      speller.Carve(layout, model);
      ids = layout.Take<int32_t>(kMaxIds + CacheLine::kMaxIds);
      words = layout.Take<MergeWord>(kBatch);
    }
    void CarveLast(Layout&) {}
  };

  Words(const Model& model, const KernelTable& kernels, const NormalizedTokens& normalized_tokens,
        const reference::Scratch& general, LookUp& look_up, Scratch& scratch)
      : SegmentWriter(kernels, look_up),
        model_(model),
        kernels_(kernels),
        look_up_(look_up),
        scratch_(scratch),
        speller_(model, general, scratch.speller),
        trims_(model.has(image::kTrimOffsets)),
        stretches_leave_(!normalized_tokens.empty() || (model.segment.config->rules & image::kSpaceWords) != 0) {}

  using SegmentWriter::Start;
  uint32_t batch() const { return kBatch; }
  bool resumes() const { return false; }
  void Forget() {}
  void BeginStretch(std::string_view stretch, uint32_t offset, double) { stretch_ = stretch, offset_ = offset; }
  rankfeed_reason EndStretch(double*) const { return RANKFEED_REASON_NONE; }

  // Spells what neither table has and what there is room for; what is like it in the batch is the same.
  uint32_t Solve(SegmentQueue&, uint32_t count) {
    lacking_ = look_up_.lacking();
    uint32_t insert_count = 0, word_count = 0;
    TokenSink ids{scratch_.ids, nullptr, nullptr, kMaxIds, 0};
    for (uint32_t k = 0; k < look_up_.miss_count(); ++k) {
      const uint16_t i = look_up_.misses()[k];
      const SegmentKey& key = look_up_.keys()[i];
      found_[i] = {nullptr, 0, image::PathInfo::OfWord(0, 0)};
      if (key.size() > SegmentKey::kMaxBytes || kMaxIds - ids.count < kMostOfOne) continue;
      const std::string_view bytes(reinterpret_cast<const char*>(key.part) + 1, key.size());
      const uint32_t first = ids.count;
      const Spelling spelling = speller_.Begin(bytes, (key.part[0] & image::kKeyWordStart) != 0, &ids);
      if (spelling.leaves) {
        ids.count = first;
      } else {
        scratch_.words[word_count++] = {first, static_cast<uint16_t>(ids.count - first), i, spelling.gaps};
      }
    }
    speller_.Merge(kernels_, reinterpret_cast<uint32_t*>(scratch_.ids), {scratch_.words, word_count});
    for (const MergeWord& word : std::span(scratch_.words, word_count)) {
      if (word.count > 255) continue;
      found_[word.segment] = {scratch_.ids + word.begin, 0, image::PathInfo::OfWord(word.count, word.count == 1 && !word.gaps)};
      if (word.count <= CacheLine::kMaxIds) look_up_.inserts()[insert_count++] = word.segment;
    }
    look_up_.SetInserts(insert_count);
    for (const Repeat& repeat : look_up_.repeats()) {
      if (repeat.segment < count) found_[repeat.segment] = found_[repeat.of];
    }
    return count;
  }

  // Writes segments [begin, end) of the batch; returns why the stretch leaves, or the segment alone that unwritten() names.
  rankfeed_reason Emit(const Segments& segments, uint32_t begin, uint32_t end, uint32_t) {
    unwritten_.segment = kNone;
    while (*lacking_ < begin) ++lacking_;
    for (uint32_t i = begin;; ++i, ++lacking_) {
      const uint32_t stop = std::min<uint32_t>(end, *lacking_);
      WriteHits(segments, i, stop);
      i = stop;
      if (i == end) return RANKFEED_REASON_NONE;
      const uint32_t token = sink_->count;
      if (const rankfeed_reason reason = Write(segments, i)) return reason;
      if (wants_places_ && !Place(segments, i, token, sink_->count)) return RANKFEED_REASON_OPTIONS;
    }
  }

 private:
  // A segment has a key, so each of its bytes becomes fewer ids than this.
  static constexpr uint32_t kMostOfOne = SegmentKey::kMaxBytes * image::kMaxExpansionCodes;

  // Writes segments [begin, end), each of which is a token of all its bytes.
  void WriteHits(const Segments& segments, uint32_t begin, uint32_t end) {
    constexpr uint32_t kTogether = 16;
    TokenSink& sink = *sink_;
    const int32_t* const hits = look_up_.hits() + begin;
    const uint32_t count = end - begin;
    if (uint64_t{sink.count} + count + kTogether > sink.capacity) [[unlikely]] {
      for (uint32_t k = 0; k < count; ++k) {
        const TokenPlace place = PlaceOf(segments, begin + k);
        sink.Push(static_cast<uint32_t>(hits[k]), place.begin, place.end);
      }
      return;
    }
    int32_t* const ids = sink.ids + sink.count;
    for (uint32_t k = 0; k < count; k += kTogether) std::memcpy(ids + k, hits + k, kTogether * sizeof(int32_t));
    for (uint32_t k = 0; wants_places_ && k < count; ++k) {
      const TokenPlace place = PlaceOf(segments, begin + k);
      if (sink.begin != nullptr) sink.begin[sink.count + k] = place.begin;
      if (sink.end != nullptr) sink.end[sink.count + k] = place.end;
    }
    sink.count += count;
  }

  // Returns the place of a token of all bytes of a segment.
  TokenPlace PlaceOf(const Segments& segments, uint32_t i) const {
    const TokenPlace place{offset_ + segments.begin(i), offset_ + segments.ends[i]};
    return trims_ ? TrimSpaces(segments.Bytes(stretch_, i), place) : place;
  }

  // Writes a segment that is no hit.
  rankfeed_reason Write(const Segments& segments, uint32_t i) {
    const Found& found = found_[i];
    if (found.ids != nullptr) {
      Copy(found.ids, found.info.count);
      return RANKFEED_REASON_NONE;
    }
    const std::string_view bytes = segments.Bytes(stretch_, i);
    const uint32_t token = sink_->count;
    if (!speller_.Spell(bytes, segments.word_start(i), offset_ + segments.begin(i), sink_).leaves) {
      return RANKFEED_REASON_NONE;
    }
    // Its characters may become an added token together with those beside the segment, and a sign that
    // is read with a mark after it a letter of the word before it; alone it might get a U+2581.
    const bool begins_with_sign = ByteSet::Has(model_.segment.config->common, static_cast<uint8_t>(bytes[0]));
    if (!stretches_leave_ && !begins_with_sign) unwritten_ = {i, token};
    return RANKFEED_REASON_CHARACTER;
  }

  // Gives tokens [token, last) of a segment their places: what was not spelled before has them already.
  bool Place(const Segments& segments, uint32_t i, uint32_t token, uint32_t last) {
    const Found& found = found_[i];
    if (found.ids == nullptr) return true;
    const std::string_view bytes = segments.Bytes(stretch_, i);
    const uint32_t offset = offset_ + segments.begin(i);
    const WordCuts cuts(found.info.score_bound);
    if (cuts.known() && last <= sink_->capacity) [[likely]] {
      cuts.Place(bytes, trims_, offset, token, last - token, *sink_);
      return true;
    }
    if (last - token <= WordCuts::kMostTokens) FindCuts(bytes, segments.word_start(i), &found_[i]);
    TokenSink sink = *sink_;
    sink.count = token;
    Spell(bytes, segments.word_start(i), offset, found, &sink);
    return sink.count == last;
  }

  // Appends the tokens of a segment that was found, with their places.
  void Spell(std::string_view bytes, bool word_start, uint32_t offset, const Found& found, TokenSink* sink) const {
    if (speller_.PlaceIds(bytes, {found.ids, found.info.count}, offset, sink)) return;
    speller_.Spell(bytes, word_start, offset, sink);
  }

  // Works out the cuts of a segment of a few tokens, for the cache to keep.
  void FindCuts(std::string_view bytes, bool word_start, Found* found) {
    int32_t ids[WordCuts::kMostTokens];
    uint32_t begins[WordCuts::kMostTokens], ends[WordCuts::kMostTokens];
    TokenSink tokens{ids, begins, ends, WordCuts::kMostTokens, 0};
    Spell(bytes, word_start, 0, *found, &tokens);
    if (tokens.count != found->info.count) return;
    found->info.score_bound = WordCuts::Of(bytes, trims_, tokens);
    look_up_.SetInfo(*found);
  }

  const Model& model_;
  const KernelTable& kernels_;
  LookUp& look_up_;
  const Scratch& scratch_;
  const Speller speller_;
  const bool trims_;                 // the place of a token ends where its spaces do
  const bool stretches_leave_;       // a segment that is not spelled takes all of its stretch along
  const uint16_t* lacking_ = nullptr;  // LookUpBatch::lacking, from the segment to write next on
  uint32_t offset_ = 0;              // of the stretch in its text
};

using WordPiece = Words<WordPieceSpeller>;
using Bpe = Words<BpeSpeller>;

}  // namespace rankfeed::fast
