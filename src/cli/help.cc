// SPDX-License-Identifier: MIT
// cli/help.cc: what teaches the command line: examples at the end of each command's help, and what
// was meant by a word that is no command.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "cli/cli.h"

namespace rankfeed::cli {
namespace {

struct Examples {
  const char* command;  // as it is typed after `rankfeed`
  const char* lines;
};

constexpr Examples kExamples[] = {
    {"compile",
     "  rankfeed compile tokenizer.json -o vocab.rfimg\n"
     "  rankfeed compile sentencepiece.bpe.model --parity sentencepiece -o vocab.rfimg"},
    {"info", "  rankfeed info --vocab vocab.rfimg\n  rankfeed info --vocab tokenizer.json --json"},
    {"encode",
     "  rankfeed encode --vocab vocab.rfimg --special passages.txt\n"
     "  echo 'What is a panda?' | rankfeed encode --vocab vocab.rfimg --pieces"},
    {"decode",
     "  rankfeed encode --vocab vocab.rfimg passages.txt | rankfeed decode --vocab vocab.rfimg"},
    {"batch",
     "  rankfeed batch --vocab vocab.rfimg --query 'What is a panda?' --docs passages.jsonl "
     "--max-tokens 8192\n"
     "  rankfeed batch --vocab vocab.rfimg --query 'What is a panda?' --docs passages.jsonl --npz "
     "batches.npz"},
    {"corpus",
     "  rankfeed corpus build --vocab vocab.rfimg --docs passages.jsonl -o docs.rfc\n"
     "  rankfeed corpus get docs.rfc panda-en"},
    {"corpus build",
     "  rankfeed corpus build --vocab vocab.rfimg --docs passages.jsonl -o docs.rfc"},
    {"corpus append", "  rankfeed corpus append --vocab vocab.rfimg --docs more.jsonl docs.rfc"},
    {"corpus info", "  rankfeed corpus info docs.rfc"},
    {"corpus get",
     "  rankfeed corpus get docs.rfc panda-en\n  rankfeed corpus get --all --json docs.rfc"},
    {"corpus remove", "  rankfeed corpus remove docs.rfc panda-en"},
    {"corpus verify", "  rankfeed corpus verify docs.rfc"},
    {"corpus compact", "  rankfeed corpus compact docs.rfc"},
    {"corpus merge", "  rankfeed corpus merge -o docs.rfc shard-0.rfc shard-1.rfc"},
    {"corpus manifest",
     "  rankfeed corpus manifest -o docs.json shard-0.rfc shard-1.rfc\n  rankfeed corpus verify docs.json"},
    {"parity", "  rankfeed parity --vocab tokenizer.json --against huggingface passages.txt"},
    {"receipt",
     "  rankfeed receipt run --vocab vocab.rfimg --docs passages.jsonl --queries questions.txt -o "
     "receipt.json\n"
     "  rankfeed receipt show receipt.json --html receipt.html"},
    {"receipt run",
     "  rankfeed receipt run --vocab vocab.rfimg --trace live.jsonl --load 1 -o receipt.json"},
    {"receipt show", "  rankfeed receipt show receipt.json --html receipt.html"},
    {"receipt statement",
     "  rankfeed receipt statement receipt.json --vocab vocab.rfimg --trace live.jsonl -o receipt.intoto.json"},
    {"receipt diff", "  rankfeed receipt diff before.json after.json --gate"},
    {"audit",
     "  rankfeed audit --vocab vocab.rfimg --trace trace.jsonl --load 1 --html report.html\n"
     "  rankfeed audit --vocab vocab.rfimg --trace trace.jsonl --gpu-forward-ms 12 --json"},
    {"trace",
     "  rankfeed trace make --docs passages.jsonl --queries questions.txt -o trace.jsonl"},
    {"trace make",
     "  rankfeed trace make --docs passages.jsonl --queries questions.txt --requests 1000 --rate "
     "40 -o trace.jsonl"},
    {"rerank",
     "  rankfeed rerank --vocab vocab.rfimg --model MODEL_FOLDER --query 'What is a panda?' --docs "
     "passages.jsonl --top 5\n"
     "  rankfeed rerank --vocab vocab.rfimg --model MODEL_FOLDER --query 'What is a panda?' --docs "
     "- --json <passages.txt"},
    {"serve",
     "  rankfeed serve --model MODEL_FOLDER\n"
     "  rankfeed serve --vocab vocab.rfimg --model MODEL_FOLDER --port 8080 --admin-port 8081\n"
     "  curl -s localhost:8080/rerank -d '{\"query\": \"What is a panda?\", \"texts\": [\"A "
     "bear.\", \"Bamboo.\"]}'"},
};

// Letters to put in, leave out or change.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Returns the word that was meant by one that is none of them, or "" where none is near: the word that it begins, else the
// one of the fewest letters to change.
std::string Nearest(std::string_view word, const std::vector<std::string>& words) {
  std::string best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : words) {
    const size_t distance = candidate.starts_with(word) ? 1 : Distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

}  // namespace

void AddExamples(CLI::App& app) {
  for (const Examples& examples : kExamples) {
    CLI::App* command = &app;
    for (std::string_view rest = examples.command; command != nullptr && !rest.empty();) {
      const size_t space = std::min(rest.find(' '), rest.size());
      const std::string word(rest.substr(0, space));
      rest.remove_prefix(std::min(space + 1, rest.size()));
      const auto found =
          command->get_subcommands([&](CLI::App* c) { return c->get_name() == word; });
      command = found.empty() ? nullptr : found.front();
    }
    if (command != nullptr) command->footer(std::string("Examples:\n") + examples.lines);
  }
}

void CheckCommandNames(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = &app;
  std::string typed;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const auto commands = command->get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty()) return;
    std::vector<std::string> names;
    for (const CLI::App* candidate : commands) names.push_back(candidate->get_name());
    const auto named = std::find(names.begin(), names.end(), argv[i]);
    if (named == names.end()) {
      const std::string meant = Nearest(argv[i], names);
      throw WrongCommand(fmt::format("no command `rankfeed{} {}`; {}", typed, argv[i],
                                     meant.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                                   : fmt::format("did you mean `rankfeed{} {}`?", typed, meant)));
    }
    typed += ' ';
    typed += argv[i];
    command = commands[static_cast<size_t>(named - names.begin())];
  }
}

void CheckOptionNames(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(/*recurse=*/true);
  const auto found = std::find_if(left.begin(), left.end(), [](const std::string& word) { return word.size() > 1 && word[0] == '-'; });
  if (found == left.end()) return;
  const std::string option = found->substr(0, found->find('='));
  const CLI::App* command = &app;
  std::string typed = "rankfeed";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    typed += ' ' + command->get_name();
  }
  std::vector<std::string> names;
  for (const CLI::Option* known : command->get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  const std::string meant = option.starts_with("--") ? Nearest(option, names) : "";
  throw WrongCommand(fmt::format("`{}` has no option {}; {}", typed, option,
                                 meant.empty() ? fmt::format("`{} --help` lists those it has", typed) : fmt::format("did you mean {}?", meant)));
}

std::string Bytes(double bytes) {
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.0f} bytes", bytes);
}

}  // namespace rankfeed::cli
