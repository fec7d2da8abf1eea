// SPDX-License-Identifier: MIT
// tests/support/cut_everywhere.h: an encoder whose general path cuts texts at every place where they
// can be cut (stretch/cuts.h), so that short texts have many parts.
#pragma once

#include "encode/encoder.h"

namespace rankfeed::test {

// False where texts of the model cannot be cut.
inline bool CutEverywhere(rankfeed_encoder* encoder) {
  encoder->cuts.set_part_bytes(0);
  return encoder->cuts.any();
}

}  // namespace rankfeed::test
