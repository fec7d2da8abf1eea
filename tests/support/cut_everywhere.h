// SPDX-License-Identifier: MIT
// tests/support/cut_everywhere.h: an encoder whose general path cuts texts at every place where they
// can be cut (fast/cuts.h), so that short texts have many parts.
#pragma once

#include <cstddef>
#include <string_view>

#include "encode/encoder.h"
#include "fast/cuts.h"

namespace rankfeed::test {

// False where texts of the model cannot be cut.
inline bool CutEverywhere(rankfeed_encoder* encoder) {
  if (encoder->general.parting.part_bytes == nullptr) return false;
  encoder->general.parting.part_bytes = [](const void* cuts, std::string_view rest) -> size_t {
    const auto size = static_cast<uint32_t>(rest.size());
    const uint32_t cut = static_cast<const fast::Cuts*>(cuts)->FindFirst(rest, 0, size);
    return cut != fast::Cuts::kNone ? cut : size;
  };
  return true;
}

}  // namespace rankfeed::test
