// SPDX-License-Identifier: MIT
// builder/models/bpe/quiet_characters.h: the characters whose bytes merge before anything else does
// (models/bpe/byte_symbols.h says when that is so, and why it may be done first).
#pragma once

#include <vector>

#include "builder/image/sections.h"
#include "image/model.h"

namespace rankfeed::builder {

// The sections kQuietBlocks, kQuiet and kCrossings of a byte-level BPE model. O(ids + merges).
std::vector<SectionData> MakeQuietCharacters(const Model& model);

}  // namespace rankfeed::builder
