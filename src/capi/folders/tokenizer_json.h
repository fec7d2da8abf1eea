// SPDX-License-Identifier: MIT
// capi/folders/tokenizer_json.h: a vocab.txt, or vocab.json and merges.txt, with the files beside it, as
// the tokenizer.json that transformers 5.24 makes of them: BertTokenizer, MPNetTokenizer,
// RobertaTokenizer, GPT2Tokenizer, Qwen2Tokenizer.
#pragma once

#include <string>
#include <string_view>

#include "capi/folders/settings.h"

namespace rankfeed::folders {

// Tells whether a preset is of WordPiece: then what is no JSON is a vocab.txt.
bool IsWordPiecePreset(std::string_view preset);

// Tells whether a source that is no JSON looks like a vocab.txt.
bool LooksLikeVocabTxt(std::string_view source);

// The text of a tokenizer.json of a vocab.txt: ids are numbers of lines, whose ends lose white space
// as in WordPiece.read_file of tokenizers 0.23.3; the normalizer follows tokenizer_config.json, or
// the preset. Throws BuildError: LIMIT; PARSE for lines that are not UTF-8, for a byte order mark and
// for broken files beside it; UNSUPPORTED for a class of another family and for a vocabulary without
// the tokens of the template. name: of the vocab.txt, for messages. O(bytes).
std::string TokenizerJsonOf(std::string_view vocab_txt, const std::string& name,
                            const FilesBeside& beside, std::string_view preset);

// The same of a vocab.json and the lines of its merges.txt; the pre-tokenizer is the class's.
std::string TokenizerJsonOfMerges(std::string_view vocab_json, std::string_view merges_txt,
                                  const std::string& name, const FilesBeside& beside);

}  // namespace rankfeed::folders
