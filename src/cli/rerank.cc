// SPDX-License-Identifier: MIT
// cli/rerank.cc: `rankfeed rerank`: a query and documents in, ranked documents out, with the time
// each stage took. Batches go the way they go in a service: filled in place in a slot, copied on
// one stream, scored on another, while the next slot is filled; scores are written to page-locked
// memory by the device and read once at the end.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/checked.h"
#include "cli/cli.h"
#include "cli/device.h"
#include "cli/documents.h"
#include "serve/folder/pairing.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/crossencoder.hpp"
#include "rankfeed/handoff.hpp"
#include "rankfeed/parallel.hpp"
#include "rankfeed/rerank.hpp"
#include "serve/stretch_error.h"

namespace rankfeed::cli {
namespace {


struct RerankCommand {
  VocabOptions vocab;
  DeviceOptions device;
  DocumentOptions documents;
  SpecialsOption specials;
  std::string model, query, label;
  bool json = false, raw = false, cut_left = false;
  uint32_t max_length = 512, top = 0, threads = 0, slots = 3, max_rows = 64, max_tokens = 8192,
           max_stretch_bytes = 0;
};

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Crossencoder OpenModel(const RerankCommand& c, const rankfeed_gpu_backend* backend,
                       const rankfeed_executor* executor) {
  rankfeed_crossencoder_options options{};
  options.dtype = c.device.dtype_number();
  options.backend = backend;
  options.executor = c.device.on_host() ? executor : nullptr;
  return Take(Crossencoder::Open(c.model.c_str(), options));
}

Handoff OpenRing(const rankfeed_gpu_backend* backend, uint64_t slot_bytes, uint32_t slots,
                 uint32_t flags) {
  rankfeed_handoff_options options{};
  options.flags = flags;
  options.slot_bytes = slot_bytes;
  options.slots = slots;
  options.backend = backend;
  return Take(Handoff::Open(options));
}

struct Times {
  double vocabulary = 0, model = 0, documents = 0, fill = 0, wait = 0, drain = 0, rank = 0,
         total = 0;
};

class Rerank {
 public:
  explicit Rerank(const RerankCommand& command) : c(command) {}

  void Run() {
    const Stopwatch all;
    Stopwatch watch;
    vocabulary_ = std::make_unique<Vocabulary>(c.vocab.Load());
    times_.vocabulary = watch.ms();
    if (c.threads != 1) parallel_.emplace(Take(Parallel::Open(c.threads)));
    watch = {};
    model_.emplace(OpenModel(c, c.device.Backend(), executor()));
    info_ = model_->info();
    if (info_.note[0] != 0) std::fprintf(stderr, "rankfeed: note: %s: %s\n", c.model.c_str(), info_.note);
    times_.model = watch.ms();
    watch = {};
    pairing_ = Take(folder::Pair(vocabulary_->model(), info_, {c.vocab.path, c.model}, c.label));
    const folder::ModelSettings& settings = pairing_.facts.settings;
    if (!settings.note.empty()) std::fprintf(stderr, "rankfeed: note: %s\n", settings.note.c_str());
    query_ = std::string(settings.prompt()) + c.query;
    documents_ = std::make_unique<Documents>(c.documents, c.vocab, vocabulary_->model(), c.specials.flags());
    times_.documents = watch.ms();
    const Stopwatch request;
    MakeOptions();
    MakeReranker();
    Score();
    times_.total = request.ms();
    c.json ? PrintJson() : PrintTable();
  }

 private:
  const rankfeed_executor* executor() const { return parallel_ ? parallel_->executor() : nullptr; }

  void MakeOptions() {
    const uint32_t specials = Info(vocabulary_->model()).specials_pair;
    const auto by = c.raw ? folder::ScoreBy::kRaw : folder::ScoreBy::kFolder;
    score_options_ = pairing_.Score(Take(pairing_.Activation(by)));
    options_.max_length = std::min(c.max_length, info_.max_row_tokens);
    options_.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
    options_.truncation_side = c.cut_left ? RANKFEED_LEFT : RANKFEED_RIGHT;
    options_.encode_flags = c.specials.flags();
    options_.layout = RANKFEED_PACKED;
    options_.budget = RANKFEED_BUDGET_PACKED_SUM;
    options_.max_rows_per_batch = c.max_rows;
    options_.max_tokens_per_batch = std::max(c.max_tokens, options_.max_length);
    pairing_.SetTypes(&options_);
    if (options_.max_length < specials + 1) {
      throw Failure("--max-length {} leaves no room beside {} special tokens",
                    options_.max_length, specials);
    }
    CheckStatus(rankfeed_batch_arena_size(&options_, options_.max_rows_per_batch, 0,
                                          options_.max_tokens_per_batch, &options_.max_arena_bytes),
                "batch options");
  }

  // Sized for the request, so that nothing grows during it.
  void MakeReranker() {
    const size_t longest = std::max({documents_->longest, query_.size(), size_t{1}});
    rankfeed_rerank_limits limits{};
    limits.max_documents = static_cast<uint32_t>(documents_->texts.size());
    limits.max_text_bytes = static_cast<uint32_t>(
        std::min<size_t>(longest, rankfeed_max_text_bytes(vocabulary_->model())));
    limits.max_stretch_bytes = c.max_stretch_bytes;
    limits.max_tokens = (documents_->texts.size() + 1) * uint64_t{options_.max_length};
    limits.workers = executor() != nullptr ? executor()->workers : 1;
    reranker_.emplace(Take(Reranker::Create(vocabulary_->model(), limits, options_)));
  }

  // A batch in its slot of the ring, which the device reads until the ticket is landed.
  struct Submitted {
    rankfeed_batch batch;
    rankfeed_handoff_slot ticket;
  };

  // This returns what a call gives and adds the time that it took to *ms.
  template <class F>
  static auto Timed(double* ms, const F& f) {
    const Stopwatch watch;
    auto result = f();
    *ms += watch.ms();
    return result;
  }

  // Scores all batches; then every document that has a row has its place in ranked_.
  void Score() {
    const rankfeed_gpu_backend* backend = c.device.Backend();
    // Objects that outlive the streams come first, so that they are destroyed last.
    std::deque<Submitted> submitted;
    Handoff scores = OpenRing(
        backend, std::max<uint64_t>(documents_->texts.size() * sizeof(float) * info_.labels, 1), 1, 0);
    const FillingSlot score_slot = Take(scores.Acquire());
    auto* const logits = static_cast<float*>(score_slot.view().mapped);
    if (logits == nullptr) throw Failure("the device cannot write to page-locked memory");
    Handoff ring = OpenRing(backend, options_.max_arena_bytes, c.slots,
                            RANKFEED_HANDOFF_DEVICE_SLOTS | RANKFEED_HANDOFF_MEASURE_IDLE);
    const rankfeed_mem_req need = Take(model_->Workspace(
        options_.max_rows_per_batch, options_.max_tokens_per_batch, options_.max_length));
    const DeviceMemory workspace = Take(ring.Allocate(need.size));
    const HandoffStream copies = Take(ring.MakeStream());
    const HandoffStream work = Take(ring.MakeStream());

    rankfeed_source query{};
    query.text = Text(query_);
    Error begun = Timed(&times_.fill, [&] { return reranker_->Begin(query, documents_->sources, executor()); });
    if (begun.status == RANKFEED_E_LIMIT) begun.message = "the query: " + Why(query_, begun.status);
    CheckError(begun);
    for (;;) {
      FillingSlot slot = Take(Timed(&times_.wait, [&] { return ring.WaitAcquire(); }));
      rankfeed_batch batch;
      CheckError(Timed(&times_.fill, [&] { return reranker_->Next(slot.bytes(), &batch); }));
      if (batch.rows == 0) break;
      LeasedSlot lease = Take(slot.Submit(batch.arena_size, copies.get()));
      CheckError(lease.WaitOn(work.get()));
      const rankfeed_packed_batch packed = Take(PackedBatchOf(batch, lease.data(), pairing_.with_types));
      CheckError(model_->Enqueue(packed, work.get(), workspace.get(), workspace.size(),
                                 logits + batch.first_row * info_.labels));
      CheckError(lease.Release());
      rows_ += batch.rows;
      tokens_ += batch.tokens;
      submitted.push_back({batch, lease.ticket()});
      for (const Submitted& one : submitted) (void)ring.Poll(one.ticket);
    }
    CheckError(Timed(&times_.drain, [&] { return work.Synchronize(); }));
    for (const Submitted& one : submitted) CheckStatus(ring.Poll(one.ticket), "copy");
    CheckError(Timed(&times_.rank, [&] {
      return Rank(submitted, reinterpret_cast<const float*>(score_slot.bytes().data()));
    }));
    handoff_ = ring.stats();
    ring_info_ = ring.info();
    batches_ = submitted.size();
  }

  Error Rank(const std::deque<Submitted>& submitted, const float* logits) {
    if (auto error = folder::CheckLogits(logits, rows_ * info_.labels, c.model)) return error;
    for (const auto& [batch, ticket] : submitted) {
      CheckStatus(rankfeed_rerank_put_scores(reranker_->get(), &batch, logits + batch.first_row * info_.labels,
                                             &score_options_),
                  "scores");
    }
    rankfeed_rank_options best{};
    best.struct_size = sizeof(best);
    best.top_n = c.top;
    return reranker_->Rank(best, &ranked_);
  }

  void PrintJson() const {
    nlohmann::ordered_json out;
    out["query"] = c.query;
    auto results = nlohmann::ordered_json::array();
    for (const rankfeed_ranked& r : ranked_) {
      results.push_back(
          {{"index", r.index}, {"id", documents_->names[r.index]}, {"score", r.score}});
    }
    out["results"] = std::move(results);
    auto failed = nlohmann::ordered_json::array();
    for (size_t i = 0; i < reranker_->status().size(); ++i) {
      if (const rankfeed_status status = reranker_->status()[i]; status != RANKFEED_OK) {
        failed.push_back({{"index", i},
                          {"id", documents_->names[i]},
                          {"error", Why(documents_->texts[i], status)}});
      }
    }
    if (!failed.empty()) out["failed"] = std::move(failed);
    out["rows"] = rows_;
    out["tokens"] = tokens_;
    out["batches"] = batches_;
    out["device"] = {
        {"backend", ring_info_.backend}, {"name", ring_info_.device_name}, {"gemm", info_.gemm}};
    out["ms"] = {
        {"open_vocabulary", times_.vocabulary},
        {"open_model", times_.model},
        {"read_documents", times_.documents},
        {"tokenize_and_pack", times_.fill},
        {"wait_for_slot", times_.wait},
        {"copy_p50", static_cast<double>(handoff_.landed_ns_p50) / 1e6},
        {"forward", static_cast<double>(handoff_.consumer_busy_ns) / 1e6},
        {"forward_waited_for_batches", static_cast<double>(handoff_.consumer_idle_ns) / 1e6},
        {"forward_left", times_.drain},
        {"rank", times_.rank},
        {"request", times_.total}};
    fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  // This says why a text has no row.
  std::string Why(const std::string& text, rankfeed_status status) const {
    if (status != RANKFEED_E_LIMIT) return rankfeed_status_message(status);
    return "the text " + serve::StretchError(vocabulary_->model(), text.size(), c.max_stretch_bytes);
  }

  void PrintTable() const {
    size_t widest = 2;
    for (const rankfeed_ranked& r : ranked_)
      widest = std::max(widest, documents_->names[r.index].size());
    widest = std::min<size_t>(widest, 32);
    fmt::print("{:>4}  {:>9}  {:<{}}  text\n", "rank", "score", "id", widest);
    for (size_t i = 0; i < ranked_.size(); ++i) {
      const rankfeed_ranked& r = ranked_[i];
      fmt::print("{:>4}  {:>9.5f}  {:<{}}  {}\n", i + 1, r.score, documents_->names[r.index],
                 widest, Shortened(documents_->texts[r.index], 72));
    }
    for (size_t i = 0; i < reranker_->status().size(); ++i) {
      if (const rankfeed_status status = reranker_->status()[i]; status != RANKFEED_OK) {
        fmt::print("   -          -  {:<{}}  {}\n", documents_->names[i], widest, Why(documents_->texts[i], status));
      }
    }
    fmt::print("{} rows, {} tokens, {} batches on {} ({}, {})\n", rows_, tokens_, batches_,
               ring_info_.backend, ring_info_.device_name, info_.gemm);
    fmt::print(
        "ms: request {:.2f} = tokenize and pack {:.2f}, wait for a slot {:.2f}, forward left after "
        "the last "
        "batch {:.2f}, rank {:.2f}, set up {:.2f}; copy p50 {:.3f}\n",
        times_.total, times_.fill, times_.wait, times_.drain, times_.rank,
        std::max(0.0, times_.total - times_.fill - times_.wait - times_.drain - times_.rank),
        static_cast<double>(handoff_.landed_ns_p50) / 1e6);
    fmt::print("ms once: vocabulary {:.2f}, model {:.2f}, documents {:.2f}\n", times_.vocabulary,
               times_.model, times_.documents);
  }

  // At most `size` bytes on one line, cut between characters.
  static std::string Shortened(const std::string& text, size_t size) {
    std::string line = text.substr(0, size);
    if (text.size() > size) {
      size_t at = size;
      while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
      line = text.substr(0, at) + "...";
    }
    for (char& byte : line) {
      if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) byte = ' ';
    }
    return line;
  }

  const RerankCommand& c;
  std::unique_ptr<Vocabulary> vocabulary_;
  std::optional<Parallel> parallel_;
  std::optional<Crossencoder> model_;
  rankfeed_crossencoder_info info_{};
  std::unique_ptr<Documents> documents_;
  folder::Pairing pairing_;
  std::string query_;  // with the folder's prompt before it
  rankfeed_score_options score_options_{};
  rankfeed_rerank_options options_ = RerankOptions();
  std::optional<Reranker> reranker_;
  std::vector<rankfeed_ranked> ranked_;
  rankfeed_handoff_stats handoff_{};
  rankfeed_handoff_info ring_info_{};
  uint64_t rows_ = 0, tokens_ = 0, batches_ = 0;
  Times times_;
};

}  // namespace

void AddRerank(CLI::App& app) {
  auto* command = app.add_subcommand("rerank", "Rank documents for a query with a cross-encoder");
  auto c = std::make_shared<RerankCommand>();
  c->vocab.Add(*command, /*required=*/false);
  command
      ->add_option("--model", c->model,
                   "Folder with config.json and model.safetensors (or its shards), or a "
                   ".safetensors file with config.json beside it: a cross-encoder, "
                   "...ForSequenceClassification of the XLM-RoBERTa, BERT, ModernBERT, GTE or DeBERTa "
                   "families, or a modular one (modules.json). Without --vocab its vocabulary too")
      ->required();
  command->add_option("--query", c->query, "The question")->required();
  c->documents.Add(*command);
  c->specials.Add(*command);
  c->device.Add(*command);
  command->add_option("--top", c->top, "Print only the best N; 0: all")->capture_default_str();
  AddLabelOption(*command, &c->label);
  command->add_flag("--raw", c->raw, "Print logits, whatever the model's folder says of its scores");
  command
      ->add_option("--max-length", c->max_length,
                   "Tokens of a row, specials included; the model's limit binds too")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  AddNumber(*command, "--max-rows", c->max_rows, 1, 1 << 20, "Rows per batch");
  AddNumber(*command, "--max-tokens", c->max_tokens, 1, 1 << 28, "Tokens per batch");
  AddMaxStretchBytes(*command, c->max_stretch_bytes);
  command
      ->add_option("--threads", c->threads,
                   "Threads that tokenize and, on the host, score; 0: one for each CPU it may use")
      ->capture_default_str();
  AddNumber(*command, "--slots", c->slots, 1, 4096, "Slots of the ring");
  command->add_flag("--json", c->json, "Print one JSON object");
  command->callback([c, command] {
    c->vocab.TakeFolder(c->model);
    const FolderConfig config = c->vocab.Config();
    if (config.settings.max_length && command->count("--max-length") == 0) c->max_length = *config.settings.max_length;
    c->cut_left = config.truncation_side == "left";
    c->specials.Take(config);
    Rerank(*c).Run();
  });
}

}  // namespace rankfeed::cli
