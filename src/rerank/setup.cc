// SPDX-License-Identifier: MIT
// rerank/setup.cc: every rule about options in one place.
#include "rerank/setup.h"

namespace rankfeed::rerank {
namespace {

constexpr Refusal kGood = {};

Refusal OfTensors(const rankfeed_rerank_options& o) {
  constexpr uint32_t kAlways =
      RANKFEED_TENSOR_TOKEN_TYPE_IDS | RANKFEED_TENSOR_POSITION_IDS | RANKFEED_TENSOR_LENGTHS |
      RANKFEED_TENSOR_LAST_TOKENS;
  const uint32_t own = o.layout == RANKFEED_PADDED ? RANKFEED_TENSOR_ATTENTION_MASK
                                                   : RANKFEED_TENSOR_ROW_OF_TOKEN;
  if (o.layout > RANKFEED_PACKED) return {"layout", "it is none of RANKFEED_PADDED and _PACKED"};
  if (o.id_type > RANKFEED_UINT32) return {"id_type", "it is no type of ids"};
  if ((o.tensors & ~(kAlways | own)) != 0) {
    return {"tensors", o.layout == RANKFEED_PADDED ? "padded rows have no such tensor"
                                                   : "packed rows have no such tensor"};
  }
  return kGood;
}

Refusal OfRanges(const rankfeed_rerank_options& o) {
  constexpr uint32_t kFlags =
      RANKFEED_SPLIT_SPECIAL_TOKENS | RANKFEED_ERROR_ON_SPECIAL | RANKFEED_ESCAPE_SPECIAL;
  if ((o.encode_flags & ~kFlags) != 0) return {"encode_flags", "it has a flag that rows do not take"};
  const struct {
    const char* field;
    uint32_t value, most;
  } choices[] = {{"truncation", o.truncation, RANKFEED_TRUNCATE_TEXT_END},
                 {"truncation_side", o.truncation_side, RANKFEED_LEFT},
                 {"overflow", o.overflow, RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST},
                 {"template_kind", o.template_kind, RANKFEED_TEMPLATE_CUSTOM},
                 {"no_special_tokens", o.no_special_tokens, 1},
                 {"padding_side", o.padding_side, RANKFEED_SIDE_OF_MODEL},
                 {"budget", o.budget, RANKFEED_BUDGET_PACKED_SUM},
                 {"sort", o.sort, RANKFEED_SORT_ASCENDING},
                 {"reserved", static_cast<uint32_t>(o.reserved[0] | o.reserved[1]), 0}};
  for (const auto& choice : choices) {
    if (choice.value > choice.most) return {choice.field, "it is none of its values"};
  }
  return kGood;
}

// Windows must leave the query alone.
Refusal OfWindows(const rankfeed_rerank_options& o) {
  if (o.overflow == RANKFEED_OVERFLOW_DROP) return kGood;
  if (o.max_length == 0) return {"overflow", "windows need a max_length"};
  if (o.template_kind == RANKFEED_TEMPLATE_SINGLE) {
    if (o.truncation == RANKFEED_TRUNCATE_ONLY_FIRST ||
        o.truncation == RANKFEED_TRUNCATE_LONGEST_FIRST) {
      return kGood;
    }
    return {"truncation", "windows of single texts need only_first or longest_first"};
  }
  if (o.truncation == RANKFEED_TRUNCATE_ONLY_SECOND || o.truncation == RANKFEED_TRUNCATE_TEXT_END) {
    return kGood;
  }
  return {"truncation", "windows need only_second, which leaves the query whole"};
}

Refusal OfTemplate(const rankfeed_rerank_options& o) {
  const bool custom = o.template_kind == RANKFEED_TEMPLATE_CUSTOM;
  if (custom && o.pair_template == nullptr) return {"pair_template", "a custom template needs it"};
  if (!custom && o.pair_template != nullptr) {
    return {"pair_template", "only a custom template has one"};
  }
  if (custom && o.no_special_tokens != 0) {
    return {"no_special_tokens", "a custom template has none of the model's special tokens"};
  }
  if (o.template_kind == RANKFEED_TEMPLATE_SINGLE &&
      o.truncation == RANKFEED_TRUNCATE_ONLY_SECOND) {  // SecondSequenceNotProvided there
    return {"truncation", "rows of the single template have no second text"};
  }
  return kGood;
}

Refusal OfPadding(const rankfeed_rerank_options& o, const ModelFacts& model) {
  if ((o.buckets == nullptr) != (o.bucket_count == 0)) {
    return {"buckets", "there are as many as bucket_count says"};
  }
  for (uint32_t i = 0; i < o.bucket_count; ++i) {
    if (o.buckets[i] <= (i != 0 ? o.buckets[i - 1] : 0)) {
      return {"buckets", "each must be above the one before, the first above 0"};
    }
  }
  if (o.layout == RANKFEED_PADDED) {
    return model.has_pad ? kGood : Refusal{"layout", "padded rows need a padding token, and the vocabulary has none"};
  }
  constexpr const char* kNone = "packed rows have no padding";
  if (o.pad_to_length != 0) return {"pad_to_length", kNone};
  if (o.pad_to_multiple_of != 0) return {"pad_to_multiple_of", kNone};
  if (o.bucket_count != 0) return {"buckets", kNone};
  return o.padding_side == RANKFEED_RIGHT ? kGood : Refusal{"padding_side", kNone};
}

}  // namespace

Refusal WhyRefused(const rankfeed_rerank_options& o, const ModelFacts& model) {
  for (const Refusal& why :
       {OfTensors(o), OfRanges(o), OfWindows(o), OfTemplate(o), OfPadding(o, model)}) {
    if (why.field != nullptr) return why;
  }
  return kGood;
}

Refusal WhyNoRoom(const rankfeed_rerank_options& o, uint32_t template_tokens) {
  if (o.max_length == 0) return kGood;
  if (o.max_length < template_tokens) {
    return {"max_length", "it must be at least the template's special tokens"};
  }
  const bool windows = o.overflow != RANKFEED_OVERFLOW_DROP;
  if ((o.stride != 0 || windows) && o.stride >= o.max_length - template_tokens) {
    return {"stride", "it must be below what max_length leaves beside the special tokens"};
  }
  return kGood;
}

rankfeed_status CheckTensors(const rankfeed_rerank_options& options, TensorSpec* out) {
  if (options.struct_size != sizeof(options)) return RANKFEED_E_STRUCT_SIZE;
  if (OfTensors(options).field != nullptr) return RANKFEED_E_ARGUMENT;
  *out = {options.layout, options.id_type, options.tensors};
  return RANKFEED_OK;
}

rankfeed_status CheckOptions(const rankfeed_rerank_options& o, const ModelFacts& model,
                             Setup* out) {
  *out = {};
  if (const rankfeed_status status = CheckTensors(o, &out->tensors)) return status;
  if (WhyRefused(o, model).field != nullptr) return RANKFEED_E_ARGUMENT;
  if (o.pair_template != nullptr && !SizeIsGood(*o.pair_template)) return RANKFEED_E_STRUCT_SIZE;
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
  if (o.pair_template != nullptr) out->row_template = RowTemplateOf(*o.pair_template);
  return RANKFEED_OK;
}

rankfeed_status FinishSetup(const rankfeed_rerank_options& options,
                            const PairTemplate& pair_template, Setup* setup) {
  setup->template_source = {};
  setup->rules.template_tokens = pair_template.special_tokens;
  if (WhyNoRoom(options, pair_template.special_tokens).field != nullptr) return RANKFEED_E_ARGUMENT;
  if (options.max_length != 0) setup->rules.budget = options.max_length - pair_template.special_tokens;
  return RANKFEED_OK;
}

}  // namespace rankfeed::rerank
