// SPDX-License-Identifier: MIT
// cli/folder.h: a model's folder as --vocab: what tokenizer_config.json and special_tokens_map.json
// say beside its tokenizer.json; and the truncation and padding inside that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rankfeed::cli {

// A folder, read as transformers does. Sides and padding that tokenizer_config.json leaves open
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

// Truncation and padding inside a tokenizer.json, which tokenizers.Tokenizer.encode applies.
struct FileTruncation {
  uint32_t max_length = 0, stride = 0;
  std::string strategy, side;  // as the command line has them: longest_first, ...; left, right
};
struct FilePadding {
  std::optional<uint32_t> length;  // of every row; unset: that of the longest
  uint32_t multiple = 1;           // rows are padded to a multiple of it
  int32_t id = 0;
  std::string token, side;
};
struct FileDefaults {
  std::optional<FileTruncation> truncation;
  std::optional<FilePadding> padding;
};

// Of a file that the builder takes, whose reader checks these parts. Unset: it is no JSON.
std::optional<FileDefaults> ReadFileDefaults(const std::string& tokenizer_json);

}  // namespace rankfeed::cli
