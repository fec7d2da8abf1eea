// SPDX-License-Identifier: MIT
// bench/doors_peer.cc: the C++ side of bench_doors.py, as a library that Python loads: what a C++
// program pays for the requests that the Python package makes. One thread at a time.
#include <memory>
#include <string>
#include <vector>

#include "rankfeed/builder.hpp"
#include "rankfeed/rerank.hpp"

namespace {

struct Peer {
  rankfeed::Vocabulary vocabulary;
  std::vector<std::string> texts;  // the query, then documents
  rankfeed::Encoder encoder;
  rankfeed::Reranker reranker;
  std::vector<rankfeed_source> documents;
  std::vector<int32_t> ids;
};

}  // namespace

extern "C" {

// Null on failure; kept until the process ends. max_length: of a row.
__attribute__((visibility("default"))) void* doors_open(const char* vocabulary,
                                                        const rankfeed_text* texts, size_t count,
                                                        uint32_t max_length) {
  auto loaded = rankfeed::Vocabulary::Load(vocabulary);
  if (!loaded || count == 0) return nullptr;
  size_t longest = 0;
  for (size_t i = 0; i < count; ++i) longest = std::max(longest, texts[i].size);
  auto encoder = rankfeed::Encoder::Create(loaded->model(), static_cast<uint32_t>(longest));
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  options.max_length = max_length;
  options.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  options.id_type = RANKFEED_INT64;
  options.tensors = RANKFEED_TENSOR_ATTENTION_MASK;
  rankfeed_rerank_limits limits{};
  limits.max_documents = static_cast<uint32_t>(count);
  limits.max_text_bytes = static_cast<uint32_t>(longest);
  limits.max_tokens = uint64_t{count} * max_length;
  auto reranker = rankfeed::Reranker::Create(loaded->model(), limits, options);
  if (!encoder || !reranker) return nullptr;
  auto peer = std::make_unique<Peer>(
      Peer{std::move(*loaded), {}, std::move(*encoder), std::move(*reranker), {}, {}});
  for (size_t i = 0; i < count; ++i) peer->texts.emplace_back(texts[i].data, texts[i].size);
  for (size_t i = 1; i < count; ++i) {
    peer->documents.emplace_back();
    peer->documents.back().text = {peer->texts[i].data(), peer->texts[i].size()};
  }
  peer->ids.resize(longest + 16);
  return peer.release();
}

// The pairs as one padded batch; *ids and shape[2] are its input_ids. Tokens, or -1.
__attribute__((visibility("default"))) int64_t doors_pairs(void* p, void** ids, int64_t* shape) {
  auto* peer = static_cast<Peer*>(p);
  rankfeed_source query{};
  query.text = {peer->texts[0].data(), peer->texts[0].size()};
  if (peer->reranker.Begin(query, peer->documents)) return -1;
  rankfeed_batch batch;
  if (peer->reranker.Next(&batch) || batch.rows != peer->documents.size()) return -1;
  *ids = batch.input_ids.data;
  shape[0] = batch.input_ids.shape[0];
  shape[1] = batch.input_ids.shape[1];
  return static_cast<int64_t>(batch.tokens);
}

// Tokens of all documents, one after the other into the same memory, or -1.
__attribute__((visibility("default"))) int64_t doors_encode(void* p) {
  auto* peer = static_cast<Peer*>(p);
  int64_t tokens = 0;
  for (const rankfeed_source& document : peer->documents) {
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(peer->ids.size());
    io.input_ids = peer->ids.data();
    if (rankfeed_encode(peer->encoder.get(), document.text, nullptr, &io) != RANKFEED_OK) return -1;
    tokens += io.count;
  }
  return tokens;
}

}  // extern "C"
