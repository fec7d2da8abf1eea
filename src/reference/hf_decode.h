// SPDX-License-Identifier: MIT
// reference/hf_decode.h: ids back to text in HuggingFace mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "image/model.h"
#include "rankfeed/status.h"
#include "reference/scratch.h"

namespace rankfeed::reference {

// Decodes ids (tokenizers 0.23.2, TokenizerImpl::decode). Ids that are no token are dropped. Writes
// at most capacity bytes; *size gets the whole length. Where the reference panics (Strip on a token
// shorter than its cuts) the token becomes empty. With ByteFallback at most scratch.run_capacity
// ids. Errors: LIMIT, OUTPUT_SIZE, UNSUPPORTED (more than kMaxDecoderSteps steps). Linear in the
// text, times the square of a replaced pattern at worst.
inline constexpr uint32_t kMaxDecoderSteps = 16;
rankfeed_status DecodeHuggingFace(const Model& model, Scratch& scratch,
                                  std::span<const int32_t> ids, bool skip_special, char* out,
                                  size_t capacity, size_t* size);

}  // namespace rankfeed::reference
