// SPDX-License-Identifier: MIT
// rerank/setup.h: the public options, checked once and sorted by the part that uses them.
#pragma once

#include <cstdint>
#include <span>

#include "rankfeed/rerank.h"
#include "rerank/batch_layout.h"
#include "rerank/pair_template.h"
#include "rerank/plan.h"
#include "rerank/rows.h"

namespace rankfeed::rerank {

// Facts about a model; any of them may be missing.
struct ModelFacts {
  std::span<const TemplateItem> pair, single;
  RowStyle style = {};
  bool has_pad = false;
};

struct Setup {
  RowRules rules;  // budget and template_tokens follow in FinishSetup
  TensorSpec tensors;
  PaddingRules padding;
  BatchLimits batch;
  RowStyle style;
  TemplateSource template_source;  // only valid while the options and the model's spans are
  uint32_t encode_flags;
  uint8_t sort;
  const rankfeed_template* row_template;  // null: none
};

// Why options are refused: the field at fault, and the rest of a sentence about it. Good ones: nulls.
struct Refusal {
  const char* field = nullptr;
  const char* rule = nullptr;
};

// The first rule of CheckOptions (RANKFEED_E_ARGUMENT) that the options break.
Refusal WhyRefused(const rankfeed_rerank_options& options, const ModelFacts& model);
// The first rule of FinishSetup that they break. template_tokens: of a row, see BuildTemplate.
Refusal WhyNoRoom(const rankfeed_rerank_options& options, uint32_t template_tokens);

// Only the options that tensors depend on: layout, id_type, tensors.
rankfeed_status CheckTensors(const rankfeed_rerank_options& options, TensorSpec* out);

// All checks that need no count of the template's tokens. ARGUMENT, STRUCT_SIZE.
rankfeed_status CheckOptions(const rankfeed_rerank_options& options, const ModelFacts& model,
                             Setup* out);

// The rest: max_length and stride against the template. ARGUMENT.
rankfeed_status FinishSetup(const rankfeed_rerank_options& options,
                            const PairTemplate& pair_template, Setup* setup);

}  // namespace rankfeed::rerank
