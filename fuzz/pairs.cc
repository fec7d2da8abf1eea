// SPDX-License-Identifier: MIT
// fuzz/pairs.cc: rows of pairs, and the tensors they lie in, against the plain reference of
// tests/rerank/reference.h: truncation, windows, templates, padding, packing, sorting, batches, with
// documents of text and of ids mixed. All blocks have exactly the size that was asked for. An
// execution is one document.
#include <algorithm>

#include "engine.h"
#include "input.h"
#include "pair_model.h"
#include "rankfeed/rerank.h"
#include "rerank/reference.h"

namespace rankfeed::fuzz {
namespace {

using plain::Ids;

struct Side {
  std::string text;
  Ids ids;
  bool as_ids = false;
  rankfeed_source Source() const {
    rankfeed_source source{};
    if (as_ids) {
      static const int32_t kNone = 0;
      source.ids = ids.empty() ? &kNone : ids.data();
      source.id_count = static_cast<uint32_t>(ids.size());
    } else {
      source.text = {text.data(), text.size()};
    }
    return source;
  }
};

Side Draw(Input& in, size_t most) {
  Side side;
  for (size_t n = in.Below(most + 1); n > 0; --n) {
    const size_t letter = in.Below(8);
    side.text += static_cast<char>('a' + letter);
    side.ids.push_back(kLetters + static_cast<int32_t>(letter));
  }
  side.as_ids = in.OneIn(2);
  return side;
}

int64_t At(const rankfeed_tensor& tensor, size_t i) {
  FUZZ_ASSERT((i + 1) * (tensor.type == RANKFEED_INT64 ? 8 : 4) <= tensor.bytes);
  if (tensor.type == RANKFEED_INT64) return static_cast<const int64_t*>(tensor.data)[i];
  if (tensor.type == RANKFEED_UINT32) return static_cast<const uint32_t*>(tensor.data)[i];
  return static_cast<const int32_t*>(tensor.data)[i];
}

struct Expected {
  std::vector<plain::Rows> documents;
  rankfeed_model_info info;
};

// One row of a batch against the reference; first: its first element in the padded or packed tensor.
void CheckRow(const rankfeed_batch& batch, uint32_t r, size_t first, const Expected& expected,
              const rankfeed_rerank_options& o) {
  const rankfeed_batch_row& row = batch.row_map[r];
  FUZZ_ASSERT(row.document < expected.documents.size());
  const auto& rows = expected.documents[row.document];
  FUZZ_ASSERT(rows.status == RANKFEED_OK && row.chunk < rows.rows.size());
  const auto& [query, document] = rows.rows[row.chunk];
  Ids ids, types;
  const auto put = [&](int32_t id, int32_t type) {
    ids.push_back(id);
    types.push_back(type);
  };
  const bool specials = o.no_special_tokens == 0;
  if (specials) put(kBegin, 0);
  for (const int32_t id : query) put(id, 0);
  if (specials) put(kEnd, 0), put(kEnd, 1);
  for (const int32_t id : document) put(id, 1);
  if (specials) put(kEnd, 1);
  FUZZ_ASSERT(row.length == ids.size() && row.query_tokens == query.size());
  FUZZ_ASSERT(row.token_end - row.token_begin == document.size());
  const bool packed = o.layout == RANKFEED_PACKED;
  const size_t width = packed ? row.length : batch.row_length;
  const size_t skip = !packed && o.padding_side == RANKFEED_LEFT ? width - row.length : 0;
  for (size_t i = 0; i < width; ++i) {
    const bool pad = i < skip || i >= skip + row.length;
    FUZZ_ASSERT(At(batch.input_ids, first + i) == (pad ? kPad : ids[i - skip]));
    if (batch.attention_mask.dimensions != 0) {
      FUZZ_ASSERT(At(batch.attention_mask, first + i) == (pad ? 0 : 1));
    }
    if (batch.token_type_ids.dimensions != 0) {
      FUZZ_ASSERT(At(batch.token_type_ids, first + i) == (pad ? 0 : types[i - skip]));
    }
    if (batch.position_ids.dimensions != 0) {
      const auto position = pad ? int64_t{expected.info.position_pad}
                                : static_cast<int64_t>(expected.info.position_offset + i - skip);
      FUZZ_ASSERT(At(batch.position_ids, first + i) == position);
    }
    if (batch.row_of_token.dimensions != 0) FUZZ_ASSERT(At(batch.row_of_token, first + i) == r);
  }
  if (batch.lengths.dimensions != 0) FUZZ_ASSERT(At(batch.lengths, r) == row.length);
}

rankfeed_rerank_options DrawOptions(Input& in) {
  rankfeed_rerank_options o;
  rankfeed_rerank_options_init(&o);
  o.no_special_tokens = in.OneIn(8);
  const uint32_t specials = o.no_special_tokens != 0 ? 0 : kSpecials;
  o.truncation = static_cast<uint8_t>(in.Below(6));
  o.truncation_side = static_cast<uint8_t>(in.Below(2));
  if (!in.OneIn(5)) o.max_length = specials + 1 + static_cast<uint32_t>(in.Below(40));
  if (in.OneIn(3)) o.max_query_tokens = 1 + static_cast<uint32_t>(in.Below(20));
  if (in.OneIn(4)) o.max_tokens_per_doc = 1 + static_cast<uint32_t>(in.Below(40));
  if (o.max_length != 0 && in.OneIn(2)) {
    o.overflow = static_cast<uint8_t>(in.Below(3));
    if (o.overflow != RANKFEED_OVERFLOW_DROP) {
      o.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
      o.stride = static_cast<uint32_t>(in.Below(o.max_length - specials));
      if (in.OneIn(3)) o.max_chunks_per_doc = 1 + static_cast<uint32_t>(in.Below(4));
    }
  }
  o.layout = static_cast<uint8_t>(in.Below(2));
  o.id_type = static_cast<uint8_t>(in.Below(3));
  o.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS | RANKFEED_TENSOR_POSITION_IDS | RANKFEED_TENSOR_LENGTHS;
  if (o.layout == RANKFEED_PADDED) {
    o.tensors |= RANKFEED_TENSOR_ATTENTION_MASK;
    o.padding_side = static_cast<uint8_t>(in.Below(2));
    if (in.OneIn(3)) o.pad_to_multiple_of = 1 + static_cast<uint32_t>(in.Below(16));
  } else if (in.OneIn(2)) {
    o.tensors |= RANKFEED_TENSOR_ROW_OF_TOKEN;
  }
  if (in.OneIn(2)) o.max_rows_per_batch = 1 + static_cast<uint32_t>(in.Below(5));
  o.sort = static_cast<uint8_t>(in.Below(3));
  return o;
}

void Request(Input& in) {
  const rankfeed_rerank_options o = DrawOptions(in);
  const Side query = Draw(in, 24);
  std::vector<Side> sides;
  for (size_t n = 1 + in.Below(8); n > 0; --n) sides.push_back(Draw(in, in.OneIn(4) ? 120 : 30));
  Expected expected{};
  expected.info.struct_size = sizeof(expected.info);
  FUZZ_ASSERT(rankfeed_model_get_info(TheModel().get(), &expected.info) == RANKFEED_OK);
  size_t rows = 0, tokens = query.ids.size();
  for (const Side& side : sides) {
    expected.documents.push_back(
        plain::RowsOf(query.ids, side.ids, o, o.no_special_tokens != 0 ? 0 : kSpecials));
    rows += expected.documents.back().rows.size();
    tokens += side.ids.size();
  }

  rankfeed_rerank_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_documents = static_cast<uint32_t>(sides.size());
  limits.max_rows = static_cast<uint32_t>(std::max<size_t>(rows, sides.size()));
  limits.max_text_bytes = 128;
  limits.max_tokens = tokens + 64;
  limits.workers = 1;
  Encoder encoder(TheModel().get(), 128, false, 0);
  rankfeed_encoder* const encoders[] = {encoder.get()};
  rankfeed_mem_req need{};
  FUZZ_ASSERT(rankfeed_reranker_mem_req(TheModel().get(), &limits, &o, &need) == RANKFEED_OK);
  const Block scratch(need);
  std::memset(scratch.data(), in.U8(), need.size);
  rankfeed_reranker* reranker = nullptr;
  FUZZ_ASSERT(rankfeed_reranker_init(TheModel().get(), &limits, &o, encoders, scratch.data(),
                                     need.size, &reranker) == RANKFEED_OK);
  std::vector<rankfeed_source> documents;
  for (const Side& side : sides) documents.push_back(side.Source());
  std::vector<rankfeed_status> status(sides.size(), -1);
  rankfeed_request request{};
  request.struct_size = sizeof(request);
  request.document_count = static_cast<uint32_t>(sides.size());
  request.query = query.Source();
  request.documents = documents.data();
  request.document_status = status.data();
  FUZZ_ASSERT(rankfeed_rerank_begin(reranker, &request) == RANKFEED_OK);

  std::vector<std::pair<uint32_t, uint32_t>> seen;  // (document, chunk)
  uint32_t last = 0;
  size_t arena_size = 256;
  for (;;) {
    rankfeed_batch batch{};
    batch.struct_size = sizeof(batch);
    const Block arena(arena_size, 256);
    std::memset(arena.data(), 0xee, arena_size);
    batch.arena = arena.data();
    batch.arena_capacity = arena_size;
    const rankfeed_status filled = rankfeed_rerank_next(reranker, &batch);
    if (filled == RANKFEED_E_OUTPUT_SIZE) {  // then exactly what it asks for
      FUZZ_ASSERT(batch.arena_size > arena_size);
      arena_size = batch.arena_size;
      continue;
    }
    FUZZ_ASSERT(filled == RANKFEED_OK);
    if (batch.rows == 0) break;
    FUZZ_ASSERT(o.max_rows_per_batch == 0 || batch.rows <= o.max_rows_per_batch);
    size_t first = 0;
    uint32_t longest = 0;
    for (uint32_t r = 0; r < batch.rows; ++r) {
      const rankfeed_batch_row& row = batch.row_map[r];
      if (o.layout == RANKFEED_PACKED) FUZZ_ASSERT(At(batch.cu_seqlens, r) == static_cast<int64_t>(first));
      CheckRow(batch, r, first, expected, o);
      first += o.layout == RANKFEED_PACKED ? row.length : batch.row_length;
      longest = std::max(longest, row.length);
      if (!seen.empty() && o.sort == RANKFEED_SORT_DESCENDING) FUZZ_ASSERT(row.length <= last);
      if (!seen.empty() && o.sort == RANKFEED_SORT_ASCENDING) FUZZ_ASSERT(row.length >= last);
      if (!seen.empty() && o.sort == RANKFEED_SORT_NONE) {
        FUZZ_ASSERT(seen.back() < std::make_pair(row.document, row.chunk));
      }
      last = row.length;
      seen.emplace_back(row.document, row.chunk);
    }
    if (o.layout == RANKFEED_PACKED) {
      FUZZ_ASSERT(At(batch.cu_seqlens, batch.rows) == static_cast<int64_t>(first));
      FUZZ_ASSERT(batch.tokens == first);
    } else {
      const uint32_t unit = std::max(o.pad_to_multiple_of, 1u);
      FUZZ_ASSERT(batch.row_length == (longest + unit - 1) / unit * unit);
    }
    FUZZ_ASSERT(batch.max_seqlen == longest);
  }
  std::sort(seen.begin(), seen.end());
  size_t at = 0;
  for (uint32_t d = 0; d < sides.size(); ++d) {
    FUZZ_ASSERT(status[d] == expected.documents[d].status);
    for (uint32_t chunk = 0; chunk < expected.documents[d].rows.size(); ++chunk, ++at) {
      FUZZ_ASSERT(at < seen.size() && seen[at] == std::make_pair(d, chunk));
    }
    ++counters.executions;
  }
  FUZZ_ASSERT(at == seen.size());
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  while (!in.empty()) Request(in);
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 64 + random.Below(2000));
}

const Register registered({"pairs", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
