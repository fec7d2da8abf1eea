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

// Steps of a normalizer or pre-tokenizer, as Describe() writes them. Those in brackets are there
// under a condition: [charsmap] if the file has one, [accents] without keep_accents, [lower] with
// do_lower_case, [punctuation] with split_by_punct of tokenizer_config.json. [bert] is the normalizer
// that the same file describes, [metaspace], [bytes] and [bytes, regex] are pre-tokenizers that do; what a
// model is asked with, WordPiece or BPE, comes after the normalizer.
using Steps = std::vector<std::string>;

// Tokenizer classes of transformers 5 that have a constructor of their own: of a tokenizer.json they keep
// vocabulary, charsmap and template, and put these steps in place of the file's.
struct RebuildingClasses {
  std::vector<std::string_view> names;
  Steps normalizer, pre_tokenizer;
  bool do_lower_case = false, keep_accents = true;  // where tokenizer_config.json has none
};

constexpr const char* kQwen2Split =
    R"(Split((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+, Isolated))";

const std::vector<RebuildingClasses>& AllRebuilding() {
  const Steps metaspace = {"Metaspace(always, split)"}, words = {"WhitespaceSplit", "Metaspace(always, split)"};
  const std::string first_quotes = "Replace(`` by \")", second_quotes = "Replace('' by \")";
  const Steps folded = {first_quotes, second_quotes, "[accents]", "[lower]", "[charsmap]"};
  static const std::vector<RebuildingClasses> all = {
      {{"AlbertTokenizer"}, folded, words, true, false},
      {{"XLNetTokenizer"}, folded, words, false, false},
      {{"RemBertTokenizer"},
       {first_quotes, second_quotes, "Replace( {2,} by  )", "[accents]", "[lower]", "[charsmap]"}, metaspace},
      {{"MLukeTokenizer"}, {first_quotes, second_quotes}, metaspace},
      {{"CamembertTokenizer", "LasrTokenizer", "T5Tokenizer", "VideoPrismTokenizer", "XLMRobertaTokenizer"},
       {"[charsmap]"}, words},
      {{"MBart50Tokenizer", "PegasusTokenizer", "XGLMTokenizer"}, {"[charsmap]", "Replace( {2,} by  )"}, metaspace},
      {{"MBartTokenizer", "UdopTokenizer"}, {}, words},
      {{"BigBirdTokenizer"}, {"Replace( {2,} by ▁)"}, metaspace},
      {{"LayoutXLMTokenizer"}, {"Strip(right)", "Replace( {2,} by ▁)"}, metaspace},
      {{"DebertaV2Tokenizer"}, {"[lower]", "Replace(\\s{2,}|[\\n\\r\\t] by  )", "NFC", "Strip(right)"},
       {"[punctuation]", "Metaspace(always, split)"}},
      {{"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "LayoutLMTokenizer", "LxmertTokenizer",
        "MobileBertTokenizer", "MPNetTokenizer", "SqueezeBertTokenizer"},
       {"[bert]", "WordPiece(##, 100)"}, {"BertPreTokenizer"}, true},
      {{"GPT2Tokenizer", "RobertaTokenizer"}, {"BPE(no bytes, merges)"}, {"[bytes, regex]"}},
      {{"Qwen2Tokenizer"}, {"NFC", "BPE(no bytes, merges)"}, {kQwen2Split, "[bytes]"}},
      {{"LlamaTokenizer"}, {"BPE(bytes, merges)"}, {"[metaspace]"}},
      {{"GemmaTokenizer"}, {"Replace(  by ▁)", "BPE(bytes, merges)"}, {}},
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

// A class that rebuilds, by the name that it is asked for.
struct Rebuilding {
  std::string_view name;
  const RebuildingClasses* as = nullptr;  // null: no such class
};

Steps Expand(const Steps& steps, const Rebuilding& rebuilding, const simdjson::dom::element& config,
             bool has_charsmap) {
  Steps out;
  for (const std::string& step : steps) {
    if (step == "[charsmap]") {
      if (has_charsmap) out.emplace_back("Precompiled");
    } else if (step == "[bert]") {
      const bool lower = Flag(config, "do_lower_case", rebuilding.as->do_lower_case);
      out.push_back(DescribeBert(true, Flag(config, "tokenize_chinese_chars", true),
                                 Flag(config, "strip_accents", lower), lower));
    } else if (step == "[bytes]" || step == "[bytes, regex]") {
      out.push_back(DescribeBytes(Flag(config, "add_prefix_space", false), step != "[bytes]"));
    } else if (step == "[metaspace]") {
      const char* const first = Flag(config, "legacy", false) ? "always" : "first";
      out.push_back(Call("Metaspace", {Flag(config, "add_prefix_space", true) ? first : "never", "whole"}));
    } else if (step == "[lower]") {
      if (Flag(config, "do_lower_case", rebuilding.as->do_lower_case)) out.emplace_back("Lowercase");
    } else if (step == "[accents]") {
      // XLNet's class takes accents off whatever its configuration says.
      if (rebuilding.name == "XLNetTokenizer" || !Flag(config, "keep_accents", rebuilding.as->keep_accents)) {
        out.insert(out.end(), {"NFKD", "StripAccents"});
      }
    } else if (step == "[punctuation]") {
      if (Flag(config, "split_by_punct", false)) out.emplace_back("Punctuation(Isolated)");
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

// The class of AutoTokenizer in the folder, if it is one that rebuilds.
Rebuilding ClassOf(const simdjson::dom::element& tokenizer_config, const simdjson::dom::element& config) {
  const std::string_view model_type = Text(config, "model_type");
  simdjson::dom::element code;  // of the folder's own, which may do anything
  if (Has(kAsWritten, model_type) || tokenizer_config["auto_map"].get(code) == simdjson::SUCCESS) return {};
  std::string_view name = Text(tokenizer_config, "tokenizer_class", Text(config, "tokenizer_class"));
  if (name.ends_with("Fast")) name.remove_suffix(4);
  if (model_type == "qwen2") name = "Qwen2Tokenizer";  // whatever class is named
  if (name.empty()) name = ClassOfModelType(model_type);
  for (const RebuildingClasses& one : AllRebuilding()) {
    if (Has(one.names, name)) return {*std::find(one.names.begin(), one.names.end(), name), &one};
  }
  return {};
}

bool Lowers(const Steps& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const std::string& step) {
    return step == "Lowercase" || (step.starts_with("BertNormalizer") && step.ends_with(" true)"));
  });
}

// A JSON file, or an empty object where it cannot be read.
simdjson::dom::element ReadJson(simdjson::dom::parser* parser, const std::filesystem::path& path) {
  simdjson::dom::element read;
  simdjson::padded_string text;
  if (WithMemory(simdjson::padded_string::load(path.string()).get(text)) == simdjson::SUCCESS) {
    ShortenIntegers(&text);
    if (WithMemory(parser->parse(text).get(read)) == simdjson::SUCCESS) return read;
  }
  return parser->parse(std::string_view("{}")).value();
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
  uint64_t most;
  simdjson::dom::element merges;
  if (part["max_input_chars_per_word"].get(most) == simdjson::SUCCESS) {
    steps.push_back(Call("WordPiece", {Text(part, "continuing_subword_prefix"), std::to_string(most)}));
  } else if (part["merges"].get(merges) == simdjson::SUCCESS) {
    steps.push_back(Call("BPE", {Flag(part, "byte_fallback", false) ? "bytes" : "no bytes",
                                 Flag(part, "ignore_merges", false) ? "whole words" : "merges"}));
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

}  // namespace

std::string RebuildingClass(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  simdjson::dom::parser configs[2];
  return std::string(ClassOf(ReadJson(&configs[0], folder / "tokenizer_config.json"), ReadJson(&configs[1], folder / "config.json")).name);
}

std::string RebuiltNote(const std::string& file_name) {
  const std::filesystem::path path(file_name), folder = path.parent_path();
  if (path.filename() == "vocab.json") return {};  // which is read as its class reads it
  simdjson::dom::parser configs[2], parser;
  const simdjson::dom::element tokenizer_config =
      ReadJson(&configs[0], folder / "tokenizer_config.json");
  const Rebuilding rebuilding = ClassOf(tokenizer_config, ReadJson(&configs[1], folder / "config.json"));
  if (rebuilding.as == nullptr) return {};
  const simdjson::dom::element file = ReadJson(&parser, path);
  // AutoTokenizer sees the mistake of Llama 3 and its kin.
  if (rebuilding.name == "LlamaTokenizer" && HasByteLevel(file)) return {};
  const Steps normalizer = NormalizerOf(file), pre_tokenizer = PreTokenizerOf(file, normalizer);
  const auto expand = [&](const Steps& steps) {
    return Expand(steps, rebuilding, tokenizer_config, Has(normalizer, "Precompiled"));
  };
  const Steps rebuilt = expand(rebuilding.as->normalizer);
  if (normalizer == rebuilt && pre_tokenizer == expand(rebuilding.as->pre_tokenizer)) return {};
  const bool lowers = Lowers(normalizer);
  const char* const capitals = lowers == Lowers(rebuilt) ? ""
                               : lowers                  ? ": it does not lowercase them"
                                                         : ": it lowercases them, unless tokenizer_config.json has "
                                                           "\"do_lower_case\": false";
  return file_name + " is followed as it is written, as the tokenizers library does. AutoTokenizer of transformers 5 makes a " +
         std::string(rebuilding.name) + " of it, which has another normalizer, pre-tokenizer or setting of the model, so some texts " +
         "get other ids there" + capitals + ". For those ids: python -m rankfeed compile --from-transformers " +
         (folder.empty() ? "." : folder.string()) + " -o IMAGE";
}

}  // namespace rankfeed::folder
