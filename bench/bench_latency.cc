// SPDX-License-Identifier: MIT
// bench/bench_latency.cc: what one call costs, alone: a text at a time, nothing to share set-up with.
//
//   document/MODE/cold    one English XQuAD passage of about 512 tokens, another one in every call, with an
//                         encoder initialized just before (empty word cache)
//   document/MODE/warm    the same passage again
//   document/MODE/stream  passage after passage of 240, the cache keeps what it holds
//   question/MODE/stream  short queries, question after question
//   length/MODE/BYTES     texts of 100 B to 100 MB cut from the passages of 12 languages; with MODE newest: SentencePiece
//                         parity of the newest release, where scripts/bench-sentencepiece.sh has built that
//
// MODE is hf (HuggingFace parity), sp (SentencePiece parity, of 0.1.97 to 0.2.1) or libsentencepiece. Calls are timed one by
// one with the thread's CPU clock, whose own cost (about 0.1 us) is in every figure; p50, p95 and p99 are
// over the calls of a run. Ids are compared with libsentencepiece before anything is timed; of texts above 10 MB, where
// that needs 10 GB of memory, with whole_sentence.h, and libsentencepiece is not timed.
#include <benchmark/benchmark.h>
#include <sentencepiece_processor.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "corpus.h"
#include "image/model.h"
#include "measure.h"
#include "newest.h"
#include "placed.h"
#include "whole_sentence.h"

namespace rankfeed::bench {
namespace {

constexpr uint32_t kCacheBytes = 1 << 20;
constexpr size_t kLargest = 100000000;
constexpr size_t kLargestOfLibrary = 10000000;

class Encoding {
 public:
  Encoding(const rankfeed_model* model, size_t max_text_bytes)
      : model_(model),
        limits_{sizeof(rankfeed_limits), static_cast<uint32_t>(max_text_bytes), 0, kCacheBytes} {
    rankfeed_mem_req need;
    Check(rankfeed_encoder_mem_req(model_, &limits_, &need));
    // The worst growth of a normalizer is room that hardly any text needs: address space, not memory.
    size_ = need.size;
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) Check(RANKFEED_E_NO_MEMORY);
    ids_.resize(max_text_bytes / 2 + 4096);
    Reset();
  }
  ~Encoding() { munmap(memory_, size_); }
  Encoding(const Encoding&) = delete;
  void Reset() {
    Check(rankfeed_encoder_init(model_, &limits_, memory_, size_, &encoder_));
  }
  std::span<const int32_t> Run(const std::string& text) {
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(ids_.size());
    io.input_ids = ids_.data();
    Check(rankfeed_encode(encoder_, {text.data(), text.size()}, nullptr, &io));
    return {ids_.data(), io.count};
  }

 private:
  const rankfeed_model* model_;
  rankfeed_limits limits_;
  void* memory_ = nullptr;
  size_t size_ = 0;
  std::vector<int32_t> ids_;
  rankfeed_encoder* encoder_ = nullptr;
};

// Times call(i) for i = 0, 1, ...; prepare runs before each, untimed.
void Percentiles(benchmark::State& state, const std::function<void()>& prepare,
                 const std::function<size_t(size_t)>& call) {
  std::vector<double> times;
  size_t i = 0, bytes = 0;
  for (auto _ : state) {
    prepare();
    const uint64_t begin = Clock(CLOCK_THREAD_CPUTIME_ID);
    bytes += call(i++);
    const double ns = static_cast<double>(Clock(CLOCK_THREAD_CPUTIME_ID) - begin);
    times.push_back(ns / 1e3);
    state.SetIterationTime(ns / 1e9);
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double p) { return times[static_cast<size_t>(p * static_cast<double>(times.size() - 1))]; };
  state.counters["p50_us"] = at(0.50);
  state.counters["p95_us"] = at(0.95);
  state.counters["p99_us"] = at(0.99);
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}

// 512 tokens of English, as a passage cut into half would not be: passages joined, cut at a space.
std::vector<std::string> Documents(const Corpus& english, Encoding& encoder) {
  std::vector<std::string> documents;
  std::string text;
  for (const std::string& passage : english.passages) {
    text += passage + " ";
    while (encoder.Run(text).size() > 512) text.resize(text.rfind(' ', text.size() - 2) + 1);
    if (encoder.Run(text).size() < 500) continue;
    documents.push_back(std::move(text));
    text.clear();
  }
  return documents;
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  sentencepiece::SentencePieceProcessor processor;
  const Corpus english = LoadXquad("en"), all = LoadXquad("all");
  if (!processor.Load(SharedFile("xlmr.model")).ok() || english.passages.empty()) {
    std::fprintf(stderr, "bench_latency: not run: no XLM-R vocabulary or texts in RANKFEED_SHARED_DATA\n");
    return 1;
  }
  const auto hf = Place(SharedFile("xlmr.tokenizer.json")), sp = Place(SharedFile("xlmr.model"), kLinkedParity);
  benchmark::AddCustomContext("pages of the image", sp->ladder().obtained.kind);
  std::string everything;
  while (everything.size() < kLargest) {
    for (const std::string& passage : all.passages) everything += passage + "\n";
  }
  Encoding small_hf(hf->model(), 64 << 10), small_sp(sp->model(), 64 << 10);
  const std::vector<std::string> documents = Documents(english, small_hf);
  std::vector<std::string> lengths;
  for (size_t size = 100; size <= kLargest; size *= 10) {
    std::string text = everything.substr(0, size);
    while ((static_cast<unsigned char>(everything[text.size()]) & 0xc0) == 0x80) text.pop_back();
    lengths.push_back(std::move(text));
  }
  Encoding large_hf(hf->model(), kLargest), large_sp(sp->model(), kLargest);
  WholeSentence whole(processor, Charsmap(sp->model()->charsmap_units, sp->model()->charsmap_pool));
  const auto same = [&](const std::string& text) {
    std::vector<int> expected;
    const auto got = large_sp.Run(text);
    if (text.size() > kLargestOfLibrary) {
      expected.resize(text.size());
      expected.resize(whole.Encode(text, expected.data()));
      return std::equal(got.begin(), got.end(), expected.begin(), expected.end());
    }
    return processor.Encode(text, &expected).ok() &&
           std::equal(got.begin(), got.end(), expected.begin(), expected.end());
  };
  using Texts = std::vector<std::string>;
  for (const Texts* texts : std::initializer_list<const Texts*>{&documents, &english.questions, &lengths}) {
    for (const std::string& text : *texts) {
      if (!same(text)) {
        std::fprintf(stderr, "bench_latency: ids of SentencePiece parity and of the reference differ on %zu bytes: %.60s\n",
                     text.size(), text.c_str());
        return 1;
      }
    }
  }

  const auto newest = NewestSentencePiece::Load(SharedFile("xlmr.model"));
  const auto newest_sp = Place(SharedFile("xlmr.model"));
  Encoding large_newest(newest_sp->model(), kLargest);
  for (const std::string& text : lengths) {
    if (newest == nullptr || text.size() > kLargestOfLibrary) break;
    std::vector<int32_t> expected(text.size());
    expected.resize(newest->Encode(text, expected.data(), expected.size()));
    const auto got = large_newest.Run(text);
    if (!std::equal(got.begin(), got.end(), expected.begin(), expected.end())) {
      std::fprintf(stderr, "bench_latency: ids and those of SentencePiece %s differ on %zu bytes\n", newest->version().c_str(), text.size());
      return 1;
    }
  }
  if (newest == nullptr) std::fprintf(stderr, "bench_latency: length/newest not run: %s\n", NewestSentencePiece::kNotBuilt);

  const auto nothing = [] {};
  const auto add = [](const std::string& name, const std::function<void()>& prepare,
                      const std::function<size_t(size_t)>& call) {
    benchmark::RegisterBenchmark(name.c_str(), [=](auto& s) { Percentiles(s, prepare, call); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  };
  const auto over = [](const std::vector<std::string>& texts, Encoding& encoder) {
    return [&](size_t i) {
      const std::string& text = texts[i % texts.size()];
      benchmark::DoNotOptimize(encoder.Run(text).size());
      return text.size();
    };
  };
  std::vector<int> sp_ids;
  const auto library = [&](const std::vector<std::string>& texts) {
    return [&](size_t i) {
      const std::string& text = texts[i % texts.size()];
      if (!processor.Encode(text, &sp_ids).ok()) std::exit(1);
      return text.size();
    };
  };
  const std::vector<std::string> one = {documents[0]};
  struct Mode {
    std::string name;
    Encoding* small;
    Encoding* large;
  };
  for (const Mode& mode : {Mode{"hf", &small_hf, &large_hf}, Mode{"sp", &small_sp, &large_sp}}) {
    add("document/" + mode.name + "/cold", [=] { mode.small->Reset(); }, over(documents, *mode.small));
    add("document/" + mode.name + "/warm", nothing, over(one, *mode.small));
    add("document/" + mode.name + "/stream", nothing, over(documents, *mode.small));
    add("question/" + mode.name + "/stream", nothing, over(english.questions, *mode.small));
  }
  add("document/libsentencepiece", nothing, library(documents));
  add("question/libsentencepiece", nothing, library(english.questions));
  std::vector<std::vector<std::string>> single;
  for (const std::string& text : lengths) single.push_back({text});
  for (const auto& text : single) {
    const std::string bytes = std::to_string(text[0].size());
    add("length/hf/" + bytes, nothing, over(text, large_hf));
    add("length/sp/" + bytes, nothing, over(text, large_sp));
    if (newest != nullptr && text[0].size() <= kLargestOfLibrary) add("length/newest/" + bytes, nothing, over(text, large_newest));
    if (text[0].size() <= kLargestOfLibrary) add("length/libsentencepiece/" + bytes, nothing, library(text));
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
