// SPDX-License-Identifier: MIT
// cli/compile.cc: `rankfeed compile` and `rankfeed info`; the note on files that a class of
// transformers 5 reads in its own way.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.h"
#include "counters/allocation.h"
#include "rankfeed/builder.hpp"
#include "receipt/engine.h"

namespace rankfeed::cli {
namespace {

std::string Hex(const uint8_t* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

// --- What transformers 5 makes of a file --------------------------------------------------------

// Steps of a normalizer or pre-tokenizer, as Describe() writes them. Those in brackets are there
// under a condition: [charsmap] if the file has one, [accents] without keep_accents, [lower] with
// do_lower_case, [punctuation] with split_by_punct of tokenizer_config.json. [bert] is the normalizer
// that the same file describes; what a WordPiece model is asked with comes after the normalizer.
using Steps = std::vector<std::string>;

// A tokenizer class of transformers 5 that has its own constructor: of a tokenizer.json it keeps
// vocabulary, charsmap and template, and puts these steps in place of the file's.
struct RebuildingClass {
  std::string_view name;
  std::vector<std::string_view> model_types;  // of config.json, where no file names a class
  Steps normalizer, pre_tokenizer;
  bool do_lower_case = false, keep_accents = true;  // where tokenizer_config.json has none
};

const std::vector<RebuildingClass>& RebuildingClasses() {
  const Steps words = {"WhitespaceSplit", "Metaspace(always, split)"};
  const Steps metaspace = {"Metaspace(always, split)"};
  const Steps charsmap = {"[charsmap]"}, charsmap_spaces = {"[charsmap]", "Replace( {2,} by  )"};
  const Steps bert = {"[bert]", "WordPiece(##, 100)"}, bert_words = {"BertPreTokenizer"};
  const std::string first_quotes = "Replace(`` by \")", second_quotes = "Replace('' by \")";
  static const std::vector<RebuildingClass> classes = {
      {"AlbertTokenizer",
       {"albert"},
       {first_quotes, second_quotes, "[accents]", "[lower]", "[charsmap]"},
       words,
       true,
       false},
      {"BigBirdTokenizer", {"big_bird"}, {"Replace( {2,} by ▁)"}, metaspace},
      {"CamembertTokenizer", {"camembert"}, charsmap, words},
      {"DebertaV2Tokenizer",
       {"deberta-v2"},
       {"[lower]", "Replace(\\s{2,}|[\\n\\r\\t] by  )", "NFC", "Strip(right)"},
       {"[punctuation]", "Metaspace(always, split)"}},
      {"LasrTokenizer", {}, charsmap, words},
      {"LayoutXLMTokenizer", {}, {"Strip(right)", "Replace( {2,} by ▁)"}, metaspace},
      {"MBartTokenizer", {"mbart"}, {}, words},
      {"MBart50Tokenizer", {}, charsmap_spaces, metaspace},
      {"MLukeTokenizer", {}, {first_quotes, second_quotes}, metaspace},
      {"PegasusTokenizer", {"pegasus"}, charsmap_spaces, metaspace},
      {"RemBertTokenizer",
       {"rembert"},
       {first_quotes, second_quotes, "Replace( {2,} by  )", "[accents]", "[lower]", "[charsmap]"},
       metaspace},
      {"T5Tokenizer", {"t5", "mt5"}, charsmap, words},
      {"UdopTokenizer", {"udop"}, {}, words},
      {"VideoPrismTokenizer", {}, charsmap, words},
      {"XGLMTokenizer", {"xglm"}, charsmap_spaces, metaspace},
      {"XLMRobertaTokenizer", {"xlm-roberta"}, charsmap, words},
      {"BertTokenizer",
       {"bert", "distilbert", "electra", "convbert", "ernie", "layoutlm", "megatron-bert", "mobilebert",
        "nezha", "nomic_bert", "squeezebert"},
       bert,
       bert_words,
       true},
      {"DistilBertTokenizer", {}, bert, bert_words, true},
      {"ElectraTokenizer", {}, bert, bert_words, true},
      {"LayoutLMTokenizer", {}, bert, bert_words, true},
      {"LxmertTokenizer", {}, bert, bert_words, true},
      {"MobileBertTokenizer", {}, bert, bert_words, true},
      {"MPNetTokenizer", {"mpnet"}, bert, bert_words, true},
      {"SqueezeBertTokenizer", {}, bert, bert_words, true},
      {"XLNetTokenizer",
       {"xlnet"},
       {first_quotes, second_quotes, "[accents]", "[lower]", "[charsmap]"},
       words,
       false,
       false},
  };
  return classes;
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

std::string DescribeBert(bool clean, bool cjk, bool strip, bool lower) {
  return fmt::format("BertNormalizer({}, {}, {}, {})", clean, cjk, strip, lower);
}

std::string Describe(const simdjson::dom::element& step) {
  const std::string type(Text(step, "type"));
  if (type == "Replace") {
    std::string_view pattern;
    if (step["pattern"]["Regex"].get(pattern) != simdjson::SUCCESS)
      pattern = Text(step["pattern"], "String");
    return fmt::format("Replace({} by {})", pattern, Text(step, "content"));
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
    return fmt::format("Metaspace({}, {})", Text(step, "prepend_scheme", scheme),
                       Flag(step, "split", true) ? "split" : "whole");
  }
  if (type == "BertNormalizer") {
    const bool lower = Flag(step, "lowercase", true);
    return DescribeBert(Flag(step, "clean_text", true), Flag(step, "handle_chinese_chars", true),
                        Flag(step, "strip_accents", lower), lower);
  }
  return type == "Punctuation" ? fmt::format("Punctuation({})", Text(step, "behavior")) : type;
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

Steps Expand(const Steps& steps, const RebuildingClass& rebuilding,
             const simdjson::dom::element& config, bool has_charsmap) {
  Steps out;
  for (const std::string& step : steps) {
    if (step == "[charsmap]") {
      if (has_charsmap) out.emplace_back("Precompiled");
    } else if (step == "[bert]") {
      const bool lower = Flag(config, "do_lower_case", rebuilding.do_lower_case);
      out.push_back(DescribeBert(true, Flag(config, "tokenize_chinese_chars", true),
                                 Flag(config, "strip_accents", lower), lower));
    } else if (step == "[lower]") {
      if (Flag(config, "do_lower_case", rebuilding.do_lower_case)) out.emplace_back("Lowercase");
    } else if (step == "[accents]") {
      // XLNet's class takes accents off whatever its configuration says.
      if (rebuilding.name == "XLNetTokenizer" ||
          !Flag(config, "keep_accents", rebuilding.keep_accents)) {
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

// The class of AutoTokenizer in the folder, if it is one that rebuilds.
const RebuildingClass* ClassOf(const simdjson::dom::element& tokenizer_config,
                               const simdjson::dom::element& config) {
  const std::string_view model_type = Text(config, "model_type");
  // AutoTokenizer takes the file as it is for these, whatever class is named.
  constexpr std::array<std::string_view, 3> kAsWritten = {"bigbird_pegasus", "umt5",
                                                          "xlm-roberta-xl"};
  if (std::find(kAsWritten.begin(), kAsWritten.end(), model_type) != kAsWritten.end())
    return nullptr;
  simdjson::dom::element code;  // of the folder's own, which may do anything
  if (tokenizer_config["auto_map"].get(code) == simdjson::SUCCESS) return nullptr;
  std::string_view name =
      Text(tokenizer_config, "tokenizer_class", Text(config, "tokenizer_class"));
  if (name.ends_with("Fast")) name.remove_suffix(4);
  for (const RebuildingClass& one : RebuildingClasses()) {
    const auto& types = one.model_types;
    if (name.empty() ? std::find(types.begin(), types.end(), model_type) != types.end()
                     : name == one.name) {
      return &one;
    }
  }
  return nullptr;
}

bool Lowers(const Steps& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const std::string& step) {
    return step == "Lowercase" || (step.starts_with("BertNormalizer") && step.ends_with(" true)"));
  });
}

// A JSON file, or an empty object where it cannot be read.
simdjson::dom::element ReadJson(simdjson::dom::parser* parser, const std::filesystem::path& path) {
  simdjson::dom::element read;
  if (parser->load(path.string()).get(read) != simdjson::SUCCESS)
    read = parser->parse(std::string_view("{}")).value();
  return read;
}

// Says so where AutoTokenizer of transformers 5 gives other ids for some texts than the file just
// compiled, as the configuration beside it shows.
void NoteOtherIds(const std::string& source, bool preset) {
  const std::filesystem::path path(source), folder = path.parent_path();
  if (path.filename() == "tokenizer.json") {
    std::string note;
    const auto file = folder::VocabularyOf(folder.empty() ? "." : folder.string(), &note);
    if (!file) note = file.error().message;
    if (!note.empty()) fmt::print(stderr, "rankfeed: note: {}\n", note);
  }
  simdjson::dom::parser configs[2], parser;
  const simdjson::dom::element tokenizer_config =
      ReadJson(&configs[0], folder / "tokenizer_config.json");
  if (path.filename() == "vocab.txt" && !preset &&
      tokenizer_config["do_lower_case"].error() != simdjson::SUCCESS) {
    fmt::print(stderr,
               "rankfeed: note: no tokenizer_config.json beside {} has do_lower_case, so the image "
               "lowercases texts, as AutoTokenizer of transformers does. If it is the vocabulary of a "
               "cased model: --preset bert-cased\n",
               source);
  }
  if (path.extension() != ".json") return;
  const RebuildingClass* const rebuilding =
      ClassOf(tokenizer_config, ReadJson(&configs[1], folder / "config.json"));
  if (rebuilding == nullptr) return;
  const simdjson::dom::element file = ReadJson(&parser, path);
  Steps normalizer, pre_tokenizer;
  simdjson::dom::element part;
  if (file["normalizer"].get(part) == simdjson::SUCCESS) Collect(part, &normalizer);
  if (file["pre_tokenizer"].get(part) == simdjson::SUCCESS) Collect(part, &pre_tokenizer);
  const bool lowers = Lowers(normalizer);
  uint64_t most;
  if (file["model"]["max_input_chars_per_word"].get(most) == simdjson::SUCCESS) {
    normalizer.push_back(fmt::format(
        "WordPiece({}, {})", Text(file["model"], "continuing_subword_prefix"), most));
  }
  const bool charsmap =
      std::find(normalizer.begin(), normalizer.end(), "Precompiled") != normalizer.end();
  const Steps rebuilt = Expand(rebuilding->normalizer, *rebuilding, tokenizer_config, charsmap);
  if (normalizer == rebuilt &&
      pre_tokenizer == Expand(rebuilding->pre_tokenizer, *rebuilding, tokenizer_config, charsmap)) {
    return;
  }
  fmt::print(
      stderr,
      "rankfeed: note: the image follows {} as it is written, as the tokenizers library does. "
      "AutoTokenizer of transformers 5 makes a {} of it, which has another normalizer or "
      "pre-tokenizer, so some texts get other ids there{}. For those ids: python -m rankfeed "
      "compile --from-transformers {} -o IMAGE\n",
      source, rebuilding->name,
      lowers == Lowers(rebuilt) ? ""
      : lowers                  ? ": it does not lowercase them"
                                : ": it lowercases them, unless tokenizer_config.json has "
                                  "\"do_lower_case\": false",
      folder.empty() ? "." : folder.string());
}

struct CompileOptions {
  std::string source, output, parity, preset;
  bool verbose = false;
};

void RunCompile(const CompileOptions& o) {
  VocabOptions vocab;
  vocab.parity = o.parity;
  const rankfeed_compile_options options{sizeof(options), vocab.parity_number(),
                                         o.preset.empty() ? nullptr : o.preset.c_str()};
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  std::optional<counters::AllocationPhase> phase;
  if (o.verbose) phase.emplace();
  const auto start = std::chrono::steady_clock::now();
  if (rankfeed_compile_file(o.source.c_str(), o.output.c_str(), &options, &error) != RANKFEED_OK) {
    throw Failure(error.message);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  counters::AllocationCounts allocated;
  if (phase) allocated = phase->Counts();
  phase.reset();
  auto model = Model::Open(o.output.c_str());
  if (!model) throw Failure(model.error().message);
  const rankfeed_model_info info = Info(model->get());
  fmt::print("{}: {} ids, {} pieces, {} parity, {}, {:.2f} s\n", o.output, info.id_count,
             info.piece_count, rankfeed_parity_name(info.parity), Bytes(info.image_size),
             seconds.count());
  NoteOtherIds(o.source, !o.preset.empty());
  if (!o.verbose) return;
  if (counters::AllocationAccountingInstalled()) {
    fmt::print("memory: peak {}, {} allocations of {} in total (mimalloc)\n",
               Bytes(allocated.peak_bytes), allocated.count,
               Bytes(allocated.bytes));
  } else {
    fmt::print("memory: unavailable: {}\n", counters::AllocationAccountingReason());
  }
}

void RunInfo(const VocabOptions& vocab, bool json) {
  const Vocabulary loaded = vocab.Load();
  const rankfeed_model_info i = Info(loaded.model());
  const auto id = [](int32_t v) {
    return v < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(v);
  };
  auto encoder = Encoder::Create(loaded.model(), 64);
  if (!encoder) throw Failure(encoder.error().message);
  const char* const off_fast_road = rankfeed_model_off_fast_road(loaded.model());
  const char* const not_cut = rankfeed_encode_begin_obstacle(encoder->get(), nullptr);
  const rankfeed_placement placement = loaded.placement();
  nlohmann::ordered_json facts = {
      {"vocab", vocab.path},
      {"model", rankfeed_model_kind(loaded.model())},
      {"parity", rankfeed_parity_name(i.parity)},
      {"id_count", i.id_count},
      {"piece_count", i.piece_count},
      {"max_piece_chars", i.max_piece_chars},
      {"unk_id", id(i.unk_id)},
      {"bos_id", id(i.bos_id)},
      {"eos_id", id(i.eos_id)},
      {"pad_id", id(i.pad_id)},
      {"cls_id", id(i.cls_id)},
      {"sep_id", id(i.sep_id)},
      {"mask_id", id(i.mask_id)},
      {"specials_single", i.specials_single},
      {"specials_pair", i.specials_pair},
      {"position_offset", i.position_offset},
      {"token_type_ids", i.has_token_type_ids != 0},
      {"byte_fallback", i.byte_fallback != 0},
      {"image_bytes", i.image_size},
      {"config_hash", Hex(i.config_hash, sizeof(i.config_hash))},
      {"isa", encoder->Isa()},
      {"isas", InstructionSets(Isas::kRun)},
      {"pages", rankfeed_pages_name(placement.pages)},
      {"huge_page_bytes", placement.huge_bytes != UINT64_MAX
                              ? nlohmann::ordered_json(placement.huge_bytes)
                              : nlohmann::ordered_json("unavailable")},
  };
  if (json) {
    facts["fast_road"] = off_fast_road == nullptr;
    facts["off_fast_road"] =
        off_fast_road != nullptr ? nlohmann::ordered_json(off_fast_road) : nlohmann::ordered_json();
    facts["cuts_long_texts"] = not_cut == nullptr;
    facts["not_cut"] = not_cut != nullptr ? nlohmann::ordered_json(not_cut) : nlohmann::ordered_json();
    fmt::print("{}\n", facts.dump(2));
    return;
  }
  for (const auto& [name, value] : facts.items()) {
    fmt::print("{:<16} {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  fmt::print("long texts are cut: {}\n",
             not_cut != nullptr ? fmt::format("no: {}", not_cut) : "yes");
  fmt::print("fast road: {}\n",
             off_fast_road != nullptr ? fmt::format("no: {}", off_fast_road) : "yes");
}

}  // namespace

void AddCompile(CLI::App& app) {
  auto* command = app.add_subcommand(
      "compile", "Turn a SentencePiece .model or a HuggingFace tokenizer.json into an image");
  auto o = std::make_shared<CompileOptions>();
  command
      ->add_option("MODEL", o->source,
                   "SentencePiece .model; tokenizer.json (Unigram, WordPiece or BPE); vocab.txt of a WordPiece model, with "
                   "--preset or as it lies in its folder; vocab.json of a BPE model beside its merges.txt; or a folder with one")
      ->transform([](const std::string& given) {
        std::string note;  // that NoteOtherIds prints
        return std::filesystem::is_directory(given) ? rankfeed::receipt::Take(folder::VocabularyOf(given, &note)) : given;
      })
      ->required();
  command->add_option("-o,--output", o->output, "Image file to write (replaced by rename)")
      ->required();
  AddParityOption(*command, &o->parity);
  command->add_option("--preset", o->preset,
                      "Model family whose template and id map to use for files that lack one");
  command->add_flag("--verbose", o->verbose, "Also print what the compile allocated");
  command->callback([o] { RunCompile(*o); });
}

void AddInfo(CLI::App& app) {
  auto* command = app.add_subcommand("info", "Print facts about a vocabulary");
  auto vocab = std::make_shared<VocabOptions>();
  auto json = std::make_shared<bool>(false);
  vocab->Add(*command);
  command->add_flag("--json", *json, "Print one JSON object");
  command->callback([vocab, json] { RunInfo(*vocab, *json); });
}

}  // namespace rankfeed::cli
