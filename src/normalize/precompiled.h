// SPDX-License-Identifier: MIT
// normalize/precompiled.h: HuggingFace's Precompiled normalizer.
#pragma once

#include "image/model.h"
#include "normalize/normalized_text.h"

namespace rankfeed::normalize {

// Clusters shorter than that are looked up as a whole (precompiled.rs: `grapheme.len() < 6`).
inline constexpr uint32_t kWholeClusterBytes = 6;

// Applies the model's charsmap to in. False when out is too small. O(in.size).
bool RunPrecompiled(const Model& model, const NormalizedText& in, NormalizedText* out);

}  // namespace rankfeed::normalize
