// SPDX-License-Identifier: MIT
// builder/normalize/token_normalizer.h: added tokens that are looked for in normalized text, normalized themselves.
#pragma once

#include <string>
#include <vector>

#include "builder/base/model_spec.h"
#include "image/model.h"

namespace rankfeed::builder {

// Returns the normalized text of each token that has the flag, by the normalizer that an encoder of the model runs; of the
// others nothing. source: the file, for messages. Throws BuildError: LIMIT; UNSUPPORTED for one that becomes nothing.
std::vector<std::string> NormalizeAddedTokens(const Model& model, const std::vector<AddedTokenSpec>& tokens,
                                              const std::string& source);

}  // namespace rankfeed::builder
