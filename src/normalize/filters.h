// SPDX-License-Identifier: MIT
// normalize/filters.h: the normalizers that look at each character alone: case, accents, Nmt and the
// parts of BertNormalizer.
//
// RunFilter reads in (never empty) and writes out; false when out is too small. O(in.size).
#pragma once

#include "image/model.h"
#include "image/ops.h"
#include "normalize/normalized_text.h"

namespace rankfeed::normalize {

bool RunFilter(const Model& model, image::FilterOp op, const NormalizedText& in, NormalizedText* out);

// Tells whether handle_chinese_chars puts spaces around it (normalizers/bert.rs is_chinese_char).
constexpr bool IsBertCjk(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0x2f800 && c <= 0x2fa1f);
}

}  // namespace rankfeed::normalize
