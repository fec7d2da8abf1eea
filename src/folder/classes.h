// SPDX-License-Identifier: MIT
// folder/classes.h: which class of transformers reads a tokenizer where no file names one.
#pragma once

#include <string_view>

namespace rankfeed::folder {

// Returns the class that AutoTokenizer of transformers 5.23 takes for a model_type of config.json, of those classes that are
// known here; empty for other types. mobilebert has a class of its own there, which is BertTokenizer by another name.
std::string_view ClassOfModelType(std::string_view model_type);

// The element of a pre-tokenizer of Qwen2Tokenizer that splits texts, as JSON.
inline constexpr char kQwen2Split[] =
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?i:\\u0027s|\\u0027t|\\u0027re|\\u0027ve|\\u0027m|\\u0027ll|\\u0027d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}"
    "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},\"behavior\":\"Isolated\",\"invert\":false}";

}  // namespace rankfeed::folder
