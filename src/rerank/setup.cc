// SPDX-License-Identifier: MIT
// rerank/setup.cc: every rule about options in one place.
#include "rerank/setup.h"

namespace rankfeed::rerank {
namespace {

bool BucketsAreGood(const rankfeed_rerank_options& options) {
  if ((options.buckets == nullptr) != (options.bucket_count == 0)) return false;
  for (uint32_t i = 0; i < options.bucket_count; ++i) {
    if (options.buckets[i] <= (i != 0 ? options.buckets[i - 1] : 0)) return false;
  }
  return true;
}

bool RangesAreGood(const rankfeed_rerank_options& o) {
  constexpr uint32_t kFlags =
      RANKFEED_SPLIT_SPECIAL_TOKENS | RANKFEED_ERROR_ON_SPECIAL | RANKFEED_ESCAPE_SPECIAL;
  return (o.encode_flags & ~kFlags) == 0 && o.truncation <= RANKFEED_TRUNCATE_ONLY_SECOND &&
         o.truncation_side <= RANKFEED_LEFT &&
         o.overflow <= RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST &&
         o.template_kind <= RANKFEED_TEMPLATE_CUSTOM && o.no_special_tokens <= 1 &&
         o.padding_side <= RANKFEED_SIDE_OF_MODEL && o.budget <= RANKFEED_BUDGET_PACKED_SUM &&
         o.sort <= RANKFEED_SORT_ASCENDING && o.reserved[0] == 0 && o.reserved[1] == 0;
}

// Windows must leave the query alone.
bool WindowsAreGood(const rankfeed_rerank_options& o) {
  if (o.overflow == RANKFEED_OVERFLOW_DROP) return true;
  if (o.max_length == 0) return false;
  if (o.template_kind == RANKFEED_TEMPLATE_SINGLE) {
    return o.truncation == RANKFEED_TRUNCATE_ONLY_FIRST ||
           o.truncation == RANKFEED_TRUNCATE_LONGEST_FIRST;
  }
  return o.truncation == RANKFEED_TRUNCATE_ONLY_SECOND;
}

bool TemplateIsGood(const rankfeed_rerank_options& o) {
  const bool custom = o.template_kind == RANKFEED_TEMPLATE_CUSTOM;
  if (custom != (o.pair_template != nullptr)) return false;
  if (custom && o.no_special_tokens != 0) return false;
  return o.template_kind != RANKFEED_TEMPLATE_SINGLE ||
         o.truncation != RANKFEED_TRUNCATE_ONLY_SECOND;  // SecondSequenceNotProvided there
}

bool PaddingIsGood(const rankfeed_rerank_options& o, const ModelFacts& model) {
  if (o.layout == RANKFEED_PADDED) return model.has_pad;
  return o.pad_to_length == 0 && o.pad_to_multiple_of == 0 && o.bucket_count == 0 &&
         o.padding_side == RANKFEED_RIGHT;  // the default: nothing was asked for
}

}  // namespace

rankfeed_status CheckTensors(const rankfeed_rerank_options& options, TensorSpec* out) {
  if (options.struct_size != sizeof(options)) return RANKFEED_E_STRUCT_SIZE;
  constexpr uint32_t kAlways =
      RANKFEED_TENSOR_TOKEN_TYPE_IDS | RANKFEED_TENSOR_POSITION_IDS | RANKFEED_TENSOR_LENGTHS;
  const uint32_t own = options.layout == RANKFEED_PADDED ? RANKFEED_TENSOR_ATTENTION_MASK
                                                         : RANKFEED_TENSOR_ROW_OF_TOKEN;
  if (options.layout > RANKFEED_PACKED || options.id_type > RANKFEED_UINT32 ||
      (options.tensors & ~(kAlways | own)) != 0) {
    return RANKFEED_E_ARGUMENT;
  }
  *out = {options.layout, options.id_type, options.tensors};
  return RANKFEED_OK;
}

rankfeed_status CheckOptions(const rankfeed_rerank_options& o, const ModelFacts& model,
                             Setup* out) {
  *out = {};
  if (const rankfeed_status status = CheckTensors(o, &out->tensors)) return status;
  if (!RangesAreGood(o) || !WindowsAreGood(o) || !TemplateIsGood(o) || !BucketsAreGood(o) ||
      !PaddingIsGood(o, model)) {
    return RANKFEED_E_ARGUMENT;
  }
  if (o.pair_template != nullptr && o.pair_template->struct_size != sizeof(*o.pair_template)) {
    return RANKFEED_E_STRUCT_SIZE;
  }
  out->rules = {kUnlimited,         0,
                o.max_query_tokens, o.max_tokens_per_doc,
                o.stride,           o.max_chunks_per_doc,
                o.truncation,       o.truncation_side,
                o.overflow,         o.template_kind != RANKFEED_TEMPLATE_SINGLE};
  out->padding = {o.pad_to_length, o.pad_to_multiple_of, {o.buckets, o.bucket_count}};
  const bool area = o.budget == RANKFEED_BUDGET_OF_LAYOUT ? o.layout == RANKFEED_PADDED
                                                          : o.budget == RANKFEED_BUDGET_PADDED_AREA;
  out->batch = {o.max_rows_per_batch, o.max_tokens_per_batch, area, o.max_arena_bytes};
  out->style = model.style;
  if (o.padding_side != RANKFEED_SIDE_OF_MODEL) {
    out->style.pad_left = o.padding_side == RANKFEED_LEFT;
  }
  out->template_source = {model.pair, model.single, o.pair_template, o.template_kind,
                          o.no_special_tokens != 0};
  out->encode_flags = o.encode_flags;
  out->sort = o.sort;
  return RANKFEED_OK;
}

rankfeed_status FinishSetup(const rankfeed_rerank_options& options,
                            const PairTemplate& pair_template, Setup* setup) {
  setup->template_source = {};
  setup->rules.template_tokens = pair_template.special_tokens;
  if (options.max_length == 0) return RANKFEED_OK;
  if (options.max_length < pair_template.special_tokens) return RANKFEED_E_ARGUMENT;
  setup->rules.budget = options.max_length - pair_template.special_tokens;
  const bool windows = options.overflow != RANKFEED_OVERFLOW_DROP;
  if ((options.stride != 0 || windows) && options.stride >= setup->rules.budget) {
    return RANKFEED_E_ARGUMENT;
  }
  return RANKFEED_OK;
}

}  // namespace rankfeed::rerank
