// SPDX-License-Identifier: MIT
// rerank/pair_template.h: the fixed part of a row as data: special tokens around two sequences.
//
// One form for every source, the image's own (image/format.h TemplateItem), with the sequences
// named by role: kSequenceA is the query, kSequenceB the document, also when the document is the
// only one. Semantics: tokenizers processors/template.rs (0.22.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "image/format.h"
#include "rankfeed/rerank.h"
#include "rankfeed/template.h"

namespace rankfeed::rerank {

using image::TemplateItem;
using image::TemplateKind;

struct PairTemplate {
  std::span<const TemplateItem> items;
  uint32_t special_tokens = 0;  // items that are not sequences
  bool has_query = false;
};

// Sources of templates. Model templates may be empty where options do not need them.
struct TemplateSource {
  std::span<const TemplateItem> model_pair, model_single;
  const rankfeed_pair_template* custom;  // of the options
  uint8_t kind;                          // RANKFEED_TEMPLATE_*
  bool no_special_tokens;
};

// Tokenizes a part's text; the ids stay valid until the next call. Only called for texts.
struct PartEncoder {
  void* context;
  rankfeed_status (*encode)(void* context, rankfeed_text text, const int32_t** ids,
                            uint32_t* count);
};

// Items that BuildTemplate may write; a text part counts with text_tokens, what the longest text
// that the encoder takes can have.
uint64_t TemplateBound(const TemplateSource& source, uint32_t text_tokens);

// Whether it is of this version of the library, or of one without row_template.
bool SizeIsGood(const rankfeed_pair_template& custom);
// Its row template, null without; of one whose size is good.
const rankfeed_template* RowTemplateOf(const rankfeed_pair_template& custom);

// Whether each part has ids or a text, not both, and no id below 0: what BuildTemplate else refuses.
bool PartsAreGood(const rankfeed_pair_template& custom);

// Special tokens of the template, as BuildTemplate counts them, but for those of texts of the caller,
// which are not tokenized yet.
uint32_t TemplateTokens(const TemplateSource& source);

// Writes the template to items, as many as from TemplateBound.
// Errors: ARGUMENT (bad part), UNSUPPORTED (a sequence missing or twice), those of encode.
rankfeed_status BuildTemplate(const TemplateSource& source, PartEncoder encoder,
                              std::span<TemplateItem> items, PairTemplate* out);

}  // namespace rankfeed::rerank
