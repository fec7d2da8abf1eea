// SPDX-License-Identifier: MIT
// serve/stretch_error.h: what the command line and the service say of a text that the general path has no room for.
// The library's own words name members of its limits, which nobody has typed.
#pragma once

#include <cstdint>
#include <string>

#include "rankfeed/rankfeed.hpp"

namespace rankfeed::serve {

// Says of a text, after its name, why it is RANKFEED_E_LIMIT and which value of --max-stretch-bytes is enough.
// max_stretch_bytes: the option's value.
inline std::string StretchError(const rankfeed_model* model, size_t text_bytes, uint32_t max_stretch_bytes) {
  return detail::StretchTooLong(model, text_bytes, max_stretch_bytes, "--max-stretch-bytes");
}

}  // namespace rankfeed::serve
