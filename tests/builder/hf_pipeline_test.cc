// SPDX-License-Identifier: MIT
#include "builder/files/hf_pipeline.h"

#include <gtest/gtest.h>

#include <set>

#include "builder/builder_test_util.h"
#include "builder/byte_level.h"
#include "builder/hf_file.h"
#include "builder/normalizers.h"
#include "reference/sp_model_proto.h"
#include "split/pattern.h"
#include "support/base64.h"

namespace rankfeed::builder {
namespace {

using builder_test::Compiled;
using builder_test::FailsWith;
using builder_test::HfFile;
using image::Op;

// Numbers of the steps that any test of this file made.
std::set<uint32_t> tried;

// "op(arg0,arg1,'a','b')" for each step.
std::string ShowSteps(const Model& m, std::span<const image::Step> steps) {
  std::string s;
  for (const image::Step& step : steps) {
    tried.insert(step.op);
    s += std::to_string(step.op) + "(" + std::to_string(step.arg0) + "," +
         std::to_string(step.arg1) + ",'" + std::string(m.text(step.a)) + "','" +
         std::string(m.text(step.b)) + "')";
  }
  return s;
}

std::string Steps(std::string HfFile::*part, const std::string& value,
                  std::span<const image::Step> Model::*list) {
  HfFile file;
  file.*part = value;
  const Compiled compiled(file.Text());
  if (compiled.status != RANKFEED_OK) return compiled.message();
  return ShowSteps(compiled.view(), compiled.view().*list);
}
std::string Normalizer(const std::string& value) {
  return Steps(&HfFile::normalizer, value, &Model::normalizer);
}
std::string PreTokenizer(const std::string& value) {
  return Steps(&HfFile::pre_tokenizer, value, &Model::pre_tokenizer);
}
std::string Decoder(const std::string& value) {
  return Steps(&HfFile::decoder, value, &Model::decoder);
}

TEST(HfPipeline, Normalizers) {
  EXPECT_EQ(Normalizer("null"), "");
  for (const auto& [json, steps] : builder_test::Normalizers()) EXPECT_EQ(Normalizer(json), steps) << json;
  const auto bert = [](const char* clean, const char* cjk, const char* strip, const char* lower) {
    return Normalizer(std::string(R"({"type":"BertNormalizer","clean_text":)") + clean +
                      R"(,"handle_chinese_chars":)" + cjk + strip + R"(,"lowercase":)" + lower + "}");
  };
  const std::string clean = "14(0,0,'','')", cjk = "15(0,0,'','')",
                    strip = "5(0,0,'','')16(0,0,'','')", lower = "3(0,0,'','')";
  EXPECT_EQ(bert("true", "true", R"(,"strip_accents":null)", "true"), clean + cjk + strip + lower);
  EXPECT_EQ(bert("true", "false", "", "true"), clean + strip + lower);
  EXPECT_EQ(bert("false", "true", R"(,"strip_accents":null)", "false"), cjk);
  EXPECT_EQ(bert("false", "false", R"(,"strip_accents":true)", "false"), strip);
  EXPECT_EQ(bert("false", "false", R"(,"strip_accents":false)", "true"), lower);
  EXPECT_EQ(Normalizer(R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Sequence",)"
                       R"("normalizers":[{"type":"Lowercase"}]},{"type":"Strip","strip_left":true,)"
                       R"("strip_right":false}]})"),
            "4(0,0,'','')3(0,0,'','')2(1,0,'','')");
}

TEST(HfPipeline, NormalizersRefused) {
  const auto refused = [](const std::string& value, rankfeed_status status, const char* message) {
    HfFile file;
    file.normalizer = value;
    return FailsWith(Compiled(file.Text()), status, message);
  };
  EXPECT_TRUE(refused(R"({"type":"Foo"})", RANKFEED_E_UNSUPPORTED,
                      "normalizer.type \"Foo\" is not supported"));
  EXPECT_TRUE(
      refused(R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"NFC"},{"type":"Foo"}]})",
              RANKFEED_E_UNSUPPORTED, "normalizer.normalizers[2].type \"Foo\" is not supported"));
  EXPECT_TRUE(refused(R"({"type":"ByteLevel"})", RANKFEED_E_UNSUPPORTED, "ByteLevel"));
  EXPECT_TRUE(refused(R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true})",
                      RANKFEED_E_PARSE, "normalizer has no \"lowercase\""));
  EXPECT_TRUE(refused(R"({"type":"BertNormalizer","clean_text":null,"handle_chinese_chars":true,)"
                      R"("lowercase":true})",
                      RANKFEED_E_PARSE, "normalizer.clean_text must be true or false"));
  EXPECT_TRUE(refused(R"({"normalizers":[]})", RANKFEED_E_PARSE, "normalizer has no \"type\""));
  EXPECT_TRUE(refused(R"("NFC")", RANKFEED_E_PARSE, "normalizer must be an object"));
  EXPECT_TRUE(refused(R"({"type":"Strip","strip_left":true})", RANKFEED_E_PARSE,
                      "normalizer has no \"strip_right\""));
  EXPECT_TRUE(refused(R"({"type":"Strip","strip_left":1,"strip_right":true})", RANKFEED_E_PARSE,
                      "normalizer.strip_left must be true or false"));
  EXPECT_TRUE(refused(R"({"type":"Replace","pattern":{"String":""},"content":"x"})",
                      RANKFEED_E_UNSUPPORTED, "normalizer.pattern.String is empty"));
  EXPECT_TRUE(refused(R"({"type":"Replace","pattern":{"Regex":"a|b"},"content":"x"})",
                      RANKFEED_E_UNSUPPORTED, "\"a|b\" is not a supported regular expression"));
  EXPECT_TRUE(refused(R"({"type":"Replace","pattern":{"Other":"a"},"content":"x"})",
                      RANKFEED_E_PARSE, "must have \"String\" or \"Regex\""));
  EXPECT_TRUE(refused(R"({"type":"Replace","pattern":{"String":"a"}})", RANKFEED_E_PARSE,
                      "normalizer has no \"content\""));
  EXPECT_TRUE(
      refused(R"({"type":"Precompiled","precompiled_charsmap":""})", RANKFEED_E_PARSE, "is empty"));
  EXPECT_TRUE(refused(R"({"type":"Precompiled","precompiled_charsmap":null})", RANKFEED_E_PARSE,
                      "must be a string"));
  EXPECT_TRUE(refused(R"({"type":"Precompiled","precompiled_charsmap":"a"})", RANKFEED_E_PARSE,
                      "is not base64"));
  EXPECT_TRUE(refused(R"({"type":"Precompiled","precompiled_charsmap":"YWJjZGVmZ2g="})",
                      RANKFEED_E_PARSE, "Precompiled normalizer's charsmap is broken"));
  EXPECT_TRUE(
      refused(R"({"type":"Sequence","normalizers":[{"type":"Precompiled",)"
              R"("precompiled_charsmap":"YWJj"},{"type":"Precompiled","precompiled_charsmap":)"
              R"("YWJk"}]})",
              RANKFEED_E_UNSUPPORTED, "one charsmap per file"));
}

TEST(HfPipeline, RefusalsSayWhere) {
  HfFile file;
  file.normalizer = R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Foo"}]})";
  const std::string text = file.Text();
  const Compiled compiled(text);
  EXPECT_EQ(compiled.error.byte_offset, text.find("\"Foo\""));
  EXPECT_TRUE(FailsWith(compiled, RANKFEED_E_UNSUPPORTED,
                        "file: byte " + std::to_string(text.find("\"Foo\"")) + ": "));
}

TEST(HfPipeline, PreTokenizers) {
  EXPECT_EQ(PreTokenizer("null"), "");
  EXPECT_EQ(PreTokenizer(R"({"type":"Metaspace","replacement":"\u2581"})"),
            "30(0,1,'\xe2\x96\x81','')");
  EXPECT_EQ(PreTokenizer(
                R"({"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":false})"),
            "30(1,0,'_','')");
  EXPECT_EQ(PreTokenizer(R"({"type":"Metaspace","replacement":"_","prepend_scheme":"never"})"),
            "30(2,1,'_','')");
  // Old members: str_rep is ignored, add_prefix_space must agree.
  EXPECT_EQ(PreTokenizer(
                R"({"type":"Metaspace","replacement":"_","str_rep":"x","add_prefix_space":true})"),
            "30(0,1,'_','')");
  EXPECT_EQ(
      PreTokenizer(
          R"({"type":"Metaspace","replacement":"_","add_prefix_space":false,"prepend_scheme":"never"})"),
      "30(2,1,'_','')");
  EXPECT_EQ(
      PreTokenizer(
          R"({"type":"Metaspace","replacement":"_","add_prefix_space":true,"prepend_scheme":"never"})"),
      "30(2,1,'_','')");
  EXPECT_EQ(PreTokenizer(R"({"type":"WhitespaceSplit"})"), "31(0,0,'','')");
  EXPECT_EQ(PreTokenizer(R"({"type":"Whitespace"})"), "32(0,0,'','')");
  EXPECT_EQ(PreTokenizer(R"({"type":"BertPreTokenizer"})"), "31(0,0,'','')33(1,0,'','')");
  EXPECT_EQ(PreTokenizer(R"({"type":"Punctuation"})"), "33(1,0,'','')");
  EXPECT_EQ(PreTokenizer(R"({"type":"Punctuation","behavior":"Contiguous"})"), "33(4,0,'','')");
  EXPECT_EQ(PreTokenizer(R"({"type":"Digits","individual_digits":true})"), "34(1,0,'','')");
  EXPECT_EQ(PreTokenizer(R"({"type":"Digits","individual_digits":false})"), "34(0,0,'','')");
  EXPECT_EQ(PreTokenizer(R"({"type":"CharDelimiterSplit","delimiter":"-"})"), "35(0,0,'-','')");
  EXPECT_EQ(
      PreTokenizer(
          R"({"type":"Split","pattern":{"String":"ab"},"behavior":"MergedWithNext","invert":true})"),
      "35(3,1,'ab','')");
  EXPECT_EQ(
      PreTokenizer(
          R"({"type":"Split","pattern":{"Regex":"\\."},"behavior":"Removed","invert":false})"),
      "35(0,0,'.','')");
  EXPECT_EQ(PreTokenizer(R"({"type":"Split","pattern":{"Regex":"\\p{N}{1,3}"},"behavior":"Isolated","invert":true})"),
            "36(768,0,'','')");
  EXPECT_EQ(
      PreTokenizer(
          R"({"type":"Split","pattern":{"Regex":" ?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},"behavior":"Removed","invert":true})"),
      "36(266576,0,'','')");
  EXPECT_EQ(
      PreTokenizer(
          R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"_"}]})"),
      "31(0,0,'','')30(0,1,'_','')");
}

TEST(HfPipeline, BytesOfBpe) {
  const auto steps = [](const std::string& pre_tokenizer) {
    HfFile file;
    file.pre_tokenizer = pre_tokenizer;
    file.model = builder_test::ByteLevelModel();
    const Compiled compiled(file.Text());
    return compiled.status != RANKFEED_OK ? compiled.message()
                                          : ShowSteps(compiled.view(), compiled.view().pre_tokenizer);
  };
  EXPECT_EQ(steps(builder_test::ByteLevelSplit("false")), "37(0,0,'','')");
  EXPECT_EQ(steps(builder_test::ByteLevelSplit("true", "true")),
            "37(1,0,'','')36(" + std::to_string(split::kGpt2Knobs) + ",0,'','')");
}

TEST(HfPipeline, BytesOfOtherModels) {
  HfFile file;
  file.pre_tokenizer = R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":false})";
  EXPECT_TRUE(FailsWith(Compiled(file.Text()), RANKFEED_E_UNSUPPORTED,
                        "pre_tokenizer has ByteLevel, which is supported with BPE alone"));
}

TEST(HfPipeline, PreTokenizersRefused) {
  const auto refused = [](const std::string& value, rankfeed_status status, const char* message) {
    HfFile file;
    file.pre_tokenizer = value;
    return FailsWith(Compiled(file.Text()), status, message);
  };
  for (const char* type :
       {"UnicodeScripts", "FixedLength", "Foo"}) {
    EXPECT_TRUE(
        refused(std::string(R"({"type":")") + type + "\"}", RANKFEED_E_UNSUPPORTED,
                (std::string("pre_tokenizer.type \"") + type + "\" is not supported").c_str()));
  }
  EXPECT_TRUE(
      refused(R"({"type":"Split","pattern":{"Regex":"\\s+"},"behavior":"Removed","invert":false})",
              RANKFEED_E_UNSUPPORTED,
              "pre_tokenizer.pattern.Regex \"\\s+\" is not a supported pattern to split at"));
  EXPECT_TRUE(
      refused(R"({"type":"Split","pattern":{"Regex":"a+"},"behavior":"Removed","invert":false})",
              RANKFEED_E_UNSUPPORTED, "\"a+\" is not a supported pattern to split at"));
  for (const char* behavior : {R"("Removed","invert":true)", R"("Contiguous","invert":false)"}) {
    EXPECT_TRUE(refused(std::string(R"({"type":"Split","pattern":{"Regex":"\\p{N}"},"behavior":)") + behavior + "}",
                        RANKFEED_E_UNSUPPORTED, "pre_tokenizer.behavior with \"\\p{N}\" must be \"Isolated\""));
  }
  const std::string bytes = R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})";
  EXPECT_TRUE(refused(R"({"type":"Sequence","pretokenizers":[)" + bytes + R"(,{"type":"Digits","individual_digits":true}]})",
                      RANKFEED_E_UNSUPPORTED,
                      "pre_tokenizer.pretokenizers[1] stands after ByteLevel, which must be the last"));
  EXPECT_TRUE(
      refused(R"({"type":"Split","pattern":{"String":"a"},"behavior":"Sideways","invert":false})",
              RANKFEED_E_UNSUPPORTED, "\"Sideways\" is not a known split behavior"));
  EXPECT_TRUE(refused(R"({"type":"Metaspace","replacement":"ab"})", RANKFEED_E_PARSE,
                      "pre_tokenizer.replacement must be one character"));
  EXPECT_TRUE(refused(R"({"type":"Metaspace","replacement":"_","prepend_scheme":"maybe"})",
                      RANKFEED_E_UNSUPPORTED, "\"maybe\" is not a known scheme"));
  EXPECT_TRUE(refused(R"({"type":"Metaspace","replacement":"_","add_prefix_space":false})",
                      RANKFEED_E_PARSE, "prepend_scheme is not \"never\""));
  EXPECT_TRUE(refused(R"({"type":"Metaspace","replacement":"_","replacement":"x"})",
                      RANKFEED_E_PARSE, "is given twice"));
  EXPECT_TRUE(refused(R"({"type":"Digits"})", RANKFEED_E_PARSE, "has no \"individual_digits\""));
}

TEST(HfPipeline, Decoders) {
  EXPECT_EQ(Decoder("null"), "");
  EXPECT_EQ(
      Decoder(
          R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true})"),
      "50(0,0,'\xe2\x96\x81','')");
  EXPECT_EQ(Decoder(R"({"type":"Replace","pattern":{"String":"\u2581"},"content":" "})"),
            "51(0,0,'\xe2\x96\x81',' ')");
  EXPECT_EQ(Decoder(R"({"type":"Strip","content":" ","start":1,"stop":2})"), "54(1,2,' ','')");
  EXPECT_EQ(Decoder(R"({"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"}]})"),
            "52(0,0,'','')53(0,0,'','')");
  EXPECT_EQ(Decoder(R"({"type":"Sequence","decoders":[]})"), "53(0,0,'','')");
  EXPECT_EQ(Decoder(R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})"), "56(0,0,'','')");
  EXPECT_EQ(Decoder(R"({"type":"WordPiece","prefix":"##","cleanup":false})"), "55(0,0,'##','')");
  EXPECT_EQ(Decoder(R"({"type":"WordPiece","prefix":"","cleanup":true})").substr(0, 29),
            "55(0,0,'','')51(0,0,' .','.')");
}

TEST(HfPipeline, DecodersRefused) {
  const auto refused = [](const std::string& value, const char* message) {
    HfFile file;
    file.decoder = value;
    return FailsWith(Compiled(file.Text()), RANKFEED_E_UNSUPPORTED, message);
  };
  EXPECT_TRUE(refused(R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"ByteLevel"}]})",
                      "is supported as the first decoder"));
  for (const char* type : {"BPEDecoder", "CTC", "DecodeStream"}) {
    EXPECT_TRUE(refused(std::string(R"({"type":")") + type + "\"}",
                        (std::string("decoder.type \"") + type + "\" is not supported").c_str()));
  }
  EXPECT_TRUE(refused(R"({"type":"Replace","pattern":{"Regex":"a{2,}"},"content":" "})",
                      "a decoder that replaces literal text is supported"));
}

TEST(HfPipeline, RegexForms) {
  const auto show = [](std::string_view regex) -> std::string {
    const auto step = ReadRegex(regex);
    if (!step) return "no";
    return std::to_string(static_cast<int>(step->op)) + ":" + std::to_string(step->arg0) + ":" +
           step->a;
  };
  EXPECT_EQ(show("abc"), "11:0:abc");
  EXPECT_EQ(show("''"), "11:0:''");
  EXPECT_EQ(show("\\."), "11:0:.");
  EXPECT_EQ(show("\\n"), "11:0:\n");
  EXPECT_EQ(show("\n"), "11:0:\n");
  EXPECT_EQ(show(" {2,}"), "12:2: ");
  EXPECT_EQ(show("\xe2\x96\x81{12,}"), "12:12:\xe2\x96\x81");
  EXPECT_EQ(show("a+"), "12:1:a");
  EXPECT_EQ(show("\\+{2,}"), "12:2:+");
  EXPECT_EQ(show("\\s{2,}|[\\n\\r\\t]"), "13:0:");
  EXPECT_EQ(show("\\s{2,}|[\n\r\t]"), "13:0:");
  for (const char* regex : {"",
                            "a{2}",
                            "a{2,3}",
                            "a{0,}",
                            "a{,2}",
                            "a{2,",
                            "a*",
                            "a?",
                            "ab{2,}",
                            "a{2,}b",
                            "a{2,}?",
                            "[ab]",
                            "(a)",
                            "^a",
                            "a$",
                            ".",
                            "a|b",
                            "\\s+",
                            "\\s",
                            "\\d",
                            "\\w{2,}",
                            "\\",
                            "\\x20",
                            "a{99999999999,}",
                            "s{2,}|[\\n\\r\\t]",
                            "\\s{2,}|[\\r\\n\\t]",
                            "\\s{3,}|[\\n\\r\\t]",
                            "a++",
                            "\\s{2,}|[\\n\\r\\t]+",
                            "a{\\2,}",
                            "\xff"}) {
    EXPECT_EQ(show(regex), "no") << regex;
  }
}

TEST(HfPipeline, Base64) {
  EXPECT_EQ(DecodeBase64(""), "");
  EXPECT_EQ(DecodeBase64("YQ=="), "a");
  EXPECT_EQ(DecodeBase64("YWI="), "ab");
  EXPECT_EQ(DecodeBase64("YWJj"), "abc");
  EXPECT_EQ(DecodeBase64("+/+/"), "\xfb\xff\xbf");
  for (const char* bad :
       {"Y", "YQ", "YQ=", "YQ=a", "=YQ=", "YW-j", "YR==", "YWJ=", "YQ==YQ==", "YWJj\n"}) {
    EXPECT_EQ(DecodeBase64(bad), std::nullopt) << bad;
  }
}

// Runs last: the tests above make every element that image/ops.def has.
class EveryElement : public testing::Environment {
  void TearDown() override {
    if (testing::GTEST_FLAG(filter) != "*") return;
    for (const image::OpInfo& info : image::kOps) {
      EXPECT_TRUE(tried.contains(static_cast<uint32_t>(info.op)))
          << "no file was read that has number " << static_cast<uint32_t>(info.op) << ", "
          << info.type;
    }
  }
};
const testing::Environment* const every_element =
    testing::AddGlobalTestEnvironment(new EveryElement);

}  // namespace
}  // namespace rankfeed::builder
