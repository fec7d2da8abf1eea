// SPDX-License-Identifier: MIT
// reference/hf_encode.h: one text to ids in HuggingFace mode, without a template.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/token_sink.h"
#include "image/model.h"
#include "rankfeed/status.h"
#include "reference/scratch.h"

namespace rankfeed::reference {

// Encodes text as one sequence (tokenizers 0.23.2, TokenizerImpl::encode_single_sequence). flags:
// RANKFEED_SPLIT_SPECIAL_TOKENS, RANKFEED_ERROR_ON_SPECIAL, RANKFEED_ESCAPE_SPECIAL; others are the
// caller's. refused (nullable): filled with SPECIAL_IN_TEXT. Offsets are
// bytes of text, those of the reference; where text is not valid UTF-8 each maximal bad sequence
// counts as the one character U+FFFD, so offsets still fall on sequence boundaries
// (utf8::Decode). Errors: LIMIT (a stretch, or a part of one that cannot be cut further, has more
// than Scratch::max_stretch_bytes or becomes more than text_capacity), UNK_ID, SPECIAL_IN_TEXT.
// O(text * max_piece_chars).
rankfeed_status EncodeHuggingFace(const Model& model, Scratch& scratch, std::string_view text,
                                  uint32_t flags, TokenSink& sink, SpecialPlace* refused = nullptr);

// The same for the stretch [begin, end) of a text between two of its added tokens, or a part of one
// that was cut as stretch/cuts.h says. inside: it is a part, and not the first one. score: of
// pipelines without words, what the stretch goes on from.
rankfeed_status EncodeHuggingFaceStretch(const Model& model, Scratch& scratch,
                                         std::string_view text, uint32_t begin, uint32_t end,
                                         bool inside, uint32_t flags, TokenSink& sink,
                                         CarriedScore* score);

// Whether ids depend on where in the text a split begins (Metaspace "first"): then scratch needs
// its offset arrays even when the caller wants no offsets.
bool HuggingFaceNeedsOffsets(const Model& model);

}  // namespace rankfeed::reference
