// SPDX-License-Identifier: MIT
#include "capi/folders/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "folder/classes.h"

namespace rankfeed::folders {
namespace {

using builder::BuildError;
using builder::Json;

// Names of special tokens in the order in which transformers adds them.
constexpr std::array kNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                               "pad_token", "cls_token", "mask_token"};

// This is known of a class: its names, and its tokens in the order of kNames.
struct Known {
  Class kind;
  bool bpe;
  std::array<std::string_view, 8> names;
  std::array<const char*, 7> tokens;
  bool Has(std::string_view name) const { return !name.empty() && std::find(names.begin(), names.end(), name) != names.end(); }
};
constexpr Known kKnown[] = {
    {Class::kBert,
     false,
     {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer",
      "SqueezeBertTokenizer", "ConvBertTokenizer", "LayoutLMTokenizer", "LxmertTokenizer"},
     {nullptr, nullptr, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}},
    {Class::kMpnet,
     false,
     {"MPNetTokenizer"},
     {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"}},
    {Class::kRoberta,
     true,
     {"RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer", "MvpTokenizer"},
     {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"}},
    {Class::kGpt2,
     true,
     {"GPT2Tokenizer"},
     {"<|endoftext|>", "<|endoftext|>", "<|endoftext|>"}},
    {Class::kQwen2,
     true,
     {"Qwen2Tokenizer"},
     {nullptr, "<|endoftext|>", "<|endoftext|>", nullptr, "<|endoftext|>"}},
};

}  // namespace

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

// Reads the named tokens, then those of the lists, in the order in which transformers adds them.
class Settings::Reader {
 public:
  explicit Reader(Settings* settings) : settings_(*settings), named_(settings->named_) {}

  void Read() {
    const Json config = settings_.config_.root();
    ReadNames(config, File::kConfig);
    std::map<uint64_t, Token> added;  // by the number in the file, which says only the order
    if (const auto listed = config.Find("added_tokens_decoder")) {
      listed->EachMember([&](std::string_view number, const Json& value) {
        uint64_t id = 0;
        const auto end = std::from_chars(number.data(), number.data() + number.size(), id);
        if (end.ec != std::errc() || end.ptr != number.data() + number.size()) {
          value.Fail(RANKFEED_E_PARSE, "is not named by an id");
        }
        added[id] = ReadToken(value);
      });
    } else {
      ReadNames(settings_.specials_.root(), File::kSpecialTokensMap);
      settings_.added_.root().EachMember([&](std::string_view content, const Json& id) {
        const bool is_special = IsCounted(content);
        added[id.U32()] = {std::string(content), false, false, false, is_special, !is_special};
      });
    }
    for (auto& [id, token] : added) {
      for (const auto& [key, named] : named_) token.special |= named.content == token.content;
      Add(std::move(token));
    }
    listed_ = settings_.tokens_.size();
    if (config.Find("added_tokens_decoder")) settings_.listed_ = listed_;
    for (const char* key : kNames) AddNamed(key);
    for (const std::string& key : others_) AddNamed(key);
    for (const Token& token : extra_) Add(token);
    if (settings_.kind == Class::kQwen2) AddAgain();
  }

 private:
  enum class File { kConfig, kSpecialTokensMap };

  // This follows PreTrainedTokenizerBase._from_pretrained of transformers 5.23.0: additional_special_tokens of the
  // configuration are its extra_special_tokens where it has none, and an empty list is one then; those of
  // special_tokens_map.json are where neither file has a list yet. model_specific_special_tokens counts where no other
  // key names a token that the base class does not know: all those would take its place.
  void ReadNames(const Json& root, File file) {
    std::vector<Token> additional;
    bool has_additional = false;
    const size_t others = others_.size();
    root.EachMember([&](std::string_view member, const Json& value) {
      const std::string key(member);
      if (key == "extra_special_tokens") {
        has_extra_ |= !value.is_object();
        if (value.is_array()) ReadList(value, true, file, &extra_);
        ReadNamed(value, file);
      } else if (key == "additional_special_tokens") {
        has_additional = true;
        if (value.is_array()) ReadList(value, file == File::kConfig, file, &additional);
      } else if (key.ends_with("_token")) {
        ReadName(key, value, file);
      }
    });
    const auto specific = root.Find("model_specific_special_tokens");
    if (file == File::kConfig && specific && others_.size() == others) ReadNamed(*specific, file);
    if (file == File::kConfig ? extra_.empty() : !has_extra_) extra_ = std::move(additional);
    has_extra_ |= file == File::kConfig && has_additional;
  }

  void ReadList(const Json& list, bool counts, File file, std::vector<Token>* tokens) {
    list.Each([&](const Json& item) {
      tokens->push_back(ReadToken(item));
      tokens->back().special = true;
      tokens->back().counted = counts && (item.is_string() || file == File::kSpecialTokensMap);
    });
  }

  // An object of tokens by their names.
  void ReadNamed(const Json& value, File file) {
    if (!value.is_object()) return;
    value.EachMember([&](std::string_view name, const Json& token) { ReadName(std::string(name), token, file); });
  }

  void ReadName(const std::string& key, const Json& value, File file) {
    if (value.is_null()) named_.erase(key);  // the class has none then
    if (!value.is_string() && !value.is_object()) return;
    const bool is_known = std::find(kNames.begin(), kNames.end(), key) != kNames.end();
    if (!is_known) others_.push_back(key);
    Token& token = named_[key] = ReadToken(value);
    token.lstrip |= settings_.kind == Class::kMpnet && key == "mask_token" && value.is_string();
    token.counted = is_known && (value.is_string() || file == File::kSpecialTokensMap);
  }

  // This tells whether a token of added_tokens.json is special. An object in tokenizer_config.json counts for nothing:
  // the reference compares it as an object, which equals no text.
  bool IsCounted(std::string_view content) const {
    const auto is = [content](const Token& token) { return token.counted && token.content == content; };
    return std::any_of(extra_.begin(), extra_.end(), is) ||
           std::any_of(named_.begin(), named_.end(), [&](const auto& named) { return is(named.second); });
  }

  // Adds a token. The settings of the last of two equal ones count, but for those of
  // added_tokens_decoder.
  void Add(Token token) {
    if (token.content.empty()) return;
    std::vector<Token>& tokens = settings_.tokens_;
    const auto found = std::find_if(tokens.begin(), tokens.end(), [&](const Token& other) {
      return other.content == token.content;
    });
    if (found == tokens.end()) return tokens.push_back(std::move(token));
    token.of_class &= found->of_class;
    if (static_cast<size_t>(found - tokens.begin()) >= listed_) *found = std::move(token);
  }

  void AddNamed(const std::string& key) {
    const auto found = named_.find(key);
    if (found == named_.end()) return;
    found->second.special = true;
    Add(found->second);
  }

  // Qwen2Tokenizer adds its special tokens once more, without the settings that files give them.
  void AddAgain() {
    for (Token& token : settings_.tokens_) {
      const auto is = [&token](const Token& other) { return other.content == token.content; };
      bool again = std::any_of(extra_.begin(), extra_.end(), is);
      for (const auto& [key, named] : named_) again |= is(named);
      if (again) token = {.content = token.content, .of_class = token.of_class};
    }
  }

  Settings& settings_;
  std::map<std::string, Token>& named_;
  std::vector<std::string> others_;  // keys of named tokens that no class has
  std::vector<Token> extra_;         // extra_special_tokens, or the list that stands for it
  bool has_extra_ = false;           // a file has such a list
  size_t listed_ = 0;                // tokens of added_tokens_decoder
};

Settings::Settings(const std::string& name, const FilesBeside& beside, std::string_view preset)
    : folder_(name.substr(0, name.find_last_of("/\\") + 1)),
      config_(beside.tokenizer_config, folder_ + "tokenizer_config.json"),
      specials_(beside.special_tokens_map, folder_ + "special_tokens_map.json"),
      added_(beside.added_tokens, folder_ + "added_tokens.json"),
      model_(beside.config, folder_ + "config.json"),
      kind(ClassOf(name, preset)) {
  ReadTokens();
}

Settings::Settings(const std::string& name, const FilesBeside& beside, Class known)
    : folder_(name.substr(0, name.find_last_of("/\\") + 1)),
      config_(beside.tokenizer_config, folder_ + "tokenizer_config.json"),
      specials_(beside.special_tokens_map, folder_ + "special_tokens_map.json"),
      added_(beside.added_tokens, folder_ + "added_tokens.json"),
      model_(beside.config, folder_ + "config.json"),
      kind(known) {
  ReadTokens();
}

void Settings::ReadTokens() {
  for (const Known& known : kKnown) {
    for (size_t i = 0; known.kind == kind && i < kNames.size(); ++i) {
      if (known.tokens[i] != nullptr) (named_[kNames[i]] = {known.tokens[i]}).of_class = true;
    }
  }
  if (kind == Class::kMpnet) named_["mask_token"].lstrip = true;
  Reader(this).Read();
}

FilesBeside FilesBeside::Of(const std::string& folder) {
  const auto read = [&](const char* name) { return folder::ReadIfThere(folder + name); };
  return {read("tokenizer_config.json"), read("special_tokens_map.json"), read("added_tokens.json"), read("config.json")};
}

std::optional<Class> ClassNamed(std::string_view name) {
  for (const Known& known : kKnown) {
    if (known.Has(name)) return known.kind;
  }
  return std::nullopt;
}

const std::string* Settings::Named(const std::string& key) const {
  const auto found = named_.find(key);
  return found == named_.end() ? nullptr : &found->second.content;
}

std::optional<bool> Settings::MaybeFlag(const char* key) const {
  const auto found = config_.root().Find(key);
  return found ? std::optional<bool>(found->Bool()) : std::nullopt;
}

Class Settings::ClassOf(const std::string& name, std::string_view preset) const {
  const bool bpe = name.ends_with("vocab.json");
  if (preset == "mpnet") return Class::kMpnet;
  const std::optional<Json> type = model_.root().Find("model_type");
  const std::string type_name = type ? type->String() : "";
  // AutoTokenizer takes that class for these models whatever the files name.
  if (bpe && type_name == "qwen2") return Class::kQwen2;
  std::optional<Json> named = config_.root().Find("tokenizer_class");
  if (!named) named = model_.root().Find("tokenizer_class");
  std::string wanted = named ? named->String() : std::string(folder::ClassOfModelType(type_name));
  if (named && wanted.ends_with("Fast")) wanted.resize(wanted.size() - 4);
  for (const Known& known : kKnown) {
    if (known.bpe == bpe && known.Has(wanted)) return known.kind;
  }
  const char* const others =
      bpe ? "\" does not read vocab.json and merges.txt as RobertaTokenizer, GPT2Tokenizer or "
            "Qwen2Tokenizer do, which are supported; take the model's tokenizer.json"
          : "\" does not read a vocab.txt as BertTokenizer or MPNetTokenizer do, which are supported; a "
            "preset (bert, bert-cased, mpnet) reads the file without those beside it";
  const std::optional<Json> culprit = named ? named : type;
  if (culprit) culprit->Fail(RANKFEED_E_UNSUPPORTED, "\"" + culprit->String() + others);
  if (!bpe) return Class::kBert;
  throw BuildError(RANKFEED_E_UNSUPPORTED,
                   name, ": nothing beside it says which class of transformers reads it: a "
                   "tokenizer_config.json with tokenizer_class, or a config.json with model_type");
}

}  // namespace rankfeed::folders
