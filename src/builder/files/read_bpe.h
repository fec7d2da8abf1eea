// SPDX-License-Identifier: MIT
// builder/files/read_bpe.h: the model of a tokenizer.json that is a BPE (tokenizers 0.23.3,
// models/bpe/serialization.rs).
#pragma once

#include "builder/base/model_spec.h"
#include "builder/files/json_value.h"

namespace rankfeed::builder {

// Reads pieces, merges and options. A part of the format that no published reranker uses, and whose
// ids would be left to chance or to an order that nobody states, is refused by its name: dropout, a
// prefix or suffix of pieces, and two pieces with one id.
void ReadBpe(const Json& model, const Json& settings, ModelSpec* spec);

// Whether the pre-tokenizer makes symbols of bytes.
bool HasByteLevel(const ModelSpec& spec);

// After the pipeline is read: makes the symbols that bytes begin as, for a file whose pre-tokenizer
// ends with ByteLevel, and checks the pieces of bytes of one with byte_fallback.
void FinishBpe(const Json& model, ModelSpec* spec);

}  // namespace rankfeed::builder
