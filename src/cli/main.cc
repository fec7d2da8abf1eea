// SPDX-License-Identifier: MIT
// cli/main.cc: entry point of the `rankfeed` program; one file per subcommand.
//
// Exit codes: 0 success, 1 the command failed (reason on stderr), 2 the command line is wrong.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <utility>

#include "cli/checked.h"
#include "cli/cli.h"
#include "serve/folder/pairing.h"
#include "rankfeed/builder.h"
#include "rankfeed/encode.h"
#include "rankfeed/version.h"

namespace rankfeed::cli {

void AddParityOption(CLI::App& command, std::string* parity) {
  command
      .add_option(
          "--parity", *parity,
          "Reference whose ids to equal: huggingface (tokenizer.json), sentencepiece (.model, "
          "the newest releases) or sentencepiece-0.2.1 (.model, releases up to 0.2.1). "
          "Default: huggingface or sentencepiece, by the file's format")
      ->check(CLI::IsMember({"huggingface", "sentencepiece", "sentencepiece-0.2.1"}));
}

CLI::Option* AddPagesOption(CLI::App& command, std::string* pages) {
  std::vector<std::string> names;
  for (uint32_t i = 0; rankfeed_pages_name(i) != nullptr; ++i)
    names.emplace_back(rankfeed_pages_name(i));
  return command
      .add_option(
          "--pages", *pages,
          "Memory pages the vocabulary lies on: auto (the largest there are), hugetlb "
          "(preallocated 2 MiB pages, or an error), transparent (transparent huge pages where the "
          "system gives them), base (4 KiB), file (an image in place, shared between processes)")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
}

Pages PagesOf(const std::string& name) {
  uint32_t pages = 0;
  while (rankfeed_pages_name(pages) != nullptr && name != rankfeed_pages_name(pages)) ++pages;
  return Pages{pages};
}

void AddPresetOption(CLI::App& command, std::string* preset) {
  command.add_option("--preset", *preset,
                     "Model family whose template and id map to use for files that lack one, for "
                     "example xlm-roberta");
}

void AddLabelOption(CLI::App& command, std::string* label) {
  command.add_option("--label", *label,
                     "Name or number of the label that ranks, of a model with several; its score is its "
                     "share of them (softmax), or its sigmoid where config.json's problem_type is "
                     "multi_label_classification");
}

void VocabOptions::Add(CLI::App& command, bool required) {
  command
      .add_option("--vocab", path, kVocabHelp)
      ->transform([this](const std::string& given) {
        if (!std::filesystem::is_directory(given)) return given;
        OpenFolder(given);
        return path;
      })
      ->required(required);
  AddParityOption(command, &parity);
  AddPresetOption(command, &preset);
  auto* const on = AddPagesOption(command, &pages);
  command
      .add_flag(
          "--map-file", map_file,
          "--pages file, and the same for stores: images and stores are used in place, shared "
          "between processes, and not copied: only for files that nobody else changes")
      ->excludes(on);
}

Pages VocabOptions::on() const {
  return map_file ? Pages::kFile : PagesOf(pages);
}

void VocabOptions::OpenFolder(const std::string& given) {
  folder = given;
  path = Take(folder::VocabularyOf(given));
}

void VocabOptions::TakeFolder(const std::string& model) {
  if (path.empty()) OpenFolder(folder::FolderOf(model));
}

FolderConfig VocabOptions::Config() const {
  return folder.empty() ? FolderConfig{} : Take(folder::ReadFolderConfig(folder));
}

FileDefaults VocabOptions::Defaults() const {
  const std::optional<FileDefaults> found = folder::ReadFileDefaults(path);
  if (!found) throw Failure("--file-defaults needs a tokenizer.json as --vocab; {} is none", path);
  return *found;
}

Vocabulary VocabOptions::Load(Reading reading) const {
  auto loaded =
      Vocabulary::Load(folder.empty() || reading == Reading::kAsWritten ? path : folder, parity_number(), preset.empty() ? nullptr : preset.c_str(), on());
  if (!loaded) throw Failure(loaded.error().message);
  if (*loaded->note() != 0) fmt::print(stderr, "rankfeed: note: {}\n", loaded->note());
  return std::move(*loaded);
}

int32_t ParityNumber(const std::string& name) {
  uint32_t number = 0;
  if (rankfeed_parity_from_name(name.c_str(), &number) != RANKFEED_OK) return RANKFEED_PARITY_AUTO;
  return static_cast<int32_t>(number);
}

int32_t VocabOptions::parity_number() const {
  return ParityNumber(parity);
}

void SpecialsOption::Add(CLI::App& command) {
  given = command
      .add_option("--specials-in-text", mode,
                  "Special tokens typed in a text, such as </s>: parse (they become the token, as "
                  "HuggingFace does), escape (plain text), error (an error of that text). Else as "
                  "split_special_tokens of the vocabulary's folder says")
      ->check(CLI::IsMember({"parse", "escape", "error"}))
      ->capture_default_str();
  command.add_flag(
      "--split-special-tokens", split,
      "HuggingFace's encode_special_tokens: as escape, but the model still finds special "
      "tokens that are pieces of the vocabulary");
}

void AddMaxStretchBytes(CLI::App& command, uint32_t& bytes) {
  command
      .add_option("--max-stretch-bytes", bytes,
                  "Longest stretch of a text that leaves the fast road and cannot be cut, such as a "
                  "base64 image inside a document, or a whole text with the tokenizers of Mistral, Llama 2 and "
                  "Gemma; a longer one is an error of its text, which says what is enough. 0: 256 KiB")
      ->capture_default_str();
}

uint32_t SpecialsOption::flags() const {
  return (split ? uint32_t{RANKFEED_SPLIT_SPECIAL_TOKENS} : 0u) |
         (mode == "escape"  ? uint32_t{RANKFEED_SPECIALS_ESCAPE}
          : mode == "error" ? uint32_t{RANKFEED_SPECIALS_ERROR}
                            : uint32_t{RANKFEED_SPECIALS_PARSE});
}

std::vector<std::string> InstructionSets(Isas which) {
  std::vector<std::string> names;
  const char* name = nullptr;
  int32_t runs = 0;
  for (uint32_t i = 0; rankfeed_isa(i, &name, &runs) == RANKFEED_OK && name != nullptr; ++i) {
    if (runs != 0 || which == Isas::kAll) names.emplace_back(name);
  }
  return names;
}

namespace {

// RANKFEED_ISA: the instruction set that all encoders of the command run.
void ForceInstructionSet() {
  const char* const name = std::getenv("RANKFEED_ISA");
  if (name == nullptr || *name == 0) return;
  const rankfeed_status status = rankfeed_force_isa(name);
  if (status == RANKFEED_OK) return;
  throw Failure(
      "RANKFEED_ISA={}: {}; there are {}; this CPU can run {}", name,
      status == RANKFEED_E_UNSUPPORTED ? "this CPU cannot run it" : "no such instruction set",
      fmt::join(InstructionSets(Isas::kAll), ", "), fmt::join(InstructionSets(Isas::kRun), ", "));
}

// Names which of the programs of this name it is: the package of Debian and the wheel of Python may both be on a machine.
std::string Version() {
#ifdef RANKFEED_WHEEL_PROGRAM
  constexpr const char* kKind = "program of the Python package";
#else
  constexpr const char* kKind = "program of the C++ build";
#endif
  std::error_code unknown;
  const std::filesystem::path place = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return fmt::format("rankfeed {}, {}{}{}", rankfeed_version_string(), kKind, unknown ? "" : ", ", place.string());
}

#ifdef RANKFEED_WHEEL_PROGRAM
// Commands of the C++ build that are not here; each says what is in its place.
void AddElsewhere(CLI::App& app) {
  struct Elsewhere {
    const char *name, *instead;
  };
  for (const Elsewhere& one : {Elsewhere{"batch", "rankfeed.Tokenizer.encode_pairs makes the same rows"},
                               Elsewhere{"corpus", "rankfeed.CorpusWriter and rankfeed.Corpus write and read stores"},
                               Elsewhere{"receipt", "nothing in the package measures it"},
                               Elsewhere{"audit", "nothing in the package measures it"},
                               Elsewhere{"trace", "nothing in the package makes it"}}) {
    auto* const command = app.add_subcommand(one.name, "Not in the program of the Python package");
    command->allow_extras()->group("")->set_help_flag();
    command->parse_complete_callback([one] {
      throw Failure("`rankfeed {}` is in the C++ build (docs/install.md), not in the program of the Python package; {}", one.name,
                    one.instead);
    });
  }
}
#endif

}  // namespace
}  // namespace rankfeed::cli

int main(int argc, char** argv) {
  CLI::App app("rankfeed: exact Unigram, WordPiece and BPE tokenization and reranker batches", "rankfeed");
  app.set_version_flag("--version", rankfeed::cli::Version());
  app.require_subcommand(1);
  rankfeed::cli::SetHelp(app);
  rankfeed::cli::AddCompile(app);
  rankfeed::cli::AddInfo(app);
  rankfeed::cli::AddEncode(app);
  rankfeed::cli::AddDecode(app);
#ifdef RANKFEED_WHEEL_PROGRAM
  rankfeed::cli::AddParity(app);
  rankfeed::cli::AddElsewhere(app);
#else
  rankfeed::cli::AddBatch(app);
  rankfeed::cli::AddCorpus(app);
  rankfeed::cli::AddParity(app);
  rankfeed::cli::AddReceipt(app);
  rankfeed::cli::AddAudit(app);
#endif
#ifdef RANKFEED_WITH_CROSSENCODER
  rankfeed::cli::AddRerank(app);
  rankfeed::cli::AddServe(app);
#endif
  rankfeed::cli::FinishHelp(app);
  // Before the command runs, and after --help and --version, which do not need it.
  app.parse_complete_callback(rankfeed::cli::ForceInstructionSet);
  try {
    rankfeed::cli::CheckCommandNames(app, argc, argv);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      if (e.get_exit_code() != 0) rankfeed::cli::CheckOptionNames(app);  // before what is missing for want of it
      throw;
    }
    if (std::fflush(stdout) != 0) throw rankfeed::cli::Failure("writing to standard output failed");
    return 0;
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code != 0 ? 2 : std::fflush(stdout) != 0 ? 1 : 0;
  } catch (const rankfeed::cli::WrongCommand& e) {
    std::fprintf(stderr, "rankfeed: %s\n", e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fputs("rankfeed: out of memory\n", stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rankfeed: %s\n", e.what());  // fmt::print would throw where nothing can be written
  }
  return 1;
}
