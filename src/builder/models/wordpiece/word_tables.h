// SPDX-License-Identifier: MIT
// builder/models/wordpiece/word_tables.h: the tables of the fast road of models whose words are independent of each
// other (fast/words.h), made from an opened image.
#pragma once

#include <variant>
#include <vector>

#include "builder/fast/eligibility.h"
#include "builder/image/sections.h"
#include "image/model.h"

namespace rankfeed::builder {

// The sections of the fast road, or why texts of this model do not take it. That is for pipelines
// that drop white space between words, and may isolate punctuation, after a normalizer that can be
// composed into characters. O(characters * steps + pieces).
std::variant<std::vector<SectionData>, OffTheFastRoad> BuildWordTables(const Model& model);

}  // namespace rankfeed::builder
