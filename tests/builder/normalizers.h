// SPDX-License-Identifier: MIT
// tests/builder/normalizers.h: a normalizer of tokenizer.json for each element and form of one, with the
// steps that it becomes. What goes through all elements takes them from here.
#pragma once

#include <string>
#include <vector>

#include "reference/sp_model_proto.h"
#include "support/base64.h"

namespace rankfeed::builder_test {

struct Normalizer {
  std::string json;
  const char* steps;  // "op(arg0,arg1,'a','b')" for each
};

inline std::vector<Normalizer> Normalizers() {
  const std::string charsmap = test::Base64(sp_test::MakeCharsmap({{"A", "a"}}));
  return {
      {R"({"type":"Precompiled","precompiled_charsmap":")" + charsmap + "\"}", "1(0,0,'','')"},
      {R"({"type":"Strip","strip_left":false,"strip_right":true})", "2(0,1,'','')"},
      {R"({"type":"Lowercase"})", "3(0,0,'','')"},
      {R"({"type":"NFC"})", "4(0,0,'','')"},
      {R"({"type":"NFD"})", "5(0,0,'','')"},
      {R"({"type":"NFKC"})", "6(0,0,'','')"},
      {R"({"type":"NFKD"})", "7(0,0,'','')"},
      {R"({"type":"StripAccents"})", "8(0,0,'','')"},
      {R"({"type":"Nmt"})", "9(0,0,'','')"},
      {R"({"type":"Prepend","prepend":"\u2581"})", "10(0,0,'\xe2\x96\x81','')"},
      {R"({"type":"Replace","pattern":{"String":"``"},"content":"\""})", "11(0,0,'``','\"')"},
      {R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":"\u2581"})", "12(2,0,' ','\xe2\x96\x81')"},
      {R"({"type":"Replace","pattern":{"Regex":"\\s{2,}|[\\n\\r\\t]"},"content":" "})", "13(0,0,'',' ')"},
      {R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"lowercase":true})",
       "14(0,0,'','')15(0,0,'','')5(0,0,'','')16(0,0,'','')3(0,0,'','')"}};
}

}  // namespace rankfeed::builder_test
