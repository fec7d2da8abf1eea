// SPDX-License-Identifier: MIT
// serve/scorer.cc: see scorer.h.
#include "serve/scorer.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

namespace rankfeed::serve {
namespace {

constexpr size_t kKeptPolicies = 8;  // clients choose policies: what is kept for them is bounded
constexpr uint32_t kKeptTextBytes = 256 << 10;  // rerankers for longer texts are made again
constexpr uint32_t kKeptDocuments = 2048;
constexpr uint64_t kBilledTokens = 500;

uint64_t ThreadNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

Error Late(std::string_view where) {
  return Error::From(RANKFEED_E_DEADLINE, where);
}

}  // namespace

void Scorer::Use(std::shared_ptr<const Assets> assets) {
  if (assets == assets_) return;
  Forget();  // before the vocabulary that they point into
  assets_ = std::move(assets);
}

void Scorer::Forget() {
  rerankers_.clear();
  encoder_.reset();
  encoder_bytes_ = 0;
  workspace_ = AlignedBytes();
}

Error Scorer::Sources(const Ranking& ranking, std::vector<rankfeed_source>* out) const {
  out->assign(ranking.documents.size(), rankfeed_source{});
  for (size_t i = 0; i < out->size(); ++i) {
    const Document& document = ranking.documents[i];
    if (!document.id.empty() && assets_->corpus && assets_->corpus->Find(document.id, &(*out)[i]))
      continue;
    if (!document.has_text) {
      return Error{RANKFEED_E_NOT_FOUND,
                   fmt::format("documents[{}]: it has no text, and {} \"{}\"", i,
                               assets_->corpus ? "the corpus store has no document"
                                               : "there is no corpus store to look up",
                               document.id)};
    }
    (*out)[i].text = Text(document.text);
  }
  return {};
}

Error Scorer::Rank(Ranking* io) {
  io->generation = assets_->generation;
  if (Clock::now() >= io->deadline) return Late("the request waited too long");
  auto reranker = For(io->policy);
  if (!reranker) return reranker.error();
  std::vector<rankfeed_source> sources;
  if (auto error = Sources(*io, &sources)) return error;
  rankfeed_source query{};
  query.text = Text(io->query);
  rankfeed_control control{};
  control.struct_size = sizeof(control);
  control.cancel = cancel_;
  control.deadline_ns = static_cast<uint64_t>(
      std::chrono::nanoseconds(io->deadline.time_since_epoch()).count());  // CLOCK_MONOTONIC
  Reranker& r = **reranker;
  Error error = r.Begin(query, sources, nullptr, &control);
  if (!error) error = Batches(&r, io);
  for (size_t i = 0; !error && i < sources.size(); ++i) {
    if (r.status()[i] != RANKFEED_OK) {
      error = Error::From(r.status()[i], fmt::format("document {}", i));
    }
  }
  if (!error) {
    rankfeed_rank_options rank{};
    rank.struct_size = sizeof(rank);
    rank.top_n = io->top_n;
    error = r.Rank(rank, &io->ranked);
  }
  if (r.limits().max_text_bytes > kKeptTextBytes || r.limits().max_documents > kKeptDocuments) {
    rerankers_.erase(io->policy);
  }
  return error;
}

// Fills and scores until nothing is left.
Error Scorer::Batches(Reranker* r, Ranking* io) {
  rankfeed_batch batch;
  for (;;) {
    const auto begin = Clock::now();
    const uint64_t cpu = ThreadNanoseconds();
    if (auto error = r->Next(&batch)) return error;
    io->tokenizing_cpu_ns += ThreadNanoseconds() - cpu;
    const auto filled = Clock::now();
    io->tokenizing += filled - begin;
    if (batch.rows == 0) return {};
    io->tokens += batch.tokens;
    if (io->tokens > options_.max_request_tokens) {
      return Error{RANKFEED_E_LIMIT,
                   fmt::format("the request has more than {} tokens", options_.max_request_tokens)};
    }
    const uint32_t longest = std::min(options_.max_length, assets_->model_info.max_row_tokens);
    for (uint32_t i = 0; i < batch.rows; ++i) {
      io->billed_documents +=
          (std::max(batch.row_map[i].length, 1u) + kBilledTokens - 1) / kBilledTokens;
      io->cut_rows += batch.row_map[i].length >= longest;
    }
    if (auto error = Score(batch, io->raw_scores, r)) return error;
    io->scoring += Clock::now() - filled;
    io->rows += batch.rows;
    ++io->batches;
    if (*reinterpret_cast<const volatile uint32_t*>(cancel_) != 0)
      return Error::From(RANKFEED_E_CANCELLED);
    if (Clock::now() >= io->deadline) return Late("scoring");
  }
}

Result<Reranker*> Scorer::For(const RowPolicy& policy) {
  if (const auto found = rerankers_.find(policy); found != rerankers_.end()) return &found->second;
  if (rerankers_.size() >= kKeptPolicies) rerankers_.clear();
  rankfeed_rerank_options o = RerankOptions();
  o.layout = RANKFEED_PACKED;
  if (assets_->model_info.type_vocab_size > 1) o.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS;
  if (assets_->two_types != nullptr) {
    o.template_kind = RANKFEED_TEMPLATE_CUSTOM;
    o.pair_template = &assets_->two_types->parts;
  }
  o.max_length = std::min(options_.max_length, assets_->model_info.max_row_tokens);
  o.max_tokens_per_batch = std::max(options_.max_batch_tokens, o.max_length);
  o.sort = RANKFEED_SORT_DESCENDING;
  o.max_tokens_per_doc = policy.max_tokens_per_doc;
  o.truncation_side = policy.left ? RANKFEED_LEFT : RANKFEED_RIGHT;
  if (policy.max_chunks > 1) {
    o.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
    o.overflow = RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST;
    o.max_chunks_per_doc = policy.max_chunks;
    o.max_query_tokens = o.max_length / 4;  // leaves room for the document and the overlap
    o.stride = o.max_length / 16;
  } else {
    o.truncation = policy.truncate ? RANKFEED_TRUNCATE_LONGEST_FIRST : RANKFEED_TRUNCATE_NONE;
  }
  rankfeed_rerank_limits limits{};
  limits.max_documents = 64;
  limits.max_rows = 64 * policy.max_chunks;
  limits.max_text_bytes = 16 << 10;
  limits.max_tokens = 64 * uint64_t{o.max_length};
  auto made = Reranker::Create(assets_->vocabulary.model(), limits, o);
  if (!made) return made.error();
  return &rerankers_.emplace(policy, std::move(*made)).first->second;
}

Error Scorer::Score(const rankfeed_batch& batch, bool raw, Reranker* r) {
  auto packed = PackedBatchOf(batch, batch.arena, assets_->model_info.type_vocab_size > 1);
  if (!packed) return packed.error();
  if (auto error = assets_->model.Score(*packed, &workspace_, &logits_)) return error;
  // As sentence-transformers: sigmoid of a single logit; of several labels, the last one's logit.
  rankfeed_score_options options{};
  options.struct_size = sizeof(options);
  options.labels = assets_->model_info.labels;
  options.label = options.labels - 1;
  options.activation = options.labels == 1 && !raw ? RANKFEED_SCORE_SIGMOID : RANKFEED_SCORE_RAW;
  const rankfeed_status status =
      rankfeed_rerank_put_scores(r->get(), &batch, logits_.data(), &options);
  return status == RANKFEED_OK ? Error{} : Error::From(status, "scores");
}

Error Scorer::Room(size_t text_bytes) {
  if (encoder_ && encoder_bytes_ >= text_bytes) return {};
  const size_t bytes = std::max<size_t>(text_bytes, 16 << 10);
  if (bytes > UINT32_MAX) return Error::From(RANKFEED_E_LIMIT, "text");
  auto made = Encoder::Create(assets_->vocabulary.model(), static_cast<uint32_t>(bytes),
                              /*with_offsets=*/true);
  if (!made) return made.error();
  encoder_.emplace(std::move(*made));
  encoder_bytes_ = bytes;
  return {};
}

Error Scorer::Tokenize(const std::string& text, bool add_special_tokens, std::vector<Token>* out) {
  if (auto error = Room(text.size())) return error;
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = add_special_tokens ? RANKFEED_ADD_SPECIAL_TOKENS : 0;
  Encoding encoding;
  if (auto error = encoder_->Encode(text, options, &encoding)) return error;
  out->clear();
  for (size_t i = 0; i < encoding.input_ids.size(); ++i) {
    Token token{encoding.input_ids[i],
                encoding.special_tokens_mask[i] != 0,
                encoding.offset_begin[i],
                encoding.offset_end[i],
                {}};
    if (token.special) {
      const char* data = nullptr;
      size_t size = 0;
      (void)rankfeed_model_id_to_piece(assets_->vocabulary.model(), static_cast<uint32_t>(token.id),
                                       &data, &size);
      token.text.assign(data == nullptr ? "" : data, size);
    } else {
      token.text = text.substr(token.begin, token.end - token.begin);
    }
    out->push_back(std::move(token));
  }
  if (encoder_bytes_ > kKeptTextBytes) {
    encoder_.reset();
    encoder_bytes_ = 0;
  }
  return {};
}

Error Scorer::Decode(const std::vector<int32_t>& ids, bool skip_special_tokens, std::string* out) {
  if (auto error = Room(0)) return error;
  return encoder_->Decode(ids, skip_special_tokens, out);
}

}  // namespace rankfeed::serve
