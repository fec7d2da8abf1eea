// SPDX-License-Identifier: MIT
// cli/parity.cc: `rankfeed parity`: the ids of a user's own texts, here and in the reference library.
//
// Documents go to both in batches. One that differs is cut down: pieces of it are taken out as long
// as what remains still differs, halves first, single characters last (Zeller and Hildebrandt,
// Simplifying and Isolating Failure-Inducing Input, 2002), so that a report shows the few characters
// that matter.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/checked.h"
#include "cli/cli.h"
#include "cli/growing_encoder.h"
#include "cli/oracle.h"
#include "cli/text_source.h"
#include "rankfeed/builder.hpp"

namespace rankfeed::cli {
namespace {

using Ids = std::vector<int32_t>;

struct ParityOptions {
  VocabOptions vocab;
  ReferenceOptions reference;
  std::vector<std::string> files;
  uint64_t batch = 512, show = 20;
  bool jsonl = false, json = false;
};

struct Mismatch {
  std::string file, fragment;
  uint64_t line;
  Ids ours, theirs;
};

constexpr size_t kMaxBatchBytes = 4 << 20;
constexpr size_t kMaxReductions = 4000;  // texts tried for one mismatch

// One character, or one byte where the text is not UTF-8.
std::vector<std::string> Characters(const std::string& text) {
  std::vector<std::string> out;
  for (const char c : text) {
    const bool tail = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (tail && !out.empty() && out.back().size() < 4) {
      out.back() += c;
    } else {
      out.emplace_back(1, c);
    }
  }
  return out;
}

class Comparison {
 public:
  Comparison(const ParityOptions& o, const rankfeed_model* model, Oracle* oracle)
      : encoder_(model, false, kAnyStretch), oracle_(oracle) {
    encode_.struct_size = sizeof(encode_);
    if (o.reference.special) encode_.flags |= RANKFEED_ADD_SPECIAL_TOKENS;
  }

  // Texts are compared whatever they are: memory grows with the longest one.
  static constexpr uint32_t kAnyStretch = 0x7fffffff;

  // An unknown piece without an unknown id is an error on both sides.
  Ids Ours(const std::string& text) {
    const Error error = encoder_.For(text.size()).Encode(text, encode_, &encoding_);
    if (!error) return encoding_.input_ids;
    if (error.status == RANKFEED_E_UNK_ID) return {Oracle::kError};
    throw Failure(error.message);
  }

  // Indices of texts that differ; ours are kept for counting.
  std::vector<size_t> Differing(const std::vector<std::string>& texts, std::vector<Ids>* ours,
                                std::vector<Ids>* theirs) {
    *theirs = oracle_->Encode(texts);
    ours->clear();
    std::vector<size_t> differing;
    for (size_t i = 0; i < texts.size(); ++i) {
      ours->push_back(Ours(texts[i]));
      if (ours->back() != (*theirs)[i]) differing.push_back(i);
    }
    return differing;
  }

  // The smallest fragment found that still differs.
  std::string Reduce(const std::string& text) {
    std::vector<std::string> parts = Characters(text);
    size_t tried = 0;
    for (size_t chunk = parts.size() / 2; chunk > 0 && tried < kMaxReductions;) {
      bool smaller = false;
      for (size_t at = 0; at < parts.size() && tried < kMaxReductions;) {
        // A batch of candidates, each without one chunk.
        std::vector<std::string> candidates;
        std::vector<std::pair<size_t, size_t>> removed;
        for (; at < parts.size() && candidates.size() < 64; at += chunk) {
          const size_t end = std::min(at + chunk, parts.size());
          std::string candidate;
          for (size_t i = 0; i < parts.size(); ++i) {
            if (i < at || i >= end) candidate += parts[i];
          }
          candidates.push_back(std::move(candidate));
          removed.emplace_back(at, end);
        }
        tried += candidates.size();
        std::vector<Ids> ours, theirs;
        const std::vector<size_t> differing = Differing(candidates, &ours, &theirs);
        if (differing.empty()) continue;
        const auto [begin, end] = removed[differing[0]];
        parts.erase(parts.begin() + static_cast<ptrdiff_t>(begin),
                    parts.begin() + static_cast<ptrdiff_t>(end));
        at = begin;
        smaller = true;
      }
      if (!smaller || chunk > parts.size()) chunk = std::min(chunk / 2, parts.size() / 2);
      if (chunk == 0 && smaller && parts.size() > 1) chunk = 1;
    }
    std::string fragment;
    for (const std::string& part : parts) fragment += part;
    return fragment;
  }

 private:
  GrowingEncoder encoder_;
  Oracle* oracle_;
  rankfeed_encode_options encode_{};
  Encoding encoding_;
};

std::string Shown(const Ids& ids) {
  return ids == Ids{Oracle::kError} ? "error: unknown piece, no unknown id"
                                    : fmt::format("{}", fmt::join(ids, " "));
}

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

void RunParity(ParityOptions o) {
  const Vocabulary vocab = o.vocab.Load(VocabOptions::Reading::kAsWritten);
  Oracle oracle(o.reference, o.vocab, Info(vocab.model()));
  Comparison comparison(o, vocab.model(), &oracle);

  uint64_t documents = 0, tokens = 0, bytes = 0, mismatches = 0;
  std::vector<Mismatch> shown;
  const auto start = std::chrono::steady_clock::now();
  if (o.files.empty()) o.files.emplace_back("-");
  for (const std::string& path : o.files) {
    TextSource source(path, o.jsonl ? TextSource::Format::kJsonl : TextSource::Format::kByName);
    std::vector<std::string> texts;
    std::vector<uint64_t> lines;
    size_t size = 0;
    const auto flush = [&] {
      std::vector<Ids> ours, theirs;
      for (const size_t i : comparison.Differing(texts, &ours, &theirs)) {
        ++mismatches;
        if (shown.size() >= o.show) continue;
        const std::string fragment = comparison.Reduce(texts[i]);
        shown.push_back({path, fragment, lines[i], comparison.Ours(fragment), oracle.Encode({fragment})[0]});
        if (o.json) continue;
        fmt::print("{}:{}: {} characters of {} differ\n  fragment  {}\n  rankfeed  {}\n  reference {}\n",
                   path == "-" ? "standard input" : path, lines[i], Characters(fragment).size(),
                   Characters(texts[i]).size(), Quoted(fragment), Shown(shown.back().ours),
                   Shown(shown.back().theirs));
      }
      for (const Ids& ids : ours) tokens += ids.size();
      documents += texts.size();
      bytes += size;
      texts.clear();
      lines.clear();
      size = 0;
    };
    std::string text;
    while (source.Next(&text)) {
      size += text.size();
      texts.push_back(text);
      lines.push_back(source.line());
      if (texts.size() >= o.batch || size >= kMaxBatchBytes) flush();
    }
    flush();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (o.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Mismatch& m : shown) {
      list.push_back({{"file", m.file}, {"line", m.line}, {"fragment", m.fragment}, {"rankfeed", m.ours},
                      {"reference", m.theirs}});
    }
    const nlohmann::ordered_json object = {
        {"vocab", o.vocab.path}, {"reference", oracle.version()}, {"documents", documents},
        {"bytes", bytes},        {"tokens", tokens},              {"mismatches", mismatches},
        {"shown", list},         {"seconds", seconds.count()}};
    fmt::print("{}\n", object.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{} documents, {} bytes, {} tokens, {} mismatches against {}\n", documents, bytes, tokens,
               mismatches, oracle.version());
  }
  if (mismatches != 0) {
    std::fflush(stdout);
    throw Failure("{} of {} documents differ from {}", mismatches, documents, oracle.version());
  }
}

}  // namespace

void AddParity(CLI::App& app) {
  auto* command = app.add_subcommand(
      "parity", "Compare the ids of your own texts with the reference library's; fails on any difference");
  auto o = std::make_shared<ParityOptions>();
  o->vocab.Add(*command);
  command->add_option("--against", o->reference.library, "Reference library")
      ->check(CLI::IsMember({"sentencepiece", "huggingface"}))
      ->required();
  o->reference.Add(*command);
  command->add_option("FILES", o->files,
                      "Texts, one per line or JSONL with a field \"text\"; standard input when absent or -");
  command->add_flag("--jsonl", o->jsonl, "Texts are JSONL whatever the files are called");
  command->add_flag("--special", o->reference.special, "With the special tokens of the template (huggingface)");
  AddNumber(*command, "--batch", o->batch, 1, 1 << 20, "Documents handed over at once");
  command->add_option("--show", o->show, "Mismatches to cut down and print; all are counted")
      ->capture_default_str();
  command->add_flag("--json", o->json, "Print one JSON object");
  command->callback([o] { RunParity(*o); });
}

}  // namespace rankfeed::cli
