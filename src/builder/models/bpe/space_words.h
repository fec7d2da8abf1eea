// SPDX-License-Identifier: MIT
// builder/models/bpe/space_words.h: the tables of the fast road of BPE models of characters, in which a space is a U+2581
// (image::kSpaceWords): Llama 2, Mistral, Gemma, as tokenizer.json and as .model.
#pragma once

#include <variant>
#include <vector>

#include "builder/fast/eligibility.h"
#include "builder/image/sections.h"
#include "image/model.h"

namespace rankfeed::builder {

// The sections of the fast road, or why texts of this model do not take it. O(bytes of the pieces).
std::variant<std::vector<SectionData>, OffTheFastRoad> BuildSpaceWords(const Model& model);

}  // namespace rankfeed::builder
