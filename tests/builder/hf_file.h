// SPDX-License-Identifier: MIT
// tests/builder/hf_file.h: a small tokenizer.json whose parts a test can replace.
#pragma once

#include <string>

namespace rankfeed::builder_test {

struct HfFile {
  std::string version = R"("1.0")";
  std::string truncation = "null", padding = "null", added_tokens = "[]", normalizer = "null",
              pre_tokenizer = "null", post_processor = "null", decoder = "null";
  std::string vocab =
      R"([["<s>",0.0],["<pad>",0.0],["</s>",0.0],["<unk>",0.0],["\u2581",-3.5],["a",-2.25],["\u2581a",-1.5]])";
  std::string model;  // whole model object; empty: Unigram over vocab

  std::string Text() const {
    const std::string unigram =
        R"({"type":"Unigram","unk_id":3,"byte_fallback":false,"vocab":)" + vocab + "}";
    return R"({"version":)" + version + R"(,"truncation":)" + truncation + R"(,"padding":)" +
           padding + R"(,"added_tokens":)" + added_tokens + R"(,"normalizer":)" + normalizer +
           R"(,"pre_tokenizer":)" + pre_tokenizer + R"(,"post_processor":)" + post_processor +
           R"(,"decoder":)" + decoder + R"(,"model":)" + (model.empty() ? unigram : model) + "}";
  }
};

// One entry of added_tokens; flags in the order single_word, lstrip, rstrip, normalized, special.
inline std::string Added(int id, const std::string& content, const std::string& flags = "00001") {
  const auto flag = [&](size_t i) { return flags[i] == '1' ? "true" : "false"; };
  return R"({"id":)" + std::to_string(id) + R"(,"content":")" + content + R"(","single_word":)" +
         flag(0) + R"(,"lstrip":)" + flag(1) + R"(,"rstrip":)" + flag(2) + R"(,"normalized":)" +
         flag(3) + R"(,"special":)" + flag(4) + "}";
}

inline constexpr const char* kRobertaTemplate =
    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],"pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}},{"Sequence":{"id":"B","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],"special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]},"</s>":{"id":"</s>","ids":[2],"tokens":["</s>"]}}})";

}  // namespace rankfeed::builder_test
