// SPDX-License-Identifier: MIT
// serve/folder/folder.h: a model's folder as a vocabulary: what tokenizer_config.json,
// special_tokens_map.json and added_tokens.json say beside its tokenizer.json, and the truncation
// and padding inside that.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "folder/model_settings.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed::folder {

// A JSON object; an empty one where there is no such file. PARSE, with the file's name, for
// anything else.
Result<nlohmann::json> ReadObject(const std::string& path);

// The file of the vocabulary in a folder: tokenizer.json, vocab.txt of a WordPiece model, or vocab.json of a BPE model.
// Errors: NOT_FOUND, which names what there is.
Result<std::string> VocabularyOf(const std::string& folder);

// Returns the file and those beside it that the builder reads with it: for a vocab.json, and for a
// vocab.txt without a preset, those of them that there are; for any other file none.
std::vector<std::string> VocabularyFiles(const std::string& file, const std::string& preset);

// ReadModelSettings, with its errors as values.
Result<ModelSettings> SettingsOf(const std::string& folder);

// A folder, read as transformers does. Sides and padding that tokenizer_config.json leaves open
// are those of the padding and truncation inside tokenizer.json; unset where nothing says.
struct FolderConfig {
  ModelSettings settings;
  std::optional<std::string> truncation_side, padding_side;  // left, right
  std::optional<std::string> pad_token;
};

// PARSE for a file that is no JSON object or has values of other types. No file: nothing set.
Result<FolderConfig> ReadFolderConfig(const std::string& folder);

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

// Reads a file that the builder takes, whose reader checks these parts. Unset: it is no JSON.
std::optional<FileDefaults> ReadFileDefaults(const std::string& tokenizer_json);

}  // namespace rankfeed::folder
