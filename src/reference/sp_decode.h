// SPDX-License-Identifier: MIT
// reference/sp_decode.h: ids to text as SentencePieceProcessor::Decode does (0.1.97-0.2.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "image/model.h"
#include "rankfeed/status.h"
#include "reference/scratch.h"

namespace rankfeed::reference {

// Control pieces are invisible, unknown ids become unk_surface, U+2581 becomes a space, and the
// white space that the encoder put in front is taken off again; byte pieces join to characters, a
// byte that starts none becomes U+FFFD. A denormalizer_spec with a charsmap then runs over the
// whole text; only that needs scratch.
//
// Writes at most capacity bytes; *size gets the bytes written, or needed when OUTPUT_SIZE.
// Errors: ID_RANGE (nothing written), OUTPUT_SIZE, LIMIT (the denormalizer's text exceeds the
// scratch). Cost: O(ids + bytes).
rankfeed_status DecodeSentencePiece(const Model& model, Scratch& scratch,
                                    std::span<const int32_t> ids, char* out, size_t capacity,
                                    size_t* size);

}  // namespace rankfeed::reference
