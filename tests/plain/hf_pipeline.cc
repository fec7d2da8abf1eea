// SPDX-License-Identifier: MIT
#include "plain/hf_pipeline.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "builder/unicode/unicode_delta.h"
#include "plain/hf_bpe.h"
#include "plain/hf_normalize.h"
#include "plain/hf_wordpiece.h"

namespace rankfeed::plain {
namespace {

using Json = nlohmann::json;

[[noreturn]] void Unknown(const std::string& what) {
  throw std::runtime_error("reference: " + what);
}

bool IsSpace(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_WHITE_SPACE);
}
bool IsWord(char32_t c) {
  return builder::HfWord(static_cast<UChar32>(c));
}
bool IsPunctuation(char32_t c) {
  return builder::HfPunctuation(static_cast<UChar32>(c));
}
bool IsNumeric(char32_t c) {
  return builder::HfNumeric(static_cast<UChar32>(c));
}

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

size_t CharacterSize(std::string_view text, size_t at) {
  size_t size = 1;
  while (at + size < text.size() && (static_cast<unsigned char>(text[at + size]) & 0xc0) == 0x80) {
    size++;
  }
  return size;
}

char32_t CharacterAt(std::string_view text, size_t at) {
  return DecodeUtf8(text.substr(at, CharacterSize(text, at)))[0];
}

size_t CharacterBefore(std::string_view text, size_t at) {
  do at--;
  while ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
  return at;
}

// serde_json 1.0 without float_roundtrip, which tokenizers uses: the digits as an integer, rounded,
// then one division or multiplication by a power of ten, rounded again.
double SerdeNumber(const std::string& token) {
  uint64_t digits = 0;
  int exponent = 0;
  size_t at = token[0] == '-' ? 1 : 0;
  bool after_point = false;
  for (; at < token.size() && token[at] != 'e' && token[at] != 'E'; at++) {
    if (token[at] == '.') {
      after_point = true;
      continue;
    }
    if (digits > 1'000'000'000'000'000'000) Unknown("number of more than 18 digits");
    digits = digits * 10 + static_cast<uint64_t>(token[at] - '0');
    exponent -= after_point;
  }
  if (at < token.size()) exponent += std::stoi(token.substr(at + 1));
  if (exponent < -308 || exponent > 308) Unknown("number outside 1e-308 to 1e308");
  const double power = std::stod("1e" + std::to_string(std::abs(exponent)));
  const double value = static_cast<double>(digits);
  return (token[0] == '-' ? -1 : 1) * (exponent < 0 ? value / power : value * power);
}

// Reads numbers with a fraction or exponent by that rule.
class Sax : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  using nlohmann::detail::json_sax_dom_parser<Json>::json_sax_dom_parser;
  bool number_float(double, const std::string& token) {
    return json_sax_dom_parser::number_float(SerdeNumber(token), token);
  }
};

// Part of a text, and whether a pattern matched it.
struct Part {
  size_t begin, end;
  bool match;
};
using Finder = std::function<std::vector<Part>(const std::string&)>;

// Each character that the predicate likes is a match of its own.
template <class Predicate>
Finder Characters(Predicate likes) {
  return [likes](const std::string& text) {
    std::vector<Part> parts;
    for (size_t at = 0; at < text.size();) {
      const size_t end = at + CharacterSize(text, at);
      const bool match = likes(CharacterAt(text, at));
      if (!match && !parts.empty() && !parts.back().match) {
        parts.back().end = end;
      } else {
        parts.push_back({at, end, match});
      }
      at = end;
    }
    return parts;
  };
}

Finder Literal(const std::string& pattern) {
  return [pattern](const std::string& text) {
    std::vector<Part> parts;
    size_t at = 0;
    for (size_t found; (found = text.find(pattern, at)) != text.npos;) {
      if (found > at) parts.push_back({at, found, false});
      at = found + pattern.size();
      parts.push_back({found, at, true});
    }
    if (at < text.size()) parts.push_back({at, text.size(), false});
    return parts;
  };
}

// \w+|[^\w\s]+
std::vector<Part> WordsAndOthers(const std::string& text) {
  const auto kind = [&](size_t at) {
    const char32_t c = CharacterAt(text, at);
    return IsWord(c) ? 1 : IsSpace(c) ? 0 : 2;
  };
  std::vector<Part> parts;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + CharacterSize(text, at);
    while (end < text.size() && kind(end) == kind(at)) end += CharacterSize(text, end);
    parts.push_back({at, end, kind(at) != 0});
    at = end;
  }
  return parts;
}

// NormalizedString::split: which stretches there are, by behavior.
std::vector<Part> Arrange(const std::vector<Part>& parts, const std::string& behavior) {
  std::vector<Part> out;
  bool previous = false;
  if (behavior == "Isolated") return parts;
  if (behavior == "Removed") {
    std::copy_if(parts.begin(), parts.end(), std::back_inserter(out),
                 [](const Part& part) { return !part.match; });
    return out;
  }
  if (behavior == "Contiguous") {
    for (const Part& part : parts) {
      if (!out.empty() && part.match == previous) {
        out.back().end = part.end;
      } else {
        out.push_back(part);
      }
      previous = part.match;
    }
    return out;
  }
  if (behavior == "MergedWithPrevious") {
    for (const Part& part : parts) {
      if (part.match && !previous && !out.empty()) {
        out.back().end = part.end;
      } else {
        out.push_back(part);
      }
      previous = part.match;
    }
    return out;
  }
  if (behavior != "MergedWithNext") Unknown("behavior " + behavior);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->match && !previous && !out.empty()) {
      out.back().begin = part->begin;
    } else {
      out.push_back(*part);
    }
    previous = part->match;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

HfPipeline::HfPipeline(std::string_view tokenizer_json, bool without_specials) {
  Json file;
  Sax sax(file);
  Json::sax_parse(tokenizer_json, &sax);
  const Json& model = file.at("model");
  const std::string kind = model.value("type", "Unigram");
  const bool wordpiece = kind == "WordPiece", bpe = kind == "BPE";
  if (!wordpiece && !bpe && kind != "Unigram") Unknown("model type");
  std::vector<std::pair<std::string, double>> pieces;
  std::map<std::string, uint32_t> ids;
  if (wordpiece || bpe) {
    for (const auto& [text, id] : model.at("vocab").items()) {
      pieces.emplace_back(text, id.get<double>());
      ids[text] = id.get<uint32_t>();
    }
  } else {
    for (const Json& entry : model.at("vocab")) {
      pieces.emplace_back(entry.at(0).get<std::string>(), entry.at(1).get<double>());
      ids[pieces.back().first] = static_cast<uint32_t>(pieces.size() - 1);
    }
  }
  if (without_specials && !bpe) {
    for (const Json& entry : file.value("added_tokens", Json::array())) {
      if (!entry.at("special")) continue;
      for (auto& [text, score] : pieces) {
        // A private character that no text here has.
        if (text == entry.at("content")) text = "\xee\x80\x80" + text;
      }
    }
  }
  std::optional<uint32_t> unk_id;
  if (wordpiece) {
    HfWordPiece::Vocabulary vocabulary;
    for (const auto& [text, id] : pieces) vocabulary[text] = static_cast<uint32_t>(id);
    if (const auto found = ids.find(model.at("unk_token").get<std::string>()); found != ids.end()) {
      unk_id = found->second;
    }
    model_ = [greedy = HfWordPiece(vocabulary, model.at("continuing_subword_prefix"),
                                   model.at("max_input_chars_per_word"), unk_id)](
                 std::string_view word) { return greedy.Encode(word); };
  } else if (bpe) {
    HfBpe::Vocabulary vocabulary(ids.begin(), ids.end());
    HfBpe::Options options;
    if (!model.at("unk_token").is_null()) options.unk_token = model["unk_token"].get<std::string>();
    options.fuse_unk = model.at("fuse_unk");
    options.byte_fallback = model.at("byte_fallback");
    options.ignore_merges = model.at("ignore_merges");
    std::vector<std::pair<std::string, std::string>> merges;
    for (const Json& merge : model.at("merges")) merges.emplace_back(merge.at(0), merge.at(1));
    model_ = [merger = HfBpe(vocabulary, merges, options)](std::string_view word) {
      return merger.Encode(word);
    };
  } else {
    if (model.contains("unk_id") && !model["unk_id"].is_null()) unk_id = model["unk_id"].get<uint32_t>();
    model_ = [best = HfUnigram(pieces, unk_id, model.value("byte_fallback", false))](
                 std::string_view text) { return best.Encode(text); };
  }

  AppendNormalizer(file.value("normalizer", Json()), &normalizers_);

  // Pre-tokenizers. Tokens found before stay as they are; empty splits are dropped.
  const auto add_split = [&](Finder find, const std::string& behavior) {
    pre_tokenizers_.push_back([find, behavior](std::vector<Split>* splits) {
      std::vector<Split> out;
      for (const Split& split : *splits) {
        if (split.token) {
          out.push_back(split);
          continue;
        }
        for (const Part& part : Arrange(find(split.text), behavior)) {
          if (part.end == part.begin) continue;
          out.push_back({split.text.substr(part.begin, part.end - part.begin),
                         split.begin + part.begin, std::nullopt});
        }
      }
      *splits = out;
    });
  };
  const std::function<void(const Json&)> pre_tokenizer = [&](const Json& p) {
    if (p.is_null()) return;
    const std::string type = p.at("type");
    if (type == "Sequence") {
      for (const Json& one : p.at("pretokenizers")) pre_tokenizer(one);
    } else if (type == "WhitespaceSplit") {
      add_split(Characters(IsSpace), "Removed");
    } else if (type == "BertPreTokenizer") {
      add_split(Characters(IsSpace), "Removed");
      add_split(Characters(IsPunctuation), "Isolated");
    } else if (type == "Whitespace") {
      add_split(
          [](const std::string& text) {
            // The pattern is inverted and what it does not match is removed.
            std::vector<Part> parts = WordsAndOthers(text);
            for (Part& part : parts) part.match = !part.match;
            return parts;
          },
          "Removed");
    } else if (type == "Punctuation") {
      add_split(Characters(IsPunctuation), p.value("behavior", "Isolated"));
    } else if (type == "Digits") {
      add_split(Characters(IsNumeric), p.at("individual_digits") ? "Isolated" : "Contiguous");
    } else if (type == "CharDelimiterSplit") {
      add_split(Literal(p.at("delimiter")), "Removed");
    } else if (type == "Split" && p.at("pattern").contains("String")) {
      const Finder find = Literal(p.at("pattern").at("String"));
      const bool invert = p.at("invert");
      add_split(
          [find, invert](const std::string& text) {
            std::vector<Part> parts = find(text);
            for (Part& part : parts) part.match = part.match != invert;
            return parts;
          },
          p.at("behavior"));
    } else if (type == "Metaspace") {
      const std::string replacement = p.at("replacement");
      std::string scheme = p.value("prepend_scheme", "always");
      if (scheme == "first" && !normalizers_.empty()) Unknown("Metaspace first after a normalizer");
      pre_tokenizers_.push_back([replacement, scheme](std::vector<Split>* splits) {
        for (Split& split : *splits) {
          if (split.token) continue;
          split.text = ReplaceAll(split.text, " ", replacement);
          const bool wanted = scheme == "always" || (scheme == "first" && split.begin == 0);
          if (wanted && !StartsWith(split.text, replacement)) {
            split.text = replacement + split.text;
          }
        }
      });
      if (p.value("split", true)) {
        const char32_t symbol = DecodeUtf8(replacement)[0];
        add_split(Characters([symbol](char32_t c) { return c == symbol; }), "MergedWithNext");
      }
    } else {
      Unknown("pre-tokenizer " + type);
    }
  };
  pre_tokenizer(file.value("pre_tokenizer", Json()));

  // Added tokens: the vocabulary's id, else the next free one.
  uint32_t next = static_cast<uint32_t>(pieces.size());
  for (const Json& entry : file.value("added_tokens", Json::array())) {
    auto token = std::make_unique<AddedToken>();
    token->content = entry.at("content");
    if (token->content.empty()) continue;
    const auto known = ids.find(token->content);
    token->id = known != ids.end() ? known->second : next++;
    ids[token->content] = token->id;
    token->special = entry.at("special");
    token->single_word = entry.at("single_word");
    token->lstrip = entry.at("lstrip");
    token->rstrip = entry.at("rstrip");
    token->normalized = entry.at("normalized");
    added_.push_back(std::move(token));
  }
  // Of one pattern the last of special, then other tokens (docs/parity.md: the wheel takes any).
  for (const bool special : {true, false}) {
    for (const auto& token : added_) {
      if (token->special != special) continue;
      const std::string pattern = token->normalized ? Normalize(token->content) : token->content;
      if (!pattern.empty()) (token->normalized ? normalized_ : raw_)[pattern] = token.get();
    }
  }
}

std::string HfPipeline::Normalize(std::string text) const {
  for (const auto& normalizer : normalizers_) text = normalizer(text);
  return text;
}

// find_matches: leftmost, then longest; a match that is turned down is not tried again shorter.
std::vector<HfPipeline::Stretch> HfPipeline::FindAdded(std::string_view text,
                                                       const Patterns& patterns,
                                                       bool split_special) const {
  std::vector<Stretch> out;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const AddedToken* token = nullptr;
    size_t size = 0;
    for (const auto& [pattern, candidate] : patterns) {
      if (pattern.size() > size && StartsWith(text.substr(at), pattern)) {
        token = candidate;
        size = pattern.size();
      }
    }
    if (token == nullptr) {
      at += CharacterSize(text, at);
      continue;
    }
    size_t begin = at, end = at + size;
    at = end;
    if (split_special && token->special) continue;
    if (token->single_word) {
      const bool word_before = begin > 0 && IsWord(CharacterAt(text, CharacterBefore(text, begin)));
      const bool word_after = end < text.size() && IsWord(CharacterAt(text, end));
      if (word_before || word_after) continue;
    }
    if (token->lstrip) {
      while (begin > 0 && IsSpace(CharacterAt(text, CharacterBefore(text, begin)))) {
        begin = CharacterBefore(text, begin);
      }
      begin = std::max(begin, done);
    }
    if (token->rstrip) {
      while (end < text.size() && IsSpace(CharacterAt(text, end))) end += CharacterSize(text, end);
    }
    if (done < begin) out.push_back({text.substr(done, begin - done), done, nullptr});
    // One whose text the token before it took as white space is dropped like every empty split
    // (tokenizer/pre_tokenizer.rs split, tokenizers 0.23.2).
    if (begin < end) out.push_back({text.substr(begin, end - begin), begin, token});
    done = end;
  }
  if (done < text.size()) out.push_back({text.substr(done), done, nullptr});
  return out;
}

std::optional<std::vector<uint32_t>> HfPipeline::Encode(std::string_view text,
                                                        bool split_special) const {
  std::vector<Split> splits;
  for (const Stretch& raw : FindAdded(text, raw_, split_special)) {
    if (raw.token != nullptr) {
      splits.push_back({"", raw.begin, raw.token->id});
      continue;
    }
    const std::string normalized = Normalize(std::string(raw.text));
    for (const Stretch& part : FindAdded(normalized, normalized_, split_special)) {
      const size_t begin = raw.begin + part.begin;
      if (part.token != nullptr) {
        splits.push_back({"", begin, part.token->id});
      } else {
        splits.push_back({std::string(part.text), begin, std::nullopt});
      }
    }
  }
  for (const PreTokenizer& pre_tokenizer : pre_tokenizers_) pre_tokenizer(&splits);
  std::vector<uint32_t> ids;
  for (const Split& split : splits) {
    if (split.token) {
      ids.push_back(*split.token);
      continue;
    }
    const auto tokens = model_(split.text);
    if (!tokens) return std::nullopt;
    for (const HfToken& token : *tokens) ids.push_back(token.id);
  }
  return ids;
}

}  // namespace rankfeed::plain
