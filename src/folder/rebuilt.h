// SPDX-License-Identifier: MIT
// folder/rebuilt.h: the classes of transformers 5 that do not run the tokenizer.json they load, and what they run
// in its place.
#pragma once

#include <simdjson.h>

#include <string>
#include <vector>

namespace rankfeed::folder {

// A file as a class makes it.
struct Rebuilt {
  bool differs = false;  // some texts have other ids than by the file as it is written
  // The members that come in place of the file's: normalizer, pre_tokenizer, decoder, and members of model; JSON. Empty: none
  // differ, or the class cannot read the file.
  std::string members;
  bool lowers_before = false, lowers_after = false;
};

// The class of AutoTokenizer of transformers 5.23 for a folder, with its settings.
class Rebuilding {
 public:
  // file: the folder's tokenizer.json, beside which tokenizer_config.json and config.json are read, O(their bytes). Throws
  // BuildError for one that is broken, or has another type where the class wants a flag.
  explicit Rebuilding(const std::string& file);
  // Empty: the file is run as it is written, or by code of the folder's own.
  const std::string& name() const { return name_; }
  // O(bytes of the normalizer).
  Rebuilt Of(const simdjson::dom::element& file) const;
  // A sentence for the user of the file; empty where it has the same ids.
  std::string NoteOf(const Rebuilt& rebuilt, const std::string& file) const;

 private:
  std::string name_, model_, decoder_;
  std::vector<std::string> normalizer_, pre_tokenizer_;
};

}  // namespace rankfeed::folder
