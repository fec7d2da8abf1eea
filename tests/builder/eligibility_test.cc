// SPDX-License-Identifier: MIT
// Which pipelines take the fast road, and what an image says of those that do not: every reason of
// image/fast_road.h that a small file can have, and the element where there is one.
#include "builder/fast/eligibility.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "builder/builder_test_util.h"
#include "builder/hf_file.h"
#include "reference/hf_tiny.h"
#include "reference/sp_model_proto.h"
#include "support/base64.h"

namespace rankfeed::builder {
namespace {

using builder_test::Compiled;
using builder_test::HfFile;
using image::FastRoadReason;
using image::Op;

constexpr char kCollapse[] = R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})";
constexpr char kStripRight[] = R"({"type":"Strip","strip_left":false,"strip_right":true})";
constexpr char kStripBoth[] = R"({"type":"Strip","strip_left":true,"strip_right":true})";

std::set<FastRoadReason> seen;

void Expect(const std::string& source, FastRoadReason reason, Op op = Op{0}) {
  const Compiled compiled(source);
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  const Model& model = compiled.view();
  const auto is = static_cast<FastRoadReason>(model.config->fast_road_reason);
  EXPECT_EQ(is, reason) << image::FastRoadReasonName(is) << " instead of "
                        << image::FastRoadReasonName(reason);
  EXPECT_EQ(model.config->fast_road_op, static_cast<uint32_t>(op));
  EXPECT_EQ(model.segment.config.has_value(), reason == FastRoadReason::kNone);
  EXPECT_EQ(image::AboutAnElement(reason), op != Op{0});
  seen.insert(is);
}

std::string Sequence(const char* key, const std::vector<std::string>& elements) {
  std::string list;
  for (const std::string& element : elements) list += (list.empty() ? "" : ",") + element;
  return std::string(R"({"type":"Sequence",")") + key + "\":[" + list + "]}";
}

// Form B with a change.
template <class Change>
std::string File(Change change) {
  HfFile file;
  file.pre_tokenizer = hf_test::kWords;
  change(file);
  return file.Text();
}

std::string Charsmap(const std::map<std::string, std::string>& rules) {
  return R"({"type":"Precompiled","precompiled_charsmap":")" +
         test::Base64(sp_test::MakeCharsmap(rules)) + "\"}";
}

std::string WithCharsmap(const std::map<std::string, std::string>& rules) {
  return File([&](HfFile& f) { f.normalizer = Charsmap(rules); });
}

// Where white space is split at U+2581 only.
std::string WithCharsmapAndCollapse(const std::map<std::string, std::string>& rules) {
  return File([&](HfFile& f) {
    f.normalizer = Sequence("normalizers", {Charsmap(rules), kCollapse});
    f.pre_tokenizer = hf_test::kAlways;
  });
}

TEST(Eligibility, FormsOfHuggingFace) {
  Expect(File([](HfFile&) {}), FastRoadReason::kNone);
  Expect(WithCharsmap({{"\t", " "}}), FastRoadReason::kNone);
  for (const std::vector<std::string>& normalizer :
       {std::vector<std::string>{kCollapse}, {kStripRight, kCollapse}}) {
    Expect(File([&](HfFile& f) {
             f.normalizer = Sequence("normalizers", normalizer);
             f.pre_tokenizer = hf_test::kAlways;
           }),
           FastRoadReason::kNone);
  }
}

std::string Replace(const char* pattern, const char* content) {
  return std::string(R"({"type":"Replace","pattern":{"String":")") + pattern + R"("},"content":")" +
         content + "\"}";
}

std::string WithNormalizer(const std::vector<std::string>& elements, const char* pre_tokenizer) {
  return File([&](HfFile& f) {
    f.normalizer = Sequence("normalizers", elements);
    f.pre_tokenizer = pre_tokenizer;
  });
}

TEST(Eligibility, NormalizersOfAllSorts) {
  for (const char* pre_tokenizer : {hf_test::kWords, hf_test::kAlways, hf_test::kFirst}) {
    for (const std::string& element :
         {std::string(R"({"type":"NFKC"})"), std::string(R"({"type":"Lowercase"})"),
          std::string(kStripBoth), std::string(kStripRight), std::string(kCollapse),
          Replace("a", "b"), Replace("ab", "b"), Replace("\\n", " "),
          Sequence("normalizers", {kCollapse, R"({"type":"Nmt"})"})}) {
      Expect(WithNormalizer({element}, pre_tokenizer), FastRoadReason::kNone);
    }
  }
}

TEST(Eligibility, NormalizersThatKeepItOff) {
  constexpr char kNmt[] = R"({"type":"Nmt"})";
  constexpr char kToMetaspace[] =
      R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":"\u2581"})";
  constexpr char kLeft[] = R"({"type":"Strip","strip_left":true,"strip_right":false})";
  const auto run = [](const char* regex, const char* content) {
    return std::string(R"({"type":"Replace","pattern":{"Regex":")") + regex + R"("},"content":")" +
           content + "\"}";
  };
  const std::tuple<std::vector<std::string>, const char*, Op> pipelines[] = {
      {{R"({"type":"Prepend","prepend":"a"})"}, hf_test::kWords, Op::kPrepend},
      {{run(" {3,}", " ")}, hf_test::kAlways, Op::kReplaceRun},
      {{run(" {2,}", "a")}, hf_test::kAlways, Op::kReplaceRun},
      {{kCollapse, kCollapse}, hf_test::kAlways, Op::kReplaceRun},
      // A U+2581 that more than Metaspace sees.
      {{kToMetaspace}, hf_test::kWords, Op::kReplaceRun},
      {{kToMetaspace, kNmt}, hf_test::kAlways, Op::kReplaceRun},
      {{kToMetaspace, kStripRight}, hf_test::kAlways, Op::kStrip},
      // The space that a run becomes is replaced itself.
      {{run(R"(\\s{2,}|[\\n\\r\\t])", " "), Charsmap({{" ", "a"}})}, hf_test::kWords, Op::kReplaceSpaces},
      // What vanishes before runs are collapsed makes them longer, or comes from between behind.
      {{Replace("a", ""), kCollapse, kNmt}, hf_test::kAlways, Op::kReplaceRun},
      // Spaces that come up behind a Strip, and none that a Strip may leave.
      {{Replace("a", " "), kStripRight, Replace("b", " "), kCollapse}, hf_test::kAlways, Op::kStrip},
      {{Replace("a", " "), kStripRight}, hf_test::kAlways, Op::kStrip},
      {{Replace("a", " "), kLeft, kCollapse}, hf_test::kAlways, Op::kStrip},
      {{Replace("a", " "), kStripBoth, kCollapse}, hf_test::kNever, Op::kStrip}};
  for (const auto& [normalizer, pre_tokenizer, op] : pipelines) {
    SCOPED_TRACE(Sequence("normalizers", normalizer));
    Expect(WithNormalizer(normalizer, pre_tokenizer), FastRoadReason::kNormalizer, op);
  }
  Expect(WithNormalizer({Replace(" ,", ",")}, hf_test::kWords), FastRoadReason::kSeparatorPatterns);
}

constexpr char kPunctuation[] = R"({"type":"Punctuation","behavior":"Isolated"})";

TEST(Eligibility, PreTokenizersThatKeepItOff) {
  const auto with = [](const std::string& pre_tokenizer) {
    return File([&](HfFile& f) { f.pre_tokenizer = pre_tokenizer; });
  };
  const std::string words = R"({"type":"WhitespaceSplit"})";
  const auto split = [](const char* pattern) {
    return std::string(R"({"type":"Split","invert":false,"pattern":{"String":")") + pattern +
           R"("},"behavior":"Isolated"})";
  };
  const std::pair<std::string, Op> elements[] = {
      {R"({"type":"Digits","individual_digits":false})", Op::kDigits},
      {R"({"type":"Digits","individual_digits":true})", Op::kDigits},
      {R"({"type":"Punctuation","behavior":"Contiguous"})", Op::kPunctuation},
      {R"({"type":"Punctuation","behavior":"MergedWithPrevious"})", Op::kPunctuation},
      {R"({"type":"Punctuation","behavior":"MergedWithNext"})", Op::kPunctuation},
      {R"({"type":"Punctuation","behavior":"Removed"})", Op::kPunctuation},
      {R"({"type":"Whitespace"})", Op::kWhitespace},
      {split("@"), Op::kSplitString},
      {split("ab"), Op::kSplitString},
      {split(" "), Op::kSplitString},
      {R"({"type":"Split","invert":false,"pattern":{"Regex":"\\p{N}"},"behavior":"Isolated"})", Op::kSplitPattern}};
  for (const auto& [element, op] : elements) {
    SCOPED_TRACE(element);
    for (const std::vector<std::string>& order :
         {std::vector<std::string>{element}, {element, hf_test::kFirst}, {hf_test::kAlways, element},
          {words, element, hf_test::kAlways}, {kPunctuation, element, hf_test::kAlways}}) {
      Expect(with(Sequence("pretokenizers", order)), FastRoadReason::kPreTokenizer, op);
    }
  }
  for (const char* metaspace : {hf_test::kWhole, hf_test::kFirst}) {
    Expect(with(Sequence("pretokenizers", {R"({"type":"WhitespaceSplit"})", metaspace})),
           FastRoadReason::kPreTokenizer, Op::kMetaspace);
  }
  Expect(with(R"({"type":"WhitespaceSplit"})"), FastRoadReason::kNoMetaspace);
  Expect(with("null"), FastRoadReason::kNoMetaspace);
  for (const char* metaspace :
       {hf_test::kAlways, hf_test::kFirst, hf_test::kNever, hf_test::kWhole}) {
    Expect(with(metaspace), FastRoadReason::kNone);
  }
}

TEST(Eligibility, PunctuationThatIsIsolated) {
  const std::string words = R"({"type":"WhitespaceSplit"})";
  const auto with = [](std::vector<std::string> elements, std::vector<std::string> normalizer) {
    return WithNormalizer(normalizer, Sequence("pretokenizers", elements).c_str());
  };
  const auto expect_off = [&](const std::vector<std::string>& elements) {
    Expect(with(elements, {kCollapse}), FastRoadReason::kPreTokenizer, Op::kPunctuation);
  };
  for (const auto& elements :
       {std::vector<std::string>{kPunctuation}, {kPunctuation, kPunctuation}, {words, kPunctuation}}) {
    SCOPED_TRACE(Sequence("pretokenizers", elements));
    std::vector<std::string> all = elements;
    all.emplace_back(hf_test::kAlways);
    Expect(with(all, {kCollapse}), FastRoadReason::kNone);
    // Where each of several spaces counts, each would make a word in front of a sign.
    const bool none = elements[0] == words;
    Expect(with(all, {Replace("x", "y")}),
           none ? FastRoadReason::kNone : FastRoadReason::kPreTokenizer,
           none ? Op{} : Op::kPunctuation);
    all.back() = hf_test::kFirst;
    expect_off(all);
    all.back() = hf_test::kWhole;
    expect_off(all);
  }
  expect_off({hf_test::kAlways, kPunctuation});
  // A sign that does not stay what it is, and another character that does not.
  Expect(with({kPunctuation, hf_test::kAlways}, {Replace(",", "a"), kCollapse}),
         FastRoadReason::kPreTokenizer, Op::kPunctuation);
  Expect(with({kPunctuation, hf_test::kAlways}, {Replace("1", "a"), kCollapse}),
         FastRoadReason::kNone);
}

TEST(Eligibility, SpacesThatTheNormalizerReplaces) {
  const auto with = [](const std::string& normalizer, const std::string& pre_tokenizer) {
    return File([&](HfFile& f) {
      f.normalizer = normalizer;
      f.pre_tokenizer = pre_tokenizer;
    });
  };
  const std::string replace =
      R"({"type":"Replace","pattern":{"String":" "},"content":"\u2581"})";
  const std::string lowercase = R"({"type":"Lowercase"})";
  for (const std::string& pre_tokenizer :
       {std::string("null"), std::string(hf_test::kWhole), std::string(hf_test::kAlways)}) {
    Expect(with(Sequence("normalizers", {lowercase, replace}), pre_tokenizer),
           FastRoadReason::kNone);
  }
  const std::string words =
      Sequence("pretokenizers", {R"({"type":"WhitespaceSplit"})", hf_test::kAlways});
  Expect(with(replace, words), FastRoadReason::kPreTokenizer, Op::kMetaspace);
  Expect(with(Sequence("normalizers", {replace, lowercase}), "null"), FastRoadReason::kNoMetaspace);
}

TEST(Eligibility, OptionsOfHuggingFace) {
  // Found in raw text, as long as it is of several ASCII characters that are in pieces.
  const std::pair<const char*, FastRoadReason> tokens[] = {
      {"aa", FastRoadReason::kNone},
      {"a", FastRoadReason::kNormalizedAddedTokens},
      {"a a", FastRoadReason::kNormalizedAddedTokens},
      {"a\u2581", FastRoadReason::kNormalizedAddedTokens},
      {"aQ", FastRoadReason::kNormalizedAddedTokens}};
  for (const auto& [content, reason] : tokens) {
    Expect(File([content = content](HfFile& f) {
             f.added_tokens = "[" + builder_test::Added(7, content, "00010") + "]";
           }),
           reason);
  }
  const auto model = [](const char* unk_id, const char* bytes, const char* pieces) {
    return File([&](HfFile& f) {
      f.model = std::string(R"({"type":"Unigram","unk_id":)") + unk_id + R"(,"byte_fallback":)" +
                bytes + R"(,"vocab":[["<unk>",0.0],)" + pieces + "]}";
    });
  };
  constexpr char kPieces[] = R"(["\u2581",-3.5],["a",-2.25])";
  Expect(model("0", "true", kPieces), FastRoadReason::kNone);
  Expect(model("null", "true", kPieces), FastRoadReason::kNoUnknownId);
  Expect(model("null", "false", kPieces), FastRoadReason::kNoUnknownId);
  Expect(model("0", "false", R"(["\u2581",-3.5],["a",2.25])"), FastRoadReason::kNone);
  Expect(model("0", "false", R"(["\u2581",-3.5],["aa",13.6])"), FastRoadReason::kNone);
  Expect(model("0", "false", R"(["\u2581",-3.5],["a",13.6])"), FastRoadReason::kPositiveScores);
  Expect(model("0", "false", R"(["\u2581",-3.5],["a",-2e9])"), FastRoadReason::kUnknownScore);
  Expect(model("0", "false", R"(["\u2581",-3.5],["aaaaaaaaaaaaaaaaa",-2])"),
         FastRoadReason::kLongPieces);
  Expect(model("0", "false", R"(["a",-2.25])"), FastRoadReason::kMetaspaceNoPiece);
}

TEST(Eligibility, Charsmaps) {
  Expect(WithCharsmap({{"\t", " "}, {"\ta", "b"}}), FastRoadReason::kSeparatorKeys);
  Expect(WithCharsmap({{"\u0600", "a"}}), FastRoadReason::kPrependKeys);
  Expect(WithCharsmapAndCollapse({{"\n", " "}}), FastRoadReason::kLineEnds);
  // CR LF is one cluster, which the shortest key replaces as a whole.
  Expect(WithCharsmapAndCollapse({{"\r\n", "x"}}), FastRoadReason::kLineEnds);
  Expect(WithCharsmapAndCollapse({{"\r", "x"}}), FastRoadReason::kLineEnds);
  Expect(WithCharsmapAndCollapse({{"\r", " "}, {"\n", " "}}), FastRoadReason::kNone);
  Expect(WithCharsmap({{"\r\n", "x"}}), FastRoadReason::kSeparatorKeys);
}

TEST(Eligibility, SentencePiece) {
  const auto model = [](auto change) {
    sp_test::ModelProto proto;
    proto.AddSpecials();
    for (const char* piece : {"\u2581", "a", "b", "\u2581ab"}) proto.Add(piece, -2);
    change(proto);
    return Serialize(proto);
  };
  using Proto = sp_test::ModelProto;
  Expect(model([](Proto&) {}), FastRoadReason::kNone);
  for (const bool prefix : {false, true}) {
    for (const bool remove : {false, true}) {
      Expect(model([&](Proto& m) {
               m.normalizer.add_dummy_prefix = prefix;
               m.normalizer.remove_extra_whitespaces = remove;
             }),
             FastRoadReason::kNone);
      Expect(model([&](Proto& m) {
               m.normalizer.add_dummy_prefix = prefix;
               m.normalizer.remove_extra_whitespaces = remove;
               m.treat_whitespace_as_suffix = true;
               m.pieces.back().text = "ab\u2581";
             }),
             FastRoadReason::kWhitespaceAsSuffix);
    }
  }
  Expect(model([](Proto& m) { m.normalizer.escape_whitespaces = false; }),
         FastRoadReason::kMetaspaceNoPiece);
  Expect(model([](Proto& m) { m.treat_whitespace_as_suffix = true; }),
         FastRoadReason::kWhitespaceAsSuffix);
  Expect(model([](Proto& m) { m.AddBytes(); }), FastRoadReason::kNone);
  // Characters that normalize to themselves, of any script.
  const std::pair<const char*, FastRoadReason> symbols[] = {
      {"wor", FastRoadReason::kNone},
      {"w", FastRoadReason::kNone},
      {"a b", FastRoadReason::kUserDefinedSymbols},
      {"w\u00e9", FastRoadReason::kNone},
      {"\u00e9", FastRoadReason::kNone},  // its score is above 0
      {"wOr", FastRoadReason::kUserDefinedSymbols}};
  for (const auto& [symbol, reason] : symbols) {
    Expect(model([symbol = symbol](Proto& m) {
             m.normalizer.charsmap = sp_test::MakeCharsmap({{"O", "o"}});
             m.Add(symbol, -1, sp_test::kUserDefined);
           }),
           reason);
  }
  Expect(model([](Proto& m) {
           m.normalizer.charsmap = sp_test::MakeCharsmap({{"A", "a  b"}});
         }),
         FastRoadReason::kReplacementSpaces);
  Expect(model([](Proto& m) { m.Add("a\u2581", -3); }), FastRoadReason::kMetaspaceInsidePieces);
  Expect(model([](Proto& m) { m.pieces.erase(m.pieces.begin() + 3); }),
         FastRoadReason::kMetaspaceNoPiece);
}

TEST(Eligibility, Bpe) {
  const auto file = [](const char* normalizer, const char* pre_tokenizer) {
    return std::string(R"({"normalizer":)") + normalizer + R"(,"pre_tokenizer":)" + pre_tokenizer +
           R"(,"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})";
  };
  constexpr char kDigit[] = R"({"type":"Split","pattern":{"Regex":"\\p{N}"},"behavior":"Isolated","invert":false})";
  Expect(file("null", "null"), FastRoadReason::kNoPattern);
  Expect(file("null", kDigit), FastRoadReason::kPreTokenizer, Op::kSplitPattern);
  Expect(file(R"({"type":"NFC"})", "null"), FastRoadReason::kNormalizer, Op::kNfc);
  Expect(file(R"({"type":"Lowercase"})", kDigit), FastRoadReason::kNormalizer, Op::kLowercase);
  Expect(file("null", R"({"type":"Digits","individual_digits":true})"), FastRoadReason::kPreTokenizer, Op::kDigits);
}

TEST(Eligibility, BpeOfCharacters) {
  const std::string replace = Replace(" ", "\u2581"), prepend = R"({"type":"Prepend","prepend":"\u2581"})";
  const auto metaspace = [](const char* scheme, const char* split = "false") {
    return std::string(R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":")") + scheme + R"(","split":)" + split + "}";
  };
  const auto merged = [](const std::string& normalizer, const std::string& pre_tokenizer, const std::string& pieces,
                         const std::string& merges, const std::string& members = R"("unk_token":"?",)") {
    return R"({"normalizer":)" + normalizer + R"(,"pre_tokenizer":)" + pre_tokenizer + R"(,"model":{"type":"BPE",)" + members +
           R"("vocab":{"?":0,"a":1,"b":2)" + pieces + R"(},"merges":[)" + merges + "]}}";
  };
  const auto file = [&](const std::string& normalizer, const std::string& pre_tokenizer = "null") {
    return merged(normalizer, pre_tokenizer, R"(,"\u2581":3,"\u2581a":4)", "\"\u2581 a\"");
  };
  const char* const nothing = R"({"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false})";
  for (const std::string& normalizer : {replace, Sequence("normalizers", {prepend, replace}), Sequence("normalizers", {replace, prepend})}) {
    Expect(file(normalizer), FastRoadReason::kNone);
    Expect(file(normalizer, nothing), FastRoadReason::kNone);
  }
  for (const char* scheme : {"always", "first", "never"}) {
    Expect(file("null", metaspace(scheme)), FastRoadReason::kNone);
    Expect(file(replace, metaspace(scheme)), FastRoadReason::kNone);
    Expect(file("null", metaspace(scheme, "true")), FastRoadReason::kPreTokenizer, Op::kMetaspace);
  }
  Expect(file(Sequence("normalizers", {prepend, replace}), metaspace("first")), FastRoadReason::kPreTokenizer, Op::kMetaspace);
  Expect(file(Sequence("normalizers", {prepend, prepend, replace})), FastRoadReason::kNormalizer, Op::kPrepend);
  Expect(file(Sequence("normalizers", {R"({"type":"Prepend","prepend":"a"})", replace})), FastRoadReason::kNormalizer, Op::kPrepend);
  Expect(file(Sequence("normalizers", {R"({"type":"NFC"})", replace})), FastRoadReason::kNormalizer, Op::kNfc);
  Expect(file(Sequence("normalizers", {Replace("a", "b"), replace})), FastRoadReason::kNormalizer, Op::kReplace);
  Expect(file(replace, R"({"type":"Digits","individual_digits":true})"), FastRoadReason::kPreTokenizer, Op::kDigits);
  Expect(merged(replace, "null", "", ""), FastRoadReason::kMetaspaceNoPiece);
  Expect(merged(replace, "null", R"(,"\u2581":3,"a\u2581":4)", "\"a \u2581\""), FastRoadReason::kMetaspaceInsidePieces);
  Expect(merged(replace, "null", R"(,"\u2581":3,"a\u2581":4)", ""), FastRoadReason::kNone);  // no merge makes it
  Expect(merged(replace, "null", R"(,"\u2581":3,"a?":4)", "\"a ?\""), FastRoadReason::kMergedUnknowns);
  Expect(merged(replace, "null", R"(,"\u2581":3)", "", ""), FastRoadReason::kNoUnknownId);
  Expect(merged(replace, "null", R"(,"\u2581":3)", "", R"("unk_token":"?","ignore_merges":true,)"), FastRoadReason::kNoPattern);
  Expect(R"({"added_tokens":[{"id":0,"content":"?","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":true}],)" +
             file(replace).substr(1),
         FastRoadReason::kNormalizedAddedTokens);
}

TEST(Eligibility, BpeOfSentencePiece) {
  const auto model = [](auto change) {
    sp_test::ModelProto proto;
    proto.model_type = 2;
    proto.AddSpecials();
    for (const char* piece : {"\u2581", "a", "\u2581a"}) proto.Add(piece, -1);
    proto.normalizer.remove_extra_whitespaces = false;
    change(proto);
    return Serialize(proto);
  };
  using Proto = sp_test::ModelProto;
  for (const bool prefix : {false, true}) {
    Expect(model([&](Proto& m) { m.normalizer.add_dummy_prefix = prefix; }), FastRoadReason::kNone);
  }
  Expect(model([](Proto& m) { m.AddBytes(); }), FastRoadReason::kNone);
  Expect(model([](Proto& m) { m.normalizer.remove_extra_whitespaces = true; }), FastRoadReason::kNormalizesMore);
  Expect(model([](Proto& m) { m.normalizer.escape_whitespaces = false; }), FastRoadReason::kNormalizesMore);
  Expect(model([](Proto& m) { m.normalizer.charsmap = sp_test::MakeCharsmap({{"A", "a"}}); }), FastRoadReason::kNormalizesMore);
  Expect(model([](Proto& m) { m.Add("b", -1, sp_test::kUserDefined); }), FastRoadReason::kUserDefinedSymbols);
  Expect(model([](Proto& m) { m.Add("a\u2581", -1); }), FastRoadReason::kMetaspaceInsidePieces);
}

TEST(Eligibility, WordPiece) {
  const auto file = [](const std::string& pre_tokenizer, const char* max_chars,
                       const std::string& normalizer = "null", const std::string& added = "") {
    return R"({"added_tokens":[)" + added + R"(],"normalizer":)" + normalizer +
           R"(,"pre_tokenizer":)" + pre_tokenizer +
           R"(,"model":{"type":"WordPiece","unk_token":"a","continuing_subword_prefix":"##",)"
           R"("max_input_chars_per_word":)" + max_chars + R"(,"vocab":{"a":0}}})";
  };
  const std::string bert = R"({"type":"BertPreTokenizer"})";
  Expect(file(bert, "100"), FastRoadReason::kNone);
  Expect(file(R"({"type":"WhitespaceSplit"})", "4096"), FastRoadReason::kNone);
  Expect(file(bert, "4097"), FastRoadReason::kLongWords);
  Expect(file("null", "100"), FastRoadReason::kNoWords);
  Expect(file(R"({"type":"Whitespace"})", "100"), FastRoadReason::kPreTokenizer, Op::kWhitespace);
  Expect(file(bert, "100", R"({"type":"Prepend","prepend":"a"})"), FastRoadReason::kNormalizer,
         Op::kPrepend);
  // A pattern of two signs, or with a space.
  for (const char* pattern : {"''", "a a"}) {
    Expect(file(bert, "100", R"({"type":"Replace","pattern":{"String":")" + std::string(pattern) +
                                 R"("},"content":"b"})"),
           FastRoadReason::kSeparatorPatterns);
  }
  Expect(file(bert, "100", "null",
              R"({"id":1,"content":"b","single_word":false,"lstrip":false,"rstrip":false,)"
              R"("normalized":true,"special":false})"),
         FastRoadReason::kNormalizedAddedTokens);
}

// Pieces of 16 characters, each of which shares but a few with others.
TEST(Eligibility, PiecesOfTooManyCharactersTogether) {
  const auto file = [](int count) {
    sp_test::ModelProto m;
    m.AddSpecials();
    m.Add("\u2581", -2);
    for (int i = 0; i < count; ++i) {
      std::string piece(16, 'a');
      for (int k = 0, rest = i; k < 4; ++k, rest /= 26) piece[k] = static_cast<char>('a' + rest % 26);
      m.Add(piece, -3);
    }
    return sp_test::Serialize(m);
  };
  Expect(file(30000), FastRoadReason::kNone);
  Expect(file(60000), FastRoadReason::kManyPieces);
}

// That of kManyCharacters takes a vocabulary of 65,518 characters.
TEST(Eligibility, EveryReasonHasAFileAndAName) {
  if (testing::GTEST_FLAG(filter) != "*") GTEST_SKIP() << "other tests were left out";
  for (uint32_t number = 0; number <= image::kLastFastRoadReason; ++number) {
    const auto reason = static_cast<FastRoadReason>(number);
    if (image::RetiredFastRoadReason(number)) {
      EXPECT_STREQ(image::FastRoadReasonName(reason), "");
      continue;
    }
    EXPECT_EQ(*image::FastRoadReasonName(reason) == '\0', reason == FastRoadReason::kNone);
    const bool large = reason == FastRoadReason::kManyCharacters;
    EXPECT_NE(seen.contains(reason), large) << image::FastRoadReasonName(reason);
  }
}

}  // namespace
}  // namespace rankfeed::builder
