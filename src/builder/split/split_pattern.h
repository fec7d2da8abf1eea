// SPDX-License-Identifier: MIT
// builder/split/split_pattern.h: the regular expression of a Split as the knobs of split/pattern.h. It is
// recognised by its structure: read into alternatives, which are compared with the arms of the family, so
// that order and spelling inside of classes and groups do not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rankfeed::builder {

// The knobs (split::Knob) of the pattern that has the same matches in every text as regex has in
// Oniguruma's Ruby syntax; nothing where it is none of the family. Longer ones than kMaxPatternBytes are
// none. O(regex).
std::optional<uint32_t> ReadSplitPattern(std::string_view regex);
inline constexpr size_t kMaxPatternBytes = 1024;

// Whether every character of every text is in a match.
bool LeavesNoGaps(uint32_t knobs);

}  // namespace rankfeed::builder
