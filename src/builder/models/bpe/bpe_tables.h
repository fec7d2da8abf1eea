// SPDX-License-Identifier: MIT
// builder/models/bpe/bpe_tables.h: the tables of the fast road of BPE models (fast/words.h), made from an
// opened image.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "builder/fast/eligibility.h"
#include "builder/image/sections.h"
#include "image/model.h"

namespace rankfeed::builder {

// The bytes that a piece of a byte-level model spells; empty where it has a character that is none of
// the alphabet.
std::string BytesOf(std::string_view piece);

// The sections of the fast road, or why texts of this model do not take it. That is for pipelines of
// ByteLevel without add_prefix_space and one pattern that fast/scan.h knows, after NFC or no
// normalizer; and for those that make a U+2581 of every space and do nothing else to a text but to put one in
// front, where no merge is across a U+2581 and a character before it. O(bytes of the pieces).
std::variant<std::vector<SectionData>, OffTheFastRoad> BuildBpeTables(const Model& model);

}  // namespace rankfeed::builder
