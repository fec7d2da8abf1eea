// SPDX-License-Identifier: MIT
// builder/files/file_changes.h: what the files beside a tokenizer.json change in it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace rankfeed::builder {

struct FileChanges {
  bool lower_case = false;  // Lowercase in front of a normalizer that has none
  std::optional<std::set<std::string, std::less<>>> kept;  // the added tokens that stay; unset: all of them
  std::string pad_token;  // of a file that names none, where it is an added token or a piece
  std::string cls_token, sep_token;  // the first and the last token of a pair, of a file that has any; empty: any
  std::string class_name;            // whose these tokens are, for a message

  // Names what gives texts other ids than the file; empty where nothing does.
  std::string Name() const {
    std::string name = lower_case ? "\nlower case" : "";
    if (kept) name += "\nkept";
    for (const std::string& token : kept.value_or(std::set<std::string, std::less<>>())) name += "\n" + token;
    return name;
  }
};

}  // namespace rankfeed::builder
