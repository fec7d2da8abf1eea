// SPDX-License-Identifier: MIT
// models/unigram/ledger.cc: sums and searches in the arithmetic of each reference, see ledger.h. All
// that the fast road does in it is here, as segments seldom need it.
#include "models/unigram/ledger.h"

#include "base/narrow.h"
#include "models/unigram/arithmetic.h"
#include "models/unigram/best_path.h"

namespace rankfeed::unigram {

rankfeed_reason ScoreLedger::End(const TokenSink& sink, double* score) {
  if (sink.count > sink.capacity) return RANKFEED_REASON_CAPACITY;  // tokens were not kept
  // Tokens may have been taken back.
  if (known_to_ > sink.count || !CatchUp(sink)) return RANKFEED_REASON_UNKNOWN;
  *score = score_;
  return RANKFEED_REASON_NONE;
}

// `count` of ListedUnknown.
bool ScoreLedger::Note(const int32_t* list, uint32_t count, const TokenSink& sink) {
  if (count > LedgerScratch::kMaxFused) return false;
  if (fused_count_ + count > LedgerScratch::kMaxFused) {
    if (!goes_on()) {
      forgotten_to_ = sink.count;  // most are of words before
    } else if (!CatchUp(sink)) {
      return false;
    }
    fused_count_ = 0;
  }
  for (const int32_t* const end = list + count; list != end; ++list) {
    const ListedUnknown unknown(*list);
    scratch_.fused[fused_count_++] = {sink.count + unknown.at, unknown.chars};
  }
  return true;
}

rankfeed_reason ScoreLedger::Search(std::span<const uint16_t> codes, TokenSink& sink) {
  if (sink.count > sink.capacity) return RANKFEED_REASON_CAPACITY;  // tokens were not kept
  if (!goes_on()) FindWord(codes, sink);
  if (!CatchUp(sink)) return RANKFEED_REASON_UNKNOWN;
  return WithArithmetic(sums_, [&](auto arithmetic) {
    return SearchAs<decltype(arithmetic)>(codes, sink);
  });
}

// From score_ on.
template <class Arithmetic>
rankfeed_reason ScoreLedger::SearchAs(std::span<const uint16_t> codes, TokenSink& sink) {
  const auto size = Size32(codes);
  const CodeChars chars{codes, model_.config->code_count};
  const bool few = size <= LedgerScratch::kFewCodes;
  const ScoreLattice& lattice = few ? scratch_.few : scratch_.lattice;
  FindBestPath<Arithmetic>(model_, chars, score_, lattice);
  if (!Push(lattice, size, sink)) return RANKFEED_REASON_UNKNOWN;
  score_ = lattice.best[size];
  known_to_ = sink.count;
  bound_ = rule_.Accumulated(score_);
  return RANKFEED_REASON_NONE;
}

bool ScoreLedger::CatchUp(const TokenSink& sink) {
  return WithArithmetic(sums_,
                        [&](auto arithmetic) { return CatchUpAs<decltype(arithmetic)>(sink); });
}

// Adds the scores of the tokens from known_to_ on. False if it is not told of how many
// characters an unknown one is.
template <class Arithmetic>
bool ScoreLedger::CatchUpAs(const TokenSink& sink) {
  const uint32_t end = sink.count;
  if (known_to_ < forgotten_to_) return false;
  const auto unk_id = static_cast<int32_t>(model_.config->unk_id);
  const FusedUnknown *fused = scratch_.fused, *const fused_end = fused + fused_count_;
  while (fused != fused_end && fused->token < known_to_) ++fused;  // of words before
  const double* const scores = model_.scores.data();
  const UnknownRun<Arithmetic> unknown(model_.config->unk_score);
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
  known_to_ = end;
  fused_count_ = 0;
  return true;
}

// HuggingFace searches each of the words that it splits on its own, from score 0. Looked for only
// here, so that writing ids needs no look at where words begin: U+2581 stands nowhere else, so
// nor do pieces that begin with it. Those that began before known_to_ are in its score.
void ScoreLedger::FindWord(std::span<const uint16_t> codes, const TokenSink& sink) {
  uint32_t begin = sink.count;
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
bool ScoreLedger::BeginsWord(int32_t id) const {
  const size_t begin = model_.id_pieces[static_cast<uint32_t>(id)];
  const size_t end = model_.id_pieces[static_cast<uint32_t>(id) + 1];
  if (end < begin + 3 || end > model_.strings.size()) return false;
  const char* const piece = model_.strings.data() + begin;
  return piece[0] == '\xe2' && piece[1] == '\x96' && piece[2] == '\x81';
}

// The tokens of the path that was found; consecutive unknown characters are one. False at the
// unknown piece itself: that fuses like an unknown, which only the general path does; or at an
// unknown character that is to be spelled in bytes.
bool ScoreLedger::Push(const ScoreLattice& lattice, uint32_t size, TokenSink& sink) const {
  const uint32_t unk_id = model_.config->unk_id;
  bool after_unknown = false;
  for (uint32_t at = 0; at < size;) {
    at = lattice.link[at];
    const uint32_t value = lattice.value[at];
    const bool unknown = value == trie::kNoValue;
    if (unknown ? model_.has(image::kByteFallback) : value == unk_id) return false;
    if (!(unknown && after_unknown)) sink.Push(unknown ? unk_id : value, 0, 0);
    after_unknown = unknown;
  }
  return true;
}

}  // namespace rankfeed::unigram
