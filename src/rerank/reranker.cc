// SPDX-License-Identifier: MIT
// rerank/reranker.cc: one request from documents to batches to a ranking.
#include "rerank/reranker.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "rerank/scores.h"

namespace rankfeed::rerank {
namespace {

// Documents per worker that are tokenized between two looks at whether a batch is full. More make
// the first batch later, fewer leave workers idle at the end of each group and give the encoder
// fewer texts to work on at once.
constexpr size_t kGroupPerWorker = 8;

// Requests that the process has begun. One count for all rerankers: a batch must not pass for one
// of a reranker that was made after its own, in the same scratch even.
constinit std::atomic<uint64_t> g_generation{0};

// The size of programs compiled before the field was there.
constexpr size_t kRequestWithoutInstruction = offsetof(rankfeed_request, instruction);

rankfeed_status CheckRequest(const rankfeed_request& request, uint32_t workers) {
  if (request.instruction.data == nullptr && request.instruction.size != 0) return RANKFEED_E_ARGUMENT;
  if (request.document_count == 0 || request.documents == nullptr ||
      request.document_status == nullptr) {
    return RANKFEED_E_ARGUMENT;
  }
  if (const rankfeed_control* control = request.control; control != nullptr) {
    if (control->struct_size != sizeof(*control)) return RANKFEED_E_STRUCT_SIZE;
    if (control->reserved != 0) return RANKFEED_E_ARGUMENT;
  }
  if (const rankfeed_executor* executor = request.executor; executor != nullptr) {
    if (executor->struct_size != sizeof(*executor)) return RANKFEED_E_STRUCT_SIZE;
    if (executor->parallel_for == nullptr || executor->workers == 0) return RANKFEED_E_ARGUMENT;
    if (executor->workers > workers) return RANKFEED_E_LIMIT;
  }
  return RANKFEED_OK;
}

// The part of a request that one parallel_for works on.
struct Group {
  TokenStore* store;
  const TokenStore::Job* job;
  size_t first;

  static void Run(void* context, size_t begin, size_t end, uint32_t worker) {
    const Group& group = *static_cast<const Group*>(context);
    group.store->Tokenize(*group.job, group.first + begin, group.first + end, worker);
  }
};

}  // namespace

void Reranker::CarveArrays(Layout& layout, const Sizes& sizes) {
  sizes_ = sizes;
  items_ = {layout.Take<TemplateItem>(sizes.template_items), sizes.template_items};
  documents_ = layout.Take<Document>(sizes.documents);
  ranked_ = layout.Take<ScoredDocument>(sizes.documents);
  rows_ = layout.Take<rankfeed_batch_row>(sizes.rows);
  scores_ = layout.Take<float>(sizes.rows);
  margins_ = layout.Take<float>(sizes.rows);
  store_.Carve(layout, sizes.tokens);
}

rankfeed_status Reranker::Init(const Setup& checked, const rankfeed_rerank_options& options,
                               const rankfeed_rerank_limits& given,
                               rankfeed_encoder* const* encoders,
                               const Tokenizer& tokenizer) {
  setup = checked;
  limits = need = given;
  store_.SetEncoders(tokenizer, encoders);
  const PartEncoder parts = {
      &store_, [](void* context, rankfeed_text text, const int32_t** ids, uint32_t* count) {
        return static_cast<TokenStore*>(context)->EncodeText(text, 0, ids, count);
      }};
  rankfeed_status status = BuildTemplate(setup.template_source, parts, items_, &pair_template);
  if (status == RANKFEED_OK) status = FinishSetup(options, pair_template, &setup);
  if (status == RANKFEED_OK) magic = kRerankerMagic;
  return status;
}

rankfeed_status Reranker::Begin(const rankfeed_request& given) {
  active_ = false;
  generation_ = g_generation.fetch_add(1, std::memory_order_relaxed) + 1;
  need = limits;
  if (given.struct_size != sizeof(given) && given.struct_size != kRequestWithoutInstruction) {
    return RANKFEED_E_STRUCT_SIZE;
  }
  rankfeed_request request = {};
  std::memcpy(&request, &given, given.struct_size);
  if (const rankfeed_status status = CheckRequest(request, store_.workers())) return status;
  if (request.document_count > sizes_.documents) {
    need.max_documents = request.document_count;
    return RANKFEED_E_LIMIT;
  }
  request_ = request;
  std::fill_n(request.document_status, request.document_count, RANKFEED_E_STATE);
  stop_.Reset(request.control);
  if (stop_.Check()) return stop_.reason();

  store_.Reset();
  tokenized_ = 0;
  planned_ = written_ = 0;
  query_ = {};
  if (setup.rules.has_query) {
    const rankfeed_status status = store_.SetQuery(
        request.query, setup.row_template, request.instruction, setup.encode_flags, &query_);
    if (status != RANKFEED_OK) return status;
  }
  query_part_ = QueryPart(setup.rules, query_.count);
  active_ = true;
  return RANKFEED_OK;
}

void Reranker::Tokenize(size_t begin, size_t end) {
  const TokenStore::Job job = {
      request_.documents, request_.document_status, documents_, &setup.rules,
      query_part_.size(), setup.encode_flags,       &stop_};
  const rankfeed_executor* executor = request_.executor;
  if (executor == nullptr) {
    store_.Tokenize(job, begin, end, 0);
  } else {
    Group group = {&store_, &job, begin};
    const rankfeed_status status =
        executor->parallel_for(executor->context, end - begin, &Group::Run, &group);
    if (status != RANKFEED_OK) stop_.Raise(status);
  }
  tokenized_ = end;
}

rankfeed_status Reranker::TokenizeMore(const BatchLimits& batch_limits, bool all) {
  const size_t begin = tokenized_, count = request_.document_count;
  size_t end = count;
  if (!all && setup.sort == RANKFEED_SORT_NONE) {
    const size_t group =
        kGroupPerWorker * (request_.executor != nullptr ? request_.executor->workers : 1);
    end = std::min(count, begin + group);
  }
  Tokenize(begin, end);
  if (stop_.reason() != RANKFEED_OK) return stop_.reason();
  PlanRows(batch_limits, begin, end);
  if (store_.full() || planned_ > sizes_.rows) {
    // Too small already; go on counting to say by how much.
    Tokenize(end, count);
    if (stop_.reason() != RANKFEED_OK) return stop_.reason();
    PlanRows(batch_limits, end, count);
    need.max_tokens = std::max(limits.max_tokens, store_.used());
    need.max_rows = static_cast<uint32_t>(
        std::clamp<uint64_t>(planned_, sizes_.rows, std::numeric_limits<uint32_t>::max()));
    return RANKFEED_E_WORKSPACE_SIZE;
  }
  if (setup.sort != RANKFEED_SORT_NONE) SortRows(setup.sort, {rows_, planned_});
  return RANKFEED_OK;
}

void Reranker::PlanRows(const BatchLimits& batch_limits, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    Document& document = documents_[i];
    if (document.rows.count == 0) continue;
    if (BatchPlan alone(setup.tensors, setup.padding, batch_limits);
        !alone.Add(document.rows.longest_row)) {
      request_.document_status[i] = RANKFEED_E_TOO_LONG;
      document.rows.count = 0;
      continue;
    }
    document.first_row = planned_;
    planned_ += document.rows.count;
    if (planned_ > sizes_.rows) continue;
    for (uint32_t chunk = 0; chunk < document.rows.count; ++chunk) {
      const uint64_t row = document.first_row + chunk;
      rows_[row] = RowOf(document, static_cast<uint32_t>(i), chunk);
      scores_[row] = std::numeric_limits<float>::quiet_NaN();  // not given yet
    }
  }
}

rankfeed_batch_row Reranker::RowOf(const Document& document, uint32_t index, uint32_t chunk) const {
  const Range range = document.rows.document(chunk);
  rankfeed_batch_row row = {};
  row.document = index;
  row.chunk = chunk;
  row.token_begin = range.begin;
  row.token_end = range.end;
  if (const TokenView& tokens = document.tokens; tokens.begin != nullptr && range.size() != 0) {
    // Places count in the document, not in the text that it is tokenized in.
    const auto in_document = [&](uint32_t place) {
      const size_t before = store_.before_bytes();
      const size_t size = request_.documents[index].text.size;
      if (request_.documents[index].ids != nullptr || before == 0) return place;
      return static_cast<uint32_t>(std::min(place > before ? place - before : 0, size));
    };
    row.byte_begin = in_document(tokens.begin[range.begin - tokens.first]);
    row.byte_end = in_document(tokens.end[range.end - 1 - tokens.first]);
  }
  row.query_tokens = document.rows.query_tokens;
  row.length = setup.rules.template_tokens + row.query_tokens + range.size();
  return row;
}

rankfeed_status Reranker::Next(const BatchLimits& batch_limits, bool all, rankfeed_batch* io) {
  const rankfeed_batch given = *io;
  *io = {};
  io->struct_size = given.struct_size;
  io->arena = given.arena;
  io->arena_capacity = given.arena_capacity;
  if (!active_) return RANKFEED_E_STATE;
  if (given.arena == nullptr && given.arena_capacity != 0) return RANKFEED_E_ARGUMENT;
  if (reinterpret_cast<uintptr_t>(given.arena) % kTensorAlignment != 0) {
    return RANKFEED_E_ALIGNMENT;
  }
  if (stop_.Check()) return End(stop_.reason());

  BatchPlan plan(setup.tensors, setup.padding, batch_limits);
  uint64_t next = written_;
  for (;; ++next) {
    while (next == planned_ && tokenized_ < request_.document_count) {
      const rankfeed_status status = TokenizeMore(batch_limits, all);
      if (status != RANKFEED_OK) return End(status);
    }
    if (next == planned_ || !plan.Add(rows_[next].length)) break;
  }
  if (next == written_) return RANKFEED_OK;

  rankfeed_batch carved = *io;
  if (const rankfeed_status status = CarveBatch(setup.tensors, plan.shape(), io->arena, &carved)) {
    return status;
  }
  if (carved.arena_size > io->arena_capacity) {
    io->arena_size = carved.arena_size;
    return RANKFEED_E_OUTPUT_SIZE;
  }
  *io = carved;
  io->max_seqlen = plan.max_seqlen();
  io->first_row = written_;
  io->row_map = rows_ + written_;
  io->generation = generation_;
  Write(io);
  written_ = next;
  return RANKFEED_OK;
}

void Reranker::Write(rankfeed_batch* batch) const {
  BatchWriter writer(setup.tensors, setup.style, pair_template, batch);
  for (uint32_t i = 0; i < batch->rows; ++i) {
    const rankfeed_batch_row& row = batch->row_map[i];
    const TokenView& document = documents_[row.document].tokens;
    const Range query = Keep(query_part_.size(), row.query_tokens, setup.rules.truncation_side);
    writer.Row(
        {{query_.ids + query_part_.begin + query.begin, query.size()},
         {document.ids + (row.token_begin - document.first), row.token_end - row.token_begin},
         row.length});
  }
  writer.Finish();
}

rankfeed_status Reranker::PutScores(const rankfeed_batch& batch, const float* logits,
                                    const rankfeed_score_options& options) {
  const uint32_t labels = options.labels != 0 ? options.labels : 1;
  if (options.activation > RANKFEED_SCORE_SOFTMAX || options.label >= labels) {
    return RANKFEED_E_ARGUMENT;
  }
  const bool has_generation = batch.struct_size > offsetof(rankfeed_batch, generation);
  if (has_generation && batch.generation != generation_) return RANKFEED_E_STALE;
  if (!active_ || batch.first_row > written_ || batch.rows > written_ - batch.first_row) {
    return RANKFEED_E_STATE;
  }
  size_t count, bytes;
  if (__builtin_mul_overflow(size_t{batch.rows}, labels, &count) ||
      __builtin_mul_overflow(count, sizeof(float), &bytes) || bytes > PTRDIFF_MAX) {
    return RANKFEED_E_ARGUMENT;  // no array is as long
  }
  if (!std::all_of(logits, logits + count, [](float x) { return std::isfinite(x); })) {
    return RANKFEED_E_ARGUMENT;
  }
  for (uint32_t i = 0; i < batch.rows; ++i) {
    const rankfeed_batch_row& row = rows_[batch.first_row + i];
    const uint64_t place = documents_[row.document].first_row + row.chunk;
    const std::span<const float> all(logits + size_t{i} * labels, labels);
    scores_[place] = Activate(options.activation, all, options.label);
    margins_[place] = Margin(options.activation, all, options.label);
  }
  return RANKFEED_OK;
}

rankfeed_status Reranker::Rank(const rankfeed_rank_options& options, rankfeed_ranked* ranked,
                               uint32_t capacity, uint32_t* count) {
  if (options.aggregation > RANKFEED_AGGREGATE_MEAN || options.ties > RANKFEED_TIES_DESCENDING) {
    return RANKFEED_E_ARGUMENT;
  }
  if (!active_ || tokenized_ < request_.document_count) return RANKFEED_E_STATE;
  uint32_t documents = 0;
  for (uint32_t i = 0; i < request_.document_count; ++i) {
    const Document& document = documents_[i];
    if (document.rows.count == 0) continue;
    const std::span<const float> rows(scores_ + document.first_row, document.rows.count);
    if (std::any_of(rows.begin(), rows.end(), [](float x) { return std::isnan(x); })) {
      return RANKFEED_E_STATE;
    }
    const std::span<const float> margins(margins_ + document.first_row, document.rows.count);
    ranked_[documents++] = {{i, Aggregate(options.aggregation, rows)}, Aggregate(options.aggregation, margins)};
  }
  *count = options.top_n != 0 ? std::min(options.top_n, documents) : documents;
  if (*count > capacity) return RANKFEED_E_OUTPUT_SIZE;
  RankDocuments({ranked_, documents}, options.ties, *count);
  std::transform(ranked_, ranked_ + *count, ranked, [](const ScoredDocument& x) { return x.ranked; });
  return RANKFEED_OK;
}

}  // namespace rankfeed::rerank
