// SPDX-License-Identifier: MIT
#include "vocabulary.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "builder/normalizers.h"
#include "support/base64.h"

namespace rankfeed::fuzz {
namespace {

using sp_test::ModelProto;

// Plain letters first: they are what an input that is used up gives.
const std::string kLetterPool[] = {
    "a",      "b",      "o",      "\u2581", " ",          "e",          "A",      "\u00e9",
    "\u4e2d", "\u30ac", "1",      ",",      "\U0001f600", "\u0301",     "\uff21", "\uff76",
    "\uff9e", "\u0323", "\u200d", "\u00a0", "\u0600",     "\u0130",     "\u03a3", "\u1112",
    "\u1161", "\t",     "<",      "s",      ">",          "\U0001f1e9", "\ufb01", "\u0915"};

// What normalizers, segmentation and UTF-8 decoding stumble over.
const std::string kFragmentPool[] = {
    " ",          "  ",           "\t",         "\n",           "\r\n",         "\u0085",
    "\u00a0",     "\u00ad",       "\u1680",     "\u2009",       "\u200b",       "\u200c",
    "\u200d",     "\u2028",       "\u3000",     "\ufeff",       "\ufffd",       "\u2581",
    "\u2581 ",    "\x01",         "\x7f",       "\ufb01",       "\ufdfa",       "\uff76\uff9e",
    "\uff21",     "\uff21\u0301", "e\u0301",    "e\u0301\u0323", "a\u0302\u0301", "\u212b\u0301",
    "\u0301",     "\u00bd",       "\u2460",     "\u1112\u1161\u11ab", "\ud55c", "\u0915\u094d\u0937",
    "\u201c",     "\u3002",      "=\u0338",    "=",            ".",            "\u2026",
    "\u2019",     " \u00bb",     "\ufeff,",    " -",           "\uff0c",
    "\u0600",     "\u0600A",      "\u3099",     "\U0001f468\u200d\U0001f469", "\U0001f1e9\U0001f1ea",
    "\U0010ffff", "\U00020000",   "<s>",        "</s>",         "<unk>",        "<mask>",
    "<0x41>",     "oooo",         "aaaaaaaa",   "abababab",     "2,000",        "I\u0307",
    "\u0130",     "\u03a3",       "''",         "``",           "\u00df",       "!",
    "\u0660",     "\u0e01\u0e33", "\u06dd1",    std::string(1, '\0')};

const std::string kBrokenPool[] = {
    "\x80", "\xbf\xbf", "\xc0\x80", "\xc1", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
    "\xf8\x88\x80\x80\x80", "\xff", "\xe2\x96", "\xe2", "\xf0\x9f\x98", "\xf0\x9f", "\xc3", "\xef\xbf",
    "\xe2\x28\xa1"};

std::string Word(Input& in, const std::vector<std::string>& letters, size_t most) {
  std::string word;
  for (size_t n = 1 + in.Below(most); n > 0; --n) word += letters[in.Below(letters.size())];
  return word;
}

// A letter of any kind, mostly from the front of the pool.
const std::string& Letter(Input& in) {
  return kLetterPool[in.Below(in.OneIn(3) ? std::size(kLetterPool) : 16)];
}

// One kind of score for a whole vocabulary.
class Scores {
 public:
  explicit Scores(Input& in) : kind_(in.Below(6)) {}
  double Next(Input& in) const {
    switch (kind_) {
      case 0:
        return -1.0 * static_cast<double>(in.Below(4));  // ties
      case 1:
        return -0.1 * static_cast<double>(1 + in.Below(8));  // ties but for rounding
      case 2:
        return -0.5 * static_cast<double>(1 + in.Below(16));
      case 3:
        return static_cast<double>(in.U16()) / 16384 - 2;  // positive ones too
      case 4:
        return -static_cast<double>(in.U16()) / 4096;
      default: {  // far apart: what is added is rounded away
        static constexpr double kScales[] = {1e-3, 1.0, 1e3, 1e6};
        return -static_cast<double>(1 + in.Below(250)) * in.Pick(kScales);
      }
    }
  }

 private:
  size_t kind_;
};

std::string Hex(unsigned byte) {
  char name[8];
  std::snprintf(name, sizeof(name), "<0x%02X>", byte);
  return name;
}

std::string Object(const std::string& type, const std::string& rest = {}) {
  return R"({"type":")" + type + '"' + (rest.empty() ? "" : "," + rest) + "}";
}

const char* Flag(bool on) {
  return on ? "true" : "false";
}

std::string Replace(const std::string& from, const std::string& to) {
  return Object("Replace", "\"pattern\":{\"String\":" + JsonString(from) + "},\"content\":" +
                               JsonString(to));
}

std::string DrawNormalizer(Input& in, std::optional<std::string>* charsmap) {
  static const std::vector<builder_test::Normalizer> kEach = [] {
    std::vector<builder_test::Normalizer> each = builder_test::Normalizers();
    std::erase_if(each, [](const auto& of) { return of.json.find("Precompiled") != std::string::npos; });
    return each;  // a file may have one charsmap, the one drawn below
  }();
  const size_t drawn = in.Below(kEach.size() + 9);
  if (drawn >= 9) return kEach[drawn - 9].json;
  switch (drawn) {
    case 0:
    case 1:
    case 2:
      if (!*charsmap) *charsmap = test::Base64(sp_test::MakeCharsmap(DrawRules(in)));
      return Object("Precompiled", "\"precompiled_charsmap\":\"" + **charsmap + '"');
    case 3: {
      const bool left = in.OneIn(2), right = in.OneIn(2);
      return Object("Strip", std::string("\"strip_left\":") + Flag(left) + ",\"strip_right\":" +
                                 Flag(right));
    }
    case 4: {
      static const char* const kPrefixes[] = {"\u2581", " ", "a", "ab ", "\u0301"};
      return Object("Prepend", "\"prepend\":" + JsonString(in.Pick(kPrefixes)));
    }
    case 5:
    case 6: {
      static const char* const kFrom[] = {"a", " ", "``", "oo", ",", "\u0301", "\u2581", "a b", "1", "<"};
      static const char* const kTo[] = {"", " ", "b", "\u2581", "\"", "bcd", "\uff21", "a", ","};
      std::string from = in.Pick(kFrom), to = in.Pick(kTo);
      if (in.OneIn(2)) {  // any letters
        from = Letter(in);
        if (in.OneIn(3)) from += Letter(in);
        to.clear();
        for (size_t n = in.Below(4); n > 0; --n) to += Letter(in);
      }
      return Replace(from, to);
    }
    case 7:
      return Object("Replace", std::string(R"("pattern":{"Regex":" {2,}"},"content":)") +
                                   (in.OneIn(2) ? "\"\u2581\"" : "\" \""));
    default:
      return Object("Replace", R"("pattern":{"Regex":"\\s{2,}|[\\n\\r\\t]"},"content":" ")");
  }
}

std::string DrawMetaspace(Input& in, bool first_allowed) {
  static const char* const kSchemes[] = {"always", "never", "first"};
  const char* scheme = kSchemes[in.Below(first_allowed ? 3 : 2)];
  const bool split = !in.OneIn(4);
  const char* replacement = in.OneIn(16) ? "_" : "\u2581";
  return Object("Metaspace", std::string("\"replacement\":\"") + replacement +
                                 "\",\"prepend_scheme\":\"" + scheme + "\",\"split\":" + Flag(split));
}

constexpr const char* kBehaviors[] = {"Isolated", "Removed", "MergedWithPrevious",
                                      "MergedWithNext", "Contiguous"};

std::string DrawSplit(Input& in) {
  static const char* const kPatterns[] = {"a", "oo", " ", "\u2581"};
  const std::string pattern = in.OneIn(2) ? in.Pick(kPatterns) : Letter(in);
  const std::string behavior = in.Pick(kBehaviors);
  return Object("Split", "\"pattern\":{\"String\":" + JsonString(pattern) + "},\"behavior\":\"" +
                             behavior + "\",\"invert\":" + Flag(in.OneIn(3)));
}

std::string InTurn(const std::string& first, const std::string& second) {
  if (first == "null") return second;
  return R"({"type":"Sequence","normalizers":[)" + first + "," + second + "]}";
}

// The same normalizer, and one space for several behind it.
std::string BeforeRuns(const std::string& normalizer) {
  return InTurn(normalizer, R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})");
}

std::string DrawPreTokenizer(Input& in, bool first_allowed) {
  switch (in.Below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return DrawMetaspace(in, first_allowed);
    case 5:
    case 6:
      return Object("WhitespaceSplit");
    case 7:
      return Object("Whitespace");
    case 8:
      return Object("Punctuation", std::string("\"behavior\":\"") + in.Pick(kBehaviors) + '"');
    case 9:
      return Object("Digits", std::string("\"individual_digits\":") + Flag(in.OneIn(2)));
    case 10:
      return Object("CharDelimiterSplit", "\"delimiter\":\"a\"");
    default:
      return DrawSplit(in);
  }
}

}  // namespace

std::vector<std::string> DrawLetters(Input& in) {
  std::vector<std::string> letters;
  const size_t count = 2 + in.Below(7);
  for (size_t i = 0; i < count; ++i) {
    // Mostly from the front of the pool.
    const size_t most = in.OneIn(3) ? std::size(kLetterPool) : 8;
    letters.push_back(kLetterPool[in.Below(most)]);
  }
  return letters;
}

std::map<std::string, std::string> DrawRules(Input& in) {
  static const std::string kAwkward[][2] = {
      {"A", "a"},         {"AB", "b"},          {"ABA", " "},     {"\t", " "},
      {"\u3000", " "},    {"\u2581", " "},      {"\u00a0", "  "}, {"\x01", ""},
      {"\u200b", ""},     {"\x7f", " a"},       {"\u00ad", "a "}, {"\u0085", " a b "},
      {"e\u0301", "\u00e9"}, {"e\u0301\u0323", "\u1eb9\u0301"}, {"\uff76\uff9e", "\u30ac"},
      {"\uff76", "\u30ab"}, {"  ", "o"},        {"oo", "o\u2581"}, {"\ufffd", " "},
      {"\uff21", "A"},    {"\ufb01", "fi"},     {"\u0301", ""},   {"a\u0301", "\u00e1"},
      {"\r\n", " "},      {"\ufdfa", "aba bab aba bab aba bab aba"}};
  std::map<std::string, std::string> rules;
  for (size_t n = 1 + in.Below(20); n > 0; --n) {
    if (!in.OneIn(4)) {
      const auto& rule = kAwkward[in.Below(std::size(kAwkward))];
      rules[rule[0]] = rule[1];
      continue;
    }
    std::string key, value;
    for (size_t k = 1 + in.Below(3); k > 0; --k) key += kLetterPool[in.Below(std::size(kLetterPool))];
    for (size_t k = in.Below(4); k > 0; --k) value += kLetterPool[in.Below(std::size(kLetterPool))];
    rules[key] = value;
  }
  return rules;
}

sp_test::ModelProto DrawSpModel(Input& in) {
  ModelProto model;
  if (in.OneIn(4)) {
    model.Add("<s>", 0, sp_test::kControl);
    model.Add("<?>", 0, sp_test::kUnknown);
    model.unk_piece = "<?>";
    if (in.OneIn(2)) model.Add("</s>", 0, sp_test::kControl);
    if (in.OneIn(2)) model.unk_surface = "\u2049\u2581";
    if (in.OneIn(8)) model.unk_surface = std::string("x\0y", 3);  // read up to the NUL
  } else {
    model.AddSpecials();
  }
  const Scores scores(in);
  const auto score = [&] { return static_cast<float>(scores.Next(in)); };
  if (in.OneIn(4)) model.AddBytes(in.OneIn(2) ? -1.0f : 0.0f);
  const std::vector<std::string> letters = DrawLetters(in);
  std::set<std::string> taken;
  const auto add = [&](const std::string& text, sp_test::PieceKind kind) {
    if (taken.insert(text).second) model.Add(text, score(), kind);
  };
  add("o", sp_test::kNormal);  // a model must have one piece that a text can match
  for (size_t n = in.Below(40); n > 0; --n) {
    const std::string word = Word(in, letters, 5);
    const size_t kind = in.Below(12);
    add(word, kind == 11   ? sp_test::kUserDefined
              : kind == 10 ? sp_test::kUnused
                           : sp_test::kNormal);
  }
  for (const std::string& letter : letters) {
    if (!in.OneIn(3)) add(letter, sp_test::kNormal);
  }
  if (in.OneIn(24)) {  // a very long piece, and one that starts like it
    const std::string word = Word(in, letters, 3);
    std::string text;
    for (size_t n = 10 + in.Below(30); n > 0; --n) text += word;
    add(text, sp_test::kNormal);
    add(text + letters[0], sp_test::kNormal);
  }
  if (in.OneIn(4)) {
    for (const char* text : {"<sep>", "a b", "  x", "\u2581\u2581a", "\uff76", "A"}) {
      if (in.OneIn(2)) add(text, sp_test::kUserDefined);
    }
  }
  if (in.OneIn(8)) add("<s>", sp_test::kNormal);  // spelled like reserved pieces
  if (in.OneIn(8)) add("<0x41>", sp_test::kUserDefined);
  const auto flag = [&]() -> std::optional<bool> {
    const size_t choice = in.Below(4);
    return choice < 2 ? std::nullopt : std::optional<bool>(choice == 2);
  };
  model.normalizer = {{}, flag(), flag(), flag()};
  if (!in.OneIn(3)) model.normalizer.charsmap = sp_test::MakeCharsmap(DrawRules(in));
  model.treat_whitespace_as_suffix = in.OneIn(4);
  if (in.OneIn(6)) {
    model.denormalizer = sp_test::NormalizerProto{{}, flag(), flag(), flag()};
    if (!in.OneIn(3)) {
      model.denormalizer->charsmap = sp_test::MakeCharsmap({{"a", "A"}, {" b", "B "}, {"o", ""}});
    }
  }
  return model;
}

void FitFastRoad(sp_test::ModelProto* model) {
  const std::string space = "\u2581";
  std::erase_if(model->pieces, [&](const sp_test::PieceProto& piece) {
    return piece.text == space || piece.text.find(space, 1) != std::string::npos ||
           piece.text.find(' ') != std::string::npos || piece.text.size() > 16;
  });
  const bool escapes = model->normalizer.escape_whitespaces.value_or(true);
  for (sp_test::PieceProto& piece : model->pieces) piece.score = -std::abs(piece.score);
  model->Add(space, -2);
  for (sp_test::PieceProto& piece : model->pieces) {
    if (!piece.text.starts_with(space)) continue;
    const std::string word = piece.text.substr(space.size()), written = escapes ? space : " ";
    piece.text = model->treat_whitespace_as_suffix ? word + written : written + word;
  }
}

HfVocabulary DrawHfVocabulary(Input& in) {
  HfVocabulary vocabulary;
  vocabulary.letters = DrawLetters(in);
  const Scores scores(in);
  auto& pieces = vocabulary.pieces;
  pieces.emplace_back("<unk>", in.OneIn(2) ? 0.0 : scores.Next(in));
  for (const char* special : {"<s>", "</s>", "<mask>"}) {
    if (in.OneIn(2)) pieces.emplace_back(special, 0.0);
  }
  for (size_t n = 1 + in.Below(40); n > 0; --n) {  // duplicates happen and must
    pieces.emplace_back(Word(in, vocabulary.letters, 5), scores.Next(in));
  }
  for (const std::string& letter : vocabulary.letters) {
    if (!in.OneIn(3)) pieces.emplace_back(letter, scores.Next(in));
  }
  if (in.OneIn(24)) {
    const std::string word = Word(in, vocabulary.letters, 3);
    std::string text;
    for (size_t n = 10 + in.Below(30); n > 0; --n) text += word;
    pieces.emplace_back(text, scores.Next(in));
  }
  if (in.OneIn(4)) {
    const unsigned have = in.OneIn(3) ? 0xc0 : 256;
    for (unsigned b = 0; b < have; ++b) pieces.emplace_back(Hex(b), in.OneIn(2) ? 0.0 : -3.0);
  }
  return vocabulary;
}

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Letters of which tokens are looked for in normalized text on the fast road.
static std::vector<std::string> PlainLetters(const HfVocabulary& vocabulary) {
  std::vector<std::string> letters;
  for (const auto& [text, score] : vocabulary.pieces) {
    if (text.starts_with("<")) continue;
    for (const char c : text) {
      if (c > ' ' && c < 0x7f) letters.emplace_back(1, c);
    }
  }
  return letters;
}

// Added tokens of these letters, most of them looked for in normalized text; without letters others.
static std::string DrawAdded(Input& in, const std::vector<std::string>& letters, size_t next_id,
                             bool first) {
  static const char* const kTokens[] = {"<s>", "</s>", "<mask>", "ab", "a", "<<s>>", "o b", "\u00e9"};
  const bool words = !letters.empty();
  std::set<std::string> seen;
  std::string added;
  for (size_t n = in.Below(4) + words; n > 0; --n) {
    const std::string content =
        words ? Word(in, letters, 1) + Word(in, letters, 3) : std::string(in.Pick(kTokens));
    if (!seen.insert(content).second) continue;
    added += (first ? "" : ",") + std::string("{\"id\":") + std::to_string(next_id++) +
             ",\"content\":" + JsonString(content);
    first = false;
    added += std::string(",\"special\":") + Flag(!in.OneIn(3));
    for (const char* flag : {"single_word", "lstrip", "rstrip"}) {
      added += std::string(",\"") + flag + "\":" + Flag(in.OneIn(4));
    }
    added += std::string(",\"normalized\":") + Flag(in.OneIn(4) != words) + "}";
  }
  return added;
}

std::string DrawTokenizerJson(Input& in, const HfVocabulary& vocabulary) {
  std::string normalizer = "null", pre_tokenizer = "null", added = "[", vocab = "[";
  std::optional<std::string> charsmap;
  const size_t steps = in.Below(5);
  if (steps == 1) {
    normalizer = DrawNormalizer(in, &charsmap);
  } else if (steps > 1) {
    normalizer = R"({"type":"Sequence","normalizers":[)";
    for (size_t i = 1; i < steps; ++i) {
      normalizer += (i > 1 ? "," : "") + DrawNormalizer(in, &charsmap);
    }
    normalizer += "]}";
  }
  const bool first_allowed = steps == 0;
  const size_t stages = in.Below(4);
  if (stages == 1) {
    pre_tokenizer = DrawPreTokenizer(in, first_allowed);
  } else if (stages == 2) {  // what most published files have
    pre_tokenizer = R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)" +
                    DrawMetaspace(in, first_allowed) + "]}";
  } else if (stages == 3 && in.OneIn(2)) {  // as DeBERTa's that split at punctuation
    static const char* const kBesideSigns[] = {
        R"({"type":"Punctuation","behavior":"Isolated"},)",
        R"({"type":"WhitespaceSplit"},{"type":"Punctuation","behavior":"Isolated"},)",
        R"({"type":"Punctuation","behavior":"Isolated"},{"type":"Punctuation","behavior":"Isolated"},)",
        R"({"type":"Digits","individual_digits":true},{"type":"Punctuation","behavior":"Isolated"},)"};
    const bool runs = !in.OneIn(4);
    std::string signs = in.Pick(kBesideSigns);
    if (in.OneIn(8)) signs += DrawSplit(in) + ",";
    pre_tokenizer = R"({"type":"Sequence","pretokenizers":[)" + signs +
                    DrawMetaspace(in, first_allowed && !runs) + "]}";
    if (runs) normalizer = BeforeRuns(normalizer);
  } else if (stages == 3) {
    const std::string before = DrawPreTokenizer(in, first_allowed);
    pre_tokenizer = R"({"type":"Sequence","pretokenizers":[)" + before + "," +
                    DrawPreTokenizer(in, first_allowed) + "]}";
  }
  // As Helium's: the line feed is a token, so that the Split has nothing to do.
  const bool lines = stages == 0 && in.OneIn(3);
  if (lines) {
    normalizer = R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":" "},)"
                 R"({"type":"Replace","pattern":{"String":" "},"content":"\u2581"}]})";
    pre_tokenizer = R"({"type":"Split","pattern":{"String":"\n"},"behavior":"Contiguous","invert":false})";
  }
  size_t next_id = vocabulary.pieces.size();
  if (lines && !in.OneIn(4)) {
    added += "{\"id\":" + std::to_string(next_id++) +
             R"(,"content":"\n","special":false,"single_word":false,"lstrip":false,"rstrip":false,)"
             R"("normalized":false})";
  }
  const std::vector<std::string> letters = PlainLetters(vocabulary);
  const bool words = !lines && !letters.empty() && in.OneIn(4);
  if (words) {
    static const char* const kNormalizers[] = {
        "null", R"({"type":"Lowercase"})", R"({"type":"NFKC"})",
        R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})"};
    const bool any = in.OneIn(2), runs = any && in.OneIn(2);
    normalizer = runs ? BeforeRuns(normalizer) : any ? normalizer : in.Pick(kNormalizers);
    // What tokens begin with, or hold, comes of another character.
    if (runs) normalizer = InTurn(normalizer, Replace(Letter(in), letters[in.Below(letters.size())]));
    if (!any || runs) pre_tokenizer = DrawMetaspace(in, normalizer == "null");
  }
  added += DrawAdded(in, words ? letters : std::vector<std::string>(), next_id, added.size() == 1);
  for (const auto& [text, score] : vocabulary.pieces) {
    char number[40];
    std::snprintf(number, sizeof(number), "%.17g", score);
    vocab += (vocab.size() > 1 ? ",[" : "[") + JsonString(text) + "," + number + "]";
  }
  const char* unk_id = in.OneIn(8) ? "null" : "0";
  const bool byte_fallback = in.OneIn(2);
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)" + added +
         R"(],"normalizer":)" + normalizer + R"(,"pre_tokenizer":)" + pre_tokenizer +
         R"(,"post_processor":null,"decoder":null,"model":{"type":"Unigram","unk_id":)" +
         unk_id + R"(,"byte_fallback":)" + Flag(byte_fallback) +
         R"(,"vocab":)" + vocab + "]}}";
}

std::string DrawWordPieceJson(Input& in, const HfVocabulary& vocabulary) {
  static const char* const kPrefixes[] = {"##", "##", "##", "#", "", "@@"};
  static const char* const kWords[] = {
      R"({"type":"BertPreTokenizer"})", R"({"type":"BertPreTokenizer"})", R"({"type":"WhitespaceSplit"})",
      R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Punctuation"}]})",
      R"({"type":"Whitespace"})", "null"};
  const std::string prefix = in.Pick(kPrefixes);
  std::optional<std::string> charsmap;
  std::string normalizer = "null";
  if (!in.OneIn(4)) {
    static const char* const kStrips[] = {"null", "true", "false"};
    normalizer = Object("BertNormalizer", std::string("\"clean_text\":") + Flag(!in.OneIn(4)) +
                                              ",\"handle_chinese_chars\":" + Flag(!in.OneIn(4)) +
                                              ",\"strip_accents\":" + in.Pick(kStrips) +
                                              ",\"lowercase\":" + Flag(in.OneIn(2)));
  } else if (in.OneIn(2)) {
    normalizer = DrawNormalizer(in, &charsmap);
  }
  std::set<std::string> seen;
  std::string vocab;
  size_t count = 0;
  for (const auto& [text, score] : vocabulary.pieces) {
    const std::string piece = !text.starts_with("<") && in.OneIn(2) ? prefix + text : text;
    if (!seen.insert(piece).second) continue;
    vocab += (count != 0 ? "," : "") + JsonString(piece) + ":" + std::to_string(count);
    ++count;
  }
  const std::string most = std::to_string(in.OneIn(3) ? in.Below(8) : 100);
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" +
         DrawAdded(in, {}, count, true) + R"(],"normalizer":)" + normalizer + R"(,"pre_tokenizer":)" +
         in.Pick(kWords) +
         R"(,"post_processor":null,"decoder":null,"model":{"type":"WordPiece","unk_token":)" +
         (in.OneIn(8) ? "\"none\"" : "\"<unk>\"") + R"(,"continuing_subword_prefix":)" +
         JsonString(prefix) + R"(,"max_input_chars_per_word":)" + most + R"(,"vocab":{)" + vocab + "}}}";
}

std::string DrawBpeJson(Input& in, const HfVocabulary& vocabulary) {
  HfVocabulary pieces;
  pieces.letters = vocabulary.letters;
  std::set<std::string> seen;
  const auto add = [&](const std::string& text) {
    if (seen.insert(text).second) pieces.pieces.emplace_back(text, 0);
  };
  for (const auto& [text, score] : vocabulary.pieces) add(text);
  const bool falls_back = in.OneIn(4);
  for (int byte = 0; falls_back && byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    add(name);
  }
  const std::string unigram = DrawTokenizerJson(in, pieces);
  std::string vocab;
  std::vector<std::string> merges;
  for (size_t id = 0; id < pieces.pieces.size(); ++id) {
    const std::string& text = pieces.pieces[id].first;
    vocab += (id != 0 ? "," : "") + JsonString(text) + ":" + std::to_string(id);
    for (size_t at = 1; at < text.size(); ++at) {
      const std::string left = text.substr(0, at), right = text.substr(at);
      if (!seen.contains(left) || !seen.contains(right) || in.OneIn(4)) continue;
      const std::string merge = "[" + JsonString(left) + "," + JsonString(right) + "]";
      merges.insert(merges.begin() + static_cast<ptrdiff_t>(in.Below(merges.size() + 1)), merge);
      if (in.OneIn(16)) merges.push_back(merge);
    }
  }
  std::string list;
  for (const std::string& merge : merges) list += (list.empty() ? "" : ",") + merge;
  static const char* const kUnknown[] = {"null", "\"<unk>\"", "\"<unk>\"", "\"none\""};
  return unigram.substr(0, unigram.rfind(R"("model":{"type":"Unigram")")) +
         R"("model":{"type":"BPE","dropout":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,)"
         R"("unk_token":)" + in.Pick(kUnknown) + R"(,"fuse_unk":)" + Flag(in.OneIn(2)) +
         R"(,"byte_fallback":)" + Flag(falls_back) + R"(,"ignore_merges":)" + Flag(in.OneIn(3)) +
         R"(,"vocab":{)" + vocab + R"(},"merges":[)" + list + "]}}";
}

Texts::Texts(std::vector<std::string> fragments, bool valid_only)
    : fragments_(std::move(fragments)), valid_only_(valid_only) {
  if (fragments_.empty()) fragments_ = {"a"};
}

void Texts::Next(Input& in, std::string* text) const {
  text->clear();
  const size_t control = in.U8();
  const size_t count = control % 7;
  const bool stress = (control & 0x80) != 0;  // half of the texts keep to the vocabulary
  for (size_t i = 0; i < count; ++i) {
    const size_t choice = in.U8();
    if (stress && choice >= 160) {
      *text += choice >= 250 && !valid_only_ ? kBrokenPool[in.Below(std::size(kBrokenPool))]
                                             : kFragmentPool[in.Below(std::size(kFragmentPool))];
    } else if (choice >= 254) {
      const std::string& fragment = fragments_[in.Below(fragments_.size())];
      for (size_t n = 1 + in.Below(20); n > 0; --n) *text += fragment;
    } else {
      *text += fragments_[choice % fragments_.size()];
    }
  }
}

std::string RealFile(const std::string& name) {
  const char* folder = std::getenv("RANKFEED_SHARED_DATA");
  if (folder == nullptr) return {};
  std::ifstream in(std::string(folder) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace rankfeed::fuzz
