// SPDX-License-Identifier: MIT
// rankfeed/rerank.hpp: header-only C++20 wrapper over rankfeed/rerank.h and rankfeed/corpus.h: a
// reranker that owns its memory, and a corpus store. Requests and batches stay the C structs.
//
// Reranker: one thread at a time. Corpus: immutable, share freely.
#ifndef RANKFEED_RERANK_HPP_
#define RANKFEED_RERANK_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rankfeed/corpus.h"
#include "rankfeed/rankfeed.hpp"
#include "rankfeed/rerank.h"
#include "rankfeed/template.h"

namespace rankfeed {
inline namespace v1 {

inline rankfeed_text Text(std::string_view text) { return {text.data(), text.size()}; }

// Zeroed options with struct_size.
inline rankfeed_rerank_options RerankOptions() {
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  return options;
}

// A reranker, its encoders, its scratch, and one arena. Memory grows when a request needs it and is
// kept: after a request of each size nothing allocates.
class Reranker {
 public:
  // limits: those of rankfeed_rerank_limits, which spare growing later; zeroed ones will do. struct_size is set here,
  // and workers 0 becomes 1 when texts are allowed; give an executor's workers to run requests on it.
  static Result<Reranker> Create(const rankfeed_model* model, rankfeed_rerank_limits limits,
                                 const rankfeed_rerank_options& options) {
    return detail::OrNoMemory([&]() -> Result<Reranker> {
      Reranker r;
      r.model_ = model;
      r.options_ = options;
      r.limits_ = limits;
      r.limits_.struct_size = sizeof(r.limits_);
      if (Error error = r.Init()) return error;
      return r;
    });
  }

  // Starts a request with these documents, which stay borrowed until its last batch. Statuses of
  // documents are in status(). Grows when the limits do not suffice. instruction: of a row template.
  Error Begin(const rankfeed_source& query, std::span<const rankfeed_source> documents,
              const rankfeed_executor* executor = nullptr,
              const rankfeed_control* control = nullptr, std::string_view instruction = {}) {
    return detail::OrNoMemory([&] { return Start(query, documents, executor, control, instruction); });
  }

  // The next batch, in this object's arena until the next call; rows 0 when none is left.
  Error Next(rankfeed_batch* batch) {
    return detail::OrNoMemory([&] { return Fill(batch); });
  }
  // The next batch in an arena of the caller's, for example a slot of a ring; aligned to 256 bytes.
  // RANKFEED_E_OUTPUT_SIZE where it does not fit: options.max_arena_bytes plans batches that do.
  Error Next(std::span<std::byte> arena, rankfeed_batch* batch) {
    return detail::OrNoMemory([&] {
      if (reranker_ == nullptr) return Error::From(RANKFEED_E_STATE);
      for (;;) {
        const rankfeed_status status = FillOnce(arena.data(), arena.size(), batch);
        if (status != RANKFEED_E_WORKSPACE_SIZE || batches_ != 0) return From(status);
        if (Error error = Grow()) return error;
        if (Error error = Restart()) return error;
      }
    });
  }

  // logits: [batch.rows][labels], the same number of labels for each row.
  Error PutScores(const rankfeed_batch& batch, std::span<const float> logits,
                  uint32_t activation = RANKFEED_SCORE_RAW) {
    const size_t labels = batch.rows == 0 ? 1 : logits.size() / batch.rows;
    if (labels == 0 || labels > UINT32_MAX || logits.size() != labels * batch.rows) {
      return detail::OrNoMemory([&] {
        return Error::From(RANKFEED_E_ARGUMENT, std::to_string(logits.size()) + " logits for " +
                                                    std::to_string(batch.rows) + " rows");
      });
    }
    rankfeed_score_options options{};
    options.struct_size = sizeof(options);
    options.activation = activation;
    options.labels = static_cast<uint32_t>(labels);
    return From(rankfeed_rerank_put_scores(reranker_, &batch, logits.data(), &options));
  }

  // Replaces the content of *ranked.
  Error Rank(const rankfeed_rank_options& options, std::vector<rankfeed_ranked>* ranked) {
    return detail::OrNoMemory([&] {
      ranked->resize(status_.size());
      uint32_t count = 0;
      const rankfeed_status status = rankfeed_rerank_rank(
          reranker_, &options, ranked->data(), static_cast<uint32_t>(ranked->size()), &count);
      ranked->resize(status == RANKFEED_OK ? count : 0);
      return From(status);
    });
  }

  std::span<const rankfeed_status> status() const { return status_; }
  const rankfeed_rerank_limits& limits() const { return limits_; }
  rankfeed_reranker* get() const { return reranker_; }

 private:
  Reranker() = default;
  Error Start(const rankfeed_source& query, std::span<const rankfeed_source> documents,
              const rankfeed_executor* executor, const rankfeed_control* control,
              std::string_view instruction) {
    if (documents.size() > UINT32_MAX) {
      return detail::OverLimit("reranker: there are ", documents.size(),
                               " documents; the limit is ", UINT32_MAX);
    }
    const uint32_t most = MaxTextBytes();
    if (query.ids == nullptr && query.text.size > most) {
      return detail::OverLimit("reranker: the query has ", query.text.size,
                               " bytes; the limit of the vocabulary is ", most);
    }
    status_.assign(documents.size(), RANKFEED_E_STATE);
    request_ = {};
    request_.struct_size = sizeof(request_);
    request_.document_count = static_cast<uint32_t>(documents.size());
    request_.query = query;
    request_.documents = documents.data();
    request_.document_status = status_.data();
    request_.executor = executor;
    request_.control = control;
    request_.instruction = {instruction.data(), instruction.size()};
    batches_ = 0;
    return Restart();
  }
  Error Fill(rankfeed_batch* batch) {
    if (reranker_ == nullptr) return Error::From(RANKFEED_E_STATE);  // memory ran out before
    for (;;) {
      const rankfeed_status status = FillOnce(arena_.data(), arena_.size(), batch);
      if (status == RANKFEED_OK) return {};
      if (status == RANKFEED_E_OUTPUT_SIZE) {
        AlignedBytes larger({batch->arena_size + batch->arena_size / 4, 256});
        if (!larger) return Error::From(RANKFEED_E_NO_MEMORY, "batch");
        arena_ = std::move(larger);
        continue;
      }
      // Known at the first batch only when it tokenizes everything; later the request is over.
      if (status != RANKFEED_E_WORKSPACE_SIZE || batches_ != 0) return Error::From(status);
      if (Error error = Grow()) return error;
      if (Error error = Restart()) return error;
    }
  }
  rankfeed_status FillOnce(void* arena, size_t capacity, rankfeed_batch* batch) {
    *batch = {};
    batch->struct_size = sizeof(*batch);
    batch->arena = arena;
    batch->arena_capacity = capacity;
    const rankfeed_status status = rankfeed_rerank_next(reranker_, batch);
    if (status == RANKFEED_OK) ++batches_;
    return status;
  }
  // Returns the longest text in bytes; without a vocabulary there are no texts.
  uint32_t MaxTextBytes() const {
    return model_ != nullptr ? rankfeed_max_text_bytes(model_) : UINT32_MAX;
  }
  static Error From(rankfeed_status status) {
    return status == RANKFEED_OK ? Error{} : Error::From(status);
  }
  // Returns the most bytes that a row template puts beside a text.
  size_t BesideBytes() const {
    const rankfeed_pair_template* const parts = options_.pair_template;
    if (parts == nullptr || parts->struct_size != sizeof(*parts) || parts->row_template == nullptr) return 0;
    rankfeed_template_info info{};
    info.struct_size = sizeof(info);
    (void)rankfeed_template_get_info(parts->row_template, &info);
    return info.literal_bytes + request_.instruction.size +
           (info.query_is_joined != 0 ? request_.query.text.size : 0);
  }
  // After an error there is no reranker, and the next request makes one.
  Error Init() {
    reranker_ = nullptr;
    const bool texts = limits_.max_documents == 0 || (limits_.max_text_bytes | limits_.workers | limits_.with_offsets) != 0;
    limits_.max_documents = std::max(1u, limits_.max_documents);
    if (model_ != nullptr && texts) {
      if (limits_.max_text_bytes == 0) limits_.max_text_bytes = 4096;  // a template's texts are known before requests
      limits_.workers = std::max(1u, limits_.workers);
    }
    std::vector<rankfeed_encoder*> pointers;
    for (uint32_t i = 0; i < limits_.workers; ++i) {
      if (i >= encoders_.size() || encoder_bytes_ < limits_.max_text_bytes) {
        auto made = Encoder::Create(model_, limits_.max_text_bytes, limits_.with_offsets != 0,
                                    Encoder::kDefaultCacheBytes, limits_.max_stretch_bytes);
        if (!made) return made.error();
        if (i < encoders_.size()) {
          encoders_[i] = std::move(*made);
        } else {
          encoders_.push_back(std::move(*made));
        }
      }
      pointers.push_back(encoders_[i].get());
    }
    encoder_bytes_ = std::max(encoder_bytes_, limits_.max_text_bytes);
    rankfeed_mem_req need;
    rankfeed_status status = rankfeed_reranker_mem_req(model_, &limits_, &options_, &need);
    if (status != RANKFEED_OK) return Refused(status);
    scratch_ = AlignedBytes(need);
    if (!arena_) arena_ = AlignedBytes({64 << 10, 256});
    if (!scratch_ || !arena_) return Error::From(RANKFEED_E_NO_MEMORY, "reranker");
    status = rankfeed_reranker_init(model_, &limits_, &options_, pointers.data(), scratch_.data(),
                                    scratch_.size(), &reranker_);
    return status == RANKFEED_OK ? Error{} : Refused(status);
  }
  // Returns the error of a refusal, with the option at fault where it is one.
  Error Refused(rankfeed_status status) const {
    const char *field = nullptr, *rule = nullptr;
    if (status == RANKFEED_E_ARGUMENT) {
      rule = rankfeed_rerank_options_problem(model_, &options_, &field);
    }
    return detail::OrNoMemory([&] {
      if (rule == nullptr) return Error::From(status, "reranker");
      return Error{status, std::string(field) + ": " + rule};
    });
  }
  Error Grow() {
    const rankfeed_status status = rankfeed_reranker_need(reranker_, &limits_);
    return status == RANKFEED_OK ? Init() : Error::From(status);
  }
  Error Restart() {
    const uint32_t most = MaxTextBytes();
    uint32_t longest = 0;
    const size_t beside = BesideBytes();
    const auto count = [&](size_t bytes) {  // no encoder takes more: E_LIMIT for that text
      if (bytes + beside <= most) longest = std::max(longest, static_cast<uint32_t>(bytes + beside));
    };
    count(request_.query.text.size);
    for (uint32_t i = 0; i < request_.document_count; ++i) count(request_.documents[i].text.size);
    const uint32_t workers = request_.executor != nullptr ? request_.executor->workers : 0;
    if (request_.document_count > limits_.max_documents || longest > limits_.max_text_bytes ||
        workers > limits_.workers) {
      limits_.max_documents = std::max(limits_.max_documents, request_.document_count);
      if (limits_.max_rows != 0) limits_.max_rows = std::max(limits_.max_rows, limits_.max_documents);
      limits_.max_text_bytes = std::max(limits_.max_text_bytes, longest);
      limits_.workers = std::max(limits_.workers, workers);
      if (Error error = Init()) return error;
    }
    if (reranker_ == nullptr) {
      if (Error error = Init()) return error;
    }
    rankfeed_status status = rankfeed_rerank_begin(reranker_, &request_);
    if (status == RANKFEED_E_WORKSPACE_SIZE || status == RANKFEED_E_LIMIT) {
      if (Error error = Grow()) return error;
      status = rankfeed_rerank_begin(reranker_, &request_);
    }
    return From(status);
  }

  const rankfeed_model* model_ = nullptr;
  rankfeed_rerank_options options_{};
  rankfeed_rerank_limits limits_{};
  std::vector<Encoder> encoders_;
  uint32_t encoder_bytes_ = 0;
  AlignedBytes scratch_;
  AlignedBytes arena_;
  rankfeed_reranker* reranker_ = nullptr;
  rankfeed_request request_{};
  std::vector<rankfeed_status> status_;
  uint32_t batches_ = 0;
};

// A store of documents tokenized before, or a set of them.
class Corpus {
 public:
  // model null: any vocabulary. flags: RANKFEED_CORPUS_TRUSTED, RANKFEED_CORPUS_MAP_FILE.
  static Result<Corpus> Open(const std::string& path, const rankfeed_model* model,
                             uint32_t flags = 0, uint32_t encode_flags = 0,
                             const rankfeed_template* row_template = nullptr) {
    Corpus corpus;
    rankfeed_corpus_options options{sizeof(options), flags, encode_flags, row_template};
    corpus.storage_ = AlignedBytes(rankfeed_corpus_mem_req());
    if (!corpus.storage_) return Error{RANKFEED_E_NO_MEMORY, "out of memory"};
    const rankfeed_status status = rankfeed_corpus_open_file(
        path.c_str(), model, &options, corpus.storage_.data(), corpus.storage_.size(),
        &corpus.mapping_, &corpus.corpus_, nullptr);
    if (status != RANKFEED_OK) {
      return detail::OrNoMemory([&] { return Error::From(status, path); });
    }
    return corpus;
  }
  // Many stores as one, which keeps them. flags: RANKFEED_CORPUS_BY_HASH, RANKFEED_CORPUS_TRUSTED.
  static Result<Corpus> OpenSet(std::vector<Corpus> shards, uint32_t flags = 0) {
    Corpus set;
    const auto count = static_cast<uint32_t>(
        std::min<size_t>(shards.size(), size_t{RANKFEED_CORPUS_MAX_SHARDS} + 1));
    std::vector<const rankfeed_corpus*> open;
    const Error failed = detail::OrNoMemory([&] {
      for (const Corpus& shard : shards) open.push_back(shard.get());
      return Error{};
    });
    if (failed) return failed;
    const rankfeed_mem_req need = rankfeed_corpus_set_mem_req(count);
    set.storage_ = AlignedBytes(need);
    if (!set.storage_) return Error{RANKFEED_E_NO_MEMORY, "out of memory"};
    const rankfeed_status status = rankfeed_corpus_set_open(
        open.data(), count, flags, set.storage_.data(), need.size, &set.corpus_, nullptr);
    if (status != RANKFEED_OK) {
      return detail::OrNoMemory([&] { return Error::From(status, "a set of corpus stores"); });
    }
    set.shards_ = std::move(shards);
    return set;
  }
  Corpus(Corpus&& other) noexcept
      : shards_(std::move(other.shards_)),
        storage_(std::move(other.storage_)),
        mapping_(std::exchange(other.mapping_, {})),
        corpus_(std::exchange(other.corpus_, nullptr)) {}
  Corpus& operator=(Corpus&& other) noexcept {
    std::swap(shards_, other.shards_);
    std::swap(storage_, other.storage_);
    std::swap(mapping_, other.mapping_);
    std::swap(corpus_, other.corpus_);
    return *this;
  }
  ~Corpus() { rankfeed_image_unmap(&mapping_); }

  // False when there is no such document, or the store is damaged there.
  bool Find(std::string_view id, rankfeed_source* out) const {
    return rankfeed_corpus_find(corpus_, Text(id), out) == RANKFEED_OK;
  }
  rankfeed_corpus_info info() const {
    rankfeed_corpus_info info{};
    info.struct_size = sizeof(info);
    (void)rankfeed_corpus_get_info(corpus_, &info);
    return info;
  }
  const rankfeed_corpus* get() const { return corpus_; }

 private:
  Corpus() = default;
  std::vector<Corpus> shards_;  // of a set
  AlignedBytes storage_;
  rankfeed_mapping mapping_{};
  rankfeed_corpus* corpus_ = nullptr;
};

}  // namespace v1
}  // namespace rankfeed

#endif  // RANKFEED_RERANK_HPP_
