// SPDX-License-Identifier: MIT
// folder/document.h: the JSON files of a model's folder.
#pragma once

#include <cerrno>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "builder/files/json_value.h"

namespace rankfeed::folder {

// Returns an error of simdjson's as it is. Throws std::bad_alloc where it means want of memory, which opening a file
// takes, too: otherwise a file that cannot be read now would be taken for one that says nothing.
inline simdjson::error_code WithMemory(simdjson::error_code error) {
  if (error == simdjson::MEMALLOC || (error == simdjson::IO_ERROR && errno == ENOMEM)) throw std::bad_alloc();
  return error;
}

// Reads a file whole; empty where there is none. Throws BuildError: IO for what is no file; PARSE for an empty one, and for what is something
// else by its first bytes (a git-lfs pointer, a web page).
std::string ReadIfThere(const std::string& path);

// Puts an exponent in the place of the last digits of each integer that 64 bits do not hold, which simdjson refuses
// (transformers writes 10^30 for "no limit"). No offset changes, and what is left is beyond every limit. O(bytes).
void ShortenIntegers(simdjson::padded_string* text);

// A file as an object, or as a list; an empty object where the text is empty. Integers are as
// ShortenIntegers leaves them. Throws BuildError: PARSE.
class Document {
 public:
  enum class Root { kObject, kList };
  Document(std::string_view text, std::string name, Root root = Root::kObject);
  const builder::Json& root() const { return *root_; }

 private:
  builder::JsonSource source_;
  simdjson::dom::parser parser_;
  std::optional<builder::Json> root_;
};

}  // namespace rankfeed::folder
