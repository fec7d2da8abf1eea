// SPDX-License-Identifier: MIT
// builder/files/serde_number.h: a JSON number to double exactly as HuggingFace reads it.
//
// tokenizers (0.23.2 and before) parses with serde_json without its float_roundtrip feature: the
// first 19 or 20 digits become a 64-bit integer, rounded to double, then multiplied or divided by a
// power of ten (serde_json 1.0 de.rs, parse_integer .. f64_from_parts). That rounds twice, so about
// one in eight 17-digit scores ends one unit off the nearest double. Ties between paths depend on
// the last bit, hence the same steps here. Checked against the wheel by
// tests/builder/serde_number_test.cc.
#pragma once

#include <string_view>

namespace rankfeed::builder {

// token must be a JSON number. False when serde_json answers "number out of range".
bool ParseSerdeNumber(std::string_view token, double* out);

}  // namespace rankfeed::builder
