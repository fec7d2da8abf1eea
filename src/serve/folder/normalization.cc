// SPDX-License-Identifier: MIT
// serve/folder/normalization.cc: what a model's folder says of normalization, against what a vocabulary does with
// texts. See pairing.h.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "folder/document.h"
#include "folder/rebuilt.h"
#include "serve/folder/folder.h"
#include "serve/folder/pairing.h"

namespace rankfeed::folder {
namespace {

namespace fs = std::filesystem;
using simdjson::SUCCESS;
using simdjson::dom::element;

enum Rule : uint8_t { kLowercase, kStripAccents, kSpaceCjk, kPrefixSpace, kRules };

// Answers for each rule, whether texts are normalized by it; unset: not said.
using Rules = std::array<std::optional<bool>, kRules>;

// Texts that a vocabulary which follows the rule gives the same ids, and any other different ones.
using Texts = std::pair<std::string_view, std::string_view>;
constexpr Texts kCapitals[] = {{"A", "a"}, {"E", "e"}, {"I", "i"}, {"S", "s"}, {"THE", "the"}};
constexpr Texts kAccents[] = {{"é", "e"}, {"ä", "a"}, {"ö", "o"}, {"ñ", "n"}, {"ç", "c"}};
constexpr Texts kIdeographs[] = {{"中国", "中 国"}, {"日本", "日 本"}, {"人口", "人 口"}, {"一二", "一 二"}};
constexpr Texts kWords[] = {{"a", " a"}, {"the", " the"}, {"s", " s"}};

struct Name {
  const char *setting, *done, *left;
  std::span<const Texts> texts;
};
constexpr std::array<Name, kRules> kNames = {{
    {"do_lower_case", "lowercases texts", "keeps capitals", kCapitals},
    {"strip_accents", "strips accents", "keeps accents", kAccents},
    {"tokenize_chinese_chars", "splits Chinese characters from each other", "does not split Chinese characters from each other", kIdeographs},
    {"add_prefix_space", "begins texts with a space", "begins no text with a space", kWords},
}};

bool Said(const element& object, const char* name, bool otherwise) {
  bool flag;
  return object[name].get(flag) == SUCCESS ? flag : otherwise;
}

// Reads the normalizer and the pre-tokenizer of a tokenizer.json.
class TokenizerRules {
 public:
  explicit TokenizerRules(const element& file) {
    element part;
    if (file["normalizer"].get(part) == SUCCESS) Take(part);
    if (file["pre_tokenizer"].get(part) == SUCCESS) Take(part);
    // A charsmap may do both.
    if (charsmap_) return;
    for (const Rule rule : {kLowercase, kStripAccents}) out[rule] = out[rule].value_or(false);
  }
  Rules out;

 private:
  void Take(const element& step) {
    simdjson::dom::array parts;
    for (const char* const list : {"normalizers", "pretokenizers"}) {
      if (step[list].get(parts) != SUCCESS) continue;
      for (const element part : parts) Take(part);
      return;
    }
    std::string_view type;
    if (step["type"].get(type) != SUCCESS) return;
    decomposed_ |= type == "NFD" || type == "NFKD";
    charsmap_ |= type == "Precompiled";
    if (type == "Lowercase") out[kLowercase] = true;
    if (type == "StripAccents" && decomposed_) out[kStripAccents] = true;
    if (type == "ByteLevel") out[kPrefixSpace] = Said(step, "add_prefix_space", true);
    if (type != "BertNormalizer") return;
    const bool lower = Said(step, "lowercase", true);
    out[kLowercase] = lower || out[kLowercase].value_or(false);
    out[kStripAccents] = Said(step, "strip_accents", lower) || out[kStripAccents].value_or(false);
    out[kSpaceCjk] = Said(step, "handle_chinese_chars", true);
  }
  bool decomposed_ = false, charsmap_ = false;
};

// The rules that a tokenizer_config.json states, beside a vocab.txt, a vocab.json or nothing, of those that
// classes with such a kind of model read. What it does not name is not stated, whatever the class has by default.
Rules ConfigRules(const nlohmann::json& config, std::string_view kind) {
  Rules out;
  const auto read = [&](Rule rule) {
    const auto found = config.find(kNames[rule].setting);
    if (found != config.end() && found->is_boolean()) out[rule] = found->get<bool>();
  };
  read(kind == "bpe" ? kPrefixSpace : kLowercase);
  if (kind != "wordpiece") return out;
  out[kStripAccents] = out[kLowercase];
  read(kStripAccents);
  read(kSpaceCjk);
  return out;
}

class Probe {
 public:
  Probe(const rankfeed_model* vocabulary, Encoder encoder) : unknown_(Info(vocabulary).unk_id), encoder_(std::move(encoder)) {}
  // Asks with texts whether the vocabulary follows the rule; unset where it knows none of them.
  std::optional<bool> Follows(Rule rule) {
    for (const auto& [one, other] : kNames[rule].texts) {
      const std::vector<int32_t> ids = Ids(one);
      if (ids != Ids(other)) return false;
      if (std::any_of(ids.begin(), ids.end(), [this](int32_t id) { return id != unknown_; })) return true;
    }
    return std::nullopt;
  }

 private:
  std::vector<int32_t> Ids(std::string_view text) {
    Encoding out;
    rankfeed_encode_options options{};
    options.struct_size = sizeof(options);
    return encoder_.Encode(text, options, &out) ? std::vector<int32_t>() : std::move(out.input_ids);
  }
  const int32_t unknown_;
  Encoder encoder_;
};

}  // namespace

Result<std::string> DifferentNormalization(const rankfeed_model* vocabulary, const std::string& model) try {
  constexpr uint32_t kTextBytes = 64, kCacheBytes = 4096;
  fs::path stated = fs::path(FolderOf(model)) / "tokenizer.json";
  simdjson::dom::parser parser;
  element root;
  Rules rules, rebuilt;  // of the file as it is written, and as the class of the folder has it
  if (WithMemory(parser.load(stated.string()).get(root)) == SUCCESS) {
    rebuilt = rules = TokenizerRules(root).out;
    const std::string members = Rebuilding(stated.string()).Of(root).members;
    if (simdjson::dom::parser second; !members.empty() && WithMemory(second.parse(members).get(root)) == SUCCESS) rebuilt = TokenizerRules(root).out;
  } else {
    stated.replace_filename("tokenizer_config.json");
    auto config = ReadObject(stated.string());
    if (!config) return config.error();
    rules = ConfigRules(*config, rankfeed_model_kind(vocabulary));
  }
  auto encoder = Encoder::Create(vocabulary, kTextBytes, /*with_offsets=*/false, kCacheBytes);
  if (!encoder) return encoder.error();
  Probe probe(vocabulary, std::move(*encoder));
  for (size_t i = 0; i < kRules; ++i) {
    if (!rules[i]) continue;
    const auto follows = probe.Follows(static_cast<Rule>(i));
    if (!follows || *follows == *rules[i] || *follows == rebuilt[i]) continue;
    const Name& name = kNames[i];
    return fmt::format("{} {} ({}), the vocabulary {}", stated.string(), *rules[i] ? name.done : name.left, name.setting,
                       *rules[i] ? name.left : name.done);
  }
  return std::string();
} catch (const builder::BuildError& error) {
  return Error{error.code, error.what()};
}

}  // namespace rankfeed::folder
