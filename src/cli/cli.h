// SPDX-License-Identifier: MIT
// cli/cli.h: what the subcommands of `rankfeed` share.
#pragma once

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "serve/folder/folder.h"
#include "rankfeed/builder.hpp"

namespace rankfeed::cli {

using folder::FileDefaults;
using folder::FolderConfig;

// An error with a message as it is, or as fmt makes it.
struct CommandError : std::runtime_error {
  using std::runtime_error::runtime_error;
  template <class First, class... Rest>
  CommandError(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest)
      : std::runtime_error(fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...)) {}
};

// Ends the command: the message goes to stderr, the process exits with code 1.
struct Failure : CommandError {
  using CommandError::CommandError;
};

// Each adds one subcommand with its options; the callback runs it.
void AddCompile(CLI::App& app);
void AddInfo(CLI::App& app);
void AddEncode(CLI::App& app);
void AddDecode(CLI::App& app);
void AddBatch(CLI::App& app);
void AddCorpus(CLI::App& app);
void AddParity(CLI::App& app);
void AddReceipt(CLI::App& app);
void AddAudit(CLI::App& app);
void AddRerank(CLI::App& app);  // only with rankfeed_crossencoder
void AddServe(CLI::App& app);   // likewise

// The command line is wrong: the message goes to stderr, the process exits with code 2.
struct WrongCommand : CommandError {
  using CommandError::CommandError;
};

// Sets how helps look, before commands are added; and gives each command's options their groups and its help the
// examples at the end, after all were.
void SetHelp(CLI::App& app);
void FinishHelp(CLI::App& app);

// --vocab in the help of a command; that of the program says what each kind gives.
inline constexpr char kVocabHelp[] =
    "Vocabulary: an image, .model, tokenizer.json, vocab.txt, vocab.json, or a model's folder; `rankfeed --help` says what each gives";
// Throws WrongCommand, with the command that may have been meant, where a word that ought to be one is none.
void CheckCommandNames(const CLI::App& app, int argc, char** argv);
// The same of an option that the command has not, after a parse that failed.
void CheckOptionNames(const CLI::App& app);

// 8.3 MB, 57.4 kB, 812 bytes.
std::string Bytes(double bytes);

// --parity, as every command that reads a model file has it.
void AddParityOption(CLI::App& command, std::string* parity);
int32_t ParityNumber(const std::string& name);  // RANKFEED_PARITY_*, AUTO for none

// --pages, as every command that opens a vocabulary has it.
CLI::Option* AddPagesOption(CLI::App& command, std::string* pages);
Pages PagesOf(const std::string& name);

// --preset, and --label of a classifier with several.
void AddPresetOption(CLI::App& command, std::string* preset);
void AddLabelOption(CLI::App& command, std::string* label);

// --vocab and what goes with it, as every command that opens a vocabulary has them.
struct VocabOptions {
  std::string path, parity, preset;
  std::string folder;  // of a model, where --vocab was one; path is then its tokenizer.json
  std::string pages = "auto";
  bool map_file = false;
  // required: false for a command whose --model may bring the vocabulary (TakeFolder).
  void Add(CLI::App& command, bool required = true);
  // Takes the vocabulary in that model's folder where no --vocab is given. Throws Failure.
  void TakeFolder(const std::string& model);
  int32_t parity_number() const;  // RANKFEED_PARITY_*
  Pages on() const;
  // Throws Failure. kAsWritten: of a folder its file alone, as the tokenizers library reads it.
  enum class Reading { kAsAutoTokenizer, kAsWritten };
  Vocabulary Load(Reading reading = Reading::kAsAutoTokenizer) const;
  // The folder's tokenizer_config.json; empty where --vocab was a file. Throws Failure.
  FolderConfig Config() const;
  // --file-defaults: truncation and padding of the tokenizer.json. Throws Failure where --vocab is something else.
  FileDefaults Defaults() const;

 private:
  void OpenFolder(const std::string& given);
};

// --specials-in-text, as every command that tokenizes texts has it.
struct SpecialsOption {
  std::string mode = "parse";
  bool split = false;
  void Add(CLI::App& command);
  bool is_given() const { return given != nullptr && given->count() != 0; }  // --specials-in-text
  // Takes the folder's word where --specials-in-text says nothing.
  void Take(const FolderConfig& config) { split |= config.settings.split_special_tokens && !is_given(); }
  uint32_t flags() const;  // RANKFEED_SPECIALS_* and RANKFEED_SPLIT_SPECIAL_TOKENS

 private:
  CLI::Option* given = nullptr;
};

// Adds a number from least to most, whose default the help shows.
template <class T>
CLI::Option* AddNumber(CLI::App& command, const char* name, T& to, int least, int most, const char* help) {
  return command.add_option(name, to, help)->check(CLI::Range(least, most))->capture_default_str();
}

// --max-stretch-bytes, as rankfeed_limits has it.
void AddMaxStretchBytes(CLI::App& command, uint32_t& bytes);

// Names of instruction sets, from the least to the greatest: those this CPU can run, or all.
enum class Isas { kRun, kAll };
std::vector<std::string> InstructionSets(Isas which);

}  // namespace rankfeed::cli
