// SPDX-License-Identifier: MIT
// builder/read_vocab_txt.h: a vocab.txt, with the files beside it, as the tokenizer.json that
// BertTokenizer or MPNetTokenizer of transformers 5.24 makes of them.
#pragma once

#include <string>
#include <string_view>

namespace rankfeed::builder {

// The texts of the files in the folder of a vocab.txt; empty where there is none.
struct FilesBeside {
  std::string tokenizer_config, special_tokens_map, added_tokens, config;  // each a .json
};

// Tells whether a preset is of WordPiece: then what is no JSON is a vocab.txt.
bool IsWordPiecePreset(std::string_view preset);

// Tells whether a source that is no JSON looks like a vocab.txt.
bool LooksLikeVocabTxt(std::string_view source);

// The text of a tokenizer.json: ids are numbers of lines, whose ends lose white space as in
// WordPiece.read_file of tokenizers 0.23.3; the normalizer follows tokenizer_config.json, or the
// preset. Throws BuildError: LIMIT; PARSE for lines that are not UTF-8, for a byte order mark and for
// broken files beside it; UNSUPPORTED for a class of another family and for a vocabulary without the
// tokens of the template. name: of the vocab.txt, for messages. O(bytes).
std::string TokenizerJsonOf(std::string_view vocab_txt, const std::string& name,
                            const FilesBeside& beside, std::string_view preset);

}  // namespace rankfeed::builder
