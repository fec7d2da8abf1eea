// SPDX-License-Identifier: MIT
// python/src/cutter.cc: see cutter.h.
#include "cutter.h"

#include <algorithm>
#include <limits>

namespace rankfeed::python {
namespace {

constexpr int32_t kNoIds[1] = {};

}  // namespace

rankfeed_source SourceOf(const Tokens& tokens) {
  rankfeed_source source{};
  source.ids = tokens.ids.empty() ? kNoIds : tokens.ids.data();
  source.id_count = static_cast<uint32_t>(tokens.ids.size());
  if (!tokens.begin.empty()) {
    source.offset_begin = tokens.begin.data();
    source.offset_end = tokens.end.data();
  }
  return source;
}

Cutter::Cutter(const rankfeed_model* model, const rankfeed_rerank_options& options,
               size_t documents, size_t rows) {
  constexpr size_t kMost = std::numeric_limits<uint32_t>::max();
  if (documents > kMost || rows > kMost) {
    throw StatusError(RANKFEED_E_LIMIT,
                      std::to_string(std::max(documents, rows)) + " rows: 32 bits count them");
  }
  rankfeed_rerank_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_documents = static_cast<uint32_t>(documents);
  limits.max_rows = static_cast<uint32_t>(rows);
  rankfeed_mem_req need;
  Check(rankfeed_reranker_mem_req(model, &limits, &options, &need), "options");
  scratch_ = AlignedBytes(need);
  Check(rankfeed_reranker_init(model, &limits, &options, nullptr, scratch_.data(), scratch_.size(),
                               &reranker_),
        "options");
}

size_t RowBound(const rankfeed_rerank_options& o, const rankfeed_model_info& info,
                size_t query_tokens, std::span<const rankfeed_source> documents) {
  if (o.overflow == RANKFEED_OVERFLOW_DROP) return documents.size();
  const rankfeed_pair_template* const own = o.pair_template;
  const size_t specials = own != nullptr ? size_t{own->prefix.id_count} + own->middle.id_count + own->suffix.id_count
                          : o.no_special_tokens != 0                    ? 0
                          : o.template_kind == RANKFEED_TEMPLATE_SINGLE ? info.specials_single
                                                                        : info.specials_pair;
  const size_t taken = specials + query_tokens + o.stride;
  const size_t step = o.max_length > taken ? o.max_length - taken : 1;
  size_t rows = 0;
  for (const rankfeed_source& d : documents) {
    size_t windows = d.id_count / step + 1;
    if (o.overflow == RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST) windows = 2 * windows + 2;
    if (o.max_chunks_per_doc != 0) windows = std::min<size_t>(windows, o.max_chunks_per_doc);
    rows += windows;
  }
  return rows;
}

}  // namespace rankfeed::python
