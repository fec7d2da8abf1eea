// SPDX-License-Identifier: MIT
// fuzz/call_sequences.h: sequences of C calls on encoders, a reranker and a ring that live together,
// with the mistakes about ownership and order that the headers call detectable: handles that are
// null or were never made, storage too small or askew, calls out of turn, late batches, texts (whole
// and in pieces) and requests beyond the limits, slots submitted twice. Every answer is predicted;
// ids, batches and rankings are those of fresh objects that saw no mistake.
#pragma once

#include <cmath>
#include <limits>
#include <thread>

#include "engine.h"
#include "input.h"
#include "pair_model.h"
#include "rankfeed/handoff.h"
#include "rankfeed/rerank.h"

namespace rankfeed::fuzz {

constexpr uint32_t kMaxText = 48, kMaxDocuments = 6, kWorkers = 2;
constexpr size_t kSlotBytes = 8192;  // of every batch

// Calls of this thread that are not in `counters` yet; accepted: those answered by OK.
inline thread_local Counters calls_made;

inline void CountCalls() {
  counters.executions += calls_made.executions;
  counters.accepted += calls_made.accepted;
  calls_made = {};
}

inline void Expect(rankfeed_status status, rankfeed_status expected) {
  ++calls_made.executions;
  calls_made.accepted += status == RANKFEED_OK;
  FUZZ_ASSERT(status == expected);
}

inline std::string Letters(Input& in, size_t most) {
  std::string text;
  for (size_t n = in.Below(most + 1); n > 0; --n) text += static_cast<char>('a' + in.Below(8));
  return text;
}

// Storage that no init has seen. Whatever is in it, it is no handle.
template <class Handle>
Handle* Unmade(Input& in) {
  alignas(64) thread_local unsigned char storage[4096];
  std::memset(storage, in.U8(), sizeof(storage));
  return in.OneIn(2) ? nullptr : reinterpret_cast<Handle*>(storage);
}

// What a reranker and its request are made of.
struct Plan {
  rankfeed_rerank_options options;
  std::string query;
  std::vector<std::string> documents;

  std::vector<rankfeed_source> Sources() const {
    std::vector<rankfeed_source> sources(documents.size());
    for (size_t i = 0; i < documents.size(); ++i) {
      sources[i].text = {documents[i].data(), documents[i].size()};
    }
    return sources;
  }
};

class Reranker {
 public:
  explicit Reranker(const rankfeed_rerank_options& options) {
    for (uint32_t i = 0; i < kWorkers; ++i) {
      encoders_.push_back(std::make_unique<Encoder>(TheModel().get(), kMaxText, false, 0));
      handles_[i] = encoders_[i]->get();
    }
    rankfeed_rerank_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_documents = kMaxDocuments;
    limits.max_text_bytes = kMaxText;
    limits.max_tokens = kMaxDocuments * kMaxText;
    limits.workers = kWorkers;
    rankfeed_mem_req need{};
    FUZZ_ASSERT(rankfeed_reranker_mem_req(TheModel().get(), &limits, &options, &need) ==
                RANKFEED_OK);
    scratch_ = Block(need);
    const auto init = [&](void* scratch, size_t size) {
      return rankfeed_reranker_init(TheModel().get(), &limits, &options, handles_, scratch, size,
                                    &reranker_);
    };
    Expect(init(scratch_.data(), need.size - 1), RANKFEED_E_WORKSPACE_SIZE);
    Expect(init(static_cast<char*>(scratch_.data()) + 8, need.size), RANKFEED_E_ALIGNMENT);
    Expect(init(nullptr, need.size), RANKFEED_E_ARGUMENT);
    FUZZ_ASSERT(reranker_ == nullptr);
    Expect(init(scratch_.data(), need.size), RANKFEED_OK);
  }
  rankfeed_reranker* get() const { return reranker_; }

 private:
  std::vector<std::unique_ptr<Encoder>> encoders_;
  rankfeed_encoder* handles_[kWorkers] = {};
  Block scratch_;
  rankfeed_reranker* reranker_ = nullptr;
};

inline rankfeed_request RequestOf(const Plan& plan, const std::vector<rankfeed_source>& sources,
                           std::vector<rankfeed_status>* status) {
  status->assign(sources.size(), -1);
  rankfeed_request request{};
  request.struct_size = sizeof(request);
  request.document_count = static_cast<uint32_t>(sources.size());
  request.query.text = {plan.query.data(), plan.query.size()};
  request.documents = sources.data();
  request.document_status = status->data();
  return request;
}

// The bytes of all batches, by a reranker that saw nothing else.
inline std::vector<std::string> FreshBatches(const Plan& plan) {
  const Reranker fresh(plan.options);
  const std::vector<rankfeed_source> sources = plan.Sources();
  std::vector<rankfeed_status> status;
  const rankfeed_request request = RequestOf(plan, sources, &status);
  FUZZ_ASSERT(rankfeed_rerank_begin(fresh.get(), &request) == RANKFEED_OK);
  const Block arena(kSlotBytes, 256);
  std::vector<std::string> batches;
  for (;;) {
    rankfeed_batch batch{};
    batch.struct_size = sizeof(batch);
    batch.arena = arena.data();
    batch.arena_capacity = kSlotBytes;
    FUZZ_ASSERT(rankfeed_rerank_next(fresh.get(), &batch) == RANKFEED_OK);
    if (batch.rows == 0) return batches;
    batches.emplace_back(static_cast<const char*>(arena.data()), batch.arena_size);
  }
}

inline rankfeed_rerank_options DrawOptions(Input& in) {
  rankfeed_rerank_options o;
  rankfeed_rerank_options_init(&o);
  o.layout = static_cast<uint8_t>(in.Below(2));
  o.tensors = RANKFEED_TENSOR_POSITION_IDS;
  o.sort = static_cast<uint8_t>(in.Below(3));
  o.max_rows_per_batch = 1 + static_cast<uint32_t>(in.Below(4));
  return o;
}

// What an executor of Calls knows.
struct Workers {
  uint32_t count = 1, next = 0;
};

// One after the other on the calling thread, by workers that change.
inline rankfeed_status InTurn(void* context, size_t count, rankfeed_task task, void* task_context) {
  auto& workers = *static_cast<Workers*>(context);
  for (size_t i = 0; i < count; ++i) task(task_context, i, i + 1, workers.next++ % workers.count);
  return RANKFEED_OK;
}

// All workers at once, each on a thread of its own.
inline rankfeed_status AtOnce(void* context, size_t count, rankfeed_task task, void* task_context) {
  const uint32_t workers = static_cast<Workers*>(context)->count;
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    const size_t begin = count * worker / workers, end = count * (worker + 1) / workers;
    if (begin < end) threads.emplace_back(task, task_context, begin, end, worker);
  }
  for (std::thread& thread : threads) thread.join();
  return RANKFEED_OK;
}

class Ring {
 public:
  explicit Ring(uint32_t slots) {
    rankfeed_handoff_options options{};
    options.struct_size = sizeof(options);
    options.slots = slots;
    options.slot_bytes = kSlotBytes;
    FUZZ_ASSERT(rankfeed_handoff_open(&options, &ring_, nullptr) == RANKFEED_OK);
  }
  Ring(const Ring&) = delete;
  ~Ring() { rankfeed_handoff_close(ring_); }
  rankfeed_handoff* get() const { return ring_; }

 private:
  rankfeed_handoff* ring_ = nullptr;
};

class Calls {
 public:
  // ring: of others too. parallel_for: of the executor that some requests have.
  Calls(Input& in, rankfeed_handoff* ring, decltype(rankfeed_executor::parallel_for) parallel_for)
      : in_(in),
        roomy_(TheModel().get(), 4096, true, 1024),
        with_(TheModel().get(), kMaxText, true, 0),
        without_(TheModel().get(), kMaxText, false, 256),
        words_(TheWordModel().get(), kMaxText, false, 256),
        roomy_words_(TheWordModel().get(), 4096, false, 0),
        plan_{DrawOptions(in), "", {}},
        reranker_(plan_.options),
        ring_(ring),
        parallel_for_(parallel_for) {}

  void Step() {
    switch (in_.Below(12)) {
      case 8:
        return BeginText();
      case 9:
      case 10:
        return Feed();
      case 11:
        return End();
      case 0:
        return Encode();
      case 1:
        return Decode();
      case 2:
        return Begin();
      case 3:
        return PutScores();
      case 4:
        return Rank();
      case 5:
        return CallUnmade();
      default:
        return Next();
    }
  }

 private:
  void Encode() {
    const bool offsets = in_.OneIn(2), ask_offsets = in_.OneIn(2);
    Encoder& encoder = offsets ? with_ : without_;
    const std::string text = Letters(in_, in_.OneIn(4) ? 2 * kMaxText : kMaxText);
    int32_t ids[2 * kMaxText];
    uint32_t begin[2 * kMaxText];
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = 2 * kMaxText;
    io.input_ids = ids;
    io.offset_begin = ask_offsets ? begin : nullptr;
    const rankfeed_status status =
        rankfeed_encode(encoder.get(), {text.data(), text.size()}, nullptr, &io);
    if (ask_offsets && !offsets) return Expect(status, RANKFEED_E_ARGUMENT);
    if (text.size() > kMaxText) return Expect(status, RANKFEED_E_LIMIT);
    Expect(status, RANKFEED_OK);
    const Tokens expected = roomy_.Encode(text);
    FUZZ_ASSERT(io.count == expected.ids.size());
    FUZZ_ASSERT(std::equal(expected.ids.begin(), expected.ids.end(), ids));
    FUZZ_ASSERT(!ask_offsets || std::equal(expected.begin.begin(), expected.begin.end(), begin));
  }

  // A text in pieces, with calls out of turn, too little room, and whole texts in between.
  void BeginText() {
    rankfeed_encode_options options{};
    options.struct_size = sizeof(options);
    options.flags = in_.OneIn(2) ? RANKFEED_ADD_SPECIAL_TOKENS : 0;
    const size_t mistake = in_.Below(10);
    if (mistake == 1) options.struct_size = in_.U8() | 1;
    if (mistake == 2) options.flags |= uint32_t{64} << in_.Below(26);
    if (mistake == 3) options.flags |= RANKFEED_OFFSETS_CODE_POINTS;
    const auto window_bytes = mistake == 4 ? 0u : 1 + static_cast<uint32_t>(in_.Below(2 * kMaxText));
    Block window(std::max(window_bytes, 1u), 1);
    char* const place = mistake == 5 ? nullptr : static_cast<char*>(window.data());
    // A vocabulary without U+2581 cannot be cut at spaces.
    Encoder& encoder = mistake == 6 ? without_ : words_;
    const rankfeed_status status =
        rankfeed_encode_begin(encoder.get(), &options, place, window_bytes);
    if (mistake == 1) return Expect(status, RANKFEED_E_STRUCT_SIZE);
    if (mistake >= 2 && mistake <= 5) return Expect(status, RANKFEED_E_ARGUMENT);
    if (mistake == 6) return Expect(status, RANKFEED_E_UNSUPPORTED);
    Expect(status, RANKFEED_OK);
    window_ = std::move(window);
    text_open_ = true;
    text_flags_ = options.flags;
    text_.clear();
    text_ids_.clear();
    most_waiting_ = std::min(window_bytes, kMaxText);
  }

  // One call, with outputs that the library must set; what it took and wrote is kept.
  rankfeed_status Take(std::string_view* piece, uint32_t room) {
    const std::unique_ptr<int32_t[]> ids(new int32_t[room]);
    rankfeed_stream_io io{};
    io.struct_size = sizeof(io);
    io.capacity = room;
    io.input_ids = ids.get();
    io.count = io.needed = in_.U32();
    io.consumed = in_.U32();
    const rankfeed_status status =
        piece == nullptr ? rankfeed_encode_end(words_.get(), &io)
                         : rankfeed_encode_feed(words_.get(), {piece->data(), piece->size()}, &io);
    FUZZ_ASSERT(io.count <= room && io.consumed <= (piece == nullptr ? 0 : piece->size()));
    FUZZ_ASSERT(status == RANKFEED_E_OUTPUT_SIZE ? io.needed > room - io.count : io.needed == 0);
    text_ids_.insert(text_ids_.end(), ids.get(), ids.get() + io.count);
    if (piece != nullptr) {
      text_ += piece->substr(0, io.consumed);
      piece->remove_prefix(io.consumed);
    }
    needed_ = io.needed;
    return status;
  }

  void Feed() {
    std::string text = Letters(in_, kMaxText);
    for (char& c : text) c = in_.OneIn(4) ? ' ' : c;
    const Block block(text.size() + 1, 1);
    std::memcpy(block.data(), text.data(), text.size());
    std::string_view piece(static_cast<const char*>(block.data()), text.size());
    auto room = static_cast<uint32_t>(in_.Below(kMaxText));
    if (!text_open_) return Expect(Take(&piece, room), RANKFEED_E_ARGUMENT);
    if (in_.OneIn(8)) {  // nothing is taken
      rankfeed_stream_io io{};
      io.struct_size = in_.U8() | 1;
      Expect(rankfeed_encode_feed(words_.get(), {piece.data(), piece.size()}, &io),
             RANKFEED_E_STRUCT_SIZE);
      io.struct_size = sizeof(io);
      Expect(rankfeed_encode_feed(words_.get(), {nullptr, 1}, &io), RANKFEED_E_ARGUMENT);
      io.capacity = 1;
      Expect(rankfeed_encode_feed(words_.get(), {piece.data(), piece.size()}, &io),
             RANKFEED_E_ARGUMENT);
    }
    if (in_.OneIn(4)) FUZZ_ASSERT(words_.Encode("ab c").ids == roomy_words_.Encode("ab c").ids);
    for (;;) {
      const rankfeed_status status = Take(&piece, room);
      if (status == RANKFEED_E_LIMIT) {  // more than the window holds, without a place to cut
        FUZZ_ASSERT(!piece.empty() && text_.size() >= most_waiting_);
        text_open_ = false;
        return Expect(status, RANKFEED_E_LIMIT);
      }
      if (status != RANKFEED_E_OUTPUT_SIZE) {
        FUZZ_ASSERT(piece.empty());
        return Expect(status, RANKFEED_OK);
      }
      Expect(status, RANKFEED_E_OUTPUT_SIZE);
      room = needed_;
    }
  }

  void End() {
    auto room = static_cast<uint32_t>(in_.Below(kMaxText));
    if (!text_open_) return Expect(Take(nullptr, room), RANKFEED_E_ARGUMENT);
    rankfeed_status status = Take(nullptr, room);
    if (status == RANKFEED_E_OUTPUT_SIZE) {
      Expect(status, RANKFEED_E_OUTPUT_SIZE);
      status = Take(nullptr, needed_);
    }
    Expect(status, RANKFEED_OK);
    text_open_ = false;
    FUZZ_ASSERT(text_.size() > 4096 || roomy_words_.Encode(text_, text_flags_).ids == text_ids_);
  }

  void Decode() {
    std::vector<int32_t> ids(in_.Below(2 * kMaxText));
    for (int32_t& id : ids) id = kLetters + static_cast<int32_t>(in_.Below(8));
    const uint32_t flags = in_.OneIn(4) ? uint32_t{2} << in_.Below(31) : 0;
    char out[4 * kMaxText];
    size_t size = 0;
    const rankfeed_status status =
        rankfeed_decode(without_.get(), ids.data(), ids.size(), flags, out, sizeof(out), &size);
    if (flags != 0) return Expect(status, RANKFEED_E_ARGUMENT);
    if (ids.size() > kMaxText) return Expect(status, RANKFEED_E_LIMIT);
    Expect(status, RANKFEED_OK);
    std::string expected;
    FUZZ_ASSERT(roomy_.Decode(ids, 0, &expected) == RANKFEED_OK);
    FUZZ_ASSERT(std::string(out, size) == expected);
  }

  void Begin() {
    plan_.query = Letters(in_, kMaxText);
    plan_.documents.clear();
    for (size_t n = 1 + in_.Below(kMaxDocuments + 1); n > 0; --n) {
      plan_.documents.push_back(Letters(in_, kMaxText));
    }
    sources_ = plan_.Sources();
    rankfeed_request request = RequestOf(plan_, sources_, &status_);
    executor_ = {sizeof(executor_), 1 + static_cast<uint32_t>(in_.Below(kWorkers + 1)), &workers_,
                 parallel_for_};
    workers_.count = executor_.workers;
    if (in_.OneIn(3)) request.executor = &executor_;
    control_ = {};
    control_.struct_size = sizeof(control_);
    control_.cancel = &cancel_;
    cancel_ = in_.OneIn(6);
    if (in_.OneIn(2)) request.control = &control_;
    active_ = false;
    generation_ = 0;
    const rankfeed_status status = rankfeed_rerank_begin(reranker_.get(), &request);
    if (request.document_count > kMaxDocuments ||
        (request.executor != nullptr && executor_.workers > kWorkers)) {
      return Expect(status, RANKFEED_E_LIMIT);
    }
    if (request.control != nullptr && cancel_ != 0) return Expect(status, RANKFEED_E_CANCELLED);
    Expect(status, RANKFEED_OK);
    active_ = true;
    controlled_ = request.control != nullptr;
    expected_ = FreshBatches(plan_);
    taken_ = 0;
    written_ = 0;
    scores_.assign(request.document_count, std::numeric_limits<float>::quiet_NaN());
  }

  // The next batch into a slot of the ring, to the "device" and back; with mistakes on the way.
  void Next() {
    rankfeed_handoff_view view{};
    view.struct_size = sizeof(view);
    rankfeed_handoff_slot slot = 0;
    FUZZ_ASSERT(rankfeed_handoff_wait_acquire(ring_, UINT64_MAX, &slot, &view) == RANKFEED_OK);
    rankfeed_batch batch{};
    batch.struct_size = sizeof(batch);
    batch.arena = view.host;
    batch.arena_capacity = view.bytes;
    const size_t mistake = in_.Below(8);
    if (mistake == 1) batch.arena = static_cast<char*>(view.host) + 64;
    if (mistake == 2) batch.arena = nullptr;
    if (mistake == 3) batch.arena_capacity = in_.Below(16);
    if (mistake == 4 && active_ && controlled_) cancel_ = 1;
    const rankfeed_status status = rankfeed_rerank_next(reranker_.get(), &batch);
    const bool left = active_ && taken_ < expected_.size();
    if (!active_ || mistake == 1 || mistake == 2 || (cancel_ != 0 && controlled_) || !left ||
        mistake == 3) {
      Expect(status, !active_                      ? RANKFEED_E_STATE
                     : mistake == 2                ? RANKFEED_E_ARGUMENT
                     : mistake == 1                ? RANKFEED_E_ALIGNMENT
                     : cancel_ != 0 && controlled_ ? RANKFEED_E_CANCELLED
                     : !left                       ? RANKFEED_OK
                                                   : RANKFEED_E_OUTPUT_SIZE);
      FUZZ_ASSERT(batch.rows == 0);
      if (status == RANKFEED_E_CANCELLED) active_ = false;
      if (status == RANKFEED_E_OUTPUT_SIZE)
        FUZZ_ASSERT(batch.arena_size == expected_[taken_].size());
      return Expect(rankfeed_handoff_abandon(ring_, slot), RANKFEED_OK);
    }
    Expect(status, RANKFEED_OK);
    const std::string& expected = expected_[taken_++];
    FUZZ_ASSERT(batch.arena_size == expected.size() && batch.first_row == written_);
    FUZZ_ASSERT(std::memcmp(view.host, expected.data(), expected.size()) == 0);
    written_ += batch.rows;
    generation_ = batch.generation;
    kept_.push_back({batch, {batch.row_map, batch.row_map + batch.rows}});
    Send(slot, batch.arena_size);
  }

  void Send(rankfeed_handoff_slot slot, size_t bytes) {
    const Block device(bytes, 256);
    void* data = nullptr;
    Expect(rankfeed_handoff_release(ring_, slot, nullptr), RANKFEED_E_STATE);
    Expect(rankfeed_handoff_submit(ring_, slot, kSlotBytes + 1, nullptr, device.data(), 0),
           RANKFEED_E_ARGUMENT);
    Expect(rankfeed_handoff_submit(ring_, slot, bytes, nullptr, device.data(),
                                   1u << (3 + in_.Below(29))),
           RANKFEED_E_ARGUMENT);
    Expect(rankfeed_handoff_data(ring_, slot, &data), RANKFEED_E_STATE);
    Expect(
        rankfeed_handoff_submit(ring_, slot, bytes, nullptr, device.data(), RANKFEED_HANDOFF_LEASE),
        RANKFEED_OK);
    Expect(rankfeed_handoff_submit(ring_, slot, bytes, nullptr, device.data(), 0),
           RANKFEED_E_STATE);
    Expect(rankfeed_handoff_abandon(ring_, slot), RANKFEED_E_STATE);
    FUZZ_ASSERT(rankfeed_handoff_stream_synchronize(ring_, nullptr) == RANKFEED_OK);
    Expect(rankfeed_handoff_poll(ring_, slot), RANKFEED_OK);
    FUZZ_ASSERT(std::memcmp(device.data(), expected_[taken_ - 1].data(), bytes) == 0);
    Expect(rankfeed_handoff_release_now(ring_, slot), RANKFEED_OK);
    Expect(rankfeed_handoff_release_now(ring_, slot), RANKFEED_E_STATE);
  }

  void PutScores() {
    if (kept_.empty()) return;
    const Kept& kept = kept_[in_.Below(kept_.size())];
    const std::unique_ptr<float[]> logits(new float[kept.batch.rows]);
    for (uint32_t i = 0; i < kept.batch.rows; ++i) logits[i] = static_cast<float>(in_.U8());
    const bool wrong = in_.OneIn(6);
    constexpr float kWrong[] = {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF};
    if (wrong) logits[in_.Below(kept.batch.rows)] = kWrong[in_.Below(3)];
    const rankfeed_status status =
        rankfeed_rerank_put_scores(reranker_.get(), &kept.batch, logits.get(), nullptr);
    if (kept.batch.generation != generation_) return Expect(status, RANKFEED_E_STALE);
    if (!active_) return Expect(status, RANKFEED_E_STATE);
    if (wrong) return Expect(status, RANKFEED_E_ARGUMENT);
    Expect(status, RANKFEED_OK);
    for (uint32_t i = 0; i < kept.batch.rows; ++i) scores_[kept.rows[i].document] = logits[i];
  }

  void Rank() {
    rankfeed_ranked ranked[kMaxDocuments];
    uint32_t count = 0;
    const auto capacity = static_cast<uint32_t>(in_.Below(kMaxDocuments + 1));
    const rankfeed_status status =
        rankfeed_rerank_rank(reranker_.get(), nullptr, ranked, capacity, &count);
    if (!active_ ||
        std::any_of(scores_.begin(), scores_.end(), [](float x) { return std::isnan(x); })) {
      return Expect(status, RANKFEED_E_STATE);
    }
    if (scores_.size() > capacity) {
      FUZZ_ASSERT(count == scores_.size());
      return Expect(status, RANKFEED_E_OUTPUT_SIZE);
    }
    Expect(status, RANKFEED_OK);
    FUZZ_ASSERT(count == scores_.size());
    for (uint32_t i = 0; i < count; ++i) {
      FUZZ_ASSERT(ranked[i].score == scores_[ranked[i].index]);
      FUZZ_ASSERT(i == 0 || ranked[i - 1].score >= ranked[i].score);
    }
  }

  // Handles that no init made, and null.
  void CallUnmade() {
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    rankfeed_batch batch{};
    batch.struct_size = sizeof(batch);
    rankfeed_request request{};
    request.struct_size = sizeof(request);
    rankfeed_limits limits{sizeof(limits), 16, 0, 0};
    rankfeed_mem_req need;
    rankfeed_model_info info{};
    info.struct_size = sizeof(info);
    const float logit = 0;
    uint32_t count;
    size_t size;
    char out;
    rankfeed_stream_io stream{};
    stream.struct_size = sizeof(stream);
    constexpr rankfeed_status kRefused = RANKFEED_E_ARGUMENT;
    switch (in_.Below(12)) {
      case 9:
        return Expect(rankfeed_encode_begin(Unmade<rankfeed_encoder>(in_), nullptr, &out, 1),
                      kRefused);
      case 10:
        return Expect(rankfeed_encode_feed(Unmade<rankfeed_encoder>(in_), {"a", 1}, &stream),
                      kRefused);
      case 11:
        return Expect(rankfeed_encode_end(Unmade<rankfeed_encoder>(in_), &stream), kRefused);
      case 0:
        return Expect(rankfeed_encode(Unmade<rankfeed_encoder>(in_), {"a", 1}, nullptr, &io),
                      kRefused);
      case 1:
        return Expect(rankfeed_decode(Unmade<rankfeed_encoder>(in_), nullptr, 0, 0, &out, 1, &size),
                      kRefused);
      case 2:
        return Expect(rankfeed_rerank_begin(Unmade<rankfeed_reranker>(in_), &request), kRefused);
      case 3:
        return Expect(rankfeed_rerank_next(Unmade<rankfeed_reranker>(in_), &batch), kRefused);
      case 4:
        return Expect(
            rankfeed_rerank_put_scores(Unmade<rankfeed_reranker>(in_), &batch, &logit, nullptr),
            kRefused);
      case 5:
        return Expect(
            rankfeed_rerank_rank(Unmade<rankfeed_reranker>(in_), nullptr, nullptr, 0, &count),
            kRefused);
      case 6:
        return Expect(rankfeed_encoder_mem_req(Unmade<rankfeed_model>(in_), &limits, &need),
                      kRefused);
      case 7:
        return Expect(rankfeed_model_get_info(Unmade<rankfeed_model>(in_), &info), kRefused);
      default:
        FUZZ_ASSERT(rankfeed_token_bound(Unmade<rankfeed_model>(in_), 1) == UINT32_MAX);
    }
  }

  struct Kept {
    rankfeed_batch batch;
    std::vector<rankfeed_batch_row> rows;
  };

  Input& in_;
  Encoder roomy_, with_, without_, words_, roomy_words_;
  // The text in pieces of words_.
  Block window_;
  bool text_open_ = false;
  uint32_t text_flags_ = 0, most_waiting_ = 0, needed_ = 0;
  std::string text_;  // that was taken
  std::vector<int32_t> text_ids_;
  Plan plan_;
  Reranker reranker_;
  rankfeed_handoff* ring_;
  decltype(rankfeed_executor::parallel_for) parallel_for_;
  // The request under way, borrowed by the reranker.
  std::vector<rankfeed_source> sources_;
  std::vector<rankfeed_status> status_;
  rankfeed_executor executor_{};
  rankfeed_control control_{};
  Workers workers_;
  uint32_t cancel_ = 0;
  // What it must do.
  bool active_ = false, controlled_ = false;
  std::vector<std::string> expected_;
  size_t taken_ = 0;
  uint64_t written_ = 0, generation_ = 0;
  std::vector<float> scores_;
  std::vector<Kept> kept_;
};

}  // namespace rankfeed::fuzz
