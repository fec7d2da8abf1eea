// SPDX-License-Identifier: MIT
// Ranks the lines of standard input for a query on the CPU: the model's folder is all it needs.
//
//   scores MODEL_FOLDER 'What is a panda?' <passages.txt
//
// Prints a score and a passage a line, best first. The folder is one as `hf download` makes them.
#include <rankfeed/builder.hpp>
#include <rankfeed/crossencoder.hpp>
#include <rankfeed/parallel.hpp>
#include <rankfeed/rerank.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

void Check(const rankfeed::Error& error) {
  if (!error) return;
  std::fprintf(stderr, "%s\n", error.message.c_str());
  std::exit(1);
}

template <class T>
T Take(rankfeed::Result<T> result) {
  if (!result) Check(result.error());
  return std::move(*result);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s MODEL_FOLDER QUERY <passages.txt\n", argv[0]), 2;
  std::vector<std::string> passages;
  for (std::string line; std::getline(std::cin, line);) passages.push_back(line);

  // All three may be shared by any number of threads, each with a reranker of its own.
  const auto vocabulary = Take(rankfeed::Vocabulary::Load(argv[1]));
  const auto threads = Take(rankfeed::Parallel::Open(0));  // one for each CPU
  rankfeed_crossencoder_options how{};
  how.executor = threads.executor();
  const auto model = Take(rankfeed::Crossencoder::Open(argv[1], how));
  const rankfeed_crossencoder_info info = model.info();
  if (info.labels != 1) return std::fprintf(stderr, "%s: %u labels, where one ranks\n", argv[1], info.labels), 1;
  const bool with_types = info.type_vocab_size > 1;

  rankfeed_rerank_options options = rankfeed::RerankOptions();
  options.max_length = std::min(512u, info.max_row_tokens);
  options.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  options.layout = RANKFEED_PACKED;
  options.tensors = with_types ? RANKFEED_TENSOR_TOKEN_TYPE_IDS : 0;
  options.max_rows_per_batch = 64;
  options.max_tokens_per_batch = 8192;
  // Limits and memory grow with the requests, and stay.
  auto reranker = Take(rankfeed::Reranker::Create(vocabulary.model(), {}, options));
  rankfeed::AlignedBytes workspace;
  std::vector<float> logits;

  rankfeed_source query{};
  query.text = rankfeed::Text(argv[2]);
  std::vector<rankfeed_source> documents(passages.size());
  for (size_t i = 0; i < passages.size(); ++i) documents[i].text = rankfeed::Text(passages[i]);
  Check(reranker.Begin(query, documents, threads.executor()));
  for (rankfeed_batch batch;;) {
    Check(reranker.Next(&batch));
    if (batch.rows == 0) break;
    Check(model.Score(Take(rankfeed::PackedBatchOf(batch, batch.arena, with_types)), &workspace, &logits));
    Check(reranker.PutScores(batch, logits, RANKFEED_SCORE_SIGMOID));
  }
  std::vector<rankfeed_ranked> ranked;
  rankfeed_rank_options best{};
  best.struct_size = sizeof(best);
  Check(reranker.Rank(best, &ranked));
  for (const rankfeed_ranked& one : ranked) std::printf("%.5f %s\n", one.score, passages[one.index].c_str());
  for (size_t i = 0; i < passages.size(); ++i) {
    if (const rankfeed_status status = reranker.status()[i]) {
      std::fprintf(stderr, "line %zu has no row: %s\n", i + 1, rankfeed_status_message(status));
    }
  }
}
