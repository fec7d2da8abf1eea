// SPDX-License-Identifier: MIT
// builder/vocabulary.h: the pieces of a model whose vocabulary maps texts to ids.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "builder/model_spec.h"

namespace rankfeed::builder {

// Makes the pieces of spec, their ids and the unknown token from the entries of a vocabulary: each a
// text and its id. unk_token: "" for none. Of entries with the same text the last one counts. An id that no entry has is
// none of a token; where several texts have one id, the last one is what it decodes to. Returns
// what is over a limit, with nothing done, or "".
std::string SetVocabulary(std::span<const std::pair<std::string_view, uint32_t>> entries,
                                   const std::string& unk_token, ModelSpec* spec);

}  // namespace rankfeed::builder
