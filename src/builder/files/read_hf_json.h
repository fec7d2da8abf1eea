// SPDX-License-Identifier: MIT
// builder/files/read_hf_json.h: HuggingFace tokenizer.json files with a Unigram model to ModelSpec.
#pragma once

#include <string>
#include <string_view>

#include "builder/base/model_spec.h"
#include "builder/files/file_changes.h"

namespace rankfeed::builder {

// Follows tokenizers 0.23.2 (tokenizer/serialization.rs and the deserializers of each element);
// the file is executed as written. Two parses: a complete one, which also validates the document,
// and a lazy one over model.vocab for the digits of each score. Throws BuildError(PARSE,
// UNSUPPORTED, LIMIT). O(size) time and memory.
ModelSpec ReadHuggingFace(std::string_view bytes, const std::string& source_name, const FileChanges& changes = {});

}  // namespace rankfeed::builder
