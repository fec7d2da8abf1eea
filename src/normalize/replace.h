// SPDX-License-Identifier: MIT
// normalize/replace.h: the normalizers that look for stretches of a text: strip, prepend, replace.
//
// RunEdit reads in (never empty) and writes out; false when out is too small. O(in.size), the literal
// search O(in.size * pattern) at worst.
#pragma once

#include <string_view>

#include "image/model.h"
#include "normalize/normalized_text.h"

namespace rankfeed::normalize {

// a and b: the texts of the step.
bool RunEdit(const image::Step& step, std::string_view a, std::string_view b, const NormalizedText& in,
             NormalizedText* out);

}  // namespace rankfeed::normalize
