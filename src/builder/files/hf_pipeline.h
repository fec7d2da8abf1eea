// SPDX-License-Identifier: MIT
// builder/files/hf_pipeline.h: the normalizer, pre_tokenizer and decoder objects of a tokenizer.json as
// lists of steps. Elements, fields and defaults are those of tokenizers 0.23.2; anything else is
// refused by name and path.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "builder/base/model_spec.h"
#include "builder/files/json_value.h"

namespace rankfeed::builder {

// Appends to steps; value may be absent (null). charsmap receives the decoded blob of Precompiled.
void ReadNormalizer(const std::optional<Json>& value, std::vector<StepSpec>* steps,
                    std::string* charsmap);
// Appends Lowercase where Transformer of sentence-transformers 6.2 puts one in front of the normalizer for do_lower_case: it is
// none itself, nor a list that holds one.
void AppendLowercase(const std::optional<Json>& normalizer, std::vector<StepSpec>* steps);
void ReadPreTokenizer(const std::optional<Json>& value, std::vector<StepSpec>* steps);
void ReadDecoder(const std::optional<Json>& value, std::vector<StepSpec>* steps);

// A replace pattern as a step without its replacement, or nothing when the regular expression is
// not one of: characters without operators, c{n,} and c+ for one character c,
// \s{2,}|[\n\r\t].
std::optional<StepSpec> ReadRegex(std::string_view regex);

// Standard alphabet with padding, as the base64 crate's STANDARD engine; nothing if malformed.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace rankfeed::builder
