// SPDX-License-Identifier: MIT
// rerank/reranker.h: the object of rankfeed_reranker: documents in, batches out.
//
// A request goes through three cursors, each at or after the one before:
//   documents tokenized  >=  rows planned (all rows of those documents)  >=  rows written
// Unsorted requests move them together, a document (or a group for the workers) at a time, so the
// first batch is ready before the last document is read; sorting needs all lengths first.
#pragma once

#include <cstdint>

#include "base/layout.h"
#include "rankfeed/rerank.h"
#include "rerank/scores.h"
#include "rerank/setup.h"
#include "rerank/stop.h"
#include "rerank/token_store.h"

namespace rankfeed::rerank {

inline constexpr uint64_t kRerankerMagic = 0x6b6e6172656b66ULL;

struct Reranker {
  // The parts of the scratch; one function measures and carves them.
  struct Sizes {
    uint32_t documents;
    uint32_t rows;
    size_t template_items;
    TokenStore::Sizes tokens;
  };
  // Measures (layout over null) or carves the arrays; the object itself comes before them.
  void CarveArrays(Layout& layout, const Sizes& sizes);

  rankfeed_status Init(const Setup& checked, const rankfeed_rerank_options& options,
                       const rankfeed_rerank_limits& given,
                       rankfeed_encoder* const* encoders,
                       const Tokenizer& tokenizer = kTokenizer);

  rankfeed_status Begin(const rankfeed_request& request);
  // batch_limits: those of the options, or none. all: tokenize everything before planning.
  rankfeed_status Next(const BatchLimits& batch_limits, bool all, rankfeed_batch* io);
  rankfeed_status PutScores(const rankfeed_batch& batch, const float* logits,
                            const rankfeed_score_options& options);
  rankfeed_status Rank(const rankfeed_rank_options& options, rankfeed_ranked* ranked,
                       uint32_t capacity, uint32_t* count);
  rankfeed_status End(rankfeed_status status) {
    active_ = false;
    return status;
  }

  uint64_t magic = 0;
  Setup setup = {};
  PairTemplate pair_template;
  rankfeed_rerank_limits limits = {}, need = {};

 private:
  void Tokenize(size_t begin, size_t end);
  rankfeed_status TokenizeMore(const BatchLimits& batch_limits, bool all);
  void PlanRows(const BatchLimits& batch_limits, size_t begin, size_t end);
  rankfeed_batch_row RowOf(const Document& document, uint32_t index, uint32_t chunk) const;
  void Write(rankfeed_batch* batch) const;

  Sizes sizes_ = {};
  std::span<TemplateItem> items_;
  Document* documents_ = nullptr;       // [sizes.documents]
  rankfeed_batch_row* rows_ = nullptr;  // [sizes.rows], in the order they are written
  float* scores_ = nullptr;             // [sizes.rows], in the documents' order
  float* margins_ = nullptr;            // [sizes.rows], likewise
  ScoredDocument* ranked_ = nullptr;    // [sizes.documents]
  TokenStore store_;

  // The request under way.
  bool active_ = false;
  uint64_t generation_ = 0;  // of the latest Begin
  rankfeed_request request_ = {};
  Stop stop_;
  TokenView query_;
  Range query_part_ = {};
  size_t tokenized_ = 0;  // documents
  uint64_t planned_ = 0;  // rows, also past sizes.rows when there are too many
  uint64_t written_ = 0;  // rows
};

}  // namespace rankfeed::rerank

// The opaque public handle is the reranker itself.
struct rankfeed_reranker : rankfeed::rerank::Reranker {};
