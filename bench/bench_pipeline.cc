// SPDX-License-Identifier: MIT
// bench_pipeline: queries per second from texts to scores, streaming: while a device works on one
// batch the CPU tokenizes and packs the next one.
//   bench_pipeline --vocab IMAGE --model DIR --docs FILE [--device host|cuda|hip] [--queries N]
//                  [--pairs N] [--max-length N] [--slots N] [--dtype auto|f32|f16|bf16]
//                  [--graph-tokens N] [--mapped BYTES|measure]
//   bench_pipeline --make-model DIR --layers N --hidden N --vocab IMAGE    random weights, float16; --bert: of BERT's kind, and
//                                                                          a request's rows then have its token types
//
// FILE has one text per line; a request is one of them as the query against --pairs others, another
// choice each time, so that nothing is a repetition. The first request is scored twice before the
// clock starts and must give the same scores. Prints one JSON object: rates, and for one request
// the CPU's tokenizing and packing, the wait for a slot, the copy, the forward by the device's own
// clock, and the share of time in which the stream that computes had nothing to do.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backend.h"
#include "backends/backend_library.h"
#include "crossencoder/model/float16.h"
#include "crossencoder/ops.h"
#include "rankfeed/crossencoder.hpp"
#include "rankfeed/handoff.hpp"
#include "rankfeed/parallel.hpp"
#include "rankfeed/rerank.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

struct Arguments {
  std::string vocab, model, docs, device = "host", dtype = "auto", mapped = "0", make_model, scores;
  uint32_t queries = 50, pairs = 100, max_length = 512, slots = 3, threads = 0, layers = 6,
           hidden = 384, graph_tokens = 0;
  bool bert = false;  // the model to make
};

void Must(rankfeed_status status, const char* what) {
  if (status != RANKFEED_OK) {
    throw std::runtime_error(std::string(what) + ": " + rankfeed_status_message(status));
  }
}

void Must(const rankfeed::Error& error) {
  if (error) throw std::runtime_error(error.message);
}
template <class T>
T Take(rankfeed::Result<T> result) {
  if (!result) Must(result.error());
  return std::move(*result);
}

double Ms(Clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

// Random weights of transformers' initialization (normal, deviation 0.02) in HuggingFace's names.
void MakeModel(const Arguments& a, uint32_t vocab_size, int32_t pad) {
  namespace fs = std::filesystem;
  fs::create_directories(a.make_model);
  const uint32_t inner = 4 * a.hidden, positions = 514, heads = a.hidden / (a.hidden < 768 ? 32 : 64);  // as MiniLM and the base models
  const std::string base = a.bert ? "bert." : "roberta.";
  const uint64_t types = a.bert ? 2 : 1;
  Json config = {{"architectures", {std::string(a.bert ? "Bert" : "XLMRoberta") + "ForSequenceClassification"}},
                 {"model_type", a.bert ? "bert" : "xlm-roberta"},
                 {"hidden_act", "gelu"},
                 {"hidden_size", a.hidden},
                 {"num_hidden_layers", a.layers},
                 {"num_attention_heads", heads},
                 {"intermediate_size", inner},
                 {"layer_norm_eps", 1e-5},
                 {"max_position_embeddings", positions},
                 {"type_vocab_size", types},
                 {"vocab_size", vocab_size},
                 {"pad_token_id", pad},
                 {"bos_token_id", 0},
                 {"eos_token_id", 2},
                 {"hidden_dropout_prob", 0.0},
                 {"attention_probs_dropout_prob", 0.0},
                 {"classifier_dropout", 0.0},
                 {"position_embedding_type", "absolute"},
                 {"torch_dtype", "float16"},
                 {"id2label", {{"0", "LABEL_0"}}},
                 {"label2id", {{"LABEL_0", 0}}}};
  std::ofstream(a.make_model + "/config.json") << config.dump(1) << "\n";

  struct Tensor {
    std::string name;
    std::vector<uint64_t> shape;
    float scale, shift;
  };
  std::vector<Tensor> tensors;
  // BERT's are larger, so that scores depend on types by more than float16 loses.
  const float scale = a.bert ? 0.5f : 0.02f;
  const auto linear = [&](const std::string& name, uint64_t rows, uint64_t columns) {
    const float width = std::sqrt(static_cast<float>(columns));
    tensors.push_back({name + ".weight", {rows, columns}, a.bert ? 1.0f / width : scale, 0});
    tensors.push_back({name + ".bias", {rows}, 0.02f, 0});
  };
  const auto norm = [&](const std::string& name) {
    tensors.push_back({name + ".weight", {a.hidden}, 0, 1});
    tensors.push_back({name + ".bias", {a.hidden}, 0, 0});
  };
  const std::string embeddings = base + "embeddings.";
  tensors.push_back({embeddings + "word_embeddings.weight", {vocab_size, a.hidden}, scale, 0});
  tensors.push_back({embeddings + "position_embeddings.weight", {positions, a.hidden}, scale, 0});
  tensors.push_back({embeddings + "token_type_embeddings.weight", {types, a.hidden}, scale, 0});
  norm(embeddings + "LayerNorm");
  for (uint32_t i = 0; i < a.layers; ++i) {
    const std::string layer = base + "encoder.layer." + std::to_string(i) + ".";
    for (const char* part : {"query", "key", "value"})
      linear(layer + "attention.self." + part, a.hidden, a.hidden);
    linear(layer + "attention.output.dense", a.hidden, a.hidden);
    norm(layer + "attention.output.LayerNorm");
    linear(layer + "intermediate.dense", inner, a.hidden);
    linear(layer + "output.dense", a.hidden, inner);
    norm(layer + "output.LayerNorm");
  }
  linear(a.bert ? "bert.pooler.dense" : "classifier.dense", a.hidden, a.hidden);
  linear(a.bert ? "classifier" : "classifier.out_proj", 1, a.hidden);

  Json header;
  header["__metadata__"] = {{"format", "pt"}};
  uint64_t at = 0;
  for (const Tensor& t : tensors) {
    uint64_t bytes = 2;
    for (const uint64_t n : t.shape) bytes *= n;
    header[t.name] = {{"dtype", "F16"}, {"shape", t.shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::ofstream out(a.make_model + "/model.safetensors", std::ios::binary);
  const uint64_t size = text.size();
  out.write(reinterpret_cast<const char*>(&size), 8);
  out << text;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<uint16_t> values;
  for (const Tensor& t : tensors) {
    uint64_t count = 1;
    for (const uint64_t n : t.shape) count *= n;
    values.resize(count);
    for (uint16_t& v : values) {
      v = rankfeed::handoff::F16OfFloat(t.shift + (t.scale == 0 ? 0 : t.scale * normal(random)));
    }
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(2 * count));
  }
  if (!out.flush()) throw std::runtime_error(a.make_model + ": cannot be written");
}

// Beside this program, in the build's folder of backends, or where the loader looks.
const rankfeed_gpu_backend* Backend(const std::string& device) {
  const auto found =
      rankfeed::handoff::FindBackend(device, {rankfeed::handoff::ProgramFolder(), RANKFEED_BACKEND_FOLDER});
  if (found.backend == nullptr)
    throw std::runtime_error("NOT RUN on " + device + ": " + found.message);
  return found.backend;
}

volatile int32_t g_sum;  // what the host's stand-in for a kernel reads

class Pipeline {
 public:
  explicit Pipeline(const Arguments& arguments) : a(arguments), backend_(Backend(a.device)) {
    auto vocabulary = rankfeed::Model::Open(a.vocab.c_str());
    if (!vocabulary) throw std::runtime_error(vocabulary.error().message);
    vocabulary_ = std::make_unique<rankfeed::Model>(std::move(*vocabulary));
    auto parallel = rankfeed::Parallel::Open(a.threads);
    if (!parallel) throw std::runtime_error(parallel.error().message);
    parallel_ = std::make_unique<rankfeed::Parallel>(std::move(*parallel));
    OpenModel();
    ReadTexts();
    MakeReranker();
    OpenRing();
  }

  Json Run() {
    // The first request twice: warm, and equal.
    Request(0, 0);
    Finish();
    const std::vector<float> first(logits_, logits_ + a.pairs * info_.labels);
    Request(0, 0);
    Finish();
    for (size_t i = 0; i < first.size(); ++i) {
      if (!std::isfinite(logits_[i]) || logits_[i] != first[i])
        throw std::runtime_error("the same request gave other scores");
    }
    if (!a.scores.empty()) {
      std::ofstream out(a.scores);
      for (const float score : first) out << std::setprecision(9) << score << "\n";
      if (!out.flush()) throw std::runtime_error(a.scores + ": cannot be written");
    }
    const rankfeed_handoff_stats before = ring_->stats();
    fill_ = wait_ = {};
    tokens_ = batches_ = 0;
    const auto begin = Clock::now();
    for (uint32_t q = 0; q < a.queries; ++q) Request(q, q);
    const auto queued = Clock::now();
    Finish();
    const auto end = Clock::now();
    const rankfeed_handoff_stats after = ring_->stats();
    for (uint32_t i = 0; i < a.queries * a.pairs * info_.labels; ++i) {
      if (!std::isfinite(logits_[i])) throw std::runtime_error("a score is no number");
    }
    const double all = Ms(end - begin), n = a.queries;
    const double busy = static_cast<double>(after.consumer_busy_ns - before.consumer_busy_ns) / 1e6;
    const double idle = static_cast<double>(after.consumer_idle_ns - before.consumer_idle_ns) / 1e6;
    const rankfeed_handoff_info ring = ring_->info();
    const rankfeed_crossencoder_info now = model_->info();
    return {{"backend", ring.backend},
            {"device", ring.device_name},
            {"gemm", std::string(now.gemm)},  // with the products of these batches
            {"dtype", info_.dtype == RANKFEED_DTYPE_F32   ? "f32"
                      : info_.dtype == RANKFEED_DTYPE_F16 ? "f16"
                                                          : "bf16"},
            {"layers", info_.layers},
            {"hidden", info_.hidden_size},
            {"queries", a.queries},
            {"pairs", a.pairs},
            {"max_length", options_.max_length},
            {"tokens_per_query", static_cast<double>(tokens_) / n},
            {"batches", batches_},
            {"threads", parallel_->executor()->workers},
            {"slots", a.slots},
            {"mapped_limit", ring.mapped_limit},
            {"read_in_place", after.mapped - before.mapped},
            {"queries_per_second", 1e3 * n / all},
            {"ms_per_query",
             {{"all", all / n},
              {"tokenize_and_pack", Ms(fill_) / n},
              {"wait_for_slot", Ms(wait_) / n},
              {"left_after_last_batch", Ms(end - queued) / n},
              {"copy_submit_to_seen_landed_p50", static_cast<double>(after.landed_ns_p50) / 1e6},
              {"forward_by_device_clock", busy / n}}},
            {"measured_batches", after.consumer_batches - before.consumer_batches},
            {"launch_bound_batches", after.consumer_launch_bound - before.consumer_launch_bound},
            {"graphs", now.graphs},
            {"graph_launches", now.graph_launches},
            {"graph_failures", now.graph_failures},
            {"unmeasured", after.consumer_unmeasured - before.consumer_unmeasured},
            {"idle_share", busy + idle > 0 ? idle / (busy + idle) : 0}};
  }

 private:
  void OpenModel() {
    rankfeed_crossencoder_options options{};
    options.backend = backend_;
    options.dtype = a.dtype == "f32"    ? RANKFEED_DTYPE_F32
                    : a.dtype == "f16"  ? RANKFEED_DTYPE_F16
                    : a.dtype == "bf16" ? RANKFEED_DTYPE_BF16
                                        : RANKFEED_DTYPE_AUTO;
    options.executor = a.device == "host" ? parallel_->executor() : nullptr;
    options.graph_tokens = a.graph_tokens;
    model_.emplace(Take(rankfeed::Crossencoder::Open(a.model.c_str(), options)));
    info_ = model_->info();
  }

  void ReadTexts() {
    std::ifstream in(a.docs);
    for (std::string line; std::getline(in, line);) {
      if (!line.empty()) texts_.push_back(line);
    }
    if (texts_.size() < 2) throw std::runtime_error(a.docs + ": fewer than two texts");
  }

  // The text of number i: beyond the file's texts, two of them joined, so that each is another one.
  std::string TextOf(uint64_t i) const {
    const uint64_t n = texts_.size();
    return i < n ? texts_[i] : texts_[i % n] + " " + texts_[(i / n * 7 + i) % n];
  }

  void MakeReranker() {
    rankfeed_rerank_options_init(&options_);
    options_.max_length = std::min(a.max_length, info_.max_row_tokens);
    options_.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
    options_.layout = RANKFEED_PACKED;
    if (info_.type_vocab_size > 1) GiveTypes();
    options_.max_rows_per_batch = a.pairs;
    options_.max_tokens_per_batch = a.pairs * options_.max_length;
    size_t bytes = 0;
    Must(rankfeed_batch_arena_size(&options_, options_.max_rows_per_batch, 0,
                                   options_.max_tokens_per_batch, &bytes),
         "arena");
    options_.max_arena_bytes = bytes;
    rankfeed_rerank_limits limits{};
    limits.max_documents = a.pairs;
    limits.max_text_bytes = 1 << 16;
    limits.max_tokens = (a.pairs + 1) * uint64_t{1 << 14};
    limits.workers = parallel_->executor()->workers;
    auto made = rankfeed::Reranker::Create(vocabulary_->get(), limits, options_);
    if (!made) throw std::runtime_error(made.error().message);
    reranker_ = std::make_unique<rankfeed::Reranker>(std::move(*made));
  }

  // Rows as BERT's: the query of type 0 and the passage of type 1, with whatever the vocabulary begins and ends texts with.
  void GiveTypes() {
    const rankfeed_model_info vocabulary = rankfeed::Info(vocabulary_->get());
    begin_ = vocabulary.cls_id >= 0 ? vocabulary.cls_id : vocabulary.bos_id;
    end_ = vocabulary.sep_id >= 0 ? vocabulary.sep_id : vocabulary.eos_id;
    pair_.struct_size = sizeof(pair_);
    pair_.document_type_id = 1;
    pair_.prefix = {{}, &begin_, 1, 0};
    pair_.middle = {{}, &end_, 1, 0};
    pair_.suffix = {{}, &end_, 1, 1};
    options_.pair_template = &pair_;
    options_.template_kind = RANKFEED_TEMPLATE_CUSTOM;
    options_.tensors |= RANKFEED_TENSOR_TOKEN_TYPE_IDS;
  }

  // Reads a batch as the forward does, twice (for the positions and for the embeddings), and
  // nothing more, so that what is compared is where the ids lie. Rows of 64 tokens, whose ends are
  // on the device already.
  rankfeed_status Consume(void* stream, void* data, uint64_t bytes) const {
    const auto rows = static_cast<uint32_t>(bytes / sizeof(int32_t) / kRow);
    if (rows == 0) return RANKFEED_OK;
    int32_t rc = RANKFEED_GPU_OK;
    for (int i = 0; i < 2 && rc == RANKFEED_GPU_OK; ++i) {
      if (const rankfeed_gpu_ops* ops = backend_->ops) {
        const rankfeed_op_at at = {ctx_, stream, nullptr, 0};
        const rankfeed_op_positions op = {static_cast<const int32_t*>(data), row_ends_, rows, 1,
                                          positions_};
        rc = ops->positions(&at, &op);
      } else {
        rc = backend_->launch_host(
            ctx_, stream, [](void* from) { g_sum = *static_cast<const int32_t*>(from); }, data);
      }
    }
    return rc == RANKFEED_GPU_OK ? RANKFEED_OK : RANKFEED_E_DEVICE;
  }

  // Measures up to which size reading in place wins.
  void Calibrate() {
    const auto rows = static_cast<uint32_t>(options_.max_arena_bytes / sizeof(int32_t) / kRow);
    std::vector<int32_t> ends(rows + 1);
    for (uint32_t i = 0; i <= rows; ++i) ends[i] = static_cast<int32_t>(i * kRow);
    const auto row_ends = Take(ring_->Allocate(ends.size() * sizeof(int32_t)));
    const auto positions = Take(ring_->Allocate(options_.max_arena_bytes));
    row_ends_ = static_cast<int32_t*>(row_ends.get());
    positions_ = static_cast<int32_t*>(positions.get());
    if (backend_->device_open(backend_->self, 0, &ctx_) != RANKFEED_GPU_OK ||
        backend_->copy_async(ctx_, row_ends_, ends.data(), ends.size() * sizeof(int32_t),
                             work_->get()) != RANKFEED_GPU_OK) {
      throw std::runtime_error("calibration: the device answers with an error");
    }
    Finish();
    (void)Take(ring_->Calibrate(work_->get(), [this](void* stream, void* data, uint64_t bytes) {
      return Consume(stream, data, bytes);
    }));
    backend_->device_close(ctx_);
  }

  void OpenRing() {
    rankfeed_handoff_options ring{};
    ring.flags = RANKFEED_HANDOFF_DEVICE_SLOTS | RANKFEED_HANDOFF_MEASURE_IDLE;
    ring.slot_bytes = options_.max_arena_bytes;
    ring.slots = a.slots;
    ring.backend = backend_;
    if (a.mapped != "measure") ring.mapped_limit = std::stoull(a.mapped);
    ring_.emplace(Take(rankfeed::Handoff::Open(ring)));
    const rankfeed_mem_req need =
        Take(model_->Workspace(a.pairs, a.pairs * options_.max_length, options_.max_length));
    workspace_.emplace(Take(ring_->Allocate(need.size)));
    copies_.emplace(Take(ring_->MakeStream()));
    work_.emplace(Take(ring_->MakeStream()));
    rankfeed_handoff_options scores{};
    scores.slot_bytes = uint64_t{a.queries} * a.pairs * info_.labels * sizeof(float);
    scores.slots = 1;
    scores.backend = backend_;
    scores_.emplace(Take(rankfeed::Handoff::Open(scores)));
    score_slot_.emplace(Take(scores_->Acquire()));
    logits_ = static_cast<float*>(score_slot_->view().host);
    device_logits_ = static_cast<float*>(score_slot_->view().mapped);
    if (a.mapped == "measure") Calibrate();
  }

  // Queues request number q; its scores go to place number `place`.
  void Request(uint32_t q, uint32_t place) {
    const std::string query = TextOf(uint64_t{q} * (a.pairs + 1));
    std::vector<std::string> texts(a.pairs);
    std::vector<rankfeed_source> documents(a.pairs);
    for (uint32_t i = 0; i < a.pairs; ++i) {
      texts[i] = TextOf(uint64_t{q} * (a.pairs + 1) + 1 + i);
      documents[i].text = rankfeed::Text(texts[i]);
    }
    rankfeed_source asked{};
    asked.text = rankfeed::Text(query);
    auto begin = Clock::now();
    if (auto error = reranker_->Begin(asked, documents, parallel_->executor()))
      throw std::runtime_error(error.message);
    fill_ += Clock::now() - begin;
    uint32_t rows = 0;
    while (rows < a.pairs) {
      begin = Clock::now();
      rankfeed::FillingSlot slot = Take(ring_->WaitAcquire());
      wait_ += Clock::now() - begin;
      begin = Clock::now();
      rankfeed_batch batch{};
      batch.struct_size = sizeof batch;
      batch.arena = slot.bytes().data();
      batch.arena_capacity = slot.bytes().size();
      Must(rankfeed_rerank_next(reranker_->get(), &batch), "batch");
      fill_ += Clock::now() - begin;
      if (batch.rows == 0) throw std::runtime_error("a document became no row");
      rankfeed::LeasedSlot lease =
          Take(slot.Submit(batch.arena_size, copies_->get(), RANKFEED_HANDOFF_CHOOSE));
      Must(lease.WaitOn(work_->get()));
      const rankfeed_packed_batch packed = Take(
          rankfeed::PackedBatchOf(batch, lease.data(), options_.pair_template != nullptr));
      Must(model_->Enqueue(
          packed, work_->get(), workspace_->get(), workspace_->size(),
          device_logits_ + (uint64_t{place} * a.pairs + batch.first_row) * info_.labels));
      Must(lease.Release());
      (void)ring_->Poll(lease.ticket());
      rows += batch.rows;
      tokens_ += batch.tokens;
      ++batches_;
    }
  }
  void Finish() { Must(work_->Synchronize()); }

  static constexpr uint32_t kRow = 64;  // tokens
  const Arguments& a;
  const rankfeed_gpu_backend* backend_;
  std::unique_ptr<rankfeed::Model> vocabulary_;
  std::unique_ptr<rankfeed::Parallel> parallel_;
  std::optional<rankfeed::Crossencoder> model_;
  rankfeed_crossencoder_info info_{};
  std::vector<std::string> texts_;
  int32_t begin_ = 0, end_ = 0;
  rankfeed_pair_template pair_{};  // points to these
  rankfeed_rerank_options options_{};
  std::unique_ptr<rankfeed::Reranker> reranker_;
  // Objects that outlive the streams come first.
  std::optional<rankfeed::Handoff> scores_, ring_;
  std::optional<rankfeed::FillingSlot> score_slot_;
  std::optional<rankfeed::DeviceMemory> workspace_;
  std::optional<rankfeed::HandoffStream> copies_, work_;
  float *logits_ = nullptr, *device_logits_ = nullptr;
  void* ctx_ = nullptr;
  int32_t *row_ends_ = nullptr, *positions_ = nullptr;
  Clock::duration fill_{}, wait_{};
  uint64_t tokens_ = 0, batches_ = 0;
};

int Main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Queries per second from texts to scores");
  app.add_option("--vocab", a.vocab)->required();
  app.add_option("--model", a.model);
  app.add_option("--docs", a.docs);
  app.add_option("--device", a.device);
  app.add_option("--dtype", a.dtype);
  app.add_option("--graph-tokens", a.graph_tokens);
  app.add_option("--queries", a.queries)->check(CLI::Range(1, 100000));
  app.add_option("--pairs", a.pairs)->check(CLI::Range(1, 4096));
  app.add_option("--max-length", a.max_length);
  app.add_option("--slots", a.slots)->check(CLI::Range(1, 64));
  app.add_option("--threads", a.threads, "0: all");
  app.add_option("--mapped", a.mapped,
                 "read batches of at most so many bytes in place; measure: find out");
  app.add_option("--make-model", a.make_model);
  app.add_flag("--bert", a.bert);
  app.add_option("--scores", a.scores, "write the scores of the first request there, one per line");
  app.add_option("--layers", a.layers);
  app.add_option("--hidden", a.hidden);
  CLI11_PARSE(app, argc, argv);
  try {
    if (!a.make_model.empty()) {
      auto vocabulary = rankfeed::Model::Open(a.vocab.c_str());
      if (!vocabulary) throw std::runtime_error(vocabulary.error().message);
      const rankfeed_model_info info = rankfeed::Info(vocabulary->get());
      MakeModel(a, info.id_count, info.pad_id);
      return 0;
    }
    Pipeline pipeline(a);
    std::printf("%s\n", pipeline.Run().dump(1).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_pipeline: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return Main(argc, argv);
}
