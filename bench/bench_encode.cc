// SPDX-License-Identifier: MIT
// bench/bench_encode.cc: throughput of encoding all XQuAD passages of a language, one thread.
//
//   rankfeed_hf/LANG/cold   HuggingFace parity; the word cache is emptied before every pass
//   rankfeed_hf/LANG/warm   the cache keeps the words of the pass before
//   rankfeed_hf_offsets/LANG  the same with offsets
//   rankfeed_sp/LANG/cold   SentencePiece parity, as above
//   rankfeed_sp/LANG/warm
//   sentencepiece/LANG      libsentencepiece, Encode to ids
//
// LANG is a language of XQuAD, "odd" for English with something in every thousandth byte that only the general path
// reads, "all" for 12 languages mixed, or "many": the stream of bench/text_streams.py, when RANKFEED_MANY_LANGUAGES names
// its file.
//
// Ids are compared before anything is timed: those alone with those beside offsets, SentencePiece parity with
// libsentencepiece. A difference ends the program with exit code 1.
#include <benchmark/benchmark.h>
#include <sentencepiece_processor.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "corpus.h"
#include "measure.h"
#include "rankfeed/builder.hpp"

namespace rankfeed::bench {
namespace {

constexpr uint32_t kMaxTextBytes = 1 << 20;
constexpr uint32_t kCacheBytes = 1 << 20;  // 16K words

const char* const kLanguages[] = {"en", "odd", "de", "ru", "ar", "hi", "th", "zh", "all", "many"};

// One encoder in its own memory, which can be made afresh.
class Bencher {
 public:
  Bencher(const rankfeed_model* model, bool offsets)
      : model_(model),
        limits_{sizeof(rankfeed_limits), kMaxTextBytes, offsets ? 1u : 0u, kCacheBytes} {
    rankfeed_mem_req need;
    Check(rankfeed_encoder_mem_req(model_, &limits_, &need));
    memory_ = AlignedBytes(need);
    ids_.resize(kMaxTextBytes);
    begin_.resize(offsets ? kMaxTextBytes : 0);
    Reset();
  }
  void Reset() {
    Check(rankfeed_encoder_init(model_, &limits_, memory_.data(), memory_.size(), &encoder_));
  }
  std::span<const int32_t> Encode(const std::string& text) {
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(ids_.size());
    io.input_ids = ids_.data();
    io.offset_begin = begin_.empty() ? nullptr : begin_.data();
    Check(rankfeed_encode(encoder_, {text.data(), text.size()}, nullptr, &io));
    return {ids_.data(), io.count};
  }

 private:
  const rankfeed_model* model_;
  rankfeed_limits limits_;
  AlignedBytes memory_;
  std::vector<int32_t> ids_;
  std::vector<uint32_t> begin_;
  rankfeed_encoder* encoder_ = nullptr;
};

enum class Cache { kCold, kWarm };

void Encode(benchmark::State& state, const rankfeed_model* model, const Corpus& corpus,
            bool offsets, Cache cache) {
  Bencher bencher(model, offsets);
  size_t tokens = 0;
  for (auto _ : state) {
    if (cache == Cache::kCold) {
      state.PauseTiming();
      bencher.Reset();
      state.ResumeTiming();
    }
    tokens = 0;
    for (const std::string& text : corpus.passages) tokens += bencher.Encode(text).size();
    benchmark::DoNotOptimize(tokens);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * corpus.passage_bytes));
  state.counters["tokens"] = static_cast<double>(tokens);
}

void SentencePiece(benchmark::State& state, const sentencepiece::SentencePieceProcessor& processor,
                   const Corpus& corpus) {
  size_t tokens = 0;
  std::vector<int> ids;
  for (auto _ : state) {
    tokens = 0;
    for (const std::string& text : corpus.passages) {
      if (!processor.Encode(text, &ids).ok()) state.SkipWithError("sentencepiece failed");
      tokens += ids.size();
    }
    benchmark::DoNotOptimize(tokens);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * corpus.passage_bytes));
  state.counters["tokens"] = static_cast<double>(tokens);
}

bool SameIds(const Corpus& corpus, const rankfeed_model* hf, const rankfeed_model* sp,
             const sentencepiece::SentencePieceProcessor& processor) {
  Bencher words(hf, false), plain(hf, true), sp_mode(sp, false);
  for (const std::string& text : corpus.passages) {
    const auto a = words.Encode(text), b = plain.Encode(text);
    if (!std::equal(a.begin(), a.end(), b.begin(), b.end())) {
      std::fprintf(stderr, "%s: ids alone and with offsets differ\n", corpus.name.c_str());
      return false;
    }
    std::vector<int> expected;
    const auto c = sp_mode.Encode(text);
    if (!processor.Encode(text, &expected).ok() ||
        !std::equal(c.begin(), c.end(), expected.begin(), expected.end())) {
      std::fprintf(stderr, "%s: SentencePiece parity and libsentencepiece differ\n",
                   corpus.name.c_str());
      return false;
    }
  }
  return true;
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  auto hf = Vocabulary::Load(SharedFile("xlmr.tokenizer.json"));
  auto sp = Vocabulary::Load(SharedFile("xlmr.model"), RANKFEED_PARITY_SENTENCEPIECE_0_2_1);
  sentencepiece::SentencePieceProcessor processor;
  if (!hf || !sp || !processor.Load(SharedFile("xlmr.model")).ok()) {
    std::fprintf(stderr, "bench_encode: not run: no XLM-R vocabulary in RANKFEED_SHARED_DATA\n");
    return 1;
  }
  std::vector<std::unique_ptr<Corpus>> corpora;
  for (const char* language : kLanguages) {
    const bool many = std::string_view(language) == "many";
    corpora.push_back(std::make_unique<Corpus>(many ? LoadManyLanguages() : std::string_view(language) == "odd" ? LoadOdd() : LoadXquad(language)));
    const Corpus* corpus = corpora.back().get();
    if (many && corpus->passages.empty()) continue;
    if (corpus->passages.empty() || !SameIds(*corpus, hf->model(), sp->model(), processor)) {
      return 1;
    }
    const std::string name = std::string("/") + language;
    benchmark::RegisterBenchmark(("rankfeed_hf" + name + "/cold").c_str(), [=, &hf](auto& s) {
      Encode(s, hf->model(), *corpus, false, Cache::kCold);
    });
    benchmark::RegisterBenchmark(("rankfeed_hf" + name + "/warm").c_str(), [=, &hf](auto& s) {
      Encode(s, hf->model(), *corpus, false, Cache::kWarm);
    });
    benchmark::RegisterBenchmark(("rankfeed_hf_offsets" + name).c_str(), [=, &hf](auto& s) {
      Encode(s, hf->model(), *corpus, true, Cache::kWarm);
    });
    benchmark::RegisterBenchmark(("rankfeed_sp" + name + "/cold").c_str(), [=, &sp](auto& s) {
      Encode(s, sp->model(), *corpus, false, Cache::kCold);
    });
    benchmark::RegisterBenchmark(("rankfeed_sp" + name + "/warm").c_str(), [=, &sp](auto& s) {
      Encode(s, sp->model(), *corpus, false, Cache::kWarm);
    });
    benchmark::RegisterBenchmark(("sentencepiece" + name).c_str(), [=, &processor](auto& s) {
      SentencePiece(s, processor, *corpus);
    });
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
