// SPDX-License-Identifier: MIT
// normalize/unicode_forms.h: NFC, NFD, NFKC and NFKD with ranges.
#pragma once

#include <cstdint>

#include "image/model.h"
#include "normalize/normalized_text.h"

namespace rankfeed::normalize {

struct Form {
  bool compatible;  // K
  bool composed;    // C
};

// work: three arrays of out->capacity elements. False when out is too small. O(in.size).
bool RunForm(const Model& model, Form form, uint32_t* const work[3], const NormalizedText& in,
             NormalizedText* out);

}  // namespace rankfeed::normalize
