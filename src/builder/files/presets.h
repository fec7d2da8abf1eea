// SPDX-License-Identifier: MIT
// builder/files/presets.h: what a model family adds to its files: templates, token ids, positions.
//
// A .model file has no pair template, and some families number their tokens differently from the
// pieces (fairseq's XLM-RoBERTa). Without a preset the ids are the piece ids and the template is
// built from the bos and eos pieces that exist.
#pragma once

#include <string>

#include "builder/base/model_spec.h"

namespace rankfeed::builder {

// Applies the preset (empty: none) to a model read from a file and fills what is still open:
// template, special ids, positions, token types. For tokenizer.json the file's own template and ids
// stay; a preset supplies a missing template only. Throws BuildError(ARGUMENT) for an unknown name,
// UNSUPPORTED when the model lacks a token that the preset needs.
//
// Positions: RoBERTa-like models (single template <s> A </s>, pair template <s> A </s></s> B </s>,
// a pad token called <pad>) count from pad_id + 1 and give pads pad_id; all others, and .model
// files without a preset, count from 0.
void ApplyPreset(const std::string& name, ModelSpec* spec);

// "albert, camembert, ..."
std::string PresetNames();

}  // namespace rankfeed::builder
