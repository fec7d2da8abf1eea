// SPDX-License-Identifier: MIT
// builder/read_spm.h: SentencePiece .model files (sentencepiece_model.proto) to ModelSpec.
#pragma once

#include <string>
#include <string_view>

#include "builder/model_spec.h"

namespace rankfeed::builder {

// Accepts what libsentencepiece 0.1.97 loads as a Unigram model (model_interface.cc
// InitializePieces, unigram_model.cc), minus pieces that are not valid UTF-8, hold a NUL (refused
// by libsentencepiece from 0.2.2) or have a score that is not finite. Unknown fields are skipped,
// as protobuf does. The result has token ids equal to piece ids; presets.h renumbers. Templates are
// not set. Throws BuildError(PARSE, UNSUPPORTED, LIMIT). O(size) time and memory.
ModelSpec ReadSentencePiece(std::string_view bytes, const std::string& source_name);

}  // namespace rankfeed::builder
