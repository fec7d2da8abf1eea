// SPDX-License-Identifier: MIT
// python/src/cutter.h: the reranker of rankfeed/rerank.h over texts that were tokenized before:
// what cuts rows, for ragged rows and for requests.
#pragma once

#include <span>
#include <vector>

#include "model.h"

namespace rankfeed::python {

// Tokens as a source of the reranker, valid while they are.
rankfeed_source SourceOf(const Tokens& tokens);

// A reranker over ids for requests of up to `documents` documents with `rows` rows. One thread at a
// time.
class Cutter {
 public:
  Cutter(const rankfeed_model* model, const rankfeed_rerank_options& options, size_t documents,
         size_t rows);
  rankfeed_reranker* get() const { return reranker_; }

 private:
  AlignedBytes scratch_;
  rankfeed_reranker* reranker_ = nullptr;
};

// Rows that documents of these sizes can become: exact without windows, an upper bound with them.
size_t RowBound(const rankfeed_rerank_options& options, const rankfeed_model_info& info,
                size_t query_tokens, std::span<const rankfeed_source> documents);

}  // namespace rankfeed::python
