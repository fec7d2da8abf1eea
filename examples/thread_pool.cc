// SPDX-License-Identifier: MIT
// Ranks the lines of standard input for a query on a thread pool of the program's own: the pool is handed over as an
// executor, and the library starts no thread.
//
//   thread_pool MODEL_FOLDER THREADS 'What is a panda?' <passages.txt
//
// Prints what the program of scores.cc prints. thread_pool.c encodes single texts on such a pool.
#include <rankfeed/builder.hpp>
#include <rankfeed/crossencoder.hpp>
#include <rankfeed/rerank.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

// Threads that sleep between jobs, of which there is one at a time.
class Pool {
 public:
  // workers: the thread that brings a job included.
  explicit Pool(uint32_t workers) {
    executor_.struct_size = sizeof(executor_);
    executor_.workers = workers;
    executor_.context = this;
    // Runs every item once, each worker's number on one thread at a time, and returns when all is done.
    executor_.parallel_for = [](void* pool, size_t count, rankfeed_task task, void* context) -> rankfeed_status {
      static_cast<Pool*>(pool)->Run(count, [=](size_t i, uint32_t worker) { task(context, i, i + 1, worker); });
      return RANKFEED_OK;
    };
    for (uint32_t worker = 1; worker < workers; ++worker) threads_.emplace_back([this, worker] { Serve(worker); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    begun_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  const rankfeed_executor* executor() const { return &executor_; }

 private:
  template <class F>
  void Run(size_t count, const F& each) {
    std::atomic<size_t> next{0};
    const auto take = [&](uint32_t worker) {
      for (size_t i; (i = next.fetch_add(1)) < count;) each(i, worker);
    };
    std::unique_lock lock(mutex_);
    job_ = take;
    busy_ = threads_.size();
    ++jobs_;
    lock.unlock();
    begun_.notify_all();
    take(0);
    lock.lock();
    ended_.wait(lock, [&] { return busy_ == 0; });
  }
  void Serve(uint32_t worker) {
    std::unique_lock lock(mutex_);
    for (uint64_t seen = 0;;) {
      begun_.wait(lock, [&] { return jobs_ != seen || stopping_; });
      if (stopping_) return;
      seen = jobs_;
      lock.unlock();
      job_(worker);
      lock.lock();
      if (--busy_ == 0) ended_.notify_one();
    }
  }

  rankfeed_executor executor_{};
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  std::function<void(uint32_t)> job_;
  uint64_t jobs_ = 0;
  size_t busy_ = 0;  // threads that are at the job
  bool stopping_ = false;
};

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
  const unsigned long workers = argc == 4 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (workers < 1 || workers > 1024) {
    return std::fprintf(stderr, "usage: %s MODEL_FOLDER THREADS QUERY <passages.txt (1 to 1024 threads)\n", argv[0]), 2;
  }
  std::vector<std::string> passages;
  for (std::string line; std::getline(std::cin, line);) passages.push_back(line);

  const Pool pool(static_cast<uint32_t>(workers));
  const auto vocabulary = Take(rankfeed::Vocabulary::Load(argv[1]));
  rankfeed_crossencoder_options how{};
  how.executor = pool.executor();  // the forward pass
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
  auto reranker = Take(rankfeed::Reranker::Create(vocabulary.model(), {}, options));
  rankfeed::AlignedBytes workspace;
  std::vector<float> logits;

  rankfeed_source query{};
  query.text = rankfeed::Text(argv[3]);
  std::vector<rankfeed_source> documents(passages.size());
  for (size_t i = 0; i < passages.size(); ++i) documents[i].text = rankfeed::Text(passages[i]);
  Check(reranker.Begin(query, documents, pool.executor()));  // tokenization
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
}
