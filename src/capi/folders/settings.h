// SPDX-License-Identifier: MIT
// capi/folders/settings.h: what the files beside a vocabulary say, as transformers 5.23.0 reads them: the
// class, its settings, and the tokens that it adds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "folder/document.h"

namespace rankfeed::folders {

using folder::Document;

// The texts of the files beside a vocab.txt or vocab.json; empty where there is none.
struct FilesBeside {
  std::string tokenizer_config, special_tokens_map, added_tokens, config;  // each a .json
  static FilesBeside Of(const std::string& folder);  // which ends in a separator. Throws BuildError: IO, PARSE
};

// An added token as AddedToken of tokenizers has it.
struct Token {
  std::string content;
  bool single_word = false, lstrip = false, rstrip = false, special = true;
  std::optional<bool> normalized;  // unset: of tokens that are not special
  bool of_class = false;           // no file names it
  bool counted = false;            // named so that a token of added_tokens.json of this content is special
};

// The class of transformers that reads the vocabulary; others are it by another name.
enum class Class { kBert, kMpnet, kRoberta, kGpt2, kQwen2, kOther };
std::optional<Class> ClassNamed(std::string_view name);

// A token as the configurations write it: its text, or an object with the text as "content".
Token ReadToken(const builder::Json& value);

// The settings of the class and the tokens that transformers takes from the files.
class Settings {
 public:
  // name: of the vocabulary, with its folder. preset: bert, bert-cased, mpnet or empty. Throws
  // BuildError: PARSE for broken files; UNSUPPORTED for a class that reads no such vocabulary.
  Settings(const std::string& name, const FilesBeside& beside, std::string_view preset);
  // kind: kOther for a class that reads no such vocabulary, whose own tokens are not known.
  Settings(const std::string& name, const FilesBeside& beside, Class kind);

  // The content of a named token ("cls_token"); null where there is none.
  const std::string* Named(const std::string& key) const;
  // A member of tokenizer_config.json.
  bool Flag(const char* key, bool otherwise) const { return config_.root().BoolOr(key, otherwise); }
  std::optional<bool> MaybeFlag(const char* key) const;
  const std::vector<Token>& tokens() const { return tokens_; }  // in the order in which they are added
  size_t listed() const { return listed_; }  // so many of them are those of added_tokens_decoder

 private:
  class Reader;  // of the tokens
  void ReadTokens();

  const std::string folder_;
  const Document config_, specials_, added_, model_;
  std::map<std::string, Token> named_;
  std::vector<Token> tokens_;
  size_t listed_ = 0;

 public:
  const Class kind;

 private:
  Class ClassOf(const std::string& name, std::string_view preset) const;
};

}  // namespace rankfeed::folders
