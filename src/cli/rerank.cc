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

#include "cli/cli.h"
#include "cli/device.h"
#include "cli/documents.h"
#include "serve/folder/pairing.h"
#include "serve/folder/two_types.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/crossencoder.hpp"
#include "rankfeed/handoff.hpp"
#include "rankfeed/parallel.hpp"
#include "rankfeed/rerank.h"
#include "receipt/engine.h"

namespace rankfeed::cli {
namespace {

using receipt::CheckError;
using receipt::CheckStatus;
using receipt::Take;

struct RerankCommand {
  VocabOptions vocab;
  DeviceOptions device;
  DocumentOptions documents;
  SpecialsOption specials;
  std::string model, query, label;
  bool json = false, raw = false;
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
    OpenVocabulary();
    OpenThreads();
    Stopwatch watch;
    model_.emplace(OpenModel(c, c.device.Backend(), executor()));
    info_ = model_->info();
    if (info_.note[0] != 0) std::fprintf(stderr, "rankfeed: note: %s: %s\n", c.model.c_str(), info_.note);
    times_.model = watch.ms();
    watch = {};
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

  void OpenVocabulary() {
    const Stopwatch watch;
    vocabulary_ = std::make_unique<Vocabulary>(c.vocab.Load());
    times_.vocabulary = watch.ms();
  }

  void OpenThreads() {
    if (c.threads == 1) return;
    parallel_.emplace(Take(Parallel::Open(c.threads)));
  }

  void MakeOptions() {
    const rankfeed_model_info vocabulary = Info(vocabulary_->model());
    const rankfeed_crossencoder_info& info = info_;
    const folder::ModelFacts facts = Take(folder::ReadModelFacts(c.model));
    CheckError(folder::CheckPairing(vocabulary_->model(), info, facts, {c.vocab.path, c.model}));
    const uint32_t label = Take(folder::ChooseLabel(info, facts, c.label, c.model));
    const auto by = c.raw ? folder::ScoreBy::kRaw : folder::ScoreBy::kFolder;
    const uint32_t activation = Take(folder::ActivationOf(facts, info.labels, by));
    score_options_ = folder::ScoreOptions(info.labels, label, activation);
    rankfeed_rerank_options_init(&options_);
    options_.max_length = std::min(c.max_length, info.max_row_tokens);
    options_.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
    options_.encode_flags = c.specials.flags();
    options_.layout = RANKFEED_PACKED;
    options_.budget = RANKFEED_BUDGET_PACKED_SUM;
    options_.max_rows_per_batch = c.max_rows;
    options_.max_tokens_per_batch = std::max(c.max_tokens, options_.max_length);
    const folder::Types types = folder::TypesOf(info, facts);
    with_types_ = types != folder::Types::kNone;
    if (with_types_) options_.tensors |= RANKFEED_TENSOR_TOKEN_TYPE_IDS;
    if (types == folder::Types::kGiven) {
      two_types_ = std::make_unique<folder::TwoTypes>(vocabulary, facts.types->first, facts.types->second);
      if (!two_types_->complete()) throw Failure("the vocabulary has no <s> and </s> to build pairs with");
      options_.template_kind = RANKFEED_TEMPLATE_CUSTOM;
      options_.pair_template = &two_types_->parts;
    }
    if (options_.max_length < vocabulary.specials_pair + 1) {
      throw Failure(fmt::format("--max-length {} leaves no room beside {} special tokens",
                                options_.max_length, vocabulary.specials_pair));
    }
    size_t bytes = 0;
    CheckStatus(rankfeed_batch_arena_size(&options_, options_.max_rows_per_batch, 0,
                                          options_.max_tokens_per_batch, &bytes),
                "batch options");
    options_.max_arena_bytes = bytes;
  }

  void MakeReranker() {
    limits_.struct_size = sizeof(limits_);
    limits_.max_documents = static_cast<uint32_t>(documents_->texts.size());
    const size_t longest = std::max({documents_->longest, c.query.size(), size_t{1}});
    if (longest > UINT32_MAX) throw Failure("a text is longer than 4 GiB");
    limits_.max_text_bytes = static_cast<uint32_t>(longest);
    limits_.max_stretch_bytes = c.max_stretch_bytes;
    limits_.max_tokens = (documents_->texts.size() + 1) * uint64_t{options_.max_length};
    limits_.workers = executor() != nullptr ? executor()->workers : 1;
    for (uint32_t i = 0; i < limits_.workers; ++i) {
      auto encoder = Encoder::Create(vocabulary_->model(), limits_.max_text_bytes, false,
                                     Encoder::kDefaultCacheBytes, c.max_stretch_bytes);
      if (!encoder) throw Failure(encoder.error().message);
      encoders_.push_back(std::move(*encoder));
    }
    InitReranker();
  }

  void InitReranker() {
    rankfeed_mem_req need;
    CheckStatus(rankfeed_reranker_mem_req(vocabulary_->model(), &limits_, &options_, &need),
                "batch options");
    scratch_ = AlignedBytes(need);
    std::vector<rankfeed_encoder*> encoders;
    for (Encoder& encoder : encoders_) encoders.push_back(encoder.get());
    CheckStatus(rankfeed_reranker_init(vocabulary_->model(), &limits_, &options_, encoders.data(),
                                       scratch_.data(), scratch_.size(), &reranker_),
                "batch options");
  }

  // Scores all batches; then every document that has a row has its place in ranked_.
  void Score() {
    const rankfeed_gpu_backend* backend = c.device.Backend();
    const uint32_t labels = info_.labels;
    // Objects that outlive the streams come first, so that they are destroyed last.
    std::deque<rankfeed_batch> batches;
    std::vector<rankfeed_handoff_slot> tickets;
    Handoff scores = OpenRing(
        backend, std::max<uint64_t>(documents_->texts.size() * sizeof(float) * labels, 1), 1, 0);
    const FillingSlot score_slot = Take(scores.Acquire());
    if (score_slot.view().mapped == nullptr)
      throw Failure("the device cannot write to page-locked memory");
    Handoff ring = OpenRing(backend, options_.max_arena_bytes, c.slots,
                            RANKFEED_HANDOFF_DEVICE_SLOTS | RANKFEED_HANDOFF_MEASURE_IDLE);
    const rankfeed_mem_req need = Take(model_->Workspace(
        options_.max_rows_per_batch, options_.max_tokens_per_batch, options_.max_length));
    const DeviceMemory workspace = Take(ring.Allocate(need.size));
    const HandoffStream copies = Take(ring.MakeStream());
    const HandoffStream work = Take(ring.MakeStream());

    status_.resize(documents_->texts.size());
    rankfeed_request request{};
    request.struct_size = sizeof(request);
    request.document_count = static_cast<uint32_t>(documents_->sources.size());
    request.query.text = {c.query.data(), c.query.size()};
    request.documents = documents_->sources.data();
    request.document_status = status_.data();
    request.executor = executor();
    Stopwatch watch;
    CheckStatus(rankfeed_rerank_begin(reranker_, &request), "query");
    times_.fill += watch.ms();
    for (;;) {
      watch = {};
      FillingSlot slot = Take(ring.WaitAcquire());
      times_.wait += watch.ms();
      watch = {};
      rankfeed_batch batch{};
      batch.struct_size = sizeof(batch);
      batch.arena = slot.bytes().data();
      batch.arena_capacity = slot.bytes().size();
      const rankfeed_status filled = rankfeed_rerank_next(reranker_, &batch);
      times_.fill += watch.ms();
      if (filled == RANKFEED_E_WORKSPACE_SIZE &&
          batches.empty()) {  // more tokens than documents promised
        CheckStatus(rankfeed_reranker_need(reranker_, &limits_), "reranker");
        InitReranker();
        CheckStatus(rankfeed_rerank_begin(reranker_, &request), "query");
        continue;
      }
      CheckStatus(filled, "batch");
      if (batch.rows == 0) break;
      LeasedSlot lease = Take(slot.Submit(batch.arena_size, copies.get()));
      CheckError(lease.WaitOn(work.get()));
      const rankfeed_packed_batch packed = Take(PackedBatchOf(batch, lease.data(), with_types_));
      float* const logits =
          static_cast<float*>(score_slot.view().mapped) + batch.first_row * labels;
      CheckError(model_->Enqueue(packed, work.get(), workspace.get(), workspace.size(), logits));
      CheckError(lease.Release());
      rows_ += batch.rows;
      tokens_ += batch.tokens;
      batches.push_back(batch);
      tickets.push_back(lease.ticket());
      for (const rankfeed_handoff_slot ticket : tickets) (void)ring.Poll(ticket);
    }
    watch = {};
    CheckError(work.Synchronize());
    times_.drain = watch.ms();
    for (const rankfeed_handoff_slot ticket : tickets) CheckStatus(ring.Poll(ticket), "copy");

    watch = {};
    const auto* landed = reinterpret_cast<const float*>(score_slot.bytes().data());
    CheckError(folder::CheckLogits(landed, rows_ * labels, c.model));
    for (const rankfeed_batch& batch : batches) {
      CheckStatus(rankfeed_rerank_put_scores(reranker_, &batch, landed + batch.first_row * labels,
                                             &score_options_),
                  "scores");
    }
    ranked_.resize(documents_->texts.size());
    uint32_t count = 0;
    CheckStatus(rankfeed_rerank_rank(reranker_, nullptr, ranked_.data(),
                                     static_cast<uint32_t>(ranked_.size()), &count),
                "rank");
    ranked_.resize(count);
    if (c.top != 0 && ranked_.size() > c.top) ranked_.resize(c.top);
    times_.rank = watch.ms();
    handoff_ = ring.stats();
    ring_info_ = ring.info();
    batches_ = batches.size();
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
    for (size_t i = 0; i < status_.size(); ++i) {
      if (status_[i] != RANKFEED_OK) {
        failed.push_back({{"index", i},
                          {"id", documents_->names[i]},
                          {"error", rankfeed_status_message(status_[i])}});
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
    for (size_t i = 0; i < status_.size(); ++i) {
      if (status_[i] != RANKFEED_OK) {
        fmt::print("   -          -  {:<{}}  {}\n", documents_->names[i], widest,
                   rankfeed_status_message(status_[i]));
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
  std::unique_ptr<folder::TwoTypes> two_types_;
  bool with_types_ = false;
  rankfeed_score_options score_options_{};
  rankfeed_rerank_options options_{};
  rankfeed_rerank_limits limits_{};
  std::vector<Encoder> encoders_;
  AlignedBytes scratch_;
  rankfeed_reranker* reranker_ = nullptr;
  std::vector<rankfeed_status> status_;
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
                   ".safetensors file with config.json beside it: a cross-encoder of the XLM-RoBERTa "
                   "or BERT family, ...ForSequenceClassification. Without --vocab its vocabulary too")
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
  command->add_option("--max-rows", c->max_rows, "Rows per batch")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--max-tokens", c->max_tokens, "Tokens per batch")
      ->check(CLI::Range(1, 1 << 28))
      ->capture_default_str();
  AddMaxStretchBytes(*command, c->max_stretch_bytes);
  command
      ->add_option("--threads", c->threads,
                   "Threads that tokenize and, on the host, score; 0: one for each CPU it may use")
      ->capture_default_str();
  command->add_option("--slots", c->slots, "Slots of the ring")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_flag("--json", c->json, "Print one JSON object");
  command->callback([c, command] {
    c->vocab.TakeFolder(c->model);
    const FolderConfig config = c->vocab.Config();
    if (config.model_max_length && command->count("--max-length") == 0) c->max_length = *config.model_max_length;
    Rerank(*c).Run();
  });
}

}  // namespace rankfeed::cli
