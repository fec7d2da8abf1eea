// SPDX-License-Identifier: MIT
// cli/folder.h: a model's folder as --vocab: what tokenizer_config.json and special_tokens_map.json
// say beside its tokenizer.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rankfeed::cli {

// As transformers reads a folder. Sides and padding token that tokenizer_config.json leaves open
// are those of the padding and truncation inside tokenizer.json; unset where nothing says, or says
// a number that means "no limit".
struct FolderConfig {
  std::optional<uint32_t> model_max_length;
  std::optional<std::string> truncation_side, padding_side;  // left, right
  std::optional<std::string> pad_token;
};

// folder/tokenizer.json. Throws Failure, which names what there is, where it has none.
std::string TokenizerJsonOf(const std::string& folder);

// Throws Failure for a file that is no JSON object or has values of other types. No file: nothing
// set.
FolderConfig ReadFolderConfig(const std::string& folder);

}  // namespace rankfeed::cli
