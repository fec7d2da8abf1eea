// SPDX-License-Identifier: MIT
#include "fast/word_forms.h"

#include <cstdlib>
#include <map>
#include <protozero/pbf_reader.hpp>

namespace rankfeed::fast_test {

std::string DefaultModel() {
  const char* root = std::getenv("RANKFEED_SOURCE_DIR");
  return sp_test::ReadFile(std::string(root) + "/data/default.model");
}

// The normalizer of the default vocabulary.
static json DefaultNormalizer() {
  const std::string bytes = DefaultModel();
  std::string charsmap;
  for (protozero::pbf_reader model(bytes); model.next(3);) {
    for (protozero::pbf_reader normalizer = model.get_message(); normalizer.next(2);) charsmap = normalizer.get_bytes();
  }
  return {{"type", "Precompiled"}, {"precompiled_charsmap", test::Base64(charsmap)}};
}

static json MakeDefaultTokenizer() {
  const std::string bytes = DefaultModel();
  json vocab = json::array();
  for (protozero::pbf_reader model(bytes); model.next(1);) {
    std::string text;
    float score = 0;
    for (protozero::pbf_reader piece = model.get_message(); piece.next();) {
      if (piece.tag() == 1) {
        text = piece.get_string();
      } else if (piece.tag() == 2) {
        score = piece.get_float();
      } else {
        piece.skip();
      }
    }
    vocab.push_back({text, static_cast<double>(score)});
  }
  json added = json::array();
  for (int id = 0; id < 4; ++id) {
    added.push_back({{"id", id}, {"content", vocab[id][0]}, {"single_word", false},
                     {"lstrip", false}, {"rstrip", false}, {"normalized", false},
                     {"special", true}});
  }
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer", DefaultNormalizer()},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", nullptr},
          {"model", {{"type", "Unigram"}, {"unk_id", 3}, {"vocab", vocab}}}};
}

json DefaultTokenizer() {
  static const json file = MakeDefaultTokenizer();
  return file;
}

const json kMetaspace = {
    {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}, {"split", true}};
const json kStripRight = {{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}};

json ReplaceRun(const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", content}};
}
json Sequence(const char* key, std::vector<json> elements) {
  return {{"type", "Sequence"}, {key, elements}};
}

json Replace(const char* pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}
json Type(const char* type) {
  return {{"type", type}};
}
json Metaspace(const char* prepend_scheme) {
  json metaspace = kMetaspace;
  metaspace["prepend_scheme"] = prepend_scheme;
  return metaspace;
}

void AddNormalizedToken(json& file, const char* content, std::vector<const char*> flags) {
  json token = {{"id", file["model"]["vocab"].size() + file["added_tokens"].size()}, {"content", content},
                {"single_word", false}, {"lstrip", false}, {"rstrip", false}, {"normalized", true},
                {"special", false}};
  for (const char* const flag : flags) token[flag] = true;
  file["added_tokens"].push_back(token);
}
// Some of all kinds, which texts of stream_test.cc are full of.
static void AddNormalizedTokens(json& file) {
  AddNormalizedToken(file, "[Unk]");
  AddNormalizedToken(file, "well", {"single_word"});
  AddNormalizedToken(file, "known", {"rstrip"});
  AddNormalizedToken(file, "yes", {"lstrip"});
  AddNormalizedToken(file, "42", {"special"});
  AddNormalizedToken(file, "-known", {"single_word", "lstrip", "rstrip"});
  AddNormalizedToken(file, "es");
}

// Bytes that make another model of a .model when they stand after it: messages of one field are merged. more:
// user-defined symbols.
static std::string SpChange(bool prefix, bool remove, bool more) {
  sp_test::ModelProto change;
  change.normalizer.add_dummy_prefix = prefix;
  change.normalizer.remove_extra_whitespaces = remove;
  if (more) {
    for (const char* symbol : {"[unk]", "``", "<eop>"}) change.Add(symbol, 0, sp_test::kUserDefined);
  }
  return sp_test::Serialize(change);
}

namespace {

using Change = std::function<void(json&)>;

// These forms are tokenizer.json files: each has the default vocabulary, a pipeline, and what `change` makes of both.
class Tokenizers {
 public:
  void Add(const std::string& name, const json& normalizer, const json& pre_tokenizer, const Change& change = {}) {
    forms_.push_back({name, [=] {
                        json file = DefaultTokenizer();
                        file["normalizer"] = normalizer;
                        file["pre_tokenizer"] = pre_tokenizer;
                        if (change) change(file);
                        return file;
                      }});
  }
  std::vector<FormFile> Take() { return std::move(forms_); }

 private:
  std::vector<FormFile> forms_;
};

const json kIsolated = Sequence("pretokenizers", {{{"type", "Punctuation"}, {"behavior", "Isolated"}}, kMetaspace});
const json kSplit = Sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, kMetaspace});

json Whole(const char* prepend_scheme) {
  json metaspace = Metaspace(prepend_scheme);
  metaspace["split"] = false;
  return metaspace;
}

void AddNamedPipelines(Tokenizers& forms, const json& precompiled) {
  forms.Add("A", Sequence("normalizers", {precompiled, kStripRight, ReplaceRun("\u2581")}), kMetaspace);
  forms.Add("B", precompiled, kSplit);
  forms.Add("C", Sequence("normalizers", {precompiled, ReplaceRun(" ")}), kMetaspace);
  forms.Add("B without charsmap", nullptr, kSplit);
  forms.Add("C without charsmap", ReplaceRun(" "), kMetaspace);
  const json strip_both = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
  const json line = Replace("``", "\""), quote = Replace("''", "\"");
  const json white_space = {{"type", "Replace"},
                            {"pattern", {{"Regex", "\\s{2,}|[\\n\\r\\t]"}}},
                            {"content", " "}};
  forms.Add("ALBERT",
            Sequence("normalizers", {line, quote, Type("NFKD"), Type("StripAccents"), Type("Lowercase"),
                                     precompiled, ReplaceRun(" ")}),
            kMetaspace);
  forms.Add("ALBERT, split", Sequence("normalizers", {line, quote, Type("Lowercase"), precompiled}), kSplit);
  forms.Add("DeBERTa", Sequence("normalizers", {strip_both, precompiled, ReplaceRun(" ")}), kMetaspace);
  forms.Add("DeBERTa of transformers 5",
            Sequence("normalizers", {Type("Lowercase"), white_space, Type("NFC"), kStripRight}),
            kMetaspace);
  forms.Add("RemBERT", Sequence("normalizers", {line, quote, ReplaceRun(" "), precompiled}), kMetaspace);
  forms.Add("Pegasus", Sequence("normalizers", {precompiled, kStripRight, ReplaceRun("\u2581")}), kSplit);
  forms.Add("every space", precompiled, Metaspace("first"));
  forms.Add("forms", Sequence("normalizers", {Type("NFD"), Type("Nmt"), Type("NFKC"), ReplaceRun(" ")}),
            Metaspace("never"));
  forms.Add("DeBERTa, punctuation",
            Sequence("normalizers", {Type("Lowercase"), strip_both, precompiled, ReplaceRun(" ")}),
            kIsolated);
  forms.Add("DeBERTa of transformers 5, punctuation",
            Sequence("normalizers", {white_space, Type("NFC"), kStripRight}), kIsolated);
  forms.Add("A, punctuation", Sequence("normalizers", {precompiled, kStripRight, ReplaceRun("\u2581")}),
            kIsolated);
  forms.Add("forms, punctuation",
            Sequence("normalizers", {Type("NFKD"), Type("Nmt"), Type("StripAccents"), Type("Lowercase"),
                                     precompiled, ReplaceRun(" ")}),
            kIsolated);
  forms.Add("runs, punctuation", ReplaceRun(" "), kIsolated);
}

void AddHelium(json& file) {
  file["added_tokens"].push_back({{"id", static_cast<int>(file["model"]["vocab"].size())},
                                  {"content", "\n"},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", false},
                                  {"special", false}});
}
void MakeScoresPositive(json& file) {
  for (json& piece : file["model"]["vocab"]) piece[1] = piece[1].get<double>() + 6.5;
}
void AddBytes(json& file) {
  file["model"]["byte_fallback"] = true;
  for (int byte = 0; byte < 256; ++byte) {
    char piece[] = "<0x00>";
    std::snprintf(piece, sizeof(piece), "<0x%02X>", byte);
    file["model"]["vocab"].push_back({piece, 0.0});
  }
}

void AddOtherTokenizers(Tokenizers& forms, const json& precompiled) {
  const json spaces = Replace(" ", "\u2581");
  const json runs = Sequence("normalizers", {precompiled, ReplaceRun(" ")});
  forms.Add("whole", runs, Whole("always"));
  forms.Add("whole, first", Sequence("normalizers", {precompiled, spaces}), Whole("first"));
  forms.Add("whole, no pre-tokenizer", Sequence("normalizers", {precompiled, spaces}), nullptr);
  forms.Add("Helium", Sequence("normalizers", {{{"type", "Prepend"}, {"prepend", " "}}, spaces}),
            Sequence("pretokenizers", {{{"type", "Split"},
                                        {"pattern", {{"String", "\n"}}},
                                        {"behavior", "Contiguous"},
                                        {"invert", false}}}),
            AddHelium);
  forms.Add("positive scores", runs, kMetaspace, MakeScoresPositive);
  forms.Add("whole, positive scores", runs, Whole("always"), MakeScoresPositive);
  const json lower = Sequence("normalizers", {Type("Lowercase"), precompiled, ReplaceRun(" ")});
  forms.Add("normalized tokens", lower, kMetaspace, [](json& file) { AddNormalizedToken(file, "[Unk]"); });
  forms.Add("normalized tokens of words", lower, kMetaspace, AddNormalizedTokens);
  forms.Add("normalized tokens of words, first", precompiled, Metaspace("first"), AddNormalizedTokens);
  forms.Add("normalized tokens of words, punctuation",
            Sequence("normalizers", {Type("NFKC"), ReplaceRun(" ")}), kIsolated, AddNormalizedTokens);
  forms.Add("normalized tokens, replaced",
            Sequence("normalizers", {Replace("-", "["), Replace("`", "a"), ReplaceRun(" ")}),
            kMetaspace, [](json& file) {
              for (const char* const token : {"[a", "[t", "ab", "e["}) AddNormalizedToken(file, token);
            });
  forms.Add("whole, normalized tokens of words", runs, Whole("always"), AddNormalizedTokens);
  forms.Add("byte fallback", precompiled, kSplit, AddBytes);
}

void AddModels(std::vector<FormFile>& forms) {
  const auto add = [&](const char* name, const std::string& change, int32_t parity = RANKFEED_PARITY_AUTO) {
    forms.push_back({name, {}, [=] { return DefaultModel() + change; }, parity});
  };
  add("SentencePiece", "");
  add("SentencePiece 0.2.1", "", RANKFEED_PARITY_SENTENCEPIECE_0_2_1);
  add("SentencePiece no prefix", SpChange(false, true, false));
  add("SentencePiece all spaces", SpChange(true, false, false));
  add("SentencePiece no prefix, all spaces", SpChange(false, false, false));
  add("SentencePiece symbols", SpChange(true, true, true));
  // Their scores are 0.1 for each byte but one.
  sp_test::ModelProto symbols;
  for (const char* symbol : {"\u2460", "\u1112", "\uff8a", "\U0001f600"}) {
    symbols.Add(symbol, 0, sp_test::kUserDefined);
  }
  add("SentencePiece positive scores", sp_test::Serialize(symbols));
  sp_test::ModelProto with_bytes;
  with_bytes.AddBytes();
  add("SentencePiece byte fallback", sp_test::Serialize(with_bytes));
}

std::vector<FormFile> MakeForms() {
  const json precompiled = DefaultNormalizer();
  Tokenizers tokenizers;
  AddNamedPipelines(tokenizers, precompiled);
  AddOtherTokenizers(tokenizers, precompiled);
  std::vector<FormFile> forms = tokenizers.Take();
  AddModels(forms);
  return forms;
}

}  // namespace

const std::vector<FormFile>& Forms() {
  static const std::vector<FormFile> forms = MakeForms();
  return forms;
}

const FormFile& Form(std::string_view name) {
  for (const FormFile& form : Forms()) {
    if (form.name == name) return form;
  }
  static const FormFile none;
  return none;
}

const Image& ImageOf(const FormFile& form) {
  static std::map<const FormFile*, Image> images;
  return images.try_emplace(&form, form).first->second;
}

std::vector<int32_t> Encode(Encoder& encoder, std::string_view text, uint32_t flags) {
  Encoding encoding;
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  const Error error = encoder.Encode(text, options, &encoding);
  EXPECT_FALSE(error) << error.message;
  return encoding.input_ids;
}

Encoder Make(const rankfeed_model* model, bool plain, uint32_t cache_bytes) {
  // Texts that cannot be cut may become thirteen times as long.
  auto encoder = Encoder::Create(model, 1 << 16, plain, cache_bytes, 1 << 20);
  EXPECT_TRUE(encoder) << encoder.error().message;
  if (plain) encoder->get()->engine.emplace<std::monostate>();
  return std::move(*encoder);
}

void ExpectSame(const Encoding& encoding, const Encoding& expected, const std::string& text) {
  ASSERT_EQ(encoding.input_ids, expected.input_ids) << testing::PrintToString(text);
  ASSERT_EQ(encoding.offset_begin, expected.offset_begin) << testing::PrintToString(text);
  ASSERT_EQ(encoding.offset_end, expected.offset_end) << testing::PrintToString(text);
}

std::string Text(std::mt19937_64& random) {
  static const std::vector<std::string> kGlue = {" ", "  ", "\t", "\n", "\r\n", "\r", "\x0b", "\x0c",
      "\u0085", "\u00a0", "\u3000", "\u200b", "\u2028", "\x01", "", "", "", " \u0301", "\u0301 ",
      ",", ".", "(", ")", "'s", "-", "3", "12.5", "\u201d,", ".\u201d", "\uff0c", "\u2026", "\u00bd",
      "\u00b0", "5\u00b0", ":\uff1a", "\x7f", "a\u0301", "!\u0301",
      "\u2581", " \u2581", "</s>", "<s> ", " \u0600", "\u0600 ", "\u200d", "\ufdfa", "\u00a8",
      "``", "''", "`", "'", "\u0130", "\u212b\u0323", "\u0344", "\u0f73", "[unk]", "[UNK]", "[UnK ",
      "[", "\uff3bunk]", "\u3002", " \u00ab\u00a0", "\u00a0\u00bb ",
      "\u00a0:", " \u00a0;", "\u2014", "\u2019", " -", " (", "\ufeff\u201c", " \ufeff\u201d",
      " \ufeff,", "=\u0338", "<\ufeff\u0338", " \u201c\u0338", "\u3000\u3002", "\x80", "\xe2\x82",
      "\xf0\x90", "\xed\xa0\x80", "\xc0\xaf,", ",\xc3\xa9\x80,"};
  std::string text;
  for (size_t i = random() % 6; i-- > 0;) {
    text += sp_test::StressText(random, 4);
    text += kGlue[random() % kGlue.size()];
  }
  return text;
}

}  // namespace rankfeed::fast_test
