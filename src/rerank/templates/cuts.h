// SPDX-License-Identifier: MIT
// rerank/templates/cuts.h: places where a text may be cut, whatever is before and after the literal there.
//
// A cut is safe when the ids of the whole text are those of its two sides, one after the other. All
// rules are about literals; a text of a role is any text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "image/model.h"

namespace rankfeed::templates {

// Whether the token matches there alone, and leaves what is beside it as it would be at the begin or
// end of a text: it is matched in the text as it is, takes no white space, needs no word boundary, and no other
// added token overlaps it or begins with it.
bool SpecialIsSafe(const Model& model, uint32_t id);

// Whether every text with this literal in it may be cut before literal[at], 0 < at < literal.size().
bool CutIsSafe(const Model& model, std::string_view literal, size_t at);

// The id of the added token of that name, in SentencePiece parity of the piece; -1 without.
int32_t SpecialId(const Model& model, std::string_view name);

}  // namespace rankfeed::templates
