// SPDX-License-Identifier: MIT
// builder/normalize/growth.h: how much a text can grow on its way to the model (image Config::growth_*).
//
// Every character gets a cost: the most bytes it can stand for at any later stage. Costs are worked
// out from the last stage backwards over all code points (a character's cost is the sum of the
// costs of what it becomes), so that the worst case is that of one character through the whole
// pipeline and not the product of each stage's worst.
#pragma once

#include <cstdint>

#include "builder/base/model_spec.h"
#include "builder/normalize/charsmap_check.h"

namespace rankfeed::builder {

struct Growth {
  // text of n bytes: every stage has at most (numerator * n + 255) / 256 + constant bytes, summed
  // over the sections between added tokens.
  uint32_t numerator = 256, constant = 0;
};

// charsmap may be null. Throws BuildError(LIMIT) when a character can grow more than 4096-fold.
Growth ComputeGrowth(const ModelSpec& spec, const CharsmapView* charsmap);

}  // namespace rankfeed::builder
