// SPDX-License-Identifier: MIT
// Ranks the lines of standard input for a query through a ring of page-locked slots: batches are tokenized into a slot,
// copied to the device on one stream and scored on another, while the next slot is filled.
//
//   pinned_slots MODEL_FOLDER 'What is a panda?' <passages.txt
//
// It runs on the host backend, whose streams are threads. On a GPU the calls are the same: put
// rankfeed_handoff_cuda_backend() or rankfeed_handoff_hip_backend() below, and link that library (component cuda or hip).
#include <rankfeed/builder.hpp>
#include <rankfeed/crossencoder.hpp>
#include <rankfeed/handoff.hpp>
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

rankfeed::Handoff OpenRing(const rankfeed_gpu_backend* backend, uint64_t slot_bytes, uint32_t slots, uint32_t flags) {
  rankfeed_handoff_options options{};
  options.backend = backend;
  options.slot_bytes = slot_bytes;
  options.slots = slots;
  options.flags = flags;
  return Take(rankfeed::Handoff::Open(options));
}

// Fills, submits and scores all batches of a request that has begun, and returns them. The device writes the logit of
// row r to logits[r], which is page-locked memory too.
std::vector<rankfeed_batch> ScoreBatches(const rankfeed_rerank_options& options, const rankfeed_gpu_backend* backend,
                                         const rankfeed::Crossencoder& model, rankfeed::Reranker* reranker, float* logits) {
  // Three slots let filling, copying and scoring overlap.
  rankfeed::Handoff ring = OpenRing(backend, options.max_arena_bytes, 3, RANKFEED_HANDOFF_DEVICE_SLOTS);
  const rankfeed_mem_req need =
      Take(model.Workspace(options.max_rows_per_batch, options.max_tokens_per_batch, options.max_length));
  const rankfeed::DeviceMemory workspace = Take(ring.Allocate(need.size));
  const rankfeed::HandoffStream copies = Take(ring.MakeStream()), work = Take(ring.MakeStream());
  std::vector<rankfeed_batch> batches;
  for (;;) {
    rankfeed::FillingSlot slot = Take(ring.WaitAcquire());  // waits while all are in flight
    rankfeed_batch batch;
    Check(reranker->Next(slot.bytes(), &batch));
    if (batch.rows == 0) break;  // the slot is abandoned
    rankfeed::LeasedSlot lease = Take(slot.Submit(batch.arena_size, copies.get()));
    Check(lease.WaitOn(work.get()));  // the scores wait for the copy, the host does not
    const auto packed = Take(rankfeed::PackedBatchOf(batch, lease.data(), options.tensors != 0));
    Check(model.Enqueue(packed, work.get(), workspace.get(), workspace.size(), logits + batch.first_row));
    Check(lease.Release());  // the slot is free once the device is past the scores
    batches.push_back(batch);
  }
  Check(work.Synchronize());
  return batches;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s MODEL_FOLDER QUERY <passages.txt\n", argv[0]), 2;
  const rankfeed_gpu_backend* const backend = rankfeed_handoff_host_backend();
  std::vector<std::string> passages;
  for (std::string line; std::getline(std::cin, line);) passages.push_back(line);

  const auto vocabulary = Take(rankfeed::Vocabulary::Load(argv[1]));
  rankfeed_crossencoder_options how{};
  how.backend = backend;
  const auto model = Take(rankfeed::Crossencoder::Open(argv[1], how));
  const rankfeed_crossencoder_info info = model.info();
  if (info.labels != 1) return std::fprintf(stderr, "%s: %u labels, where one ranks\n", argv[1], info.labels), 1;

  rankfeed_rerank_options options = rankfeed::RerankOptions();
  options.max_length = std::min(512u, info.max_row_tokens);
  options.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  options.layout = RANKFEED_PACKED;
  options.tensors = info.type_vocab_size > 1 ? RANKFEED_TENSOR_TOKEN_TYPE_IDS : 0;
  options.max_rows_per_batch = 16;
  options.max_tokens_per_batch = 4096;
  // Bytes of a slot, which batches are planned to fit.
  if (const rankfeed_status status = rankfeed_batch_arena_size(
          &options, options.max_rows_per_batch, 0, options.max_tokens_per_batch, &options.max_arena_bytes)) {
    return std::fprintf(stderr, "batch: %s\n", rankfeed_status_message(status)), 1;
  }
  auto reranker = Take(rankfeed::Reranker::Create(vocabulary.model(), {}, options));
  rankfeed::Handoff scores = OpenRing(backend, (passages.size() + 1) * sizeof(float), 1, 0);
  const rankfeed::FillingSlot slot = Take(scores.Acquire());
  if (slot.view().mapped == nullptr) {
    return std::fprintf(stderr, "the device cannot write to page-locked memory\n"), 1;
  }

  rankfeed_source query{};
  query.text = rankfeed::Text(argv[2]);
  std::vector<rankfeed_source> documents(passages.size());
  for (size_t i = 0; i < passages.size(); ++i) documents[i].text = rankfeed::Text(passages[i]);
  Check(reranker.Begin(query, documents));
  const std::vector<rankfeed_batch> batches =
      ScoreBatches(options, backend, model, &reranker, static_cast<float*>(slot.view().mapped));
  for (const rankfeed_batch& batch : batches) {
    const float* const logits = reinterpret_cast<const float*>(slot.bytes().data()) + batch.first_row;
    Check(reranker.PutScores(batch, {logits, batch.rows}, RANKFEED_SCORE_SIGMOID));
  }
  std::vector<rankfeed_ranked> ranked;
  rankfeed_rank_options best{};
  best.struct_size = sizeof(best);
  Check(reranker.Rank(best, &ranked));
  for (const rankfeed_ranked& one : ranked) std::printf("%.5f %s\n", one.score, passages[one.index].c_str());
  std::fprintf(stderr, "%zu batches through 3 slots\n", batches.size());
}
