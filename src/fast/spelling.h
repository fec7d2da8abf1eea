// SPDX-License-Identifier: MIT
// fast/spelling.h: a segment to the ids of its words, alone: what the two spellers say of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace rankfeed::fast {

struct Spelling {
  bool leaves = false;  // the general path has to look at it: characters are read together, or an id is missing
  bool gaps = false;    // some character is in no token
};

// Bytes [begin, end) of a text that a token stands for.
struct TokenPlace {
  uint32_t begin, end;
};

// Takes the spaces at the ends of a token out of its place, as trim_offsets of ByteLevel does. A token of
// spaces alone is left an empty place at its end.
inline TokenPlace TrimSpaces(std::string_view token, TokenPlace place) {
  const size_t leading = std::min(token.find_first_not_of(' '), token.size());
  size_t kept = token.size();
  while (kept > leading && token[kept - 1] == ' ') --kept;
  const auto begin = static_cast<uint32_t>(place.begin + leading);
  const auto end = static_cast<uint32_t>(place.end - (token.size() - kept));
  return {begin, std::max(begin, end)};
}

}  // namespace rankfeed::fast
