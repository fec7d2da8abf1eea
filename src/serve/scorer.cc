// SPDX-License-Identifier: MIT
// serve/scorer.cc: see scorer.h.
#include "serve/scorer.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "serve/stretch_error.h"
#include "serve/problem.h"

namespace rankfeed::serve {
namespace {

constexpr size_t kKeptPolicies = 8;  // clients choose policies: what is kept for them is bounded
constexpr uint32_t kKeptTextBytes = 256 << 10;  // rerankers for longer texts are made again
constexpr uint32_t kKeptDocuments = 2048;
constexpr uint64_t kBilledTokens = 500;
constexpr uint32_t kRowTokens = 8, kMostRows = 256;  // of a device's batches: few rows are shorter

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
  lane_.reset();  // waits for what is queued there
  rerankers_.clear();
  encoder_.reset();
  encoder_bytes_ = 0;
  workspace_ = AlignedBytes();
}

Error Scorer::Sources(const Ranking& ranking, std::vector<rankfeed_source>* out) const {
  out->assign(ranking.documents.size(), rankfeed_source{});
  for (size_t i = 0; i < out->size(); ++i) {
    const Document& document = ranking.documents[i];
    // A text that came with the request is what is ranked and what is answered.
    if (!document.has_text && assets_->corpus && assets_->corpus->Find(document.id, &(*out)[i])) continue;
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

Result<std::string> Scorer::Prompt(const std::string& name) const {
  const folder::ModelSettings& settings = assets_->pairing.facts.settings;
  if (const folder::Prompt* const found = settings.FindPrompt(name)) return found->text;
  std::string names;
  for (const folder::Prompt& prompt : settings.prompts) names += (names.empty() ? "" : ", ") + prompt.name;
  return Error{RANKFEED_E_NOT_FOUND, fmt::format("`prompt_name` is {}; the model has {}", Quoted(name),
                                                 names.empty() ? "no prompts" : "the prompts " + names)};
}

Error Scorer::Rank(Ranking* io) {
  io->generation = assets_->generation;
  if (Clock::now() >= io->deadline) return Late("the request waited too long");
  // A limit that no row reaches is none: every policy has a reranker of its own.
  RowPolicy& policy = io->policy;
  if (policy.max_tokens_per_doc >= assets_->row_tokens && policy.max_chunks == 1)
    policy.max_tokens_per_doc = 0;
  if (policy.max_query_tokens >= assets_->row_tokens) policy.max_query_tokens = 0;
  if (policy.max_length >= assets_->row_tokens) policy.max_length = 0;
  policy.left = policy.left.value_or(assets_->cut_left);
  auto reranker = For(policy);
  if (!reranker) return reranker.error();
  std::vector<rankfeed_source> sources;
  if (auto error = Sources(*io, &sources)) return error;
  rankfeed_source query{};
  std::string text(assets_->pairing.facts.settings.prompt());
  if (io->prompt) {
    text = *io->prompt;
  } else if (io->prompt_name) {
    auto named = Prompt(*io->prompt_name);
    if (!named) return named.error();
    text = std::move(*named);
  }
  text += io->query;
  query.text = Text(text);
  rankfeed_control control{};
  control.struct_size = sizeof(control);
  control.cancel = cancel_;
  control.deadline_ns = static_cast<uint64_t>(
      std::chrono::nanoseconds(io->deadline.time_since_epoch()).count());  // CLOCK_MONOTONIC
  Reranker& r = **reranker;
  Error error = r.Begin(query, sources, nullptr, &control);
  if (error.status == RANKFEED_E_LIMIT) error.message = "the query " + TooLong(query.text);
  if (!error) {
    error = assets_->paths.device.on_host() ? Batches(&r, io) : BatchesOnDevice(&r, io);
    // Waits for the device's pending work; the next request uses the device anew.
    if (error.status == RANKFEED_E_DEVICE) lane_.reset();
    if (lane_ != nullptr) lane_->Forget();
  }
  for (size_t i = 0; !error && i < sources.size(); ++i) {
    if (r.status()[i] != RANKFEED_OK) {
      error = Error::From(r.status()[i], fmt::format("document {}", i));
      if (error.status == RANKFEED_E_LIMIT) error.message = fmt::format("document {} {}", i, TooLong(sources[i].text));
      if (error.status == RANKFEED_E_TOO_LONG) {
        const uint32_t asked = policy.max_length, most = asked != 0 ? std::min(asked, assets_->row_tokens) : assets_->row_tokens;
        error.message = fmt::format("document {}: its row has more than {} tokens, and the request wants none to be cut", i, most);
      }
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

// The next batch, in the reranker's own arena or in the one given, and what is counted of it.
Error Scorer::Fill(Reranker* r, std::span<std::byte> arena, Ranking* io, rankfeed_batch* batch) {
  const auto begin = Clock::now();
  const uint64_t cpu = ThreadNanoseconds();
  if (auto error = arena.empty() ? r->Next(batch) : r->Next(arena, batch)) return error;
  io->tokenizing_cpu_ns += ThreadNanoseconds() - cpu;
  io->tokenizing += Clock::now() - begin;
  if (batch->rows == 0) return {};
  io->tokens += batch->tokens;
  if (io->tokens > options_.max_request_tokens) {
    return Error{RANKFEED_E_LIMIT,
                 fmt::format("the request has more than {} tokens", options_.max_request_tokens)};
  }
  const uint32_t most = io->policy.max_length, longest = most != 0 ? most : assets_->row_tokens;
  for (uint32_t i = 0; i < batch->rows; ++i) {
    io->billed_documents +=
        (std::max(batch->row_map[i].length, 1u) + kBilledTokens - 1) / kBilledTokens;
    io->cut_rows += batch->row_map[i].length >= longest;
  }
  io->rows += batch->rows;
  ++io->batches;
  return {};
}

Error Scorer::Interrupted(const Ranking& io) const {
  if (*reinterpret_cast<const volatile uint32_t*>(cancel_) != 0)
    return Error::From(RANKFEED_E_CANCELLED);
  return Clock::now() >= io.deadline ? Late("scoring") : Error{};
}

// Fills and scores until nothing is left.
Error Scorer::Batches(Reranker* r, Ranking* io) {
  for (rankfeed_batch batch;;) {
    if (auto error = Fill(r, {}, io, &batch)) return error;
    if (batch.rows == 0) return {};
    const auto filled = Clock::now();
    if (auto error = Score(batch, io->raw_scores, r)) return error;
    io->scoring += Clock::now() - filled;
    if (auto error = Interrupted(*io)) return error;
  }
}

// Fills one slot while the device copies and scores those before.
Error Scorer::BatchesOnDevice(Reranker* r, Ranking* io) {
  if (lane_ == nullptr) {
    if (auto error = OpenLane()) return error;
  }
  for (rankfeed_batch batch;;) {
    auto begin = Clock::now();
    auto slot = lane_->Slot(io->deadline - begin);
    if (!slot) {
      return slot.error().status == RANKFEED_E_DEADLINE ? Late("scoring") : slot.error();
    }
    if (lane_->full()) {
      if (auto error = TakeScores(io->raw_scores, r)) return error;
    }
    io->scoring += Clock::now() - begin;
    if (auto error = Fill(r, slot->bytes(), io, &batch)) return error;
    begin = Clock::now();
    if (batch.rows == 0) {
      if (auto error = lane_->Finish()) return error;
      while (lane_->queued() != 0) {
        if (auto error = TakeScores(io->raw_scores, r)) return error;
      }
    } else if (auto error = lane_->Queue(std::move(*slot), batch)) {
      return error;
    }
    io->scoring += Clock::now() - begin;
    if (batch.rows == 0) return {};
    if (auto error = Interrupted(*io)) return error;
  }
}

Error Scorer::TakeScores(bool raw, Reranker* r) {
  const rankfeed_batch batch = lane_->oldest();
  auto logits = lane_->Take();
  return logits ? Put(batch, *logits, raw, r) : logits.error();
}

Error Scorer::OpenLane() {
  const rankfeed_rerank_options options = BatchOptions();
  Lane::Size size;
  size.slot_bytes = options.max_arena_bytes;
  size.rows = options.max_rows_per_batch;
  size.tokens = options.max_tokens_per_batch;
  size.longest = options.max_length;
  auto lane = Lane::Open(*assets_, size);
  if (!lane) return lane.error();
  lane_ = std::move(*lane);
  return {};
}

// How large batches are, whatever the policy; on a device they fit into a slot.
rankfeed_rerank_options Scorer::BatchOptions() const {
  rankfeed_rerank_options o = RerankOptions();
  o.encode_flags = assets_->encode_flags;
  o.layout = RANKFEED_PACKED;
  assets_->pairing.SetTypes(&o);
  o.max_length = assets_->row_tokens;
  o.max_tokens_per_batch = std::max(options_.max_batch_tokens, o.max_length);
  if (!assets_->paths.device.on_host()) {
    o.budget = RANKFEED_BUDGET_PACKED_SUM;
    o.max_rows_per_batch = std::clamp(o.max_tokens_per_batch / kRowTokens, 1u, kMostRows);
    // Cannot fail: the options are these.
    (void)rankfeed_batch_arena_size(&o, o.max_rows_per_batch, 0, o.max_tokens_per_batch,
                                    &o.max_arena_bytes);
  }
  return o;
}

Result<Reranker*> Scorer::For(const RowPolicy& policy) {
  if (const auto found = rerankers_.find(policy); found != rerankers_.end()) return &found->second;
  if (rerankers_.size() >= kKeptPolicies) rerankers_.clear();
  rankfeed_rerank_options o = BatchOptions();
  o.sort = RANKFEED_SORT_DESCENDING;
  if (policy.max_length != 0) o.max_length = std::min(o.max_length, policy.max_length);
  o.max_query_tokens = policy.max_query_tokens;
  o.max_tokens_per_doc = policy.max_tokens_per_doc;
  o.truncation_side = *policy.left ? RANKFEED_LEFT : RANKFEED_RIGHT;
  if (policy.max_chunks > 1) {
    o.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
    o.overflow = RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST;
    o.max_chunks_per_doc = policy.max_chunks;
    // Leaves room for the document and the overlap.
    const uint32_t most = std::max(o.max_length / 4, 1u);
    o.max_query_tokens = o.max_query_tokens == 0 ? most : std::min(o.max_query_tokens, most);
    o.stride = o.max_length / 16;
  } else {
    o.truncation = policy.truncate ? RANKFEED_TRUNCATE_LONGEST_FIRST : RANKFEED_TRUNCATE_NONE;
  }
  rankfeed_rerank_limits limits{};
  limits.max_documents = 64;
  limits.max_rows = 64 * policy.max_chunks;
  limits.max_text_bytes = 16 << 10;
  limits.max_tokens = 64 * uint64_t{o.max_length};
  limits.max_stretch_bytes = options_.max_stretch_bytes;
  auto made = Reranker::Create(assets_->vocabulary->model(), limits, o);
  if (!made) return made.error();
  return &rerankers_.emplace(policy, std::move(*made)).first->second;
}

Error Scorer::Score(const rankfeed_batch& batch, bool raw, Reranker* r) {
  auto packed = PackedBatchOf(batch, batch.arena, assets_->pairing.with_types);
  if (!packed) return packed.error();
  // Whatever it refuses of rows that were made here is no fault of the request.
  if (auto error = assets_->model->Score(*packed, &workspace_, &logits_))
    return Error{RANKFEED_E_DEVICE, fmt::format("{}: {}", assets_->paths.model, error.message)};
  return Put(batch, logits_, raw, r);
}

Error Scorer::Put(const rankfeed_batch& batch, std::span<const float> logits, bool raw,
                  Reranker* r) {
  const rankfeed_score_options options = assets_->pairing.Score(assets_->Activation(raw));
  const size_t count = size_t{batch.rows} * options.labels;
  if (auto error = folder::CheckLogits(logits.data(), count, assets_->paths.model)) return error;
  const rankfeed_status status =
      rankfeed_rerank_put_scores(r->get(), &batch, logits.data(), &options);
  return status == RANKFEED_OK ? Error{} : Error::From(status, "scores");
}

Error Scorer::Room(size_t text_bytes) {
  if (encoder_ && encoder_bytes_ >= text_bytes) return {};
  const uint32_t most = rankfeed_max_text_bytes(assets_->vocabulary->model());
  if (text_bytes > most) {
    return Error{RANKFEED_E_LIMIT,
                 fmt::format("the text has {} bytes; the limit of the vocabulary is {}", text_bytes,
                             most)};
  }
  const size_t bytes = std::min<size_t>(std::max<size_t>(text_bytes, 16 << 10), most);
  auto made = Encoder::Create(assets_->vocabulary->model(), static_cast<uint32_t>(bytes),
                              /*with_offsets=*/true, Encoder::kDefaultCacheBytes,
                              options_.max_stretch_bytes);
  if (!made) return made.error();
  encoder_.emplace(std::move(*made));
  encoder_bytes_ = bytes;
  return {};
}

std::string Scorer::TooLong(rankfeed_text text) const {
  return StretchError(assets_->vocabulary->model(), text.size, options_.max_stretch_bytes) +
         " (an option of the service)";
}

Error Scorer::Tokenize(const std::string& text, bool add_special_tokens, std::vector<Token>* out) {
  if (auto error = Room(text.size())) return error;
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = (add_special_tokens ? uint32_t{RANKFEED_ADD_SPECIAL_TOKENS} : 0u) |
                  (assets_->encode_flags & RANKFEED_SPLIT_SPECIAL_TOKENS);
  Encoding encoding;
  if (auto error = encoder_->Encode(text, options, &encoding)) {
    if (error.status == RANKFEED_E_LIMIT) error.message = "the text " + TooLong({text.data(), text.size()});
    return error;
  }
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
      (void)rankfeed_model_id_to_piece(assets_->vocabulary->model(), static_cast<uint32_t>(token.id),
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
