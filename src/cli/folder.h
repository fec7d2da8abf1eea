// SPDX-License-Identifier: MIT
// cli/folder.h: a model's folder as --vocab: what tokenizer_config.json says beside its
// tokenizer.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rankfeed::cli {

// Of tokenizer_config.json; unset where it does not say, or says a number that means "no limit".
struct FolderConfig {
  std::optional<uint32_t> model_max_length;
  std::optional<std::string> truncation_side, padding_side;  // left, right
};

// folder/tokenizer.json. Throws Failure, which names what there is, where it has none.
std::string TokenizerJsonOf(const std::string& folder);

// Throws Failure for a file that is no JSON object or has values of other types. No file: nothing
// set.
FolderConfig ReadFolderConfig(const std::string& folder);

}  // namespace rankfeed::cli
