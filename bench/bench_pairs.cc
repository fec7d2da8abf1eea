// SPDX-License-Identifier: MIT
// bench/bench_pairs.cc: the rows of one query with many documents, packed, at most 512 tokens each, through the C++ wrapper; in a
// process of its own for bench/peers/pairs.py, which gives commands on standard input:
//   ids FILE   writes the rows: per row a uint32 count and that many int32
//   cold       makes the rows with a reranker whose word cache is empty, again and again until 20 ms are timed, and answers with the
//              CPU time of one pass in nanoseconds; making the reranker is not timed
//   run        the same with one that has seen the texts
//
// usage: bench_pairs VOCABULARY TEXTS.jsonl QUERY

#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "measure.h"
#include "placed.h"
#include "rankfeed/rerank.hpp"
#include "texts.h"

namespace rankfeed::bench {
namespace {

constexpr uint32_t kRowTokens = 512;

class Pairs {
 public:
  Pairs(const std::string& vocabulary, const std::vector<std::string>& texts, const std::string& query)
      : placed_(Place(vocabulary)), options_(RerankOptions()) {
    options_.max_length = kRowTokens;
    options_.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
    options_.layout = RANKFEED_PACKED;
    options_.tensors = RANKFEED_TENSOR_POSITION_IDS | RANKFEED_TENSOR_TOKEN_TYPE_IDS;
    query_.text = Text(query);
    for (const std::string& text : texts) documents_.push_back({Text(text), nullptr, nullptr, nullptr, 0});
    limits_.max_documents = static_cast<uint32_t>(documents_.size());
    limits_.max_text_bytes = 1 << 16;
    limits_.max_tokens = documents_.size() * kRowTokens;
    Reset();
    (void)Pass();  // The limits grow to those of the request, as in a program that has answered before.
    limits_ = reranker_->limits();
  }
  void Reset() {
    auto made = Reranker::Create(placed_->model(), limits_, options_);
    if (!made) Die(made.error().message);
    reranker_.emplace(std::move(*made));
  }
  rankfeed_batch Pass() {
    rankfeed_batch batch;
    if (const Error error = reranker_->Begin(query_, documents_)) Die(error.message);
    if (const Error error = reranker_->Next(&batch)) Die(error.message);
    if (batch.rows != documents_.size()) Die("rows are missing");
    return batch;
  }
  void WriteIds(const std::string& path) {
    const rankfeed_batch batch = Pass();
    const auto* ids = static_cast<const int32_t*>(batch.input_ids.data);
    const auto* ends = static_cast<const int32_t*>(batch.cu_seqlens.data);
    std::ofstream out(path, std::ios::binary);
    for (uint32_t row = 0; row < batch.rows; ++row) {
      const auto count = static_cast<uint32_t>(ends[row + 1] - ends[row]);
      out.write(reinterpret_cast<const char*>(&count), sizeof(count));
      out.write(reinterpret_cast<const char*>(ids + ends[row]), count * sizeof(int32_t));
    }
    std::printf("%s\n", out.flush() ? "ok" : "failed");
  }

 private:
  std::unique_ptr<measure::PlacedImage> placed_;
  rankfeed_rerank_options options_;
  rankfeed_rerank_limits limits_{};
  rankfeed_source query_{};
  std::vector<rankfeed_source> documents_;
  std::optional<Reranker> reranker_;
};

int Main(int argc, char** argv) {
  if (argc != 4) Die("usage: bench_pairs VOCABULARY TEXTS.jsonl QUERY");
  const std::vector<std::string> texts = ReadTexts(argv[2]);
  const std::string query = argv[3];
  Pairs pairs(argv[1], texts, query);
  for (std::string command; std::getline(std::cin, command);) {
    if (command.starts_with("ids ")) {
      pairs.WriteIds(command.substr(4));
    } else {
      uint64_t cpu = 0, passes = 0;
      for (; cpu < 20000000; ++passes) {
        if (command == "cold") pairs.Reset();
        const uint64_t from = Clock(CLOCK_THREAD_CPUTIME_ID);
        (void)pairs.Pass();
        cpu += Clock(CLOCK_THREAD_CPUTIME_ID) - from;
      }
      std::printf("%llu\n", static_cast<unsigned long long>(cpu / passes));
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) { return rankfeed::bench::Main(argc, argv); }
