// SPDX-License-Identifier: MIT
// capi/folders/changes.h: the vocabulary of a model's folder, and what the files beside it change in it.
#pragma once

#include <string>

#include "builder/files/file_changes.h"

namespace rankfeed::folders {

// The tokenizer.json of a folder, else its vocab.txt or vocab.json. Throws BuildError: IO where it has none.
std::string VocabularyFileOf(const std::string& folder);

// The changes that make the ids of that file those of AutoTokenizer of transformers 5, with sentence_bert_config.json as
// sentence-transformers 6.2 applies it: a class that rebuilds the tokenizer.json (folder/rebuilt.h) has its own normalizer and
// pre-tokenizer, and the added tokens that tokenizer_config.json lists and no others. note: null, or receives sentences for the
// user, on texts that have other ids by the folder than by the file. Throws BuildError as ReadModelSettings.
builder::FileChanges ChangesOf(const std::string& file, std::string* note);

}  // namespace rankfeed::folders
