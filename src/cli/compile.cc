// SPDX-License-Identifier: MIT
// cli/compile.cc: `rankfeed compile` and `rankfeed info`.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/checked.h"
#include "cli/cli.h"
#include "counters/allocation.h"
#include "folder/rebuilt.h"
#include "rankfeed/builder.hpp"

namespace rankfeed::cli {
namespace {

std::string Hex(const uint8_t* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

// Says so where AutoTokenizer of transformers 5 gives other ids for some texts than the file just
// compiled, as the configuration beside it shows.
void NoteOtherIds(const std::string& source, bool preset) {
  const std::filesystem::path path(source);
  const std::filesystem::path folder = path.parent_path();
  if (path.filename() == "tokenizer.json") {
    auto loaded = Vocabulary::Load(folder.empty() ? "." : folder.string());
    const std::string note = loaded ? loaded->note() : loaded.error().message;
    if (!note.empty()) fmt::print(stderr, "rankfeed: note: {}\n", note);
  }
  if (path.filename() != "vocab.txt" || preset) return;
  auto config = folder::ReadObject((folder / "tokenizer_config.json").string());
  if (config && config->contains("do_lower_case")) return;
  fmt::print(stderr,
             "rankfeed: note: no tokenizer_config.json beside {} has do_lower_case, so the image "
             "lowercases texts, as AutoTokenizer of transformers does. If it is the vocabulary of a "
             "cased model: --preset bert-cased\n",
             source);
}

struct CompileOptions {
  std::string source, output, parity, preset;
  std::string file;  // source, or the vocabulary in the folder that source is
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
  NoteOtherIds(o.file, !o.preset.empty());
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
      "compile", "Turn a vocabulary (.model, tokenizer.json, vocab.txt, vocab.json) into an image");
  auto o = std::make_shared<CompileOptions>();
  command
      ->add_option("MODEL", o->source,
                   "SentencePiece .model; tokenizer.json (Unigram, WordPiece or BPE); vocab.txt of a WordPiece model, with "
                   "--preset or as it lies in its folder; vocab.json of a BPE model beside its merges.txt; or a folder with one, whose "
                   "files then change the tokenizer.json as they do where --vocab is the folder")
      ->each([o = o.get()](const std::string& given) {
        o->file = std::filesystem::is_directory(given) ? Take(folder::VocabularyOf(given)) : given;
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
