// SPDX-License-Identifier: MIT
// builder/files/read_spm.h: SentencePiece .model files (sentencepiece_model.proto) to ModelSpec.
#pragma once

#include <string>
#include <string_view>

#include "builder/base/model_spec.h"

namespace rankfeed::builder {

// Accepts what libsentencepiece loads as a Unigram or BPE model (model_interface.cc InitializePieces,
// unigram_model.cc, bpe_model.cc), of the releases that parity names (RANKFEED_PARITY_SENTENCEPIECE or
// ..._0_2_1), minus pieces that are not valid UTF-8, hold a NUL (but for the piece that is one,
// which releases from 0.2.2 on load as unused) or have a score that is not finite,
// and BPE with UNUSED pieces or white space as a suffix. Unknown fields
// are skipped, as protobuf does. The result has token ids equal to piece ids; presets.h renumbers.
// Templates are not set. Throws BuildError(PARSE, UNSUPPORTED, LIMIT). O(size) time and memory.
ModelSpec ReadSentencePiece(std::string_view bytes, const std::string& source_name,
                            uint32_t parity);

}  // namespace rankfeed::builder
