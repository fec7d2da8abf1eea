// SPDX-License-Identifier: MIT
// serve/scorer.h: one thread's rerankers, encoder and workspace, or way to a device: tokenizes,
// scores and ranks one request at a time. Scratch grows with the largest request and is given back
// after one that was larger than most.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "serve/lane.h"
#include "serve/options.h"

namespace rankfeed::serve {

// Options of rows that may differ between requests. Rerankers are kept for each value.
struct RowPolicy {
  bool truncate = true;      // false: a row that is too long is an error of the request
  std::optional<bool> left;  // cut at the start; unset: as the vocabulary's folder says
  uint32_t max_chunks = 1;   // more: windows over long documents
  uint32_t max_tokens_per_doc = 0, max_query_tokens = 0, max_length = 0;  // 0: no limit but the service's
  auto operator<=>(const RowPolicy&) const = default;
};

struct Document {
  std::string text, id;  // id: of the corpus store, where has_text is false
  bool has_text = false;
};

struct Ranking {
  // in
  std::string query;
  std::vector<Document> documents;
  RowPolicy policy;
  uint32_t top_n = 0;
  bool raw_scores = false;
  std::optional<std::string> prompt, prompt_name;  // before the query; unset: the folder's default prompt
  Clock::time_point deadline;
  // out
  std::vector<rankfeed_ranked> ranked;
  uint64_t tokens = 0, rows = 0, batches = 0, generation = 0;
  uint64_t billed_documents = 0;  // one for each 500 tokens of a row that were begun
  uint64_t cut_rows = 0;          // rows as long as max_length lets them be
  Clock::duration tokenizing{}, scoring{};
  uint64_t tokenizing_cpu_ns = 0;
};

struct Token {
  int32_t id = 0;
  bool special = false;
  uint32_t begin = 0, end = 0;  // bytes of the text
  std::string text;
};

class Scorer {
 public:
  // cancel: not zero ends requests early, see rankfeed_control.
  Scorer(const Options& options, const uint32_t* cancel) : options_(options), cancel_(cancel) {}
  // The set of assets of the calls that follow.
  void Use(std::shared_ptr<const Assets> assets);
  const Assets& assets() const { return *assets_; }

  Error Rank(Ranking* io);
  // The text of the prompt of that name. NOT_FOUND, which names those there are.
  Result<std::string> Prompt(const std::string& name) const;
  Error Tokenize(const std::string& text, bool add_special_tokens, std::vector<Token>* out);
  Error Decode(const std::vector<int32_t>& ids, bool skip_special_tokens, std::string* out);

 private:
  rankfeed_rerank_options BatchOptions() const;
  Result<Reranker*> For(const RowPolicy& policy);
  Error Sources(const Ranking& ranking, std::vector<rankfeed_source>* out) const;
  Error Batches(Reranker* r, Ranking* io);
  Error BatchesOnDevice(Reranker* r, Ranking* io);
  Error Fill(Reranker* r, std::span<std::byte> arena, Ranking* io, rankfeed_batch* batch);
  Error Score(const rankfeed_batch& batch, bool raw, Reranker* r);
  Error TakeScores(bool raw, Reranker* r);
  Error Put(const rankfeed_batch& batch, std::span<const float> logits, bool raw, Reranker* r);
  Error Interrupted(const Ranking& io) const;
  Error OpenLane();
  Error Room(size_t text_bytes);  // an encoder with offsets for texts of that size
  std::string TooLong(rankfeed_text text) const;  // what is said of one, after its name, that is RANKFEED_E_LIMIT
  void Forget();

  const Options& options_;
  const uint32_t* const cancel_;
  std::shared_ptr<const Assets> assets_;
  std::map<RowPolicy, Reranker> rerankers_;
  std::unique_ptr<Lane> lane_;  // null: the host scores, or no request has come yet
  std::optional<Encoder> encoder_;
  size_t encoder_bytes_ = 0;
  AlignedBytes workspace_;
  std::vector<float> logits_;
};

}  // namespace rankfeed::serve
