// SPDX-License-Identifier: MIT
// cli/help.cc: what teaches the command line: helps in groups, as wide as the terminal, with examples at their ends, and what
// was meant by a word that is no command or option.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <sstream>
#include <string_view>
#include <utility>

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
    {"receipt show",
     "  rankfeed receipt show receipt.json --html receipt.html\n"
     "  rankfeed receipt show before.json after.json --html both.html"},
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

struct Group {
  const char* name;
  std::vector<std::string_view> options;
};

// Options of one kind, in every command that has many. What is in no group comes first.
const std::vector<Group>& Groups() {
  static const std::vector<Group> groups = {
      {"Vocabulary", {"vocab", "parity", "preset", "pages", "map-file"}},
      {"Model", {"model", "model-name", "label", "device", "graph-tokens", "raw"}},
      {"Texts", {"specials-in-text", "split-special-tokens", "special", "extra-options", "jsonl", "max-stretch-bytes"}},
      {"Rows",
       {"max-length", "truncation", "truncation-side", "template", "instruction", "prefix", "middle", "suffix", "max-query-tokens",
        "max-tokens-per-doc", "overflow", "stride", "max-chunks-per-doc", "file-defaults", "no-auto-truncate", "max-batch-tokens"}},
      {"Batches",
       {"layout", "padding-side", "pad-to-multiple-of", "pad-to-length", "sort", "max-rows", "max-tokens", "budget", "slots", "slot-bytes"}},
      {"Output", {"ids", "pieces", "json", "offsets", "stats", "show", "npz", "top", "html", "output"}},
      {"Listeners", {"host", "port", "admin-host", "admin-port", "api-key-file"}},
      {"Log", {"log-level", "log-format"}},
      {"Limits",
       {"workers", "queue", "deadline-ms", "header-timeout-ms", "idle-timeout-ms", "drain-ms", "max-connections", "max-body",
        "body-memory", "max-documents", "max-request-tokens", "max-json-depth", "max-json-elements"}}};
  return groups;
}

constexpr size_t kManyOptions = 10;  // of a command; fewer stay in one list

void SetGroups(CLI::App& command) {
  for (CLI::App* inner : command.get_subcommands([](CLI::App*) { return true; })) SetGroups(*inner);
  const auto options = command.get_options([](CLI::Option* option) { return option->nonpositional(); });
  if (options.size() < kManyOptions) return;
  for (const Group& group : Groups()) {
    for (CLI::Option* option : options) {
      if (std::find(group.options.begin(), group.options.end(), option->get_single_name()) != group.options.end()) option->group(group.name);
    }
  }
}

// Returns the columns of the terminal, at least 60 and at most 120; 80 where standard output is none.
size_t Columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::clamp<size_t>(size.ws_col, 60, 120);
}

// Returns the text in lines of at most so many bytes, but for longer words.
std::string Wrap(std::string_view text, size_t width) {
  std::string out;
  size_t used = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const bool breaks = used != 0 && used + 1 + word.size() > width;
    if (breaks) used = 0;
    if (!out.empty()) out += breaks ? '\n' : ' ';
    out += word;
    used += word.size() + (used != 0);
  }
  return out;
}

class Wrapped : public CLI::Formatter {
  std::string make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const override {
    std::string out = CLI::Formatter::make_help(command, std::move(name), mode);
    for (size_t at; (at = out.find("\n\n\n")) != out.npos;) out.erase(at, 1);  // between groups
    return out;
  }
  std::string make_description(const CLI::App* command) const override {
    return Wrap(CLI::Formatter::make_description(command), Columns());
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrap(option->get_description(), Columns() - column_width_);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_display_name(true), Wrap(command->get_description(), Columns() - column_width_),
                             column_width_);
    return out.str();
  }
};

constexpr std::string_view kVocabularies =
    "A vocabulary (--vocab) is an image made by `rankfeed compile`, a SentencePiece .model, a HuggingFace tokenizer.json, a vocab.txt or "
    "vocab.json, or a model's folder with one. The files of a folder then give batch, rerank and serve their --max-length "
    "(max_seq_length, model_max_length) and the end that is cut off (truncation_side), and batch the side of padding and the padding token. "
    "Truncation and padding inside a tokenizer.json are left aside without --file-defaults (encode, batch), but for sides and token of a "
    "folder that says them nowhere else.";

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

void SetHelp(CLI::App& app) {
  app.formatter(std::make_shared<Wrapped>());  // before commands are added, which take it over
  app.footer(Wrap(kVocabularies, Columns()) +
             "\n\n`rankfeed COMMAND --help` explains a command.\n" +
             Wrap("RANKFEED_ISA in the environment names the instruction set to run (`rankfeed info` lists them).", Columns()) +
             "\n\nExamples:\n"
             "  rankfeed compile tokenizer.json -o vocab.rfimg\n"
             "  rankfeed encode --vocab vocab.rfimg --special passages.txt\n"
             "  rankfeed rerank --vocab vocab.rfimg --model MODEL_FOLDER --query 'What is a panda?' --docs passages.jsonl");
}

void FinishHelp(CLI::App& app) {
  SetGroups(app);
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
      throw WrongCommand("no command `rankfeed{} {}`; {}", typed, argv[i],
                                     meant.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                                   : fmt::format("did you mean `rankfeed{} {}`?", typed, meant));
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
  throw WrongCommand("`{}` has no option {}; {}", typed, option,
                                 meant.empty() ? fmt::format("`{} --help` lists those it has", typed) : fmt::format("did you mean {}?", meant));
}

std::string Bytes(double bytes) {
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.0f} bytes", bytes);
}

}  // namespace rankfeed::cli
