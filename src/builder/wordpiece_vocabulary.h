// SPDX-License-Identifier: MIT
// builder/wordpiece_vocabulary.h: the pieces of a WordPiece model, of whatever file they come.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "builder/model_spec.h"

namespace rankfeed::builder {

// Makes the pieces of spec, their ids and the unknown token from the entries of a vocabulary: each a
// text and its id. Of entries with the same text the last one counts. An id that no entry has is
// none of a token; where several texts have one id, the last one is what it decodes to. Returns
// what is over a limit, with nothing done, or "".
std::string SetWordPieceVocabulary(std::span<const std::pair<std::string_view, uint32_t>> entries,
                                   const std::string& unk_token, ModelSpec* spec);

}  // namespace rankfeed::builder
