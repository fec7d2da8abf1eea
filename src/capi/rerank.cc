// SPDX-License-Identifier: MIT
// capi/rerank.cc: argument checks around the reranker.
#include "rankfeed/rerank.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "base/layout.h"
#include "encode/encoder.h"
#include "image/model.h"
#include "rerank/batch_layout.h"
#include "rerank/pair_template.h"
#include "rerank/reranker.h"
#include "rerank/setup.h"
#include "rerank/templates/row_template.h"

namespace {

using rankfeed::Layout;
using namespace rankfeed::rerank;

rankfeed_status FactsOf(const rankfeed_model* model, ModelFacts* out) {
  *out = {};
  if (model == nullptr) return RANKFEED_OK;
  if (model->magic != rankfeed::kModelMagic) return RANKFEED_E_ARGUMENT;
  const rankfeed::image::Config& config = *model->config;
  out->pair = model->template_pair;
  out->single = model->template_single;
  out->has_pad = config.pad_id != rankfeed::image::kNoId;
  out->style = {out->has_pad ? config.pad_id : 0, config.pad_type_id, config.position_offset,
                config.position_pad, model->has(rankfeed::image::kPadLeft)};
  return RANKFEED_OK;
}

// Writes the model's facts, with the padding token of a row template that names one.
rankfeed_status FactsOf(const rankfeed_model* model, const rankfeed_rerank_options& options, ModelFacts* out) {
  if (const rankfeed_status status = FactsOf(model, out)) return status;
  if (options.struct_size != sizeof(options) || options.pair_template == nullptr) return RANKFEED_OK;
  const rankfeed_template* const row = RowTemplateOf(*options.pair_template);
  if (row == nullptr) return RANKFEED_OK;
  if (row->magic != rankfeed::templates::kTemplateMagic || (model != nullptr && row->model != model)) {
    return RANKFEED_E_ARGUMENT;
  }
  if (row->info.pad_id >= 0) {
    out->has_pad = true;
    out->style.pad_id = static_cast<uint32_t>(row->info.pad_id);
  }
  return RANKFEED_OK;
}

// The size of programs compiled before limits had max_stretch_bytes.
constexpr size_t kLimitsWithoutStretch = offsetof(rankfeed_rerank_limits, max_stretch_bytes);

bool Good(const rankfeed_rerank_limits& limits) {
  return limits.struct_size == sizeof(limits) || limits.struct_size == kLimitsWithoutStretch;
}

// Everything that init and mem_req check alike. *limits: the caller's, zeros where they end.
rankfeed_status Prepare(const rankfeed_model* model, const rankfeed_rerank_limits* given,
                        const rankfeed_rerank_options* options, Setup* setup,
                        Reranker::Sizes* sizes, rankfeed_rerank_limits* limits) {
  if (given == nullptr || options == nullptr) return RANKFEED_E_ARGUMENT;
  if (!Good(*given)) return RANKFEED_E_STRUCT_SIZE;
  *limits = {};
  std::memcpy(limits, given, given->struct_size);
  ModelFacts facts;
  rankfeed_status status = FactsOf(model, *options, &facts);
  if (status == RANKFEED_OK) status = CheckOptions(*options, facts, setup);
  if (status != RANKFEED_OK) return status;
  if (limits->max_documents == 0 || limits->with_offsets > 1 ||
      (limits->workers == 0) != (limits->max_text_bytes == 0) ||
      (model == nullptr && limits->workers != 0) ||
      (limits->with_offsets != 0 && limits->workers == 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  uint32_t text_tokens = 0;
  if (limits->workers != 0) {
    text_tokens = rankfeed_token_bound(model, limits->max_text_bytes);
    if (text_tokens == 0xffffffffu) return RANKFEED_E_LIMIT;
  }
  // Tokens of a row are counted in an int32 (cu_seqlens), those of the template too.
  const uint64_t template_items = TemplateBound(setup->template_source, text_tokens);
  if (template_items > 0x7fffffff) return RANKFEED_E_LIMIT;
  *sizes = {limits->max_documents,
            limits->max_rows != 0 ? limits->max_rows : limits->max_documents,
            static_cast<size_t>(template_items),
            {limits->max_tokens, text_tokens, limits->max_text_bytes, limits->workers,
             limits->with_offsets != 0, setup->row_template != nullptr}};
  return RANKFEED_OK;
}

bool Open(const rankfeed_reranker* reranker) {
  return reranker != nullptr && reranker->magic == kRerankerMagic;
}

// The sizes of programs compiled before the fields were there.
constexpr size_t kBatchWithoutGeneration = offsetof(rankfeed_batch, generation);
constexpr size_t kBatchWithoutLastTokens = offsetof(rankfeed_batch, last_tokens);

bool Good(const rankfeed_batch& io) {
  return io.struct_size == sizeof(io) || io.struct_size == kBatchWithoutLastTokens ||
         io.struct_size == kBatchWithoutGeneration;
}

// Nothing past the caller's struct_size is read or written.
rankfeed_batch Load(const rankfeed_batch& io) {
  rankfeed_batch batch = {};
  std::memcpy(&batch, &io, io.struct_size);
  return batch;
}
void Store(const rankfeed_batch& batch, rankfeed_batch* io) {
  std::memcpy(io, &batch, batch.struct_size);
}

}  // namespace

void rankfeed_rerank_options_init(rankfeed_rerank_options* options) {
  *options = {};
  options->struct_size = sizeof(*options);
}

const char* rankfeed_rerank_options_problem(const rankfeed_model* model,
                                            const rankfeed_rerank_options* options,
                                            const char** field) {
  Refusal why = {"options", "it is null or of another version of the library"};
  ModelFacts facts;
  if (options != nullptr && options->struct_size == sizeof(*options)) {
    why = FactsOf(model, *options, &facts) == RANKFEED_OK ? WhyRefused(*options, facts)
                                                : Refusal{"model", "it is no model, or not that of the row template"};
    const rankfeed_pair_template* const custom = options->pair_template;
    if (why.field == nullptr && custom != nullptr && !SizeIsGood(*custom)) {
      why = {"pair_template", "it is of another version of the library"};
    }
    if (why.field == nullptr && custom != nullptr && !PartsAreGood(*custom)) {
      why = {"pair_template", "each part has ids, none below 0, or a text"};
    }
    if (why.field == nullptr) {
      why = WhyNoRoom(*options, TemplateTokens({facts.pair, facts.single, custom, options->template_kind,
                                                options->no_special_tokens != 0}));
    }
  }
  if (field != nullptr) *field = why.field;
  return why.rule;
}

rankfeed_status rankfeed_batch_arena_size(const rankfeed_rerank_options* options, uint32_t rows,
                                          uint32_t row_length, uint64_t tokens, size_t* bytes) {
  if (options == nullptr || bytes == nullptr) return RANKFEED_E_ARGUMENT;
  TensorSpec spec;
  rankfeed_batch batch = {};
  rankfeed_status status = CheckTensors(*options, &spec);
  if (status == RANKFEED_OK) status = CarveBatch(spec, {rows, row_length, tokens}, nullptr, &batch);
  if (status == RANKFEED_OK) *bytes = batch.arena_size;
  return status;
}

rankfeed_status rankfeed_batch_carve(const rankfeed_rerank_options* options, uint32_t rows,
                                     uint32_t row_length, uint64_t tokens, rankfeed_batch* io) {
  if (options == nullptr || io == nullptr) return RANKFEED_E_ARGUMENT;
  if (!Good(*io)) return RANKFEED_E_STRUCT_SIZE;
  TensorSpec spec;
  if (const rankfeed_status status = CheckTensors(*options, &spec)) return status;
  if (reinterpret_cast<uintptr_t>(io->arena) % kTensorAlignment != 0) return RANKFEED_E_ALIGNMENT;
  rankfeed_batch carved = Load(*io);
  const rankfeed_status status = CarveBatch(spec, {rows, row_length, tokens}, io->arena, &carved);
  if (status != RANKFEED_OK) return status;
  if (carved.arena_size > io->arena_capacity) {
    io->arena_size = carved.arena_size;
    return RANKFEED_E_OUTPUT_SIZE;
  }
  Store(carved, io);
  return RANKFEED_OK;
}

rankfeed_status rankfeed_reranker_mem_req(const rankfeed_model* model,
                                          const rankfeed_rerank_limits* limits,
                                          const rankfeed_rerank_options* options,
                                          rankfeed_mem_req* out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  Setup setup;
  Reranker::Sizes sizes;
  rankfeed_rerank_limits given;
  if (const rankfeed_status status = Prepare(model, limits, options, &setup, &sizes, &given)) {
    return status;
  }
  Layout layout(nullptr);
  layout.Take<rankfeed_reranker>(1);
  Reranker().CarveArrays(layout, sizes);
  if (!layout.ok()) return RANKFEED_E_LIMIT;
  *out = {layout.size(), Layout::kAlignment};
  return RANKFEED_OK;
}

rankfeed_status rankfeed_reranker_init(const rankfeed_model* model,
                                       const rankfeed_rerank_limits* limits,
                                       const rankfeed_rerank_options* options,
                                       rankfeed_encoder* const* encoders, void* scratch,
                                       size_t scratch_size, rankfeed_reranker** out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  rankfeed_mem_req need;
  rankfeed_status status = rankfeed_reranker_mem_req(model, limits, options, &need);
  if (status != RANKFEED_OK) return status;
  Setup setup;
  Reranker::Sizes sizes;
  rankfeed_rerank_limits given;
  Prepare(model, limits, options, &setup, &sizes, &given);  // succeeded above
  if (scratch == nullptr || (encoders == nullptr && given.workers != 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  const uint32_t stretch = std::min(given.max_stretch_bytes, given.max_text_bytes);
  for (uint32_t i = 0; i < given.workers; ++i) {
    if (encoders[i] == nullptr || encoders[i]->general.max_stretch_bytes < stretch) {
      return RANKFEED_E_ARGUMENT;
    }
  }
  if (reinterpret_cast<uintptr_t>(scratch) % need.alignment != 0) return RANKFEED_E_ALIGNMENT;
  if (scratch_size < need.size) return RANKFEED_E_WORKSPACE_SIZE;

  Layout layout(scratch);
  auto* reranker = new (layout.Take<rankfeed_reranker>(1)) rankfeed_reranker;
  reranker->CarveArrays(layout, sizes);
  status = reranker->Init(setup, *options, given, encoders);
  if (status == RANKFEED_OK) *out = reranker;
  return status;
}

rankfeed_status rankfeed_rerank_begin(rankfeed_reranker* reranker,
                                      const rankfeed_request* request) {
  if (!Open(reranker) || request == nullptr) return RANKFEED_E_ARGUMENT;
  return reranker->Begin(*request);
}

rankfeed_status rankfeed_rerank_next(rankfeed_reranker* reranker, rankfeed_batch* io) {
  if (!Open(reranker) || io == nullptr) return RANKFEED_E_ARGUMENT;
  if (!Good(*io)) return RANKFEED_E_STRUCT_SIZE;
  rankfeed_batch batch = Load(*io);
  const rankfeed_status status = reranker->Next(reranker->setup.batch, false, &batch);
  Store(batch, io);
  return status;
}

rankfeed_status rankfeed_reranker_need(const rankfeed_reranker* reranker,
                                       rankfeed_rerank_limits* limits) {
  if (!Open(reranker) || limits == nullptr) return RANKFEED_E_ARGUMENT;
  if (!Good(*limits)) return RANKFEED_E_STRUCT_SIZE;
  rankfeed_rerank_limits need = reranker->need;
  need.struct_size = limits->struct_size;
  std::memcpy(limits, &need, need.struct_size);
  return RANKFEED_OK;
}

rankfeed_status rankfeed_encode_pairs(rankfeed_reranker* reranker, const rankfeed_request* request,
                                      rankfeed_batch* io) {
  if (!Open(reranker) || request == nullptr || io == nullptr) return RANKFEED_E_ARGUMENT;
  if (!Good(*io)) return RANKFEED_E_STRUCT_SIZE;
  rankfeed_batch batch = Load(*io);
  batch.rows = 0;
  rankfeed_status status = reranker->Begin(*request);
  if (status == RANKFEED_OK) status = reranker->Next(BatchLimits{}, true, &batch);
  Store(batch, io);
  return status == RANKFEED_OK ? status : reranker->End(status);
}

rankfeed_status rankfeed_rerank_put_scores(rankfeed_reranker* reranker, const rankfeed_batch* batch,
                                           const float* logits,
                                           const rankfeed_score_options* options) {
  if (!Open(reranker) || batch == nullptr || logits == nullptr) return RANKFEED_E_ARGUMENT;
  const rankfeed_score_options none = {sizeof(none), RANKFEED_SCORE_RAW, 1, 0};
  if (options == nullptr) options = &none;
  if (!Good(*batch) || options->struct_size != sizeof(*options)) return RANKFEED_E_STRUCT_SIZE;
  return reranker->PutScores(Load(*batch), logits, *options);
}

rankfeed_status rankfeed_rerank_rank(rankfeed_reranker* reranker,
                                     const rankfeed_rank_options* options, rankfeed_ranked* ranked,
                                     uint32_t capacity, uint32_t* count) {
  if (!Open(reranker) || count == nullptr || (ranked == nullptr && capacity != 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  const rankfeed_rank_options none = {sizeof(none), RANKFEED_AGGREGATE_MAX, RANKFEED_TIES_ASCENDING,
                                      0};
  if (options == nullptr) options = &none;
  if (options->struct_size != sizeof(*options)) return RANKFEED_E_STRUCT_SIZE;
  return reranker->Rank(*options, ranked, capacity, count);
}
