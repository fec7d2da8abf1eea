// SPDX-License-Identifier: MIT
// builder/files/file_changes.h: what the files beside a tokenizer.json change in it.
#pragma once

#include <simdjson.h>

#include <functional>
#include <string>
#include <vector>

#include "builder/base/model_spec.h"

namespace rankfeed::builder {

// An added token of the files beside a tokenizer.json, without id.
struct TokenBeside : AddedTokenSpec {
  bool of_class = false;  // no file names it, its class has it
};

struct FileChanges {
  bool lower_case = false;  // Lowercase in front of a normalizer that has none
  // Added tokens that the files beside name, in the order in which they are added: the first so many have their settings from
  // there, the others are only looked for where the file does not add them.
  std::vector<TokenBeside> added_tokens;
  size_t listed = 0;
  // kToo: the file's are there too. kInstead: those alone. kMustBeListed: those alone, and some of the class, which is not
  // known here, so that a token of the file that is not among them is refused.
  enum class Added { kToo, kInstead, kMustBeListed } added = Added::kToo;
  std::string pad_token;  // of a file that names none, where it is an added token or a piece
  std::string cls_token, sep_token;  // the first and the last token of a pair, of a file that has any; empty: any
  std::string unk_token;             // of the model; empty: any
  std::string class_name;            // whose these tokens are, for a message
  // Returns the members that this class has in place of the file's, as a JSON object: normalizer, pre_tokenizer, decoder,
  // and in model those of its settings that the class has; empty: the file's are there. Adds a sentence to *note where some texts
  // have other ids then.
  std::function<std::string(const simdjson::dom::element& file, std::string* note)> rebuild;
  std::string* note = nullptr;  // receives sentences for the user; null: not wanted
};

}  // namespace rankfeed::builder
