// SPDX-License-Identifier: MIT
// bench/bench_query.cc: what one answered query costs on the CPU before the forward pass: one XQuAD
// question against 1 to 10,000 passages of 12 languages, XLM-R vocabulary (HuggingFace parity),
// max_length 512, packed layout, one thread.
//
//   query/text/N    every passage is tokenized, kTogether a call as the reranker does it with texts
//   query/store/N   passages come from a corpus store by document id
//
// Stages, each with p50, p95 and p99 over the requests of a run, in microseconds:
//   query      begin: the question is tokenized
//   documents  passages to ids: rankfeed_encode_batch, or look-ups in the store
//   pack       rows, template, truncation, tensors into the slot
//   handoff    acquire and submit of the slot on the host backend, without waiting for the copy
// "cpu" is the thread's CPU time for all four per request. Every request takes another question and
// other passages. Batches of both sources are compared byte for byte before anything is timed.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "corpus.h"
#include "measure.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/corpus.h"
#include "rankfeed/corpus_writer.h"
#include "rankfeed/handoff.hpp"
#include "rankfeed/rerank.h"

namespace rankfeed::bench {
namespace {

constexpr uint32_t kMaxTextBytes = 64 << 10;
constexpr uint32_t kMaxDocuments = 10000;
constexpr uint32_t kMaxLength = 512;
constexpr size_t kTokensPerDocument = 2048;  // capacity; the longest XQuAD passage has about 1,000
constexpr uint32_t kTogether = 32;           // TokenStore::kTogether in src/rerank/token_store.h

void Check(rankfeed_status status, const char* what) {
  if (status == RANKFEED_OK) return;
  Die(std::string(what) + ": " + rankfeed_status_message(status));
}

template <class T>
T Take(Result<T> result) {
  if (!result) Die(result.error().message);
  return std::move(*result);
}

enum Stage { kQuery, kDocuments, kPack, kHandoff, kTotal, kStages };
constexpr const char* kStageNames[kStages] = {"query", "documents", "pack", "handoff", "total"};

// Everything one worker of a service holds, made once.
class Service {
 public:
  Service(const rankfeed_model* model, const Corpus& corpus, const rankfeed_corpus* store)
      : corpus_(corpus), store_(store) {
    const rankfeed_limits limits{sizeof(limits), kMaxTextBytes, 0, Encoder::kDefaultCacheBytes};
    for (int i = 0; i < 2; ++i) {  // one inside the reranker, one for the timed document stage
      rankfeed_mem_req need;
      Check(rankfeed_encoder_mem_req(model, &limits, &need), "encoder");
      encoder_memory_[i] = AlignedBytes(need);
      Check(rankfeed_encoder_init(model, &limits, encoder_memory_[i].data(), need.size, &encoders_[i]),
            "encoder");
    }
    rankfeed_rerank_options_init(&options_);
    options_.max_length = kMaxLength;
    options_.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
    options_.layout = RANKFEED_PACKED;
    options_.tensors = RANKFEED_TENSOR_POSITION_IDS;
    rankfeed_rerank_limits rerank_limits{};
    rerank_limits.struct_size = sizeof(rerank_limits);
    rerank_limits.max_documents = kMaxDocuments;
    rerank_limits.max_text_bytes = kMaxTextBytes;
    rerank_limits.max_tokens = uint64_t{kMaxDocuments} * kMaxLength;
    rerank_limits.workers = 1;
    rankfeed_mem_req need;
    Check(rankfeed_reranker_mem_req(model, &rerank_limits, &options_, &need), "reranker");
    reranker_memory_ = AlignedBytes(need);
    Check(rankfeed_reranker_init(model, &rerank_limits, &options_, encoders_,
                                 reranker_memory_.data(), need.size, &reranker_),
          "reranker");
    size_t slot_bytes = 0;
    Check(rankfeed_batch_arena_size(&options_, kMaxDocuments, kMaxLength,
                                    uint64_t{kMaxDocuments} * kMaxLength, &slot_bytes),
          "slot size");
    rankfeed_handoff_options ring{};
    ring.flags = RANKFEED_HANDOFF_DEVICE_SLOTS;
    ring.slot_bytes = slot_bytes;
    ring.slots = 3;
    ring_.emplace(Take(Handoff::Open(ring)));
    stream_.emplace(Take(ring_->MakeStream()));
    ids_.resize(kMaxDocuments * kTokensPerDocument);
    sources_.resize(kMaxDocuments);
    status_.resize(kMaxDocuments);
  }

  // One request over `count` passages; ns gets the time of each stage. Returns the batch bytes.
  std::pair<const char*, size_t> Answer(uint64_t request, uint32_t count, bool from_store,
                                        uint64_t ns[kStages]) {
    const std::string& question = corpus_.questions[request % corpus_.questions.size()];
    const uint64_t t0 = Clock(CLOCK_MONOTONIC);
    const auto passage = [&](uint32_t i) { return (request * 977 + i) % corpus_.passages.size(); };
    if (from_store) {
      for (uint32_t i = 0; i < count; ++i) sources_[i] = Stored(passage(i));
    } else {
      Encode(count, passage);
    }
    const uint64_t t1 = Clock(CLOCK_MONOTONIC);
    rankfeed_request r{};
    r.struct_size = sizeof(r);
    r.document_count = count;
    r.query.text = {question.data(), question.size()};
    r.documents = sources_.data();
    r.document_status = status_.data();
    Check(rankfeed_rerank_begin(reranker_, &r), "begin");
    const uint64_t t2 = Clock(CLOCK_MONOTONIC);
    FillingSlot slot = Take(ring_->WaitAcquire());
    const uint64_t t3 = Clock(CLOCK_MONOTONIC);
    rankfeed_batch batch{};
    batch.struct_size = sizeof(batch);
    batch.arena = slot.bytes().data();
    batch.arena_capacity = slot.bytes().size();
    Check(rankfeed_rerank_next(reranker_, &batch), "next");
    const uint64_t t4 = Clock(CLOCK_MONOTONIC);
    if (batch.rows != count) Check(RANKFEED_E_STATE, "rows are missing");
    LeasedSlot lease = Take(slot.Submit(batch.arena_size, stream_->get()));
    const uint64_t t5 = Clock(CLOCK_MONOTONIC);
    ns[kQuery] = t2 - t1;
    ns[kDocuments] = t1 - t0;
    ns[kPack] = t4 - t3;
    ns[kHandoff] = t3 - t2 + t5 - t4;
    ns[kTotal] = t5 - t0;
    tokens_ = batch.tokens;
    if (const Error error = lease.ReleaseNow()) Die(error.message);
    return {static_cast<const char*>(slot.view().host), batch.arena_size};
  }
  uint64_t tokens() const { return tokens_; }

 private:
  // passage: the number of a candidate's text.
  template <class Passage>
  void Encode(uint32_t count, Passage passage) {
    size_t written = 0;
    for (uint32_t from = 0; from < count; from += kTogether) {
      const uint32_t texts = std::min(kTogether, count - from);
      rankfeed_text views[kTogether];
      uint32_t cu_seqlens[kTogether + 1];
      for (uint32_t i = 0; i < texts; ++i) {
        const std::string& text = corpus_.passages[passage(from + i)];
        views[i] = {text.data(), text.size()};
      }
      int32_t* const ids = ids_.data() + written;
      rankfeed_encodings io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(ids_.size() - written);
      io.input_ids = ids;
      io.cu_seqlens = cu_seqlens;
      Check(rankfeed_encode_batch(encoders_[1], views, texts, nullptr, &io), "encode_batch");
      for (uint32_t i = 0; i < texts; ++i) {
        const uint32_t tokens = cu_seqlens[i + 1] - cu_seqlens[i];
        sources_[from + i] = {{nullptr, 0}, ids + cu_seqlens[i], nullptr, nullptr, tokens};
      }
      written += io.count;
    }
  }
  rankfeed_source Stored(size_t passage) {
    const std::string id = std::to_string(passage);
    rankfeed_source source{};
    Check(rankfeed_corpus_find(store_, {id.data(), id.size()}, &source), "find");
    return source;
  }

  const Corpus& corpus_;
  const rankfeed_corpus* store_;
  AlignedBytes encoder_memory_[2], reranker_memory_;
  rankfeed_encoder* encoders_[2] = {};
  rankfeed_rerank_options options_;
  rankfeed_reranker* reranker_ = nullptr;
  std::optional<Handoff> ring_;
  std::optional<HandoffStream> stream_;
  std::vector<int32_t> ids_;
  std::vector<rankfeed_source> sources_;
  std::vector<rankfeed_status> status_;
  uint64_t tokens_ = 0;
};

double Percentile(std::vector<uint64_t>& samples, double p) {
  std::sort(samples.begin(), samples.end());
  const auto at = static_cast<size_t>(p * static_cast<double>(samples.size() - 1));
  return static_cast<double>(samples[at]) / 1e3;
}

void Query(benchmark::State& state, Service& service, uint32_t count, bool from_store) {
  std::vector<uint64_t> samples[kStages];
  uint64_t ns[kStages], request = 0, cpu = 0;
  for (auto _ : state) {
    const uint64_t before = Clock(CLOCK_THREAD_CPUTIME_ID);
    service.Answer(request++, count, from_store, ns);
    cpu += Clock(CLOCK_THREAD_CPUTIME_ID) - before;
    for (int i = 0; i < kStages; ++i) samples[i].push_back(ns[i]);
  }
  for (int i = 0; i < kStages; ++i) {
    const std::string name = kStageNames[i];
    state.counters[name + "_p50_us"] = Percentile(samples[i], 0.50);
    state.counters[name + "_p95_us"] = Percentile(samples[i], 0.95);
    state.counters[name + "_p99_us"] = Percentile(samples[i], 0.99);
  }
  state.counters["cpu_us"] = static_cast<double>(cpu) / 1e3 / static_cast<double>(request);
  state.counters["tokens"] = static_cast<double>(service.tokens());
}

void BuildStore(const std::string& path, const rankfeed_model* model, const Corpus& corpus) {
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  rankfeed_corpus_writer_options options{};
  options.struct_size = sizeof(options);
  options.mode = RANKFEED_CORPUS_CREATE;
  rankfeed_corpus_writer* writer = nullptr;
  Check(rankfeed_corpus_writer_open(path.c_str(), model, &options, &writer, &error), error.message);
  for (size_t i = 0; i < corpus.passages.size(); ++i) {
    const std::string id = std::to_string(i);
    const std::string& text = corpus.passages[i];
    const rankfeed_source source{{text.data(), text.size()}, nullptr, nullptr, nullptr, 0};
    Check(rankfeed_corpus_writer_put(writer, {id.data(), id.size()}, &source, &error), "put");
  }
  Check(rankfeed_corpus_writer_commit(writer, &error), "commit");
  rankfeed_corpus_writer_close(writer);
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  auto vocab = Vocabulary::Load(SharedFile("xlmr.tokenizer.json"));
  const Corpus corpus = LoadXquad("all");
  if (!vocab || corpus.passages.empty()) {
    std::fprintf(stderr, "bench_query: not run: no XLM-R vocabulary or XQuAD in RANKFEED_SHARED_DATA\n");
    return 1;
  }
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("bench_query." + std::to_string(getpid()) + ".rfc")).string();
  BuildStore(path, vocab->model(), corpus);
  const AlignedBytes storage(rankfeed_corpus_mem_req());
  rankfeed_mapping mapping{};
  rankfeed_corpus* store = nullptr;
  rankfeed_corpus_options options{};
  options.struct_size = sizeof(options);
  Check(rankfeed_corpus_open_file(path.c_str(), vocab->model(), &options, storage.data(),
                                  storage.size(), &mapping, &store, nullptr),
        "store");
  std::filesystem::remove(path);  // the mapping keeps the bytes
  {
    Service service(vocab->model(), corpus, store);
    uint64_t ns[kStages];
    for (uint64_t request = 0; request < 20; ++request) {
      const auto [text, text_bytes] = service.Answer(request, 100, false, ns);
      const std::string expected(text, text_bytes);
      const auto [stored, stored_bytes] = service.Answer(request, 100, true, ns);
      if (expected != std::string_view(stored, stored_bytes)) {
        std::fprintf(stderr, "bench_query: batches from text and from the store differ\n");
        return 1;
      }
    }
    for (const uint32_t count : {1u, 10u, 100u, 1000u, 10000u}) {
      for (const bool from_store : {false, true}) {
        const std::string name = std::string("query/") + (from_store ? "store/" : "text/") +
                                 std::to_string(count);
        benchmark::RegisterBenchmark(name.c_str(), [&service, count, from_store](auto& state) {
          Query(state, service, count, from_store);
        });
      }
    }
    benchmark::RunSpecifiedBenchmarks();
  }
  rankfeed_image_unmap(&mapping);
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
