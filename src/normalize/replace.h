// SPDX-License-Identifier: MIT
// normalize/replace.h: the normalizers that look for stretches of a text: strip, prepend, replace.
//
// Each reads in (never empty) and writes out; false when out is too small. All are O(in.size), the
// literal search O(in.size * pattern) at worst.
#pragma once

#include <cstdint>
#include <string_view>

#include "image/model.h"
#include "normalize/normalized_text.h"

namespace rankfeed::normalize {

bool RunStrip(bool left, bool right, const NormalizedText& in, NormalizedText* out);
bool RunPrepend(std::string_view prefix, const NormalizedText& in, NormalizedText* out);
bool RunReplace(std::string_view pattern, std::string_view content, const NormalizedText& in,
                NormalizedText* out);
// Runs of at least `least` of one character.
bool RunReplaceRun(std::string_view character, uint32_t least, std::string_view content,
                   const NormalizedText& in, NormalizedText* out);
// \s{2,}|[\n\r\t]
bool RunReplaceSpaces(std::string_view content, const NormalizedText& in, NormalizedText* out);

}  // namespace rankfeed::normalize
