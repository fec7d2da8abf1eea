// SPDX-License-Identifier: MIT
// fuzz/pair_model.h: a vocabulary in which every letter from a to h is a token, with templates and a
// pad, for targets about what happens around the ids.
#pragma once

#include <memory>
#include <string>

#include "engine.h"

namespace rankfeed::fuzz {

// <s> 0, <pad> 1, </s> 2, letters from 4 on; every letter is a token.
inline constexpr char kPairFile[] =
    R"({"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"decoder":null,"post_processor":
    {"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},
    {"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],
    "pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},
    {"SpecialToken":{"id":"</s>","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":1}},
    {"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"</s>","type_id":1}}],
    "special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]},
    "</s>":{"id":"</s>","ids":[2],"tokens":["</s>"]}}},
    "padding":{"strategy":"BatchLongest","direction":"Right","pad_to_multiple_of":null,"pad_id":1,
    "pad_type_id":0,"pad_token":"<pad>"},
    "model":{"type":"Unigram","unk_id":3,"vocab":[["<s>",0],["<pad>",0],["</s>",0],["<unk>",0],
    ["a",-1],["b",-1],["c",-1],["d",-1],["e",-1],["f",-1],["g",-1],["h",-1]]}})";
inline constexpr int32_t kBegin = 0, kPad = 1, kEnd = 2, kLetters = 4;
inline constexpr uint32_t kSpecials = 4;

inline const OpenModel& TheModel() {
  static const std::unique_ptr<OpenModel> model = [] {
    rankfeed_builder_error error;
    auto made = Compile(kPairFile, &error);
    if (made == nullptr) FUZZ_FAIL(error.message);
    return made;
  }();
  return *model;
}

// Words of those letters, each behind a U+2581, which texts in pieces are cut at, with tokens that are
// looked for in normalized text.
inline const OpenModel& TheWordModel() {
  static const std::unique_ptr<OpenModel> model = [] {
    std::string file = kPairFile;
    const auto replace = [&](std::string_view what, std::string_view by) {
      file.replace(file.find(what), what.size(), by);
    };
    replace(R"("pre_tokenizer":null)", R"("pre_tokenizer":{"type":"Metaspace","replacement":"\u2581",
        "prepend_scheme":"always","split":true})");
    replace(R"(["h",-1])", R"(["h",-1],["\u2581",-1])");
    replace(R"("added_tokens":[])",
            R"("added_tokens":[{"id":20,"content":"ab","single_word":false,"lstrip":true,"rstrip":false,
            "normalized":true,"special":false},{"id":21,"content":"hc","single_word":true,"lstrip":false,
            "rstrip":true,"normalized":true,"special":false}])");
    rankfeed_builder_error error;
    auto made = Compile(file, &error);
    if (made == nullptr) FUZZ_FAIL(error.message);
    return made;
  }();
  return *model;
}

}  // namespace rankfeed::fuzz
