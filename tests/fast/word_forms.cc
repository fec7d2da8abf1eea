// SPDX-License-Identifier: MIT
#include "fast/word_forms.h"

#include <cstdlib>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace rankfeed::fast_test {

std::string DefaultModel() {
  const char* root = std::getenv("RANKFEED_SOURCE_DIR");
  return sp_test::ReadFile(std::string(root) + "/data/default.model");
}

json DefaultTokenizer() {
  const std::string bytes = DefaultModel();
  json vocab = json::array();
  std::string charsmap;
  protozero::pbf_reader model(bytes);
  while (model.next()) {
    if (model.tag() == 1) {
      protozero::pbf_reader piece = model.get_message();
      std::string text;
      float score = 0;
      while (piece.next()) {
        if (piece.tag() == 1) {
          text = piece.get_string();
        } else if (piece.tag() == 2) {
          score = piece.get_float();
        } else {
          piece.skip();
        }
      }
      vocab.push_back({text, static_cast<double>(score)});
    } else if (model.tag() == 3) {
      protozero::pbf_reader normalizer = model.get_message();
      while (normalizer.next()) {
        if (normalizer.tag() == 2) {
          charsmap = normalizer.get_bytes();
        } else {
          normalizer.skip();
        }
      }
    } else {
      model.skip();
    }
  }
  json added = json::array();
  for (int id = 0; id < 4; ++id) {
    added.push_back({{"id", id}, {"content", vocab[id][0]}, {"single_word", false},
                     {"lstrip", false}, {"rstrip", false}, {"normalized", false},
                     {"special", true}});
  }
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", test::Base64(charsmap)}}},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", nullptr},
          {"model", {{"type", "Unigram"}, {"unk_id", 3}, {"vocab", vocab}}}};
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

// The default vocabulary with U+2581 behind words.
static std::string SuffixModel() {
  const std::string source = DefaultModel(), space = "\u2581";
  std::string bytes;
  protozero::pbf_writer out(bytes);
  for (protozero::pbf_reader model(source); model.next();) {
    const auto tag = model.tag();
    const protozero::data_view field = model.get_view();  // all are messages
    std::string changed;
    protozero::pbf_writer piece(changed);
    for (protozero::pbf_reader of(field); tag == 1 && of.next();) {
      if (of.tag() == 1) {
        std::string text = of.get_string();
        if (text.starts_with(space)) text = text.substr(space.size()) + space;
        piece.add_string(1, text);
      } else if (of.tag() == 2) {
        piece.add_float(2, of.get_float());
      } else {
        piece.add_enum(3, of.get_enum());
      }
    }
    tag == 1 ? out.add_message(1, changed) : out.add_message(tag, field);
  }
  sp_test::ModelProto change;
  change.treat_whitespace_as_suffix = true;
  return bytes + sp_test::Serialize(change);
}

static std::vector<FormFile> MakeForms() {
  const json base = DefaultTokenizer();
  const json precompiled = base["normalizer"];
  std::vector<FormFile> forms;
  const auto add = [&](const std::string& name, const json& normalizer, const json& pre_tokenizer) {
    json file = base;
    file["normalizer"] = normalizer;
    file["pre_tokenizer"] = pre_tokenizer;
    forms.push_back({name, file.dump()});
  };
  const json split = Sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, kMetaspace});
  add("A", Sequence("normalizers", {precompiled, kStripRight, ReplaceRun("\u2581")}), kMetaspace);
  add("B", precompiled, split);
  add("C", Sequence("normalizers", {precompiled, ReplaceRun(" ")}), kMetaspace);
  add("B without charsmap", nullptr, split);
  add("C without charsmap", ReplaceRun(" "), kMetaspace);
  const json strip_both = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
  const json line = Replace("``", "\""), quote = Replace("''", "\"");
  const json white_space = {{"type", "Replace"},
                            {"pattern", {{"Regex", "\\s{2,}|[\\n\\r\\t]"}}},
                            {"content", " "}};
  add("ALBERT",
      Sequence("normalizers", {line, quote, Type("NFKD"), Type("StripAccents"), Type("Lowercase"),
                               precompiled, ReplaceRun(" ")}),
      kMetaspace);
  add("ALBERT, split", Sequence("normalizers", {line, quote, Type("Lowercase"), precompiled}), split);
  add("DeBERTa", Sequence("normalizers", {strip_both, precompiled, ReplaceRun(" ")}), kMetaspace);
  add("DeBERTa of transformers 5",
      Sequence("normalizers", {Type("Lowercase"), white_space, Type("NFC"), kStripRight}),
      kMetaspace);
  add("RemBERT", Sequence("normalizers", {line, quote, ReplaceRun(" "), precompiled}), kMetaspace);
  add("Pegasus", Sequence("normalizers", {precompiled, kStripRight, ReplaceRun("\u2581")}), split);
  add("every space", precompiled, Metaspace("first"));
  add("forms", Sequence("normalizers", {Type("NFD"), Type("Nmt"), Type("NFKC"), ReplaceRun(" ")}),
      Metaspace("never"));
  const json punctuation = {{"type", "Punctuation"}, {"behavior", "Isolated"}};
  const json isolated = Sequence("pretokenizers", {punctuation, kMetaspace});
  add("DeBERTa, punctuation",
      Sequence("normalizers", {Type("Lowercase"), strip_both, precompiled, ReplaceRun(" ")}),
      isolated);
  add("DeBERTa of transformers 5, punctuation",
      Sequence("normalizers", {white_space, Type("NFC"), kStripRight}), isolated);
  add("A, punctuation", Sequence("normalizers", {precompiled, kStripRight, ReplaceRun("\u2581")}),
      isolated);
  add("forms, punctuation",
      Sequence("normalizers", {Type("NFKD"), Type("Nmt"), Type("StripAccents"), Type("Lowercase"),
                               precompiled, ReplaceRun(" ")}),
      isolated);
  add("runs, punctuation", ReplaceRun(" "), isolated);
  const json spaces = Replace(" ", "\u2581");
  const auto whole = [](const char* prepend_scheme) {
    json metaspace = Metaspace(prepend_scheme);
    metaspace["split"] = false;
    return metaspace;
  };
  add("whole", Sequence("normalizers", {precompiled, ReplaceRun(" ")}), whole("always"));
  add("whole, first", Sequence("normalizers", {precompiled, spaces}), whole("first"));
  add("whole, no pre-tokenizer", Sequence("normalizers", {precompiled, spaces}), nullptr);
  json helium = base;
  helium["normalizer"] = Sequence("normalizers", {{{"type", "Prepend"}, {"prepend", " "}}, spaces});
  helium["pre_tokenizer"] = Sequence("pretokenizers", {{{"type", "Split"},
                                                        {"pattern", {{"String", "\n"}}},
                                                        {"behavior", "Contiguous"},
                                                        {"invert", false}}});
  helium["added_tokens"].push_back({{"id", static_cast<int>(helium["model"]["vocab"].size())},
                                    {"content", "\n"},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", false}});
  forms.push_back({"Helium", helium.dump()});
  for (const bool words : {true, false}) {
    json positive = base;
    positive["normalizer"] = Sequence("normalizers", {precompiled, ReplaceRun(" ")});
    positive["pre_tokenizer"] = words ? kMetaspace : whole("always");
    for (json& piece : positive["model"]["vocab"]) piece[1] = piece[1].get<double>() + 6.5;
    forms.push_back({words ? "positive scores" : "whole, positive scores", positive.dump()});
  }
  const auto add_tokens = [&](const char* name, json file, const json& normalizer,
                              const json& pre_tokenizer) {
    file["normalizer"] = normalizer;
    file["pre_tokenizer"] = pre_tokenizer;
    forms.push_back({name, file.dump()});
  };
  json one_token = base, tokens = base;
  AddNormalizedToken(one_token, "[Unk]");
  AddNormalizedTokens(tokens);
  const json lower = Sequence("normalizers", {Type("Lowercase"), precompiled, ReplaceRun(" ")});
  add_tokens("normalized tokens", one_token, lower, kMetaspace);
  add_tokens("normalized tokens of words", tokens, lower, kMetaspace);
  add_tokens("normalized tokens of words, first", tokens, precompiled, Metaspace("first"));
  add_tokens("normalized tokens of words, punctuation", tokens,
             Sequence("normalizers", {Type("NFKC"), ReplaceRun(" ")}), isolated);
  json replaced = base;
  for (const char* const token : {"[a", "[t", "ab", "e["}) AddNormalizedToken(replaced, token);
  add_tokens("normalized tokens, replaced", replaced,
             Sequence("normalizers", {Replace("-", "["), Replace("`", "a"), ReplaceRun(" ")}),
             kMetaspace);
  add_tokens("whole, normalized tokens of words", tokens,
             Sequence("normalizers", {precompiled, ReplaceRun(" ")}), whole("always"));
  json bytes = base;
  bytes["normalizer"] = precompiled;
  bytes["pre_tokenizer"] = split;
  bytes["model"]["byte_fallback"] = true;
  for (int byte = 0; byte < 256; ++byte) {
    char piece[] = "<0x00>";
    std::snprintf(piece, sizeof(piece), "<0x%02X>", byte);
    bytes["model"]["vocab"].push_back({piece, 0.0});
  }
  forms.push_back({"byte fallback", bytes.dump()});
  forms.push_back({"SentencePiece", DefaultModel()});
  forms.push_back({"SentencePiece 0.2.1", DefaultModel(), RANKFEED_PARITY_SENTENCEPIECE_0_2_1});
  const auto sentencepiece = [&](const char* name, bool prefix, bool remove, bool more) {
    forms.push_back({name, DefaultModel() + SpChange(prefix, remove, more)});
  };
  sentencepiece("SentencePiece no prefix", false, true, false);
  sentencepiece("SentencePiece all spaces", true, false, false);
  sentencepiece("SentencePiece no prefix, all spaces", false, false, false);
  sentencepiece("SentencePiece symbols", true, true, true);
  // Their scores are 0.1 for each byte but one.
  sp_test::ModelProto symbols;
  for (const char* symbol : {"\u2460", "\u1112", "\uff8a", "\U0001f600"}) {
    symbols.Add(symbol, 0, sp_test::kUserDefined);
  }
  forms.push_back({"SentencePiece positive scores", DefaultModel() + sp_test::Serialize(symbols)});
  sp_test::ModelProto with_bytes;
  with_bytes.AddBytes();
  forms.push_back({"SentencePiece byte fallback", DefaultModel() + sp_test::Serialize(with_bytes)});
  return forms;
}

// Forms whose texts all take the general path.
static std::vector<FormFile> MakeGeneralForms() {
  const std::string suffix = SuffixModel();
  return {{"SentencePiece suffix", suffix},
          {"SentencePiece suffix, nothing behind a text", suffix + SpChange(false, true, false)},
          {"SentencePiece suffix, all spaces, nothing behind a text",
           suffix + SpChange(false, false, false)}};
}

const std::vector<FormFile>& Forms() {
  static const std::vector<FormFile> forms = MakeForms();
  return forms;
}

const std::vector<FormFile>& GeneralForms() {
  static const std::vector<FormFile> forms = MakeGeneralForms();
  return forms;
}

const FormFile& Form(std::string_view name) {
  for (const auto* forms : {&Forms(), &GeneralForms()}) {
    for (const FormFile& form : *forms) {
      if (form.name == name) return form;
    }
  }
  static const FormFile none;
  return none;
}

Image::Image(const std::string& source, int32_t parity) {
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  const rankfeed_compile_options options{sizeof(options), parity, nullptr};
  EXPECT_EQ(rankfeed_compile(source.data(), source.size(), "test", &options, &image_, &error),
            RANKFEED_OK)
      << error.message;
  storage_ = AlignedBytes(rankfeed_model_mem_req());
  EXPECT_EQ(rankfeed_model_open(image_.data, image_.size, 0, storage_.data(), storage_.size(),
                                &model_, nullptr),
            RANKFEED_OK);
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
  if (plain) encoder->get()->engine.reset();
  return std::move(*encoder);
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
