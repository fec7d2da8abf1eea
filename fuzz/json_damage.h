// SPDX-License-Identifier: MIT
// fuzz/json_damage.h: damage to JSON texts that keeps their form, which blind mutation seldom does.
#pragma once

#include <span>
#include <string>

#include "target.h"

namespace rankfeed::fuzz {

// Puts one of `values`, another value of the same text, or a deep nesting in the place of one of
// its values.
void ReplaceValue(Random& random, std::span<const std::string> values, std::string* json);

}  // namespace rankfeed::fuzz
