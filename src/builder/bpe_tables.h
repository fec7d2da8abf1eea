// SPDX-License-Identifier: MIT
// builder/bpe_tables.h: the tables of the fast road of byte-level BPE models (words/engine.h), made
// from an opened image.
#pragma once

#include <variant>
#include <vector>

#include "builder/eligibility.h"
#include "builder/sections.h"
#include "image/model.h"

namespace rankfeed::builder {

// The sections of the fast road, or why texts of this model do not take it. That is for pipelines of
// ByteLevel without add_prefix_space and one pattern that segment/scan.h knows, after NFC or no
// normalizer. O(bytes of the pieces).
std::variant<std::vector<SectionData>, OffTheFastRoad> BuildBpeTables(const Model& model);

}  // namespace rankfeed::builder
