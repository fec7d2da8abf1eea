// SPDX-License-Identifier: MIT
// receipt/stretch_error.h: what the command line and the service say of a text that the general path has no room for.
// The library's own words name members of its limits, which nobody has typed.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "rankfeed/encode.h"

namespace rankfeed::receipt {

// Says of a text, after its name, why it is RANKFEED_E_LIMIT and which value of --max-stretch-bytes is enough: the bytes
// that the text may become, or its own if those are more. max_stretch_bytes: the option's value, 0 for 256 KiB.
inline std::string StretchError(const rankfeed_model* model, size_t text_bytes, uint32_t max_stretch_bytes) {
  const uint32_t most = rankfeed_max_text_bytes(model), bound = rankfeed_token_bound(model, text_bytes);
  if (text_bytes > most) return fmt::format("has {} bytes; the limit of the vocabulary is {}", text_bytes, most);
  if (bound == UINT32_MAX) return fmt::format("has {} bytes, which may become more tokens than 32 bits count", text_bytes);
  return fmt::format(
      "has {} bytes, with a stretch that cannot be cut and is longer than --max-stretch-bytes, {}, or than twice that when "
      "normalized; --max-stretch-bytes {} is enough",
      text_bytes, max_stretch_bytes != 0 ? max_stretch_bytes : 256 << 10, std::max<size_t>(text_bytes, bound));
}

}  // namespace rankfeed::receipt
