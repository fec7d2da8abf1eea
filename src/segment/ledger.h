// SPDX-License-Identifier: MIT
// segment/ledger.h: the score of a stretch so far: whether the ids of a segment hold behind it, and
// the reference's own sums where that has to be searched.
//
// A bound of the score is all that counts as long as segments hold. For one that does not, the
// reference's score is made up for by adding the scores of the tokens since the last such place, in
// its order and arithmetic, and its own search goes on from there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/layout.h"
#include "base/token_sink.h"
#include "general/best_path.h"
#include "general/path_blocks.h"
#include "image/model.h"
#include "rankfeed/encode.h"
#include "segment/exactness.h"
#include "segment/lattice.h"
#include "segment/search.h"

namespace rankfeed::segment {

// An unknown token that stands for several characters.
struct FusedUnknown {
  uint32_t token, chars;  // index in the sink
};

struct LedgerScratch {
  static constexpr uint32_t kMaxFused = 128;  // between two searches
  FusedUnknown* fused = nullptr;
  // A span, or of one that comes in parts the last one and as much before it that is not settled.
  static constexpr uint32_t kLatticeCodes = 2 * PathSearch::kCapacity;
  general::Lattice lattice = {};  // carved behind all that most texts touch
  // Most spans are short: theirs is all in one place.
  static constexpr uint32_t kFewCodes = 63;
  general::Lattice few = {};
  // Arrays of the general path, of so many codes, for a span in parts that does not fit there: no
  // stretch goes that way before the span is done, or given up.
  general::Lattice large = {};
  uint32_t large_codes = 0;

  void Carve(Layout& layout) {
    few.Carve(layout, kFewCodes);
    fused = layout.Take<FusedUnknown>(kMaxFused);
  }
};

template <class Arithmetic>
class ScoreLedger {
 public:
  static constexpr bool kGoesOn = Arithmetic::kGoesOn;

  ScoreLedger(const Model& model, const ExactnessRule& rule, const LedgerScratch& scratch)
      : model_(model),
        rule_(rule),
        scratch_(scratch),
        counts_unknown_(CountsUnknown(model)),
        parts_(model, scratch.lattice, LedgerScratch::kLatticeCodes) {}

  // A stretch begins behind that many tokens of the sink. score: of what comes before it.
  void Begin(uint32_t token, double score) {
    known_to_ = token;
    fused_count_ = 0;
    bound_ = score == 0 ? 0 : rule_.Accumulated(score);
    score_ = score;
    in_parts_ = false;
  }

  // The reference's score behind all tokens of the stretch, where it goes on. A reason if that
  // cannot be told from them.
  rankfeed_reason End(const TokenSink& sink, double* score) {
    if (sink.count > sink.capacity) return RANKFEED_REASON_CAPACITY;  // tokens were not kept
    if (!CatchUp(sink.count, sink)) return RANKFEED_REASON_UNKNOWN;
    *score = score_;
    return RANKFEED_REASON_NONE;
  }

  // Whether ids of that info hold at the score so far; if so, moves it on.
  bool Holds(image::PathInfo info) {
    const uint64_t bound = bound_ + info.score_bound;
    if (bound >> info.exact_below != 0) return false;
    if constexpr (kGoesOn) bound_ = bound;
    return true;
  }
  // What Holds() moves on, for loops that do as much.
  uint64_t* bound() { return &bound_; }
  uint64_t bound_so_far() const { return bound_; }

  // Remembers of a path, of codes, how many characters its unknown tokens stand for; its tokens
  // stand in the sink from `token` on, or are written next. False if those are too many or tokens
  // are not kept: the path has to be searched.
  bool NoteFused(const Path& path, std::span<const uint16_t> codes, const int32_t* ids,
                 uint32_t token, const TokenSink& sink) {
    if ((path.flags & Path::kFused) == 0 || !counts_unknown_) return true;
    const bool listed = (path.flags & Path::kListed) != 0;
    const uint32_t most = listed ? path.fused : FusedCounts::kMaxTokens;
    if (fused_count_ + most > LedgerScratch::kMaxFused) [[unlikely]] {
      if (most > LedgerScratch::kMaxFused || sink.count > sink.capacity) return false;
      if constexpr (!kGoesOn) FindWord(codes, token, sink);
      if (!CatchUp(token, sink)) return false;
    }
    if (!listed) {
      Note(FusedNote(path), ids, path.count, token);
      return true;
    }
    for (const int32_t *list = ids + path.count, *end = list + path.fused; list != end; ++list) {
      const ListedUnknown unknown(*list);
      scratch_.fused[fused_count_++] = {token + unknown.at, unknown.chars};
    }
    return true;
  }

  // The same of `count` ids with such a note, where the score goes on: without room to remember,
  // the score before them is made up for. A reason if that cannot be told.
  rankfeed_reason NoteCounted(FusedNote note, const int32_t* ids, uint32_t count, uint32_t token,
                              const TokenSink& sink) {
    if (!HasRoomToNote()) [[unlikely]] {
      if (sink.count > sink.capacity) return RANKFEED_REASON_CAPACITY;  // tokens were not kept
      if (!CatchUp(token, sink)) return RANKFEED_REASON_UNKNOWN;
    }
    Note(note, ids, count, token);
    return RANKFEED_REASON_NONE;
  }

  // The reference's own search through codes, behind the tokens in the sink: appends its tokens. A
  // reason if that cannot be told from them.
  rankfeed_reason Search(std::span<const uint16_t> codes, TokenSink& sink) {
    if (const rankfeed_reason reason = CatchUpTo(codes, sink)) return reason;
    return SearchOn(codes, 0, sink);
  }

  // The same of a span that comes in parts, each without a place where it may be parted; of the
  // last one there may be no codes. Until then what is told here of the score is not.
  rankfeed_reason SearchPart(std::span<const uint16_t> codes, bool last, TokenSink& sink) {
    if (!in_parts_) {
      if (const rankfeed_reason reason = CatchUpTo(codes, sink)) return reason;
      parts_.Begin(score_);
      in_parts_ = true;
      after_unknown_ = false;
    }
    if (codes.size() > parts_.room()) {
      if (parts_.capacity() < scratch_.large_codes) {
        parts_.MoveTo(scratch_.large, scratch_.large_codes);
      }
      if (codes.size() > parts_.room()) return RANKFEED_REASON_LENGTH;
    }
    const bool told = parts_.Add(
        codes, last, [&](uint32_t value) { return PushPiece(value, &after_unknown_, sink); });
    if (!told) return RANKFEED_REASON_UNKNOWN;
    if (last) {
      in_parts_ = false;
      Know(parts_.score(), sink);
    }
    return RANKFEED_REASON_NONE;
  }
  // Whether the last part of a span is yet to come.
  bool in_parts() const { return in_parts_; }

  // The same of a whole span where that cannot be told from the tokens, but codes are all those
  // behind a place where the score was `score`: tokens of the first `known` codes are in the sink.
  rankfeed_reason SearchAgain(std::span<const uint16_t> codes, uint32_t known, double score,
                              TokenSink& sink) {
    score_ = score;
    return SearchOn(codes, known, sink);
  }

  // Behind all tokens in the sink, after a search.
  double score() const { return score_; }

 private:
  // Makes score_ the one in front of codes, behind the tokens in the sink.
  rankfeed_reason CatchUpTo(std::span<const uint16_t> codes, const TokenSink& sink) {
    if (sink.count > sink.capacity) return RANKFEED_REASON_CAPACITY;  // tokens were not kept
    if constexpr (!kGoesOn) FindWord(codes, sink.count, sink);
    return CatchUp(sink.count, sink) ? RANKFEED_REASON_NONE : RANKFEED_REASON_UNKNOWN;
  }

  // The score behind all tokens in the sink.
  void Know(double score, const TokenSink& sink) {
    score_ = score;
    known_to_ = sink.count;
    if constexpr (kGoesOn) bound_ = rule_.Accumulated(score);
  }

  // From score_ on; pushes the tokens behind the first `known` codes, where the path passes.
  rankfeed_reason SearchOn(std::span<const uint16_t> codes, uint32_t known, TokenSink& sink) {
    const auto size = static_cast<uint32_t>(codes.size());
    const general::CodeChars chars{codes, model_.config->code_count};
    const bool few = size <= LedgerScratch::kFewCodes;
    const general::Lattice& lattice = few ? scratch_.few : scratch_.lattice;
    general::FindBestPath<Arithmetic>(model_, chars, score_, lattice);
    if (!Push(lattice, known, size, sink)) return RANKFEED_REASON_UNKNOWN;
    Know(lattice.best[size], sink);
    return RANKFEED_REASON_NONE;
  }

  // HuggingFace searches each of the words that it splits on its own, from score 0. Looked for only
  // here, so that writing ids needs no look at where words begin: U+2581 stands nowhere else, so
  // nor do pieces that begin with it. Those that began before known_to_ are in its score.
  // token: that codes begin with.
  void FindWord(std::span<const uint16_t> codes, uint32_t token, const TokenSink& sink) {
    uint32_t begin = token;
    if (codes[0] != model_.segment.config->space_code) {
      do {
        if (begin == known_to_) return;
        --begin;
      } while (!BeginsWord(sink.ids[begin]));
    }
    known_to_ = begin;
    score_ = 0;
  }

  // Whether the token's piece begins with U+2581. Not starts_with, which is a call.
  bool BeginsWord(int32_t id) const {
    const size_t begin = model_.id_pieces[static_cast<uint32_t>(id)];
    const size_t end = model_.id_pieces[static_cast<uint32_t>(id) + 1];
    if (end < begin + 3 || end > model_.strings.size()) return false;
    const char* const piece = model_.strings.data() + begin;
    return piece[0] == '\xe2' && piece[1] == '\x96' && piece[2] == '\x81';
  }

  bool HasRoomToNote() const {
    return fused_count_ <= LedgerScratch::kMaxFused - FusedCounts::kMaxTokens;
  }
  void Note(FusedNote note, const int32_t* ids, uint32_t count, uint32_t token) {
    const FusedCounts counts = note.counts();
    uint32_t at = note.unknown_at();
    if (counts.single()) {
      scratch_.fused[fused_count_++] = {token + at, counts.bits()};
      return;
    }
    const auto unknown = static_cast<int32_t>(model_.config->unk_id);
    for (uint32_t i = 0, chars; (chars = counts.chars(i)) != 0; ++i, ++at) {
      while (at < count && ids[at] != unknown) ++at;
      scratch_.fused[fused_count_++] = {token + at, chars};
    }
  }

  // Adds the scores of the tokens from known_to_ up to `end`. False if it is not told of how many
  // characters an unknown one is.
  [[gnu::noinline]] bool CatchUp(uint32_t end, const TokenSink& sink) {
    const auto unk_id = static_cast<int32_t>(model_.config->unk_id);
    const FusedUnknown *fused = scratch_.fused, *const fused_end = fused + fused_count_;
    while (fused != fused_end && fused->token < known_to_) ++fused;  // of words before
    const double* const scores = model_.scores.data();
    const general::UnknownRun<Arithmetic> unknown(model_.config->unk_score);
    double score = score_;
    for (uint32_t i = known_to_; i < end; ++i) {
      const int32_t id = sink.ids[i];
      if (id != unk_id) {
        score = Arithmetic::Store(Arithmetic::Piece(scores[static_cast<uint32_t>(id)], score));
        continue;
      }
      if (!counts_unknown_) return false;
      const bool is_fused = fused != fused_end && fused->token == i;
      score = unknown.Add(is_fused ? (fused++)->chars : 1, score);
    }
    score_ = score;
    known_to_ = std::max(known_to_, end);
    fused_count_ = 0;
    return true;
  }

  // The tokens of the path that was found, from the code `at` on. False as of PushPiece.
  bool Push(const general::Lattice& lattice, uint32_t at, uint32_t size, TokenSink& sink) const {
    bool after_unknown = false;
    while (at < size) {
      at = lattice.link[at];
      if (!PushPiece(lattice.value[at], &after_unknown, sink)) return false;
    }
    return true;
  }

  // The token of a piece of a path; *after_unknown: whether the one before it was an unknown
  // character, as consecutive ones are one token. False when it is the unknown piece itself: that
  // fuses like an unknown, which only the general path does; or an unknown character that is to be
  // spelled in bytes.
  bool PushPiece(uint32_t value, bool* after_unknown, TokenSink& sink) const {
    const uint32_t unk_id = model_.config->unk_id;
    const bool unknown = value == trie::kNoValue;
    const uint32_t id = unknown ? unk_id : value;
    if (unknown ? model_.has(image::kByteFallback) : id == unk_id) return false;
    if (!(unknown && *after_unknown)) sink.Push(id, 0, 0);
    *after_unknown = unknown;
    return true;
  }

  const Model& model_;
  const ExactnessRule& rule_;
  const LedgerScratch& scratch_;
  const bool counts_unknown_;
  uint64_t bound_ = 0;  // of the segments so far, where the score goes on
  double score_ = 0;    // the reference's, up to token known_to_
  uint32_t known_to_ = 0;
  uint32_t fused_count_ = 0;  // unknown tokens from there on
  general::PathBlocks<Arithmetic> parts_;
  bool in_parts_ = false;
  bool after_unknown_ = false;  // what is settled of a span in parts ends with an unknown character
};

}  // namespace rankfeed::segment
