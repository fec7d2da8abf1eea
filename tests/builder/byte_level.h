// SPDX-License-Identifier: MIT
// tests/builder/byte_level.h: a BPE model of a tokenizer.json whose first 256 pieces are the bytes.
#pragma once

#include <string>

#include "base/byte_alphabet.h"
#include "base/utf8.h"

namespace rankfeed::builder_test {

// more: further members of the vocabulary, each after a comma, with ids from 256 on. merges: strings
// with commas between them. members: further members of the model, each with a comma after it.
inline std::string ByteLevelModel(const std::string& more = "", const std::string& merges = "",
                                  const std::string& members = "") {
  std::string vocab;
  for (int b = 0; b < 256; ++b) {
    char spelled[4];
    std::string text(spelled, utf8::Encode(kByteAlphabet.chars[b], spelled));
    if (text == "\"" || text == "\\") text.insert(0, "\\");
    vocab += (b != 0 ? ",\"" : "\"") + text + "\":" + std::to_string(b);
  }
  return R"({"type":"BPE",)" + members + R"("vocab":{)" + vocab + more + R"(},"merges":[)" +
         merges + "]}";
}

// use_regex: as in the file, "true" or "false".
inline std::string ByteLevelSplit(const char* use_regex = "true", const char* add_prefix_space = "false") {
  return std::string(R"({"type":"ByteLevel","add_prefix_space":)") + add_prefix_space +
         R"(,"trim_offsets":true,"use_regex":)" + use_regex + "}";
}

}  // namespace rankfeed::builder_test
