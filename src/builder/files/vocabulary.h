// SPDX-License-Identifier: MIT
// builder/files/vocabulary.h: the pieces of a model whose vocabulary maps texts to ids.
#pragma once

#include <string>

#include "builder/base/model_spec.h"
#include "builder/files/json_value.h"

namespace rankfeed::builder {

// Makes the pieces of spec, their ids and the unknown token (unk_token null: there is none) from the
// "vocab" of a model. Where two entries have the same text, the last one counts. An id that no entry
// has is none of a token; where several texts have one id, it decodes to the last of them. Fails with
// the path of the vocabulary where that is empty or over a limit. O(entries).
void ReadVocabulary(const Json& vocab, const std::string* unk_token, ModelSpec* spec);

}  // namespace rankfeed::builder
