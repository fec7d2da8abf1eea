// SPDX-License-Identifier: MIT
// models/model.h: all that the engines ask of a kind of model. The fast road includes this header and
// no other one of models/; a test holds that.
//
// A kind of model says which ids a word has. Two things decide how it is asked:
//
// * What it reads. Unigram takes spans of character codes, all of a batch at once, so that the loads
//   of one arrive while others are searched. WordPiece takes the codes of a word and finds its ids at
//   once; BPE takes the symbols of several splits, which a loop of the engine merges in turn.
// * Whether ids depend on what comes before. Those of WordPiece and BPE do not. Unigram sums scores
//   along a stretch, and sums are rounded: ids come with the scores so far at which they hold
//   (image::PathInfo), and a ledger keeps the score.
//
// A further kind with independent words is asked as WordPiece and BPE are; a kind whose
// ids depend on what comes before has what the two concepts below name.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "base/token_sink.h"
#include "models/bpe/word.h"
#include "models/found.h"
#include "models/unigram/exactness.h"
#include "models/unigram/kernels/kernels.h"
#include "models/unigram/ledger.h"
#include "models/unigram/search.h"
#include "models/wordpiece/greedy.h"

namespace rankfeed::models {

// Finds the ids of all spans of a batch; then says those of one, or that it has to be searched in its
// stretch (a count of 0), and which codes it has.
template <class T>
concept SpanModel = requires(T model, const T& solved, const unigram::SpanList& spans, uint32_t n,
                             const unigram::ExactnessRule& rule) {
  model.Solve(spans, n, rule);
  { solved.found(n) } -> std::same_as<Found>;
  { solved.codes(n) } -> std::same_as<std::span<const uint16_t>>;
};

// Keeps the score of a stretch, from a token and a score on: says whether ids hold, searches a span
// where they do not, and says the score after the last token.
template <class T>
concept Ledger = requires(T ledger, std::span<const uint16_t> codes, TokenSink& sink,
                          image::PathInfo info, double* score) {
  ledger.Begin(sink.count, *score);
  { ledger.Holds(info) } -> std::same_as<bool>;
  { ledger.Search(codes, sink) } -> std::same_as<rankfeed_reason>;
  { ledger.End(sink, score) } -> std::same_as<rankfeed_reason>;
};

static_assert(SpanModel<unigram::SpanPaths> && Ledger<unigram::ScoreLedger>);

}  // namespace rankfeed::models
