// SPDX-License-Identifier: MIT
// segment/slack.h: the one padding rule of the fast road.
#pragma once

#include <cstdint>

namespace rankfeed::segment {

// So many elements beyond the last one may be read or written in every array of the scratch:
// vector loops take eight or sixteen at a time whether there are as many or not, and a search
// fetches the states of codes that far ahead.
inline constexpr uint32_t kVectorSlack = 48;

}  // namespace rankfeed::segment
