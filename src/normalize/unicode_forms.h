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

// The first character of class 0 that stands second in a composition (UnicodeData.txt: BENGALI VOWEL
// SIGN AA): most that come after another one need not be looked for.
inline constexpr char32_t kFirstJoiningStarter = 0x09be;

// The composition of two characters, or 0.
char32_t Compose(const Model& model, char32_t a, char32_t b);

// work: three arrays of out->capacity elements. False when out is too small. O(in.size).
bool RunForm(const Model& model, Form form, uint32_t* const work[3], const NormalizedText& in,
             NormalizedText* out);

}  // namespace rankfeed::normalize
