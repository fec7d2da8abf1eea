// SPDX-License-Identifier: MIT
// bench/texts.h: the texts of a JSONL file.
#pragma once

#include <simdjson.h>

#include <string>
#include <vector>

#include "measure.h"

namespace rankfeed::bench {

// Returns the "text" of every line, in order. Ends the program at a file that cannot be read and a line without one.
inline std::vector<std::string> ReadTexts(const std::string& path) {
  std::vector<std::string> texts;
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines;
  if (parser.load_many(path).get(lines)) Die(path + " cannot be read");
  for (const auto line : lines) {
    std::string_view text;
    if (line["text"].get(text)) Die("a line without text");
    texts.emplace_back(text);
  }
  return texts;
}

}  // namespace rankfeed::bench
