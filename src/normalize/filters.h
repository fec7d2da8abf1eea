// SPDX-License-Identifier: MIT
// normalize/filters.h: the normalizers that look at each character alone: case, accents, Nmt.
//
// Each reads in (never empty) and writes out; false when out is too small. All are O(in.size).
#pragma once

#include "image/model.h"
#include "normalize/normalized_text.h"

namespace rankfeed::normalize {

bool RunLowercase(const Model& model, const NormalizedText& in, NormalizedText* out);
bool RunStripAccents(const Model& model, const NormalizedText& in, NormalizedText* out);
bool RunNmt(const NormalizedText& in, NormalizedText* out);

}  // namespace rankfeed::normalize
