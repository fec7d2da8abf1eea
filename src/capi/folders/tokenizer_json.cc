// SPDX-License-Identifier: MIT
#include "capi/folders/tokenizer_json.h"

#include <algorithm>
#include <unordered_map>

#include "base/other_kind.h"
#include "base/utf8.h"
#include "builder/base/limits.h"
#include "folder/classes.h"
#include "unicode/properties.h"

namespace rankfeed::folders {
namespace {

using builder::BuildError;
using builder::Json;

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

// Pieces and their ids: of equal ones the last counts.
using Vocabulary = std::unordered_map<std::string_view, uint32_t>;

Vocabulary ReadLines(std::string_view vocab_txt, const std::string& name) {
  Vocabulary lines;
  uint32_t number = 0;
  for (size_t at = 0; at < vocab_txt.size(); ++number) {
    const size_t end = std::min(vocab_txt.find('\n', at), vocab_txt.size());
    std::string_view line = vocab_txt.substr(at, end - at);
    if (!TrimEnd(&line)) {
      throw BuildError(RANKFEED_E_PARSE,
                       name, ": line ", number + 1, " is not UTF-8").At(at);
    }
    lines[line] = number;
    at = end + 1;
  }
  return lines;
}

// what: the kind of file, for the message of a limit.
void CheckBytes(std::string_view text, const std::string& name, const char* what) {
  if (text.size() > builder::kMaxVocabTxtBytes) {
    throw BuildError(RANKFEED_E_LIMIT,
                     name, ": ", builder::OverLimit(std::to_string(text.size()) + " bytes", what,
                     builder::kMaxVocabTxtBytes));
  }
  if (const char* other = OtherKind(text))
    throw BuildError(RANKFEED_E_PARSE, name, ": is ", other);
  if (text.starts_with("\xef\xbb\xbf")) {
    throw BuildError(RANKFEED_E_PARSE,
                     name, ": begins with a byte order mark, which would be part of its first "
                     "token: save it as UTF-8 without one");
  }
}

// Calls f with each line of the text and its number. A carriage return before a line feed is no part of a line; at the
// end of the text it is one, as for tokenizers.
template <class F>
void EachLine(std::string_view text, const F& f) {
  size_t number = 0;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r') && end != text.size()) line.remove_suffix(1);
    f(line, ++number);
  }
}

// The rules of BPE's merges, which its reader holds too: here they are broken in a line of this file.
void CheckMerges(std::string_view text, const Vocabulary& pieces, const std::string& name) {
  std::string product;
  EachLine(text, [&](std::string_view line, size_t number) {
    const auto fail = [&](const std::string& why) {
      throw BuildError(RANKFEED_E_PARSE, name, ": line ", number, " ", why);
    };
    if (!simdjson::validate_utf8(line)) fail("is not UTF-8");
    if (line.starts_with("#version")) return;
    const size_t space = line.find(' ');
    if (space == line.npos || line.find(' ', space + 1) != line.npos)
      fail("must be two pieces with one space between them");
    product.assign(line.substr(0, space)).append(line.substr(space + 1));
    for (const std::string_view piece : {line.substr(0, space), line.substr(space + 1), std::string_view(product)}) {
      if (!pieces.contains(piece)) fail("names \"" + std::string(piece) + "\", which is no piece of vocab.json");
    }
  });
}

// Refuses a vocabulary without a token of the template: its model would get ids that it does not know.
const std::string& TokenOf(const Settings& settings, const Vocabulary& vocabulary, const char* key,
                           const std::string& name) {
  const std::string* const token = settings.Named(key);
  if (token != nullptr && vocabulary.contains(*token)) return *token;
  const bool lines = !name.ends_with(".json");
  throw BuildError(RANKFEED_E_UNSUPPORTED,
                   name, ": has no ", (lines ? "line " : "piece "), (token == nullptr ? "" : *token + ", which is the "),
                   key, "; its model would be given ids that it was not trained with");
}

// A tokenizer.json of the vocabulary, element by element.
class Writer {
 public:
  Writer(const Settings& settings, const Vocabulary& vocabulary)
      : settings_(settings), vocabulary_(vocabulary) {}

  void Tokens() {
    out_ << "{\"version\":\"1.0\",\"added_tokens\":[";
    auto next = static_cast<uint32_t>(vocabulary_.size());
    for (const Token& token : settings_.tokens()) {
      const auto found = vocabulary_.find(token.content);
      const uint32_t id = found != vocabulary_.end() ? found->second : next;
      if (!ids_.empty()) out_ << ",";
      ids_[token.content] = id;
      next = std::max(next, id + 1);
      out_ << "{\"id\":" << std::to_string(id).c_str() << ",\"content\":";
      out_.Quote(token.content)
          .Flag("single_word", token.single_word)
          .Flag("lstrip", token.lstrip)
          .Flag("rstrip", token.rstrip)
          .Flag("normalized", token.normalized.value_or(!token.special))
          .Flag("special", token.special)
          << "}";
    }
    out_ << "]";
  }

  // The template [CLS] A [SEP]; type: of the processor.
  void Ends(const char* type, const std::string& sep, const std::string& cls) {
    out_ << ",\"post_processor\":{\"type\":\"" << type << "\"";
    for (const auto& [key, token] : {std::pair("sep", &sep), std::pair("cls", &cls)}) {
      out_ << ",\"" << key << "\":[";
      out_.Quote(*token) << "," << std::to_string(vocabulary_.at(*token)).c_str() << "]";
    }
  }

  // The template of classes that put a token before a text, or after it, where a flag says so.
  void BeginAndEnd() {
    const std::string* const bos = settings_.Flag("add_bos_token", false) ? settings_.Named("bos_token") : nullptr;
    const std::string* const eos = settings_.Flag("add_eos_token", false) ? settings_.Named("eos_token") : nullptr;
    const auto item = [&](const char* kind, const std::string& id, const char* type_id) {
      out_ << "{\"" << kind << "\":{\"id\":";
      out_.Quote(id) << ",\"type_id\":" << type_id << "}}";
    };
    const auto sequence = [&](const char* id, const char* type_id) {
      if (bos != nullptr) item("SpecialToken", *bos, type_id), out_ << ",";
      item("Sequence", id, type_id);
      if (eos != nullptr) out_ << ",", item("SpecialToken", *eos, type_id);
    };
    out_ << ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[";
    sequence("A", "0");
    out_ << "],\"pair\":[";
    sequence("A", "0");
    out_ << ",";
    sequence("B", "1");
    out_ << "],\"special_tokens\":{";
    for (const std::string* token : {bos, eos}) {
      if (token == nullptr || (token == eos && bos != nullptr && *eos == *bos)) continue;
      if (token == eos && bos != nullptr) out_ << ",";
      out_.Quote(*token) << ":{\"id\":";
      out_.Quote(*token) << ",\"ids\":[" << std::to_string(ids_.at(*token)).c_str() << "],\"tokens\":[";
      out_.Quote(*token) << "]}";
    }
    out_ << "}}";
  }

  void Vocab() {
    out_ << ",\"vocab\":{";
    std::vector<std::pair<uint32_t, std::string_view>> by_id;
    by_id.reserve(vocabulary_.size());
    for (const auto& [text, id] : vocabulary_) by_id.emplace_back(id, text);
    std::sort(by_id.begin(), by_id.end());
    bool first = true;
    for (const auto& [id, text] : by_id) {
      if (!first) out_ << ",";
      first = false;
      out_.Quote(text) << ":" << std::to_string(id).c_str();
    }
    out_ << "}";
  }

  // Lines as the reader of merges takes them, which passes over #version.
  void Merges(std::string_view lines) {
    out_ << ",\"merges\":[";
    EachLine(lines, [&](std::string_view line, size_t number) {
      if (number != 1) out_ << ",";
      out_.Quote(line);
    });
    out_ << "]";
  }

  Text& out() { return out_; }

 private:
  const Settings& settings_;
  const Vocabulary& vocabulary_;
  std::unordered_map<std::string_view, uint32_t> ids_;  // of added tokens
  Text out_;
};

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
  CheckBytes(vocab_txt, name, "a vocab.txt");
  const Settings settings(name, beside, preset);
  const Vocabulary lines = ReadLines(vocab_txt, name);
  const std::string& unk = TokenOf(settings, lines, "unk_token", name);
  const std::string& cls = TokenOf(settings, lines, "cls_token", name);
  const std::string& sep = TokenOf(settings, lines, "sep_token", name);
  Writer writer(settings, lines);
  Text& out = writer.out();
  out.Reserve(vocab_txt.size() * 2 + 4096);
  writer.Tokens();
  out << ",\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true";
  out.Flag("handle_chinese_chars", settings.Flag("tokenize_chinese_chars", true))
      .Flag("lowercase", settings.Flag("do_lower_case", preset != "bert-cased"));
  if (const auto strip = settings.MaybeFlag("strip_accents")) out.Flag("strip_accents", *strip);
  out << "},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}";
  const bool mpnet = settings.kind == Class::kMpnet;
  writer.Ends(mpnet ? "RobertaProcessing" : "BertProcessing", sep, cls);
  if (mpnet) out.Flag("trim_offsets", true).Flag("add_prefix_space", false);
  out << "},\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"
         "\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\","
         "\"max_input_chars_per_word\":100,\"unk_token\":";
  out.Quote(unk);
  writer.Vocab();
  out << "}}";
  return out.Take();
}

std::string TokenizerJsonOfMerges(std::string_view vocab_json, std::string_view merges_txt,
                                  const std::string& name, const FilesBeside& beside) {
  CheckBytes(vocab_json, name, "a vocab.json");
  const std::string merges_name = name.substr(0, name.find_last_of("/\\") + 1) + "merges.txt";
  CheckBytes(merges_txt, merges_name, "a merges.txt");
  const Settings settings(name, beside, std::string_view());
  const Document document(vocab_json, name);
  Vocabulary pieces;
  document.root().EachMember([&](std::string_view text, const Json& id) { pieces[text] = id.U32(); });
  CheckMerges(merges_txt, pieces, merges_name);
  const bool prefix_space = settings.Flag("add_prefix_space", false);
  const bool qwen = settings.kind == Class::kQwen2;
  Writer writer(settings, pieces);
  Text& out = writer.out();
  out.Reserve(vocab_json.size() + merges_txt.size() * 2 + 4096);
  writer.Tokens();
  out << (qwen ? ",\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
               : ",\"pre_tokenizer\":")
      << (qwen ? folder::kQwen2Split : "") << (qwen ? "," : "") << "{\"type\":\"ByteLevel\"";
  out.Flag("add_prefix_space", prefix_space).Flag("trim_offsets", true).Flag("use_regex", !qwen)
      << (qwen ? "}]}" : "}");
  if (settings.kind == Class::kRoberta) {
    writer.Ends("RobertaProcessing", TokenOf(settings, pieces, "sep_token", name),
                TokenOf(settings, pieces, "cls_token", name));
    out.Flag("trim_offsets", settings.Flag("trim_offsets", true)).Flag("add_prefix_space", prefix_space)
        << "}";
  } else {
    writer.BeginAndEnd();
  }
  out << ",\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},\"model\":{\"type\":\"BPE\"";
  writer.Vocab();
  writer.Merges(merges_txt);
  out << "}}";
  return out.Take();
}

}  // namespace rankfeed::folders
