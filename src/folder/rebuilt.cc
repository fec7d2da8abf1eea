// SPDX-License-Identifier: MIT
// folder/rebuilt.cc: see rebuilt.h.
#include "folder/rebuilt.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "builder/files/hf_pipeline.h"
#include "folder/classes.h"
#include "folder/document.h"

namespace rankfeed::folder {
namespace {

using builder::StepSpec;
using simdjson::SUCCESS;
using simdjson::dom::element;

// Elements of a normalizer or pre-tokenizer as JSON, in which ' stands for ". Those in brackets are written by the settings of
// tokenizer_config.json: [accents] without keep_accents, [lower] with do_lower_case, [punctuation] with split_by_punct, [bert]
// the normalizer of BERT, [metaspace] and [first] Metaspace, [bytes] and [bytes, regex] ByteLevel; or by the file: [charsmap]
// if it has one, [line ends] if not.
using Steps = std::vector<std::string>;

// Tokenizer classes of transformers 5 that have a constructor of their own: of a tokenizer.json they keep
// vocabulary, charsmap and template, and put these elements in place of the file's.
struct RebuildingClasses {
  std::vector<std::string_view> names;
  Steps normalizer, pre_tokenizer;
  std::string_view model;  // members of its model; [unk]: the file's unk_id, since the class looks for the token
  bool do_lower_case = false, keep_accents = true;  // where tokenizer_config.json has none
  std::string bare = "always";  // how [metaspace] prepends where add_prefix_space is false; always: it is not read
};

std::string Replace(std::string pattern, const std::string& content) {
  return "{'type':'Replace','pattern':{" + pattern + "},'content':'" + content + "'}";
}

// Members of models.
constexpr std::string_view kWords = "'continuing_subword_prefix':'##','max_input_chars_per_word':100",
                           kMerges = "'merges':[],'byte_fallback':false,'ignore_merges':false",
                           kByteMerges = "'merges':[],'byte_fallback':true,'ignore_merges':false",
                           kUnk = "[unk]", kUnk0 = "'byte_fallback':false,'unk_id':0", kUnk1 = "'byte_fallback':false,'unk_id':1",
                           kUnk2 = "'byte_fallback':false,'unk_id':2", kUnk3 = "'byte_fallback':false,'unk_id':3";

const std::vector<RebuildingClasses>& AllRebuilding() {
  const std::string first_quotes = Replace("'String':'``'", "\\u0022"), second_quotes = Replace("'String':'\\u0027\\u0027'", "\\u0022");
  const std::string spaces = Replace("'Regex':' {2,}'", " "), metas = Replace("'Regex':' {2,}'", "▁");
  const std::string strip = "{'type':'Strip','strip_left':false,'strip_right':true}", nfc = "{'type':'NFC'}";
  const Steps metaspace = {"[metaspace]"}, words = {"{'type':'WhitespaceSplit'}", "[metaspace]"}, charsmap = {"[charsmap]"};
  const Steps folded = {first_quotes, second_quotes, "[accents]", "[lower]", "[charsmap]"};
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
      {{"BigBirdTokenizer"}, {"{'type':'Strip','strip_left':false,'strip_right':false}", metas}, metaspace, kUnk, false, true, "never"},
      {{"LayoutXLMTokenizer"}, {strip, metas}, metaspace, kUnk3, false, true, "never"},
      {{"DebertaV2Tokenizer"}, {"[lower]", Replace("'Regex':'\\\\s{2,}|[\\\\n\\\\r\\\\t]'", " "), nfc, strip}, {"[punctuation]", "[metaspace]"}, kUnk,
       false, true, "first"},
      {{"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "LayoutLMTokenizer", "LxmertTokenizer",
        "MobileBertTokenizer", "MPNetTokenizer", "SqueezeBertTokenizer"},
       {"[bert]"}, {"{'type':'BertPreTokenizer'}"}, kWords, true},
      {{"BartTokenizer", "GPT2Tokenizer", "LEDTokenizer", "LongformerTokenizer", "MvpTokenizer", "RobertaTokenizer"}, {}, {"[bytes, regex]"}, kMerges},
      {{"Qwen2Tokenizer"}, {nfc}, {kQwen2Split, "[bytes]"}, kMerges},
      {{"LlamaTokenizer"}, {}, {"[first]"}, kByteMerges},
      {{"GemmaTokenizer"}, {Replace("'String':' '", "▁")}, {}, kByteMerges},
  };
  return all;
}

template <class List>
bool Has(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string Word(bool flag) {
  return flag ? "true" : "false";
}

// A flag as a constructor in Python takes it: null, where it is given, is false.
bool Given(const Document& config, const char* key, bool fallback) {
  config.root().EachMember([&](std::string_view name, const builder::Json& value) {
    if (name == key) fallback = !value.is_null() && value.Bool();
  });
  return fallback;
}

std::string Metaspace(const std::string& scheme, bool split) {
  return "{'type':'Metaspace','replacement':'▁','prepend_scheme':'" + scheme + "','split':" + Word(split) + "}";
}

// The elements as the settings write them; those that the file writes stay.
Steps Expand(const Steps& steps, const std::string& name, const RebuildingClasses& as, const Document& config) {
  const bool lowers = Given(config, "do_lower_case", as.do_lower_case);
  Steps out;
  for (const std::string& step : steps) {
    if (step == "[bert]") {
      out.push_back("{'type':'BertNormalizer','clean_text':true,'handle_chinese_chars':" + Word(Given(config, "tokenize_chinese_chars", true)) +
                    ",'strip_accents':" + Word(config.root().BoolOr("strip_accents", lowers)) + ",'lowercase':" + Word(lowers) + "}");
    } else if (step == "[bytes]" || step == "[bytes, regex]") {
      out.push_back("{'type':'ByteLevel','add_prefix_space':" + Word(Given(config, "add_prefix_space", false)) +
                    ",'trim_offsets':true,'use_regex':" + Word(step != "[bytes]") + "}");
    } else if (step == "[metaspace]") {
      out.push_back(Metaspace(as.bare == "always" || Given(config, "add_prefix_space", true) ? "always" : as.bare, true));
    } else if (step == "[first]") {
      const char* const first = Given(config, "legacy", false) ? "always" : "first";
      out.push_back(Metaspace(config.root().BoolOr("add_prefix_space", true) ? first : "never", false));
    } else if (step == "[lower]") {
      if (lowers) out.push_back("{'type':'Lowercase'}");
    } else if (step == "[accents]") {
      // XLNet's class takes accents off whatever its configuration says.
      if (name == "XLNetTokenizer" || !Given(config, "keep_accents", as.keep_accents)) {
        out.insert(out.end(), {"{'type':'NFKD'}", "{'type':'StripAccents'}"});
      }
    } else if (step == "[punctuation]") {
      if (Given(config, "split_by_punct", false)) out.push_back("{'type':'Punctuation','behavior':'Isolated'}");
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

// Elements that decide ids, of a file or of what a class has in its place.
struct Pipeline {
  std::vector<StepSpec> normalizer, pre_tokenizer;
};

bool Same(const std::vector<StepSpec>& one, const std::vector<StepSpec>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const StepSpec& a, const StepSpec& b) {
    return a.op == b.op && a.arg0 == b.arg0 && a.arg1 == b.arg1 && a.a == b.a && a.b == b.b;
  });
}

// Nothing for an element that is not supported, which its reader refuses.
std::optional<Pipeline> PipelineOf(const element& file) try {
  const builder::JsonSource source;
  const builder::Json root(source, file, "");
  Pipeline out;
  std::string charsmap;
  ReadNormalizer(root.Find("normalizer"), &out.normalizer, &charsmap);
  ReadPreTokenizer(root.Find("pre_tokenizer"), &out.pre_tokenizer);
  return out;
} catch (const builder::BuildError&) {
  return std::nullopt;
}

bool Mentions(const element& file, const char* member, std::string_view json) {
  element part;
  return file[member].get(part) == SUCCESS && std::string(simdjson::minify(part)).find(json) != std::string::npos;
}

// The first element of the file's normalizer that holds a charsmap, where transformers looks for it.
std::string CharsmapOf(const element& file) {
  element normalizer;
  simdjson::dom::array list;
  const auto holds_one = [](const element& step) {
    std::string_view type;
    return step["type"].get(type) == SUCCESS && type == "Precompiled";
  };
  if (file["normalizer"].get(normalizer) != SUCCESS) return {};
  if (holds_one(normalizer)) return simdjson::minify(normalizer);
  if (normalizer["normalizers"].get(list) != SUCCESS) return {};
  const auto found = std::find_if(list.begin(), list.end(), holds_one);
  return found == list.end() ? std::string() : std::string(simdjson::minify(*found));
}

std::string Sequence(const std::string& member, const Steps& steps) {
  std::string out = "{\"type\":\"Sequence\",\"" + member + "\":[";
  for (const std::string& step : steps) out.append(step).append(1, &step == &steps.back() ? ']' : ',');
  return steps.empty() ? "null" : out + "}";
}

// The JSON that the text of a table stands for.
std::string Quoted(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

// Members of a model that a class has otherwise than the file; what a file leaves out is false.
bool DiffersIn(const element& model, const element& made) {
  const simdjson::dom::object members = made.get_object();
  return std::any_of(members.begin(), members.end(), [&](const auto& member) {
    element own;
    const std::string json = model[member.key].get(own) == SUCCESS ? std::string(simdjson::minify(own)) : "false";
    return member.key != "merges" && json != std::string(simdjson::minify(member.value));
  });
}

}  // namespace

Rebuilding::Rebuilding(const std::string& file) {
  const std::string folder = file.substr(0, file.find_last_of("/\\") + 1), settings = folder + "tokenizer_config.json", model = folder + "config.json";
  const Document config(ReadIfThere(settings), settings);
  const std::string name = ClassOf(config, Document(ReadIfThere(model), model));
  for (const RebuildingClasses& one : AllRebuilding()) {
    if (!Has(one.names, name)) continue;
    name_ = name;
    normalizer_ = Expand(one.normalizer, name, one, config);
    pre_tokenizer_ = Expand(one.pre_tokenizer, name, one, config);
    model_ = one.model;
    // A text of pieces with ▁ and bytes loses the space that Metaspace put in front of it.
    const bool strips = name == "LlamaTokenizer" && config.root().BoolOr("add_prefix_space", true);
    decoder_ = model_ == kMerges  ? "{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,'use_regex':true}"
               : model_ == kWords ? "{'type':'WordPiece','prefix':'##','cleanup':true}"
               : model_ != kByteMerges
                   ? pre_tokenizer_.back()  // Metaspace
                   : "{'type':'Sequence','decoders':[{'type':'Replace','pattern':{'String':'▁'},'content':' '},{'type':'ByteFallback'},{'type':'Fuse'}" +
                         std::string(strips ? ",{'type':'Strip','content':' ','start':1,'stop':0}" : "") + "]}";
  }
}

Rebuilt Rebuilding::Of(const element& file) const {
  element model, member;
  if (name_.empty() || file["model"].get(model) != SUCCESS) return {};
  // AutoTokenizer sees the mistake of Llama 3 and its kin.
  const bool has_bytes = Mentions(file, "pre_tokenizer", "\"ByteLevel\"") || Mentions(file, "decoder", "\"ByteLevel\"");
  if (name_ == "LlamaTokenizer" && has_bytes) return {};
  const std::string charsmap = CharsmapOf(file);
  Steps normalizer, pre_tokenizer;
  for (const std::string& step : normalizer_) {
    if (step != "[charsmap]" && (step != "[line ends]" || charsmap.empty())) {
      normalizer.push_back(Quoted(step == "[line ends]" ? Replace("'Regex':'\\n'", " ") : step));
    } else if (step == "[charsmap]" && !charsmap.empty()) {
      normalizer.push_back(charsmap);
    }
  }
  for (const std::string& step : pre_tokenizer_) pre_tokenizer.push_back(Quoted(step));
  std::string settings = model_;
  if (uint64_t unk; settings == kUnk) {
    settings = model["unk_id"].get(unk) == SUCCESS ? "'byte_fallback':false,'unk_id':" + std::to_string(unk) : "";
  }
  Rebuilt out;
  out.members = Quoted("{'normalizer':") + Sequence("normalizers", normalizer) + Quoted(",'pre_tokenizer':") + Sequence("pretokenizers", pre_tokenizer) +
                Quoted(",'decoder':" + decoder_ + ",'model':{" + settings + "}}");
  simdjson::dom::parser parser;
  const element made = parser.parse(out.members).value();
  const auto before = PipelineOf(file), after = PipelineOf(made);
  // A normalizer of Gemma's leaves no space to split at.
  const bool no_space = name_ == "GemmaTokenizer" && Mentions(file, "pre_tokenizer", "{\"String\":\" \"}");
  out.differs = !before || !after || !Same(before->normalizer, after->normalizer) ||
                (!no_space && !Same(before->pre_tokenizer, after->pre_tokenizer)) || DiffersIn(model, made["model"]);
  const auto lowers = [](const element& one) {
    return Mentions(one, "normalizer", "\"Lowercase\"") || Mentions(one, "normalizer", "\"lowercase\":true");
  };
  out.lowers_before = lowers(file);
  out.lowers_after = lowers(made);
  // A class whose model is of another kind makes nothing of the file.
  const bool same_kind = model_ == kMerges || model_ == kByteMerges ? model["merges"].get(member) == SUCCESS
                         : model_ == kWords                         ? model["continuing_subword_prefix"].get(member) == SUCCESS
                                                                    : model["vocab"].is_array();
  if (!out.differs || !same_kind) out.members.clear();
  return out;
}

std::string Rebuilding::NoteOf(const Rebuilt& rebuilt, const std::string& file) const {
  if (!rebuilt.differs) return {};
  const char* const capitals = rebuilt.lowers_before == rebuilt.lowers_after ? ""
                               : rebuilt.lowers_before                       ? ": it does not lowercase them"
                                                                             : ": it lowercases them, unless tokenizer_config.json has "
                                                                               "\"do_lower_case\": false";
  return "AutoTokenizer of transformers 5 makes a " + name_ + " of " + file + ", which has another normalizer, pre-tokenizer or setting of the " +
         "model than the file as it is written, so some texts get other ids there" + capitals +
         (rebuilt.members.empty() ? ". The ids here are the file's" : ". Its ids are those of the folder; the file by itself has its own");
}

}  // namespace rankfeed::folder
