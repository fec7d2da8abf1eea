// SPDX-License-Identifier: MIT
// folder/rebuilt.cc: see rebuilt.h.
#include "folder/rebuilt.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "folder/classes.h"
#include "folder/document.h"

namespace rankfeed::folder {
namespace {

// Elements of a normalizer or pre-tokenizer as JSON. Those in brackets are written by the settings of tokenizer_config.json:
// [accents] without keep_accents, [lower] with do_lower_case, [punctuation] with split_by_punct, [bert] the normalizer of
// BERT, [metaspace] and [first] Metaspace, [bytes] and [bytes, regex] ByteLevel; or by the file: [charsmap] if it has one,
// [line ends] if not.
using Steps = std::vector<std::string>;

// Tokenizer classes of transformers 5 that have a constructor of their own: of a tokenizer.json they keep
// vocabulary, charsmap and template, and put these elements in place of the file's.
struct RebuildingClasses {
  std::vector<std::string_view> names;
  Steps normalizer, pre_tokenizer;
  std::string_view model;  // members of its model, as JSON; [unk]: the file's unk_id, since the class looks for the token
  bool do_lower_case = false, keep_accents = true;  // where tokenizer_config.json has none
  std::string_view bare = "always";  // how [metaspace] prepends where add_prefix_space is false; always: it is not read
};

std::string Replace(const char* kind, const char* pattern, const char* content) {
  return std::string(R"({"type":"Replace","pattern":{")") + kind + "\":\"" + pattern + R"("},"content":")" + content + "\"}";
}

// Members of models.
constexpr std::string_view kWords = R"("continuing_subword_prefix":"##","max_input_chars_per_word":100)",
                           kMerges = R"("merges":[],"byte_fallback":false,"ignore_merges":false)",
                           kByteMerges = R"("merges":[],"byte_fallback":true,"ignore_merges":false)";

const std::vector<RebuildingClasses>& AllRebuilding() {
  const std::string first_quotes = Replace("String", "``", "\\\""), second_quotes = Replace("String", "''", "\\\"");
  const std::string spaces = Replace("Regex", " {2,}", " "), metas = Replace("Regex", " {2,}", "▁");
  const std::string strip = R"({"type":"Strip","strip_left":false,"strip_right":true})", nfc = R"({"type":"NFC"})";
  const Steps metaspace = {"[metaspace]"}, words = {R"({"type":"WhitespaceSplit"})", "[metaspace]"}, charsmap = {"[charsmap]"};
  const Steps folded = {first_quotes, second_quotes, "[accents]", "[lower]", "[charsmap]"};
  constexpr std::string_view kUnk = "[unk]", kUnk0 = R"("byte_fallback":false,"unk_id":0)", kUnk1 = R"("byte_fallback":false,"unk_id":1)",
                             kUnk2 = R"("byte_fallback":false,"unk_id":2)", kUnk3 = R"("byte_fallback":false,"unk_id":3)";
  static const std::vector<RebuildingClasses> all = {
      {{"AlbertTokenizer"}, folded, words, kUnk1, true, false, "never"},
      {{"XLNetTokenizer"}, folded, words, kUnk0},
      {{"RemBertTokenizer"}, {first_quotes, second_quotes, spaces, "[accents]", "[lower]", "[charsmap]"}, metaspace, kUnk2, false, true, "never"},
      {{"MLukeTokenizer"}, {first_quotes, second_quotes}, metaspace, kUnk0},
      {{"CamembertTokenizer"}, charsmap, words, kUnk, false, true, "never"},
      {{"XLMRobertaTokenizer"}, charsmap, words, kUnk3, false, true, "never"},
      {{"T5Tokenizer", "VideoPrismTokenizer"}, charsmap, words, kUnk2},
      {{"LasrTokenizer"}, charsmap, words, kUnk3},
      {{"MBart50Tokenizer"}, {"[charsmap]", spaces}, metaspace, kUnk3},
      {{"PegasusTokenizer"}, {"[charsmap]", "[line ends]", spaces}, metaspace, kUnk},
      {{"XGLMTokenizer"}, {"[charsmap]", spaces}, metaspace, kUnk3, false, true, "never"},
      {{"MBartTokenizer"}, {}, words, kUnk3},
      {{"UdopTokenizer"}, {}, words, kUnk},
      {{"BigBirdTokenizer"}, {metas}, metaspace, kUnk, false, true, "never"},
      {{"LayoutXLMTokenizer"}, {strip, metas}, metaspace, kUnk3, false, true, "never"},
      {{"DebertaV2Tokenizer"}, {"[lower]", Replace("Regex", R"(\\s{2,}|[\\n\\r\\t])", " "), nfc, strip}, {"[punctuation]", "[metaspace]"}, kUnk,
       false, true, "first"},
      {{"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "LayoutLMTokenizer", "LxmertTokenizer",
        "MobileBertTokenizer", "MPNetTokenizer", "SqueezeBertTokenizer"},
       {"[bert]"}, {R"({"type":"BertPreTokenizer"})"}, kWords, true},
      {{"BartTokenizer", "GPT2Tokenizer", "LEDTokenizer", "LongformerTokenizer", "MvpTokenizer", "RobertaTokenizer"}, {}, {"[bytes, regex]"}, kMerges},
      {{"Qwen2Tokenizer"}, {nfc}, {kQwen2Split, "[bytes]"}, kMerges},
      {{"LlamaTokenizer"}, {}, {"[first]"}, kByteMerges},
      {{"GemmaTokenizer"}, {Replace("String", " ", "▁")}, {}, kByteMerges},
  };
  return all;
}

template <class List>
bool Has(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The value of a member, or fallback where there is none of the type.
std::string_view Text(const simdjson::dom::element& object, std::string_view key,
                      std::string_view fallback = {}) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : fallback;
}
bool Flag(const simdjson::dom::element& object, std::string_view key, bool fallback) {
  bool flag;
  return object[key].get(flag) == simdjson::SUCCESS ? flag : fallback;
}

// "name(a, b)".
std::string Call(std::string_view name, std::initializer_list<std::string_view> arguments) {
  std::string out(name);
  const char* before = "(";
  for (const std::string_view argument : arguments) {
    out.append(before).append(argument);
    before = ", ";
  }
  return out + ")";
}
const char* Word(bool flag) {
  return flag ? "true" : "false";
}

std::string DescribeBert(bool clean, bool cjk, bool strip, bool lower) {
  return Call("BertNormalizer", {Word(clean), Word(cjk), Word(strip), Word(lower)});
}

std::string DescribeBytes(bool prefix_space, bool regex) {
  return Call("ByteLevel", {Word(prefix_space), Word(regex)});
}

std::string Describe(const simdjson::dom::element& step) {
  const std::string type(Text(step, "type"));
  if (type == "Replace" || type == "Split") {
    std::string_view pattern;
    if (step["pattern"]["Regex"].get(pattern) != simdjson::SUCCESS)
      pattern = Text(step["pattern"], "String");
    if (type == "Replace") return Call("Replace", {std::string(pattern) + " by " + std::string(Text(step, "content"))});
    const char* const inverted = Flag(step, "invert", false) ? ", inverted" : "";
    return Call("Split", {pattern, std::string(Text(step, "behavior")) + inverted});
  }
  if (type == "ByteLevel") {
    return DescribeBytes(Flag(step, "add_prefix_space", true), Flag(step, "use_regex", true));
  }
  if (type == "Strip") {
    const bool left = Flag(step, "strip_left", true), right = Flag(step, "strip_right", true);
    return !left && !right ? ""
           : left && right ? "Strip(both)"
           : left          ? "Strip(left)"
                           : "Strip(right)";
  }
  if (type == "Metaspace") {
    const std::string_view scheme = Flag(step, "add_prefix_space", true) ? "always" : "never";
    return Call("Metaspace", {Text(step, "prepend_scheme", scheme), Flag(step, "split", true) ? "split" : "whole"});
  }
  if (type == "BertNormalizer") {
    const bool lower = Flag(step, "lowercase", true);
    return DescribeBert(Flag(step, "clean_text", true), Flag(step, "handle_chinese_chars", true),
                        Flag(step, "strip_accents", lower), lower);
  }
  return type == "Punctuation" ? Call(type, {Text(step, "behavior")}) : type;
}

// A flag as a constructor in Python takes it: null, where it is given, is false.
bool Given(const Document& config, const char* key, bool fallback) {
  config.root().EachMember([&](std::string_view name, const builder::Json& value) {
    if (name == key) fallback = !value.is_null() && value.Bool();
  });
  return fallback;
}

// The steps of a member of tokenizer.json, sequences opened, those that do nothing left out.
void Collect(const simdjson::dom::element& step, Steps* steps) {
  if (!step.is_object()) return;  // null
  for (const char* const list : {"normalizers", "pretokenizers"}) {
    simdjson::dom::array parts;
    if (step[list].get(parts) != simdjson::SUCCESS) continue;
    for (const simdjson::dom::element one : parts) Collect(one, steps);
    return;
  }
  if (std::string described = Describe(step); !described.empty()) steps->push_back(described);
}

std::string Metaspace(const char* scheme, bool split) {
  return std::string(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":")") + scheme + R"(","split":)" + Word(split) + "}";
}

// The elements as the settings write them; those that the file writes stay.
Steps Expand(const Steps& steps, const std::string& name, const RebuildingClasses& as, const Document& config) {
  Steps out;
  for (const std::string& step : steps) {
    if (step == "[bert]") {
      const bool lower = Given(config, "do_lower_case", as.do_lower_case);
      out.push_back(std::string(R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":)") +
                    Word(Given(config, "tokenize_chinese_chars", true)) + R"(,"strip_accents":)" +
                    Word(config.root().BoolOr("strip_accents", lower)) + R"(,"lowercase":)" + Word(lower) + "}");
    } else if (step == "[bytes]" || step == "[bytes, regex]") {
      out.push_back(std::string(R"({"type":"ByteLevel","add_prefix_space":)") + Word(Given(config, "add_prefix_space", false)) +
                    R"(,"trim_offsets":true,"use_regex":)" + Word(step != "[bytes]") + "}");
    } else if (step == "[metaspace]") {
      out.push_back(Metaspace(as.bare == "always" || Given(config, "add_prefix_space", true) ? "always" : as.bare.data(), true));
    } else if (step == "[first]") {
      const char* const first = Given(config, "legacy", false) ? "always" : "first";
      out.push_back(Metaspace(config.root().BoolOr("add_prefix_space", true) ? first : "never", false));
    } else if (step == "[lower]") {
      if (Given(config, "do_lower_case", as.do_lower_case)) out.emplace_back(R"({"type":"Lowercase"})");
    } else if (step == "[accents]") {
      // XLNet's class takes accents off whatever its configuration says.
      if (name == "XLNetTokenizer" || !Given(config, "keep_accents", as.keep_accents)) out.insert(out.end(), {R"({"type":"NFKD"})", R"({"type":"StripAccents"})"});
    } else if (step == "[punctuation]") {
      if (Given(config, "split_by_punct", false)) out.emplace_back(R"({"type":"Punctuation","behavior":"Isolated"})");
    } else {
      out.push_back(step);
    }
  }
  return out;
}

// Model types whose file AutoTokenizer of transformers 5.23 takes as it is, whatever class is named, or
// reads with a class that is not judged here.
constexpr auto kAsWritten = std::to_array<std::string_view>({
    "EvollaModel", "arctic", "aria", "beam", "bigbird_pegasus", "camembertv2-base", "canary", "chatlm", "cohere_asr",
    "ernie4_5", "ernie4_5_moe", "flex_olmo", "fuyu", "glm", "glm4", "glm4_moe", "glm4_moe_lite", "glm4v",
    "glm4v_moe", "glm_image", "glmasr", "got_ocr2", "gpt_bigcode", "gradium_phonon_tts", "granite", "granitemoe",
    "granitemoehybrid", "granitemoeshared", "h2ovl_chat", "hyperclovax", "hyperclovax_vision_v2", "hyperclovax_vlm",
    "internlm2", "internlm3", "iquestcoder", "jamba", "kimi_k25", "kimi_linear", "kosmos-2", "llava", "llava_next",
    "mimo_v2_flash", "minicpm3", "minicpm_ocr", "minicpmv", "minicpmv4_6", "minicpmv4_7", "minimax_m2", "ministral",
    "ministral3", "mistral", "mistral3", "mistral_large4", "mixtral", "modernbert", "modernbert-decoder", "molmo",
    "molmo2", "nemo_speechlm", "nemotron", "nvfp4", "nystromformer", "olmo2", "olmo3", "olmo_hybrid", "opencua",
    "openvla", "paddleocr_vl", "pegasus_x", "persimmon", "phi3", "phi3_v", "phimoe", "pix2struct", "pixtral",
    "pocket_tts", "qwen3_5", "qwen3_5_moe", "qwen3_5_moe_text", "qwen4_exp", "siglip2", "smolvlm", "stablelm",
    "step3_vl", "umt5", "vipllava", "voxtral", "voxtral_realtime", "xlm-roberta-xl"});

// The name of the class of AutoTokenizer in the folder; empty for code of the folder's own, which may do anything.
std::string ClassOf(const Document& tokenizer_config, const Document& config) {
  const auto text = [](const Document& document, const char* key) {
    const auto value = document.root().Find(key);
    return value && value->is_string() ? value->String() : std::string();
  };
  const std::string model_type = text(config, "model_type");
  if (Has(kAsWritten, model_type) || tokenizer_config.root().Find("auto_map")) return {};
  if (model_type == "qwen2") return "Qwen2Tokenizer";  // whatever class is named
  std::string name = text(tokenizer_config, "tokenizer_class");
  if (name.empty()) name = text(config, "tokenizer_class");
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  return name.empty() ? std::string(ClassOfModelType(model_type)) : name;
}

bool Lowers(const Steps& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const std::string& step) {
    return step == "Lowercase" || (step.starts_with("BertNormalizer") && step.ends_with(" true)"));
  });
}

bool HasByteLevel(const simdjson::dom::element& file) {
  Steps steps;
  for (const char* const name : {"pre_tokenizer", "decoder"}) {
    simdjson::dom::element part;
    if (file[name].get(part) == simdjson::SUCCESS) Collect(part, &steps);
  }
  return std::any_of(steps.begin(), steps.end(), [](const std::string& step) { return step.starts_with("ByteLevel"); });
}

// The steps of the file's normalizer, and what its model is asked with.
Steps NormalizerOf(const simdjson::dom::element& file) {
  Steps steps;
  simdjson::dom::element part;
  if (file["normalizer"].get(part) == simdjson::SUCCESS) Collect(part, &steps);
  if (file["model"].get(part) != simdjson::SUCCESS) return steps;
  uint64_t most, unk;
  simdjson::dom::element merges;
  if (part["max_input_chars_per_word"].get(most) == simdjson::SUCCESS) {
    steps.push_back(Call("WordPiece", {Text(part, "continuing_subword_prefix"), std::to_string(most)}));
  } else if (part["merges"].get(merges) == simdjson::SUCCESS) {
    steps.push_back(Call("BPE", {Flag(part, "byte_fallback", false) ? "bytes" : "no bytes",
                                 Flag(part, "ignore_merges", false) ? "whole words" : "merges"}));
  } else if (part["unk_id"].get(unk) == simdjson::SUCCESS) {
    steps.push_back(Call("Unigram", {std::to_string(unk), Flag(part, "byte_fallback", false) ? "bytes" : "no bytes"}));
  }
  return steps;
}

// The steps of its pre-tokenizer, without a split at spaces where the normalizer leaves none.
Steps PreTokenizerOf(const simdjson::dom::element& file, const Steps& normalizer) {
  Steps steps;
  simdjson::dom::element part;
  if (file["pre_tokenizer"].get(part) == simdjson::SUCCESS) Collect(part, &steps);
  if (Has(normalizer, "Replace(  by ▁)")) {
    std::erase_if(steps, [](const std::string& step) { return step.starts_with("Split( , "); });
  }
  return steps;
}

// The first element of the file's normalizer that holds a charsmap, where transformers looks for it.
std::string CharsmapOf(const simdjson::dom::element& file) {
  simdjson::dom::element normalizer;
  simdjson::dom::array list;
  if (file["normalizer"].get(normalizer) != simdjson::SUCCESS || !normalizer.is_object()) return {};
  if (Text(normalizer, "type") == "Precompiled") return simdjson::minify(normalizer);
  if (normalizer["normalizers"].get(list) != simdjson::SUCCESS) return {};
  for (const simdjson::dom::element one : list) {
    if (Text(one, "type") == "Precompiled") return simdjson::minify(one);
  }
  return {};
}

// The decoder of classes whose pieces have ▁ and bytes: a text loses a space that Metaspace put in front of it.
std::string BytesDecoder(const Steps& pre_tokenizer) {
  const bool strips = !pre_tokenizer.empty() && pre_tokenizer[0].find("never") == std::string::npos;
  return R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"})" +
         std::string(strips ? R"(,{"type":"Strip","content":" ","start":1,"stop":0})" : "") + "]}";
}

std::string Sequence(const char* member, const Steps& steps) {
  std::string out = std::string(R"({"type":"Sequence",")") + member + "\":[";
  for (const std::string& step : steps) out.append(step).append(1, &step == &steps.back() ? ']' : ',');
  return steps.empty() ? "null" : out + "}";
}

}  // namespace

Rebuilding::Rebuilding(const std::string& file) {
  const std::string folder = file.substr(0, file.find_last_of("/\\") + 1);
  const auto path = [&](const char* name) { return folder + name; };
  const std::string settings = path("tokenizer_config.json"), model = path("config.json");
  const Document config(ReadIfThere(settings), settings);
  const std::string name = ClassOf(config, Document(ReadIfThere(model), model));
  for (const RebuildingClasses& one : AllRebuilding()) {
    if (!Has(one.names, name)) continue;
    name_ = name;
    normalizer_ = Expand(one.normalizer, name, one, config);
    pre_tokenizer_ = Expand(one.pre_tokenizer, name, one, config);
    model_ = one.model;
    decoder_ = one.model == kMerges       ? R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})"
               : one.model == kByteMerges ? BytesDecoder(pre_tokenizer_)
               : one.model == kWords      ? R"({"type":"WordPiece","prefix":"##","cleanup":true})"
                                          : pre_tokenizer_.back();  // Metaspace
  }
}

Rebuilt Rebuilding::Of(const simdjson::dom::element& file) const {
  simdjson::dom::element model, member;
  // AutoTokenizer sees the mistake of Llama 3 and its kin.
  if (name_.empty() || (name_ == "LlamaTokenizer" && HasByteLevel(file)) || file["model"].get(model) != simdjson::SUCCESS) return {};
  const std::string charsmap = CharsmapOf(file);
  Steps normalizer;
  for (const std::string& step : normalizer_) {
    if (step == "[charsmap]" ? !charsmap.empty() : step != "[line ends]" || charsmap.empty()) {
      normalizer.push_back(step == "[charsmap]" ? charsmap : step == "[line ends]" ? Replace("Regex", "\\n", " ") : step);
    }
  }
  std::string settings = model_;
  if (uint64_t unk; settings == "[unk]") {
    settings = model["unk_id"].get(unk) == simdjson::SUCCESS ? R"("byte_fallback":false,"unk_id":)" + std::to_string(unk) : "";
  }
  Rebuilt out;
  out.members = R"({"normalizer":)" + Sequence("normalizers", normalizer) + R"(,"pre_tokenizer":)" + Sequence("pretokenizers", pre_tokenizer_) +
                R"(,"decoder":)" + decoder_ + R"(,"model":{)" + settings + "}}";
  simdjson::dom::parser parser;
  const simdjson::dom::element made = parser.parse(out.members).value();
  const Steps before = NormalizerOf(file), after = NormalizerOf(made);
  out.differs = before != after || PreTokenizerOf(file, before) != PreTokenizerOf(made, after);
  out.lowers_before = Lowers(before);
  out.lowers_after = Lowers(after);
  // A class whose model is of another kind makes nothing of the file.
  const char* const own = model_ == kMerges || model_ == kByteMerges ? "merges" : model_ == kWords ? "continuing_subword_prefix" : nullptr;
  const bool same_kind = own != nullptr ? model[own].get(member) == simdjson::SUCCESS : model["vocab"].is_array();
  if (!out.differs || !same_kind) out.members.clear();
  return out;
}

std::string RebuiltNote(const std::string& file_name) try {
  const std::filesystem::path path(file_name), folder = path.parent_path();
  if (path.filename() == "vocab.json") return {};  // which is read as its class reads it
  const Rebuilding rebuilding(file_name);
  if (rebuilding.name().empty()) return {};
  simdjson::dom::parser parser;
  simdjson::dom::element file;
  if (WithMemory(parser.load(file_name).get(file)) != simdjson::SUCCESS) return {};
  const Rebuilt rebuilt = rebuilding.Of(file);
  if (!rebuilt.differs) return {};
  const char* const capitals = rebuilt.lowers_before == rebuilt.lowers_after ? ""
                               : rebuilt.lowers_before                       ? ": it does not lowercase them"
                                                                             : ": it lowercases them, unless tokenizer_config.json has "
                                                                               "\"do_lower_case\": false";
  const std::string place = folder.empty() ? "." : folder.string();
  return "AutoTokenizer of transformers 5 makes a " + rebuilding.name() + " of " + file_name + ", which has another normalizer, pre-tokenizer or "
         "setting of the model than the file as it is written, so some texts get other ids there" + capitals +
         (rebuilt.members.empty() ? ". The ids here are the file's" : ". Its ids are those of the folder, " + place + "; the file by itself has its own");
} catch (const builder::BuildError&) {
  return {};
}

}  // namespace rankfeed::folder
