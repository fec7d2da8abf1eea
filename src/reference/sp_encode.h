// SPDX-License-Identifier: MIT
// reference/sp_encode.h: one text to ids as SentencePieceProcessor::Encode does (0.1.97).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/token_sink.h"
#include "image/model.h"
#include "normalize/sp_normalize.h"
#include "rankfeed/encode.h"
#include "reference/scratch.h"
#include "reference/sp_frame.h"

namespace rankfeed::reference {

// Normalizes the whole text, finds the best path through it as one lattice, merges runs of unknown
// characters into one token (or spells them as byte pieces), and puts the frame around it. text is
// any bytes.
//
// Offsets are SentencePieceText begin/end of 0.1.97, in bytes of the text: a token begins where its
// first normalized byte came from and ends where the next token begins; of the byte pieces of one
// character only the last has a non-empty range; bos and eos are (0, 0). 0.1.98 and later give eos
// (text size, text size) instead; nothing else differs up to 0.2.1.
//
// A long text is encoded in parts where it can be cut (stretch/cuts.h), one that is reversed only where it is
// too long as a whole; then the sink has no order where not all of its tokens fit.
// Needs scratch with begin[0] when sink.begin or sink.end is set. Options of special tokens mean
// nothing here: SentencePiece never matches those in text. Errors: ARGUMENT (unknown option, or
// bos/eos that the model lacks), LIMIT (a text, or a part that cannot be cut further, has more than
// Scratch::max_stretch_bytes or becomes more than text_capacity).
rankfeed_status EncodeSentencePiece(const Model& model, const Scratch& scratch,
                                    std::string_view text, const SpFrame& frame, TokenSink& sink);

// The same for bytes [begin, end) of a text, without a frame. inside: they are a part of it that
// was cut as stretch/cuts.h says, and not the first one. score: what the part goes on from.
rankfeed_status EncodeSentencePieceParts(const Model& model, const Scratch& scratch,
                                         std::string_view text, uint32_t begin, uint32_t end,
                                         bool inside, TokenSink& sink, CarriedScore* score);

}  // namespace rankfeed::reference
