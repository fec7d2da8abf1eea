// SPDX-License-Identifier: MIT
// measure/options.cc: see options.h.
#include "measure/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/store.h"
#include "cli/text_source.h"
#include "rankfeed/builder.hpp"
#include "measure/foreign_engine.h"

namespace rankfeed::cli {

using namespace measure;

namespace {

struct LoadedFree {
  void operator()(rankfeed_loaded* loaded) const { rankfeed_loaded_free(loaded); }
};

// A reference library as an engine, which says no times.
class ReferenceEngine final : public Engine {
 public:
  ReferenceEngine(const ReferenceOptions& options, const VocabOptions& vocab, const rankfeed_model* model)
      : oracle_(options, vocab, Info(model)) {
    const size_t name = oracle_.version().rfind(' ');  // after "transformers 5 with", where that is
    info_.implementation = oracle_.version().substr(0, name);
    info_.version = oracle_.version().substr(name + 1);
    info_.parity = rankfeed_parity_name(Info(model).parity);
    info_.in_process = false;
  }
  const EngineInfo& info() const override { return info_; }
  void Encode(std::span<const std::string_view> texts, EncodedTexts* out) override {
    out->ids.clear();
    out->begin.assign(1, 0);
    for (const auto& ids : oracle_.Encode({texts.begin(), texts.end()})) {
      out->ids.insert(out->ids.end(), ids.begin(), ids.end());
      out->begin.push_back(static_cast<uint32_t>(out->ids.size()));
    }
    out->ns.assign(texts.size(), 0);
  }

 private:
  Oracle oracle_;
  EngineInfo info_;
};

std::vector<std::string> Texts(const std::string& path) {
  TextSource source(path, TextSource::Format::kByName);
  std::vector<std::string> texts;
  for (std::string text; source.Next(&text);) texts.push_back(text);
  return texts;
}

}  // namespace

void WorkloadOptions::Add(CLI::App& command, bool with_trace) {
  auto* documents = command.add_option(
      "--docs", docs, "Documents, one per line or JSONL: candidates of made requests, or what the "
                      "ids of a trace name");
  if (with_trace) {
    command.add_option("--trace", trace, "Requests to replay: JSONL, see docs/audit.md");
    command.add_option("--corpus", corpus, "Corpus store, or manifest of stores, that candidates by id are taken from");
  } else {
    documents->required();
  }
  command.add_option("--queries", queries, "Queries of made requests (default: first words of documents)");
  command.add_option("--requests", synthetic.requests, "Made requests")->capture_default_str();
  command.add_option("--candidates", synthetic.candidates, "Candidates of a made request")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  command.add_flag("--spread", synthetic.spread, "Candidates vary by half around that number");
  command.add_option("--rate", synthetic.requests_per_second,
                     "Made requests arrive at random, this many per second; 0: no arrival times");
  command.add_option("--seed", synthetic.seed, "Of made requests")->capture_default_str();
}

Workload WorkloadOptions::Load(const rankfeed_model* model) const {
  if (trace.empty()) {
    if (docs.empty()) throw Failure("give requests with --trace, or documents with --docs");
    if (!corpus.empty()) throw Failure("--corpus is for candidates that a --trace names by id");
    const std::vector<std::string> passages = Texts(docs);
    std::vector<std::string> questions;
    if (!queries.empty()) {
      questions = Texts(queries);
    } else {
      for (const std::string& passage : passages) {
        size_t end = passage.find(' ', std::min<size_t>(40, passage.size()));
        end = std::min(end, std::min<size_t>(passage.size(), 160));
        while (end < passage.size() && (passage[end] & 0xc0) == 0x80) --end;
        questions.push_back(passage.substr(0, end));
      }
    }
    Workload workload = MakeSynthetic(questions, passages, synthetic);
    workload.name = docs.substr(docs.rfind('/') + 1);
    return workload;
  }
  std::optional<Store> store;
  if (!corpus.empty()) store.emplace(corpus, model);
  std::unordered_map<std::string, std::string> by_id;
  if (!docs.empty()) {
    TextSource source(docs, TextSource::Format::kByName);
    uint64_t line = 0;
    for (std::string text, id; source.Next(&text, &id); ++line) {
      by_id[id.empty() ? std::to_string(line) : id] = text;
    }
  }
  std::unordered_map<std::string, uint32_t> lists;
  return ReadTrace(trace, [&](const std::string& id, Workload* workload,
                                       Candidate* out) {
    if (const auto found = lists.find(id); found != lists.end()) {
      *out = {found->second, true};
      return true;
    }
    rankfeed_source source{};
    if (store && rankfeed_corpus_find(store->get(), {id.data(), id.size()}, &source) == RANKFEED_OK) {
      workload->token_lists.emplace_back(source.ids, source.ids + source.id_count);
      *out = {static_cast<uint32_t>(workload->token_lists.size() - 1), true};
      lists[id] = out->index;
      return true;
    }
    const auto text = by_id.find(id);
    if (text == by_id.end()) return false;
    *out = {workload->AddText(text->second), false};
    return true;
  });
}

void MeasureOptions::Add(CLI::App& command) {
  vocab.Add(command);
  workload.Add(command, true);
  command.add_option("--threads", run.replay.threads, "Threads that answer queries")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  command.add_option("--load", run.replay.load,
                     "Replay arrivals this much faster than recorded; 0: closed loop, every thread "
                     "takes the next request when it is done")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--sweep", run.sweep, "More loads to replay at, for latency over load")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  command.add_option("--max-seconds", run.replay.max_seconds,
                     "Leave out requests that are due later than this");
  command.add_option("--gpu-forward-ms", run.replay.gpu_forward_ms,
                     "Time of a forward pass per query; the device sleeps for it");
  command.add_option("--slots", run.replay.slots, "Slots of the ring")->capture_default_str();
  command.add_option("--max-length", run.replay.max_length, "Tokens of a row")->capture_default_str();
  command.add_option("--cache-kib", cache_kib, "Word cache of each thread")->capture_default_str();
  command.add_option("--adapter", adapter,
                     "Measure another tokenizer: a command that speaks the adapter protocol "
                     "(docs/audit.md). --vocab still names the vocabulary that pairs are built with");
  command.add_option(reference.library_option, reference.library,
                     "Compare ids with those of huggingface or sentencepiece, as `rankfeed parity` does, or of an adapter command");
  reference.Add(command);
  command.add_option("--unicode-texts", run.unicode_texts, "Generated texts to compare")
      ->capture_default_str();
  command.add_option("--encode-seconds", run.encode_seconds, "Time of the encode measurement")
      ->capture_default_str();
  command.add_option("--price-per-core-hour", run.price_per_core_hour, "For the cost of a query");
  command.add_option("--currency", run.currency, "Of that price")->capture_default_str();
  command.add_option("--simulated", run.simulated_file, "Report of bench/callgrind.py to include");
}

Run MeasureOptions::Run() {
  const rankfeed_compile_options options{sizeof(options), vocab.parity_number(),
                                         vocab.preset.empty() ? nullptr : vocab.preset.c_str()};
  if (vocab.on() == Pages::kFile) {
    throw Failure("a measured vocabulary lies in memory of its own: --pages auto, hugetlb, transparent or base");
  }
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  rankfeed_loaded* raw = nullptr;
  if (rankfeed_load(vocab.path.c_str(), &options, &raw, &error) != RANKFEED_OK) {
    throw Failure(error.message);
  }
  const std::unique_ptr<rankfeed_loaded, LoadedFree> loaded(raw);
  size_t size = 0;
  const void* bytes = rankfeed_loaded_image(raw, &size);
  const PlacedImage image(
      bytes, size, vocab.on());
  const Workload requests = workload.Load(image.model());
  size_t longest = 1;
  for (const std::string& text : requests.texts) longest = std::max(longest, text.size());
  longest = std::max<size_t>(longest, 64 << 10);  // the stress texts
  const EngineFactory engines = [&]() -> std::unique_ptr<Engine> {
    if (!adapter.empty()) return std::make_unique<ForeignEngine>(adapter);
    return std::make_unique<RankfeedEngine>(image.model(), longest, cache_kib << 10);
  };
  std::unique_ptr<Engine> other;
  if (reference.library == "huggingface" || reference.library == "sentencepiece") {
    other = std::make_unique<ReferenceEngine>(reference, vocab, image.model());
  } else if (!reference.library.empty()) {
    if (reference.library.find_first_of(" /.") == std::string::npos) {
      fmt::print(stderr, "rankfeed: note: --reference {} is run as an adapter command; huggingface and sentencepiece need none\n", reference.library);
    }
    other = std::make_unique<ForeignEngine>(reference.library);
  }
  return Measure(requests, image, engines, other.get(), run);
}

}  // namespace rankfeed::cli
