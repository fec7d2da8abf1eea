// SPDX-License-Identifier: MIT
// fuzz/handed_back.cc: structs that the library filled, changed by the caller and handed back:
// batches (also late ones), encodings, texts in pieces, requests, tickets of slots. Each answer is the one that the
// headers state for the fields as they are, nothing outside the blocks is touched, and after an
// answer other than OK the object does what it would have done without the call. All blocks have
// exactly the size that was asked for. An execution is one struct handed back.
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>

#include "engine.h"
#include "input.h"
#include "pair_model.h"
#include "rankfeed/handoff.h"
#include "rankfeed/rerank.h"

namespace rankfeed::fuzz {
namespace {

constexpr int32_t kIds[] = {4, 5, 6, 7, 8, 9, 10, 11};

// Numbers around the edges at which sums wrap, and around what was there.
uint64_t Odd(Input& in, uint64_t value) {
  switch (in.Below(9)) {
    case 0:
      return 0;
    case 1:
      return value + 1;
    case 2:
      return value - 1;
    case 3:
      return UINT64_MAX - in.Below(4);
    case 4:
      return uint64_t{UINT32_MAX} - in.Below(4);
    case 5:
      return uint64_t{1} << in.Below(64);
    case 6:
      return UINT64_MAX - value;
    case 7:
      return value;
    default:
      return uint64_t{in.U32()} << 32 | in.U32();
  }
}

// Exactly one of the statuses that apply; OK when none does.
void CheckStatus(rankfeed_status status, const std::set<rankfeed_status>& apply) {
  ++counters.executions;
  counters.accepted += status == RANKFEED_OK;
  FUZZ_ASSERT(apply.empty() ? status == RANKFEED_OK : apply.contains(status));
}

// A reranker over ids in the template of the caller: <s> query document </s>.
struct Box {
  Box(uint32_t documents, uint32_t rows_per_batch) : document_count(documents) {
    pair_template.struct_size = sizeof(pair_template);
    pair_template.prefix.ids = &kBegin;
    pair_template.suffix.ids = &kEnd;
    pair_template.prefix.id_count = pair_template.suffix.id_count = 1;
    rankfeed_rerank_options options;
    rankfeed_rerank_options_init(&options);
    options.layout = RANKFEED_PACKED;
    options.template_kind = RANKFEED_TEMPLATE_CUSTOM;
    options.pair_template = &pair_template;
    options.max_rows_per_batch = rows_per_batch;
    rankfeed_rerank_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_documents = documents;
    rankfeed_mem_req need{};
    FUZZ_ASSERT(rankfeed_reranker_mem_req(nullptr, &limits, &options, &need) == RANKFEED_OK);
    scratch = Block(need);
    FUZZ_ASSERT(rankfeed_reranker_init(nullptr, &limits, &options, nullptr, scratch.data(),
                                       need.size, &reranker) == RANKFEED_OK);
    sources.resize(documents);
    for (uint32_t i = 0; i < documents; ++i) {
      sources[i].ids = kIds;
      sources[i].id_count = 1 + i % 8;
    }
    status.resize(documents);
  }
  rankfeed_request Request() {
    rankfeed_request request{};
    request.struct_size = sizeof(request);
    request.document_count = document_count;
    request.query.ids = kIds;
    request.query.id_count = 2;
    request.documents = sources.data();
    request.document_status = status.data();
    return request;
  }
  uint32_t document_count;
  rankfeed_pair_template pair_template{};
  Block scratch;
  rankfeed_reranker* reranker = nullptr;
  std::vector<rankfeed_source> sources;
  std::vector<rankfeed_status> status;
};

constexpr size_t kArena = 2048;  // of all rows of a box
constexpr uint32_t kOlderSize = offsetof(rankfeed_batch, generation);

rankfeed_batch Next(Box& box, const Block& arena) {
  rankfeed_batch batch{};
  batch.struct_size = sizeof(batch);
  batch.arena = arena.data();
  batch.arena_capacity = kArena;
  FUZZ_ASSERT(rankfeed_rerank_next(box.reranker, &batch) == RANKFEED_OK);
  return batch;
}

void Change(Input& in, rankfeed_batch* batch) {
  for (size_t n = in.Below(3); n > 0; --n) {
    switch (in.Below(6)) {
      case 0:
        batch->rows = static_cast<uint32_t>(Odd(in, batch->rows));
        break;
      case 1:
        batch->first_row = Odd(in, batch->first_row);
        break;
      case 2:
        batch->generation = Odd(in, batch->generation);
        break;
      case 3:
        batch->struct_size = in.OneIn(2) ? kOlderSize : in.U16();
        break;
      case 4:  // nothing of these is read
        batch->tokens = Odd(in, batch->tokens);
        batch->arena_size = Odd(in, batch->arena_size);
        batch->arena = nullptr;
        batch->row_map = nullptr;
        break;
      default:
        batch->first_row = 0 - uint64_t{batch->rows} + in.Below(3);
    }
  }
}

// One reranker, several requests, batches kept past their request.
class Batches {
 public:
  explicit Batches(Input& in)
      : box_(1 + static_cast<uint32_t>(in.Below(6)), 1 + static_cast<uint32_t>(in.Below(3))),
        arena_(kArena, 256) {}

  void Step(Input& in) {
    switch (in.Below(6)) {
      case 0:
        return Begin();
      case 1:
        return Take();
      case 2:
        return Rank();
      default:
        if (kept_.empty()) return Begin();
        PutBack(in);
    }
  }

 private:
  void Begin() {
    const rankfeed_request request = box_.Request();
    FUZZ_ASSERT(rankfeed_rerank_begin(box_.reranker, &request) == RANKFEED_OK);
    scores_.assign(box_.document_count, std::numeric_limits<float>::quiet_NaN());
    written_ = 0;
    Take();
    FUZZ_ASSERT(written_ != 0);
    for (const rankfeed_batch& batch : kept_) {
      FUZZ_ASSERT((batch.generation == generation_) == (&batch == &kept_.back()));
    }
  }
  void Take() {
    if (scores_.empty()) return;  // no request yet
    const rankfeed_batch batch = Next(box_, arena_);
    if (batch.rows == 0) return;
    FUZZ_ASSERT(batch.first_row == written_ && batch.generation != 0);
    written_ += batch.rows;
    generation_ = batch.generation;
    kept_.push_back(batch);
  }
  void PutBack(Input& in) {
    rankfeed_batch batch = kept_[in.Below(kept_.size())];
    Change(in, &batch);
    rankfeed_score_options options{};
    options.struct_size = sizeof(options);
    options.labels = static_cast<uint32_t>(in.Below(4));
    const uint32_t labels = std::max(options.labels, 1u);
    options.label = static_cast<uint32_t>(in.Below(4));
    options.activation = static_cast<uint32_t>(in.Below(8)) == 7 ? 3 : 0;

    std::set<rankfeed_status> apply;
    const bool older = batch.struct_size == kOlderSize;
    if (!older && batch.struct_size != sizeof(batch)) apply.insert(RANKFEED_E_STRUCT_SIZE);
    if (!older && batch.generation != generation_) apply.insert(RANKFEED_E_STALE);
    if (batch.first_row > written_ || batch.rows > written_ - batch.first_row) {
      apply.insert(RANKFEED_E_STATE);
    }
    if (options.label >= labels || options.activation > RANKFEED_SCORE_SOFTMAX) {
      apply.insert(RANKFEED_E_ARGUMENT);
    }
    // Logits for the rows that there are, and no more.
    const size_t count = apply.empty() ? size_t{batch.rows} * labels : 1;
    const std::unique_ptr<float[]> logits(new float[count]);
    for (size_t i = 0; i < count; ++i) logits[i] = static_cast<float>(in.U8());
    // As long as struct_size says, where the library knows the size.
    const Block place(apply.contains(RANKFEED_E_STRUCT_SIZE) ? sizeof(batch) : batch.struct_size,
                      8);
    std::memcpy(place.data(), &batch,
                apply.contains(RANKFEED_E_STRUCT_SIZE) ? sizeof(batch) : batch.struct_size);
    CheckStatus(
        rankfeed_rerank_put_scores(box_.reranker, static_cast<const rankfeed_batch*>(place.data()),
                                   logits.get(), &options),
        apply);
    if (!apply.empty()) return;
    for (uint32_t i = 0; i < batch.rows; ++i) {
      scores_[batch.first_row + i] = logits[size_t{i} * labels + options.label];
    }
  }
  // The ranking is that of the scores that were taken: refused ones left nothing behind.
  void Rank() {
    if (scores_.empty()) return;
    std::vector<rankfeed_ranked> ranked(scores_.size());
    uint32_t count = 0;
    const rankfeed_status status = rankfeed_rerank_rank(
        box_.reranker, nullptr, ranked.data(), static_cast<uint32_t>(ranked.size()), &count);
    const bool all =
        std::none_of(scores_.begin(), scores_.end(), [](float x) { return std::isnan(x); });
    FUZZ_ASSERT(status == (all ? RANKFEED_OK : RANKFEED_E_STATE));
    if (!all) return;
    FUZZ_ASSERT(count == scores_.size());
    for (uint32_t i = 0; i < count; ++i) {
      FUZZ_ASSERT(ranked[i].score == scores_[ranked[i].index]);
      FUZZ_ASSERT(
          i == 0 || ranked[i - 1].score > ranked[i].score ||
          (ranked[i - 1].score == ranked[i].score && ranked[i - 1].index < ranked[i].index));
    }
  }

  Box box_;
  Block arena_;
  std::vector<rankfeed_batch> kept_;
  std::vector<float> scores_;  // of each row; one per document
  uint64_t written_ = 0, generation_ = 0;
};

// Requests as no caller should make them, then a good one.
void Requests(Input& in) {
  Box box(1 + static_cast<uint32_t>(in.Below(6)), 0);
  rankfeed_request request = box.Request();
  rankfeed_control control{};
  control.struct_size = sizeof(control);
  rankfeed_executor executor{};
  executor.struct_size = sizeof(executor);
  for (size_t n = 1 + in.Below(2); n > 0; --n) {
    switch (in.Below(9)) {
      case 0:
        request.struct_size = in.U16();
        break;
      case 1:
        request.document_count = static_cast<uint32_t>(Odd(in, box.document_count));
        break;
      case 2:
        request.documents = nullptr;
        break;
      case 3:
        request.document_status = nullptr;
        break;
      case 4:
        request.query.ids = nullptr;
        break;
      case 5:
        request.control = &control, control.reserved = in.U8();
        break;
      case 6:
        request.control = &control, control.struct_size = in.U16();
        break;
      case 7:
        request.executor = &executor;
        break;
      default:
        break;
    }
  }
  std::set<rankfeed_status> apply;
  if (request.struct_size != sizeof(request) || control.struct_size != sizeof(control)) {
    apply.insert(RANKFEED_E_STRUCT_SIZE);
  }
  if (request.document_count == 0 || request.documents == nullptr || control.reserved != 0 ||
      request.document_status == nullptr || request.query.ids == nullptr ||
      request.executor != nullptr) {  // which has no function
    apply.insert(RANKFEED_E_ARGUMENT);
  }
  if (request.document_count > box.document_count) apply.insert(RANKFEED_E_LIMIT);
  rankfeed_reranker* const reranker = box.reranker;
  const rankfeed_status status = rankfeed_rerank_begin(reranker, &request);
  CheckStatus(status, apply);
  const Block one(kArena, 256), two(kArena, 256);
  if (status != RANKFEED_OK) {
    rankfeed_batch batch{};
    batch.struct_size = sizeof(batch);
    FUZZ_ASSERT(rankfeed_rerank_next(reranker, &batch) == RANKFEED_E_STATE);
  }
  // As a reranker that was never misused.
  Box fresh(box.document_count, 0);
  const rankfeed_request good = box.Request(), same = fresh.Request();
  FUZZ_ASSERT(rankfeed_rerank_begin(reranker, &good) == RANKFEED_OK);
  FUZZ_ASSERT(rankfeed_rerank_begin(fresh.reranker, &same) == RANKFEED_OK);
  const rankfeed_batch mine = Next(box, one), theirs = Next(fresh, two);
  FUZZ_ASSERT(mine.rows == theirs.rows && mine.arena_size == theirs.arena_size);
  FUZZ_ASSERT(std::memcmp(one.data(), two.data(), mine.arena_size) == 0);
}

// Outputs of encode with any fields, and options with any bits.
void Encodings(Input& in, rankfeed_encoder* encoder, bool with_offsets, Encoder& roomy) {
  std::string text;
  for (size_t n = in.Below(20); n > 0; --n) text += static_cast<char>('a' + in.Below(8));
  constexpr uint32_t kFlags = 63, kUnits = RANKFEED_OFFSETS_CODE_POINTS | RANKFEED_OFFSETS_UTF16;
  rankfeed_encode_options options{};
  options.struct_size = in.OneIn(8) ? in.U16() : sizeof(options);
  options.flags = in.OneIn(4) ? static_cast<uint32_t>(Odd(in, 1)) : in.U8() & kFlags;
  if (in.OneIn(8)) options.sp_extra[in.Below(8)] = in.U8();
  const bool extra =
      std::any_of(options.sp_extra, options.sp_extra + 8, [](uint8_t x) { return x != 0; });
  const Tokens expected = roomy.Encode(text, options.flags & kFlags & ~kUnits & ~8u);
  const auto needed = static_cast<uint32_t>(expected.ids.size());
  const auto capacity = static_cast<uint32_t>(in.Below(needed + 3));
  const std::unique_ptr<int32_t[]> ids(new int32_t[capacity]);
  const std::unique_ptr<uint32_t[]> begin(new uint32_t[capacity]), end(new uint32_t[capacity]);
  const ExactText exact(text);
  std::set<rankfeed_status> apply;
  if (options.struct_size != sizeof(options)) apply.insert(RANKFEED_E_STRUCT_SIZE);
  if ((options.flags & ~kFlags) != 0 || (options.flags & kUnits) == kUnits || extra) {
    apply.insert(RANKFEED_E_ARGUMENT);
  }
  rankfeed_status status;
  uint32_t count;
  if (in.OneIn(2)) {
    rankfeed_encoding io{};
    io.struct_size = in.OneIn(8) ? in.U16() : sizeof(io);
    io.capacity = capacity;
    io.input_ids = in.OneIn(8) ? nullptr : ids.get();
    io.offset_begin = in.OneIn(2) ? nullptr : begin.get();
    io.offset_end = in.OneIn(2) ? nullptr : end.get();
    io.count = in.U32();
    if (io.struct_size != sizeof(io)) apply.insert(RANKFEED_E_STRUCT_SIZE);
    if ((io.input_ids == nullptr && capacity != 0) ||
        (!with_offsets && (io.offset_begin != nullptr || io.offset_end != nullptr))) {
      apply.insert(RANKFEED_E_ARGUMENT);
    }
    if (apply.empty() && needed > capacity) apply.insert(RANKFEED_E_OUTPUT_SIZE);
    status = rankfeed_encode(encoder, {exact.view().data(), text.size()}, &options, &io);
    count = io.count;
  } else {
    uint32_t cu_seqlens[2];
    const rankfeed_text view = {exact.view().data(), text.size()};
    rankfeed_encodings io{};
    io.struct_size = in.OneIn(8) ? in.U16() : sizeof(io);
    io.capacity = capacity;
    io.input_ids = in.OneIn(8) ? nullptr : ids.get();
    io.cu_seqlens = in.OneIn(8) ? nullptr : cu_seqlens;
    io.count = in.U32();
    io.text_count = Odd(in, 1);
    io.offset_begin = in.OneIn(2) ? nullptr : begin.get();
    io.offset_end = in.OneIn(2) ? nullptr : end.get();
    constexpr uint32_t kWithoutOffsets = offsetof(rankfeed_encodings, offset_begin);
    if (in.OneIn(8)) io.struct_size = kWithoutOffsets;
    const bool offsets = io.struct_size != kWithoutOffsets &&
                         (io.offset_begin != nullptr || io.offset_end != nullptr);
    if (io.struct_size != sizeof(io) && io.struct_size != kWithoutOffsets) {
      apply.insert(RANKFEED_E_STRUCT_SIZE);
    }
    if ((io.input_ids == nullptr && capacity != 0) || io.cu_seqlens == nullptr ||
        (offsets && !with_offsets) || (!offsets && (options.flags & kUnits) != 0)) {
      apply.insert(RANKFEED_E_ARGUMENT);
    }
    if (apply.empty() && needed > capacity) apply.insert(RANKFEED_E_OUTPUT_SIZE);
    status = rankfeed_encode_batch(encoder, &view, 1, &options, &io);
    count = io.count;
  }
  CheckStatus(status, apply);
  if (status == RANKFEED_OK || status == RANKFEED_E_OUTPUT_SIZE) {
    FUZZ_ASSERT(count == needed);
    FUZZ_ASSERT(capacity == 0 || std::equal(ids.get(), ids.get() + std::min(capacity, needed),
                                            expected.ids.begin()));
  }
}

// A text in pieces, whose io has any fields at every call. Each call that is refused leaves the text as
// it was.
void Pieces(Input& in, rankfeed_encoder* encoder, Encoder& roomy) {
  rankfeed_encode_options options{};
  options.struct_size = in.OneIn(8) ? in.U16() : sizeof(options);
  options.flags = in.OneIn(4) ? static_cast<uint32_t>(Odd(in, 1)) : in.U8() & 1;
  constexpr uint32_t kFlags = 63 & ~(RANKFEED_OFFSETS_CODE_POINTS | RANKFEED_OFFSETS_UTF16);
  std::set<rankfeed_status> apply;
  if (options.struct_size != sizeof(options)) apply.insert(RANKFEED_E_STRUCT_SIZE);
  if ((options.flags & ~kFlags) != 0) apply.insert(RANKFEED_E_ARGUMENT);
  const auto window_bytes = static_cast<uint32_t>(in.Below(40));
  const Block window(window_bytes + 1, 1);
  if (window_bytes == 0) apply.insert(RANKFEED_E_ARGUMENT);
  const rankfeed_status begun =
      rankfeed_encode_begin(encoder, &options, static_cast<char*>(window.data()), window_bytes);
  CheckStatus(begun, apply);
  if (begun != RANKFEED_OK) return;
  std::string text;
  std::vector<int32_t> all;
  uint32_t room = 8;
  for (size_t pieces = in.Below(6); ; --pieces) {
    const bool last = pieces == 0;
    std::string piece;
    for (size_t n = last ? 0 : in.Below(20); n > 0; --n) piece += "abcdefgh  "[in.Below(10)];
    const ExactText exact(piece);
    size_t done = 0;
    for (;;) {
      const std::unique_ptr<int32_t[]> ids(new int32_t[room]);
      rankfeed_stream_io io{};
      io.struct_size = in.OneIn(8) ? in.U16() : sizeof(io);
      io.capacity = room;
      io.input_ids = in.OneIn(8) ? nullptr : ids.get();
      io.count = static_cast<uint32_t>(Odd(in, room));
      io.needed = static_cast<uint32_t>(Odd(in, room));
      io.consumed = Odd(in, piece.size());
      apply.clear();
      if (io.struct_size != sizeof(io)) apply.insert(RANKFEED_E_STRUCT_SIZE);
      if (io.input_ids == nullptr && room != 0) apply.insert(RANKFEED_E_ARGUMENT);
      const rankfeed_text rest{exact.view().data() + done, piece.size() - done};
      const rankfeed_status status =
          last ? rankfeed_encode_end(encoder, &io) : rankfeed_encode_feed(encoder, rest, &io);
      if (!apply.empty()) {
        CheckStatus(status, apply);
        continue;
      }
      ++counters.executions;
      FUZZ_ASSERT(io.count <= room && io.consumed <= rest.size);
      all.insert(all.end(), ids.get(), ids.get() + io.count);
      done += io.consumed;
      text.append(rest.data, io.consumed);
      if (status == RANKFEED_E_LIMIT) {  // and the text has ended
        FUZZ_ASSERT(!last && done < piece.size() && text.size() >= window_bytes);
        io.struct_size = sizeof(io);
        CheckStatus(rankfeed_encode_end(encoder, &io), {RANKFEED_E_ARGUMENT});
        return;
      }
      if (status != RANKFEED_E_OUTPUT_SIZE) {
        FUZZ_ASSERT(status == RANKFEED_OK && io.needed == 0 && done == piece.size());
        break;
      }
      FUZZ_ASSERT(io.needed > room - io.count);
      room = io.needed;
    }
    if (last) break;
    room = static_cast<uint32_t>(in.Below(12));
  }
  ++counters.accepted;
  FUZZ_ASSERT(roomy.Encode(text, options.flags).ids == all);
}

// Tickets that nobody was given leave the slots that are being filled alone.
void Slots(Input& in) {
  constexpr uint32_t kSlots = 3, kBytes = 256;
  rankfeed_handoff_options options{};
  options.struct_size = sizeof(options);
  options.slots = kSlots;
  options.slot_bytes = kBytes;
  rankfeed_handoff* ring = nullptr;
  FUZZ_ASSERT(rankfeed_handoff_open(&options, &ring, nullptr) == RANKFEED_OK);
  std::vector<rankfeed_handoff_slot> tickets;
  std::vector<unsigned char*> hosts;
  for (size_t n = 1 + in.Below(kSlots); n > 0; --n) {
    rankfeed_handoff_view view{};
    view.struct_size = sizeof(view);
    rankfeed_handoff_slot slot;
    FUZZ_ASSERT(rankfeed_handoff_acquire(ring, &slot, &view) == RANKFEED_OK);
    if (in.OneIn(2)) {  // a later use
      FUZZ_ASSERT(rankfeed_handoff_abandon(ring, slot) == RANKFEED_OK);
      FUZZ_ASSERT(rankfeed_handoff_acquire(ring, &slot, &view) == RANKFEED_OK);
    }
    tickets.push_back(slot);
    hosts.push_back(static_cast<unsigned char*>(view.host));
    std::memset(view.host, static_cast<int>(view.index) + 1, kBytes);
  }
  unsigned char there[kBytes];
  for (size_t n = 1 + in.Below(20); n > 0; --n) {
    const rankfeed_handoff_slot near = tickets[in.Below(tickets.size())];
    const rankfeed_handoff_slot ticket =
        in.OneIn(2) ? Odd(in, near) : near ^ uint64_t { 1 } << in.Below(64);
    if (std::find(tickets.begin(), tickets.end(), ticket) != tickets.end()) continue;
    void* data;
    uint32_t state;
    rankfeed_dl_tensor tensor{};
    tensor.struct_size = sizeof(tensor);
    rankfeed_status status;
    bool may_be_over = false;  // of an earlier use: it is over, and that is an answer
    switch (in.Below(9)) {
      case 0:
        status = rankfeed_handoff_submit(ring, ticket, kBytes, nullptr, there, 0);
        break;
      case 1:
        status = rankfeed_handoff_abandon(ring, ticket);
        break;
      case 2:
        status = rankfeed_handoff_release(ring, ticket, nullptr);
        break;
      case 3:
        status = rankfeed_handoff_release_now(ring, ticket);
        break;
      case 4:
        status = rankfeed_handoff_data(ring, ticket, &data);
        break;
      case 5:
        status = rankfeed_handoff_dl_tensor(ring, ticket, 0, &tensor);
        break;
      case 6:
        status = rankfeed_handoff_poll(ring, ticket);
        may_be_over = true;
        break;
      case 7:
        status = rankfeed_handoff_stream_wait(ring, ticket, nullptr);
        may_be_over = true;
        break;
      default:
        status = rankfeed_handoff_state(ring, ticket, &state);
        may_be_over = true;
    }
    ++counters.executions;
    FUZZ_ASSERT(status == RANKFEED_E_ARGUMENT || status == RANKFEED_E_STATE ||
                (may_be_over && status == RANKFEED_OK));
    for (size_t i = 0; i < tickets.size(); ++i) {
      FUZZ_ASSERT(rankfeed_handoff_state(ring, tickets[i], &state) == RANKFEED_OK);
      FUZZ_ASSERT(state == RANKFEED_SLOT_FILLING);
      FUZZ_ASSERT(hosts[i][0] == hosts[i][kBytes - 1] && hosts[i][0] == (tickets[i] & 0xffff) + 1);
    }
  }
  for (const rankfeed_handoff_slot ticket : tickets) {
    FUZZ_ASSERT(rankfeed_handoff_abandon(ring, ticket) == RANKFEED_OK);
    FUZZ_ASSERT(rankfeed_handoff_abandon(ring, ticket) == RANKFEED_E_STATE);
  }
  rankfeed_handoff_close(ring);
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  static Encoder roomy(TheModel().get(), 4096, true, 0);
  static Encoder with(TheModel().get(), 64, true, 256), without(TheModel().get(), 64, false, 0);
  static Encoder roomy_words(TheWordModel().get(), 4096, false, 0),
      words(TheWordModel().get(), 64, false, 256);
  Batches batches(in);
  while (!in.empty()) {
    switch (in.Below(9)) {
      case 8:
        Pieces(in, words.get(), roomy_words);
        break;
      case 0:
        Requests(in);
        break;
      case 1:
        Encodings(in, with.get(), true, roomy);
        break;
      case 2:
        Encodings(in, without.get(), false, roomy);
        break;
      case 3:
        Slots(in);
        break;
      default:
        batches.Step(in);
    }
  }
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 64 + random.Below(4000));
}

const Register registered({"handed_back", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
