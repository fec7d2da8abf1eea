// SPDX-License-Identifier: MIT
#include "builder/read_vocab_txt.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <new>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/other_kind.h"
#include "base/utf8.h"
#include "builder/json_value.h"
#include "builder/limits.h"
#include "unicode/properties.h"

namespace rankfeed::builder {
namespace {

// An added token as AddedToken of tokenizers has it.
struct Token {
  std::string content;
  bool single_word = false, lstrip = false, rstrip = false, special = true;
  std::optional<bool> normalized;  // unset: of tokens that are not special
};

// Names of special tokens in the order in which transformers adds them.
constexpr std::array kNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                               "pad_token", "cls_token", "mask_token"};

// The classes of transformers that are BertTokenizer by another name, and the model types for which
// AutoTokenizer takes it where no class is named.
constexpr std::string_view kBertClasses[] = {
    "BertTokenizer",        "DistilBertTokenizer", "ElectraTokenizer",  "MobileBertTokenizer",
    "SqueezeBertTokenizer", "ConvBertTokenizer",   "LayoutLMTokenizer", "LxmertTokenizer"};
constexpr std::string_view kBertTypes[] = {
    "bert",    "distilbert", "electra",    "mobilebert", "squeezebert",   "convbert",
    "ernie",   "layoutlm",   "nomic_bert", "nezha",      "megatron-bert", "visual_bert",
    "qdqbert", "bros"};

template <size_t N>
bool Contains(const std::string_view (&list)[N], std::string_view text) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

// One of the files beside the vocabulary, an object; an empty object where there is none.
class Document {
 public:
  Document(const std::string& text, std::string name)
      : source_{std::move(name), simdjson::padded_string(text.empty() ? "{}" : text)} {
    simdjson::dom::element root;
    const auto error = parser_.parse(source_.text).get(root);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error != simdjson::SUCCESS) {
      throw BuildError(RANKFEED_E_PARSE, 0,
                       source_.name + ": not valid JSON: " + simdjson::error_message(error));
    }
    root_.emplace(source_, root, "");
    if (!root_->is_object()) root_->Fail(RANKFEED_E_PARSE, "must be an object");
  }
  const Json& root() const { return *root_; }

 private:
  JsonSource source_;
  simdjson::dom::parser parser_;
  std::optional<Json> root_;
};

// A token as the configurations write it: its text, or an object with the text as "content".
Token ReadToken(const Json& value) {
  if (value.is_string()) return {value.ShortString("a token")};
  Token token;
  token.content = value.At("content").ShortString("a token");
  token.single_word = value.BoolOr("single_word", false);
  token.lstrip = value.BoolOr("lstrip", false);
  token.rstrip = value.BoolOr("rstrip", false);
  token.special = value.BoolOr("special", false);
  if (const auto normalized = value.Find("normalized")) token.normalized = normalized->Bool();
  return token;
}

// The settings of the normalizer and the tokens that transformers takes from the files.
class Settings {
 public:
  Settings(const std::string& name, const FilesBeside& beside, std::string_view preset)
      : folder_(name.substr(0, name.find_last_of('/') + 1)),
        config_(beside.tokenizer_config, folder_ + "tokenizer_config.json"),
        specials_(beside.special_tokens_map, folder_ + "special_tokens_map.json"),
        added_(beside.added_tokens, folder_ + "added_tokens.json"),
        model_(beside.config, folder_ + "config.json"),
        mpnet(preset == "mpnet" || IsMpnet()) {
    lowercase = config_.root().BoolOr("do_lower_case", preset != "bert-cased");
    cjk = config_.root().BoolOr("tokenize_chinese_chars", true);
    if (const auto strip = config_.root().Find("strip_accents")) strip_accents = strip->Bool();
    Defaults();
    Tokens();
  }

  const std::string& Named(const char* key) const { return named_.at(key).content; }

 private:
  const std::string folder_;
  const Document config_, specials_, added_, model_;
  std::map<std::string, Token> named_;

 public:
  const bool mpnet;
  bool lowercase = true, cjk = true;
  std::optional<bool> strip_accents;
  std::vector<Token> tokens;  // in the order in which they are added

 private:
  bool IsMpnet() const {
    std::optional<Json> named = config_.root().Find("tokenizer_class");
    if (!named) named = model_.root().Find("tokenizer_class");
    if (named) {
      std::string name = named->String();
      if (name.ends_with("Fast")) name.resize(name.size() - 4);
      if (Contains(kBertClasses, name)) return false;
      if (name == "MPNetTokenizer") return true;
      named->Fail(RANKFEED_E_UNSUPPORTED, "\"" + name + kOthers);
    }
    const std::optional<Json> type = model_.root().Find("model_type");
    if (!type || Contains(kBertTypes, type->String())) return false;
    if (type->String() == "mpnet") return true;
    type->Fail(RANKFEED_E_UNSUPPORTED, "\"" + type->String() + kOthers);
  }

  void Defaults() {
    if (!mpnet) {
      named_ = {{"unk_token", {"[UNK]"}}, {"sep_token", {"[SEP]"}}, {"pad_token", {"[PAD]"}},
                {"cls_token", {"[CLS]"}}, {"mask_token", {"[MASK]"}}};
      return;
    }
    named_ = {{"bos_token", {"<s>"}},   {"eos_token", {"</s>"}},  {"unk_token", {"[UNK]"}},
              {"sep_token", {"</s>"}},  {"pad_token", {"<pad>"}}, {"cls_token", {"<s>"}},
              {"mask_token", {"<mask>", false, /*lstrip=*/true}}};
  }

  void Name(const std::string& key, const Json& value) {
    named_[key] = ReadToken(value);
    named_[key].lstrip |= mpnet && key == "mask_token" && value.is_string();
  }

  void Add(Token token) {
    const bool known = std::any_of(tokens.begin(), tokens.end(), [&](const Token& other) {
      return other.content == token.content;
    });
    if (!known && !token.content.empty()) tokens.push_back(std::move(token));
  }

  void Tokens() {
    std::vector<std::string> others;  // keys of named tokens that no class has
    std::vector<Token> extra;
    std::unordered_set<std::string> special;  // that files name
    const auto read = [&](const Json& root) {
      root.EachMember([&](std::string_view member, const Json& value) {
        const std::string key(member);
        const bool list = key == "extra_special_tokens" || key == "additional_special_tokens";
        if (list && value.is_array()) {
          value.Each([&](const Json& item) {
            extra.push_back(ReadToken(item));
            extra.back().special = true;
            special.insert(extra.back().content);
          });
        } else if (key.ends_with("_token") && (value.is_string() || value.is_object())) {
          if (std::find(kNames.begin(), kNames.end(), key) == kNames.end()) others.push_back(key);
          Name(key, value);
          special.insert(named_[key].content);
        }
      });
    };
    read(config_.root());
    std::map<uint64_t, Token> added;  // by the number in the file, which says only the order
    if (const auto listed = config_.root().Find("added_tokens_decoder")) {
      listed->EachMember([&](std::string_view number, const Json& value) {
        uint64_t id = 0;
        const auto end = std::from_chars(number.data(), number.data() + number.size(), id);
        if (end.ec != std::errc() || end.ptr != number.data() + number.size()) {
          value.Fail(RANKFEED_E_PARSE, "is not named by an id");
        }
        added[id] = ReadToken(value);
      });
    } else {
      read(specials_.root());
      added_.root().EachMember([&](std::string_view content, const Json& id) {
        const bool is_special = special.contains(std::string(content));
        added[id.U32()] = {std::string(content), false, false, false, is_special, !is_special};
      });
    }
    for (auto& [id, token] : added) {
      for (const auto& [key, named] : named_) token.special |= named.content == token.content;
      Add(std::move(token));
    }
    const auto add_named = [&](const std::string& key) {
      const auto found = named_.find(key);
      if (found == named_.end()) return;
      found->second.special = true;
      Add(found->second);
    };
    for (const char* key : kNames) add_named(key);
    for (const std::string& key : others) add_named(key);
    for (Token& token : extra) Add(std::move(token));
  }

  static constexpr char kOthers[] =
      "\" does not read a vocab.txt as BertTokenizer or MPNetTokenizer do, which are supported; a "
      "preset (bert, bert-cased, mpnet) reads the file without those beside it";
};

class Text {
 public:
  Text& operator<<(const char* text) {
    out_ += text;
    return *this;
  }
  Text& Quote(std::string_view text) {
    out_ += '"';
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x20) {
        constexpr char kDigits[] = "0123456789abcdef";
        out_ += "\\u00";
        out_ += kDigits[c >> 4];
        out_ += kDigits[c & 15];
        continue;
      }
      if (c == '"' || c == '\\') out_ += '\\';
      out_ += c;
    }
    out_ += '"';
    return *this;
  }
  Text& Flag(const char* name, bool value) {
    return *this << ",\"" << name << "\":" << (value ? "true" : "false");
  }
  void Reserve(size_t bytes) { out_.reserve(bytes); }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// The line without the white space at its end. False where it is not UTF-8.
bool TrimEnd(std::string_view* line) {
  size_t end = 0;
  for (size_t at = 0; at < line->size();) {
    const utf8::Decoded c = utf8::Decode(*line, at);
    if (!c.valid) return false;
    at += c.size;
    if (!unicode::IsWhiteSpace(c.code_point)) end = at;
  }
  *line = line->substr(0, end);
  return true;
}

// The lines by text: of equal ones the last counts, as an entry of a vocabulary.
using Lines = std::unordered_map<std::string_view, size_t>;

Lines ReadLines(std::string_view vocab_txt, const std::string& name) {
  Lines lines;
  size_t number = 0;
  for (size_t at = 0; at < vocab_txt.size(); ++number) {
    const size_t end = std::min(vocab_txt.find('\n', at), vocab_txt.size());
    std::string_view line = vocab_txt.substr(at, end - at);
    if (!TrimEnd(&line)) {
      throw BuildError(RANKFEED_E_PARSE, at,
                       name + ": line " + std::to_string(number + 1) + " is not UTF-8");
    }
    lines[line] = number;
    at = end + 1;
  }
  return lines;
}

void CheckBytes(std::string_view vocab_txt, const std::string& name) {
  if (vocab_txt.size() > kMaxVocabTxtBytes) {
    throw BuildError(RANKFEED_E_LIMIT, 0,
                     name + ": " + OverLimit(std::to_string(vocab_txt.size()) + " bytes",
                                             "a vocab.txt", kMaxVocabTxtBytes));
  }
  if (const char* what = OtherKind(vocab_txt))
    throw BuildError(RANKFEED_E_PARSE, 0, name + ": is " + what);
  if (vocab_txt.starts_with("\xef\xbb\xbf")) {
    throw BuildError(RANKFEED_E_PARSE, 0,
                     name + ": begins with a byte order mark, which would be part of its first "
                            "token: save it as UTF-8 without one");
  }
}

void WriteVocabulary(const Lines& lines, Text* out) {
  std::vector<std::pair<size_t, std::string_view>> by_number;
  by_number.reserve(lines.size());
  for (const auto& [text, number] : lines) by_number.emplace_back(number, text);
  std::sort(by_number.begin(), by_number.end());
  for (const auto& [number, text] : by_number) {
    if (number != by_number[0].first) *out << ",";
    out->Quote(text) << ":" << std::to_string(number).c_str();
  }
}

void WriteTokens(const Settings& settings, Text* out) {
  for (const Token& token : settings.tokens) {
    *out << (&token != settings.tokens.data() ? "," : "") << "{\"id\":0,\"content\":";
    out->Quote(token.content)
        .Flag("single_word", token.single_word)
        .Flag("lstrip", token.lstrip)
        .Flag("rstrip", token.rstrip)
        .Flag("normalized", token.normalized.value_or(!token.special))
        .Flag("special", token.special)
        << "}";
  }
}

void WriteTemplate(const Settings& settings, const Lines& lines, Text* out) {
  const auto pair = [&](const char* key, const char* token) {
    *out << ",\"" << key << "\":[";
    out->Quote(settings.Named(token)) << ","
                                      << std::to_string(lines.at(settings.Named(token))).c_str() << "]";
  };
  *out << (settings.mpnet ? "{\"type\":\"RobertaProcessing\",\"trim_offsets\":true,"
                            "\"add_prefix_space\":false"
                          : "{\"type\":\"BertProcessing\"");
  pair("sep", "sep_token");
  pair("cls", "cls_token");
  *out << "}";
}

}  // namespace

bool IsWordPiecePreset(std::string_view preset) {
  return preset == "bert" || preset == "bert-cased" || preset == "mpnet";
}

bool LooksLikeVocabTxt(std::string_view source) {
  return source.starts_with("[PAD]") || source.find("\n[UNK]") != source.npos ||
         source.find("\n##") != source.npos;
}

std::string TokenizerJsonOf(std::string_view vocab_txt, const std::string& name,
                            const FilesBeside& beside, std::string_view preset) {
  CheckBytes(vocab_txt, name);
  const Settings settings(name, beside, preset);
  const Lines lines = ReadLines(vocab_txt, name);
  for (const char* key : {"unk_token", "cls_token", "sep_token"}) {
    if (lines.contains(settings.Named(key))) continue;
    throw BuildError(RANKFEED_E_UNSUPPORTED, 0,
                     name + ": has no line " + settings.Named(key) + ", which is the " + key +
                         "; its model would be given ids that it was not trained with");
  }
  Text out;
  out.Reserve(vocab_txt.size() * 2 + 4096);
  out << "{\"version\":\"1.0\",\"added_tokens\":[";
  WriteTokens(settings, &out);
  out << "],\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true";
  out.Flag("handle_chinese_chars", settings.cjk).Flag("lowercase", settings.lowercase);
  if (settings.strip_accents) out.Flag("strip_accents", *settings.strip_accents);
  out << "},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"post_processor\":";
  WriteTemplate(settings, lines, &out);
  out << ",\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"
         "\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\","
         "\"max_input_chars_per_word\":100,\"unk_token\":";
  out.Quote(settings.Named("unk_token")) << ",\"vocab\":{";
  WriteVocabulary(lines, &out);
  out << "}}}";
  return out.Take();
}

}  // namespace rankfeed::builder
