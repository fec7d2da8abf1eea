// SPDX-License-Identifier: MIT
#include "rerank/reranker.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "rerank/fake_model.h"
#include "support/sanitizers.h"

namespace rankfeed::rerank {
namespace {

constexpr size_t kBigArena = size_t{1} << 20;

plain::Ids IdsOf(const std::string& text) {
  plain::Ids ids;
  for (const char c : text) ids.push_back(FakeId(c));
  return ids;
}

// A random request, and what should come of it.
struct Case {
  std::string query;
  std::vector<std::string> documents;
  rankfeed_rerank_options options = FakeOptions();
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(engine_() % n); }
  std::string Text(uint32_t max_size) {
    std::string text(Below(max_size + 1), ' ');
    for (char& c : text) c = static_cast<char>('a' + Below(26));
    return text;
  }
  Case Make() {
    Case c;
    c.query = Text(30);
    const uint32_t n = 1 + Below(12);
    for (uint32_t i = 0; i < n; ++i) {
      c.documents.push_back(Text(Below(4) == 0 ? 300 : 40));
      if (Below(12) == 0) c.documents.back() += '!';
    }
    rankfeed_rerank_options& o = c.options;
    if (Below(4) != 0) o.max_length = kFakeSpecials + Below(80);
    o.truncation = static_cast<uint8_t>(Below(5));
    o.truncation_side = static_cast<uint8_t>(Below(2));
    if (Below(3) == 0) o.max_query_tokens = Below(20);
    if (Below(3) == 0) o.max_tokens_per_doc = Below(60);
    if (o.max_length > kFakeSpecials && Below(2) == 0) {
      o.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
      o.overflow = static_cast<uint8_t>(1 + Below(2));
      o.stride = Below(o.max_length - kFakeSpecials);
      o.max_chunks_per_doc = Below(4);
    }
    o.id_type = static_cast<uint8_t>(Below(3));
    o.padding_side = static_cast<uint8_t>(Below(3));
    o.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS | RANKFEED_TENSOR_POSITION_IDS |
                RANKFEED_TENSOR_LENGTHS | RANKFEED_TENSOR_ATTENTION_MASK;
    if (Below(3) == 0) o.pad_to_multiple_of = 1 + Below(16);
    if (Below(2) == 0) o.max_rows_per_batch = 1 + Below(6);
    if (Below(2) == 0) o.max_tokens_per_batch = 400 + Below(400);
    o.budget = static_cast<uint8_t>(Below(3));
    o.sort = static_cast<uint8_t>(Below(3));
    return c;
  }

 private:
  std::mt19937 engine_;
};

rankfeed_rerank_options Packed(rankfeed_rerank_options options) {
  options.layout = RANKFEED_PACKED;
  options.padding_side = RANKFEED_RIGHT;
  options.tensors &= ~static_cast<uint32_t>(RANKFEED_TENSOR_ATTENTION_MASK);
  options.tensors |= RANKFEED_TENSOR_ROW_OF_TOKEN;
  options.pad_to_multiple_of = 0;
  return options;
}

FakeRequest RequestOf(const Case& c, uint32_t ids_every) {
  FakeRequest request;
  request.query = ids_every == 1 ? request.Ids(c.query) : request.Text(c.query);
  for (size_t i = 0; i < c.documents.size(); ++i) {
    const bool failing = c.documents[i].find('!') != std::string::npos;
    const bool as_ids = ids_every != 0 && i % ids_every == 0 && !failing;
    request.documents.push_back(as_ids ? request.Ids(c.documents[i])
                                       : request.Text(c.documents[i]));
  }
  return request;
}

// Row contents by (document, chunk).
using RowTable = std::map<std::pair<uint32_t, uint32_t>, plain::Ids>;

RowTable Expected(const Case& c, std::vector<rankfeed_status>* status) {
  RowTable table;
  status->clear();
  for (uint32_t d = 0; d < c.documents.size(); ++d) {
    if (c.documents[d].find('!') != std::string::npos) {
      status->push_back(RANKFEED_E_UNK_ID);
      continue;
    }
    const auto rows =
        plain::RowsOf(IdsOf(c.query), IdsOf(c.documents[d]), c.options, kFakeSpecials);
    status->push_back(rows.status);
    for (uint32_t r = 0; r < rows.rows.size(); ++r) {
      plain::Ids ids = {0};
      const auto& [query, document] = rows.rows[r];
      ids.insert(ids.end(), query.begin(), query.end());
      ids.insert(ids.end(), {2, 2});
      ids.insert(ids.end(), document.begin(), document.end());
      ids.push_back(2);
      table[{d, r}] = ids;
    }
  }
  return table;
}

// Whether one more row of this length would have been within the batch's limits.
bool WouldFit(const rankfeed_rerank_options& o, const rankfeed_batch& batch, uint32_t length) {
  if (o.max_rows_per_batch != 0 && batch.rows + 1 > o.max_rows_per_batch) return false;
  if (o.max_tokens_per_batch == 0) return true;
  const bool packed = o.layout == RANKFEED_PACKED;
  const bool area =
      o.budget == RANKFEED_BUDGET_PADDED_AREA || (o.budget == RANKFEED_BUDGET_OF_LAYOUT && !packed);
  uint64_t longest = std::max(batch.max_seqlen, length);
  if (o.pad_to_multiple_of != 0) {
    longest = (longest + o.pad_to_multiple_of - 1) / o.pad_to_multiple_of * o.pad_to_multiple_of;
  }
  const uint64_t used = area ? longest * (batch.rows + 1) : batch.tokens + length;
  return used <= o.max_tokens_per_batch;
}

void CheckBatches(const Case& c, const rankfeed_rerank_options& o,
                  const std::vector<Taken>& batches, const FakeRequest& request, RowTable* table) {
  std::vector<rankfeed_status> status;
  *table = Expected(c, &status);
  RowTable found;
  const rankfeed_batch_row* last = nullptr;
  uint64_t row_number = 0;
  for (size_t b = 0; b < batches.size(); ++b) {
    const Taken& taken = batches[b];
    EXPECT_EQ(taken.batch.first_row, row_number);
    row_number += taken.batch.rows;
    for (uint32_t r = 0; r < taken.rows.size(); ++r) {
      const rankfeed_batch_row& row = taken.rows[r];
      EXPECT_TRUE(found.emplace(std::pair(row.document, row.chunk), taken.ids[r]).second);
      // Types of the template in every window.
      const uint32_t first_type = row.query_tokens + 2;
      for (uint32_t i = 0; i < row.length; ++i) {
        ASSERT_EQ(taken.types[r][i], i < first_type ? 0 : 1);
        ASSERT_EQ(taken.positions[r][i], static_cast<int32_t>(2 + i));
      }
      if (last != nullptr) {
        const auto key = [](const rankfeed_batch_row& x) { return std::pair(x.document, x.chunk); };
        if (o.sort == RANKFEED_SORT_NONE || last->length == row.length) {
          EXPECT_LT(key(*last), key(row));
        } else if (o.sort == RANKFEED_SORT_DESCENDING) {
          EXPECT_GT(last->length, row.length);
        } else {
          EXPECT_LT(last->length, row.length);
        }
      }
      last = &row;
    }
    if (b + 1 < batches.size()) {
      EXPECT_FALSE(WouldFit(o, taken.batch, batches[b + 1].rows[0].length));
    }
  }
  // A row too long for the batch limits voids its document and no other.
  const uint32_t multiple = o.pad_to_multiple_of != 0 ? o.pad_to_multiple_of : 1;
  for (uint32_t d = 0; d < status.size(); ++d) {
    bool too_long = false;
    for (const auto& [key, ids] : *table) {
      const size_t padded = (ids.size() + multiple - 1) / multiple * multiple;
      const size_t used = o.layout == RANKFEED_PADDED && o.budget != RANKFEED_BUDGET_PACKED_SUM
                              ? padded
                              : ids.size();
      too_long |= key.first == d && o.max_tokens_per_batch != 0 && used > o.max_tokens_per_batch;
    }
    if (!too_long) continue;
    status[d] = RANKFEED_E_TOO_LONG;
    std::erase_if(*table, [&](const auto& entry) { return entry.first.first == d; });
  }
  EXPECT_EQ(request.status, status);
  EXPECT_EQ(found, *table);
}

TEST(Reranker, RandomRequestsAsTheReference) {
  Random random(11);
  const Arena arena(kBigArena);
  size_t rows = 0, batches_seen = 0, failed = 0;
  for (size_t i = 0; i < Scaled(3000); ++i) {
    SCOPED_TRACE(i);
    const Case c = random.Make();
    FakeRequest request = RequestOf(c, random.Below(4));
    FakeReranker padded(c.options, FakeLimits(16, 4000, 20000));
    ASSERT_EQ(padded.init_status, RANKFEED_OK);
    const auto batches = RunAll(padded, request, arena);
    RowTable table;
    CheckBatches(c, c.options, batches, request, &table);

    const rankfeed_rerank_options packed_options = Packed(c.options);
    FakeReranker packed(packed_options, FakeLimits(16, 4000, 20000));
    ASSERT_EQ(packed.init_status, RANKFEED_OK);
    const auto packed_batches = RunAll(packed, request, arena);
    CheckBatches(c, packed_options, packed_batches, request, &table);

    rows += table.size();
    batches_seen += batches.size();
    for (const rankfeed_status status : request.status) failed += status != RANKFEED_OK;
    if (testing::Test::HasFailure()) return;
  }
  if (!kSanitized) {
    EXPECT_GT(rows, 15000u);
    EXPECT_GT(batches_seen, 4000u);
    EXPECT_GT(failed, 3000u);
  }
}

// The same bytes in the same batches, whatever is in scratch and arena and how large they are.
void ExpectSame(const std::vector<Taken>& a, const std::vector<Taken>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].bytes, b[i].bytes);
    ASSERT_EQ(a[i].rows.size(), b[i].rows.size());
    ASSERT_EQ(
        std::memcmp(a[i].rows.data(), b[i].rows.data(), a[i].rows.size() * sizeof(a[i].rows[0])),
        0);
  }
}

TEST(Reranker, ScratchAndArenaNeverChangeABatch) {
  Random random(12);
  const Arena arena(kBigArena, 0x11), other(kBigArena * 2, 0x99);
  for (size_t i = 0; i < Scaled(500); ++i) {
    const Case c = random.Make();
    FakeRequest request = RequestOf(c, 0);
    FakeReranker small(c.options, FakeLimits(12, 4000, 20000), 0x00);
    FakeReranker large(c.options, FakeLimits(200, 9000, 500000), 0xff);
    const auto first = RunAll(small, request, arena);
    ExpectSame(first, RunAll(large, request, other));
    // Used before by this very request, and by others.
    ExpectSame(first, RunAll(small, request, arena));
    FakeRequest ids = RequestOf(c, 1);
    ExpectSame(first, RunAll(large, ids, other));
  }
}

// Runs tasks on threads, in pieces of a given size handed out in a scrambled order.
struct Threads {
  uint32_t workers;
  size_t piece;
  std::mt19937 random{5};

  static rankfeed_status ParallelFor(void* context, size_t count, rankfeed_task task,
                                     void* task_context) {
    auto& self = *static_cast<Threads*>(context);
    std::vector<size_t> starts;
    for (size_t i = 0; i < count; i += self.piece) starts.push_back(i);
    std::shuffle(starts.begin(), starts.end(), self.random);
    std::atomic<size_t> next{0};
    const auto work = [&](uint32_t worker) {
      for (size_t i; (i = next.fetch_add(1)) < starts.size();) {
        task(task_context, starts[i], std::min(count, starts[i] + self.piece), worker);
      }
    };
    std::vector<std::thread> threads;
    for (uint32_t w = 1; w < self.workers; ++w) threads.emplace_back(work, w);
    work(0);
    for (std::thread& thread : threads) thread.join();
    return RANKFEED_OK;
  }
};

TEST(Reranker, ThreadsAndChunkingNeverChangeABatch) {
  Random random(13);
  const Arena arena(kBigArena);
  for (size_t i = 0; i < std::max<size_t>(Scaled(200), 50); ++i) {
    Case c = random.Make();
    for (int more = 0; more < 30; ++more) c.documents.push_back(random.Text(60));
    FakeRequest request = RequestOf(c, random.Below(5));
    FakeReranker one(c.options, FakeLimits(60, 9000, 50000));
    const auto expected = RunAll(one, request, arena);
    const auto status = request.status;
    Threads threads = {1 + random.Below(4), 1 + random.Below(9)};
    rankfeed_executor executor = {sizeof(executor), threads.workers, &threads,
                                  &Threads::ParallelFor};
    request.executor = &executor;
    FakeReranker many(c.options, FakeLimits(60, 9000, 50000, threads.workers));
    ExpectSame(expected, RunAll(many, request, arena));
    EXPECT_EQ(request.status, status);
  }
}

TEST(Reranker, FailureOfTheExecutorEndsTheRequest) {
  Case c;
  c.query = "q";
  c.documents.assign(20, "document");
  FakeRequest request = RequestOf(c, 0);
  FakeReranker fake(c.options, FakeLimits(20, 20, 1000));
  rankfeed_executor executor = {sizeof(executor), 1, nullptr,
                                [](void*, size_t, rankfeed_task task, void* context) {
                                  task(context, 0, 1, 0);
                                  return rankfeed_status{RANKFEED_E_NO_MEMORY};
                                }};
  request.executor = &executor;
  const Arena arena(kBigArena);
  ASSERT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_OK);
  rankfeed_batch batch = arena.Batch();
  EXPECT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_E_NO_MEMORY);
  executor.workers = 2;  // more than there are encoders
  EXPECT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_E_LIMIT);
}

TEST(Reranker, TooSmallAStoreReportsTheExactNeed) {
  Random random(14);
  const Arena arena(kBigArena);
  size_t tried = 0;
  for (size_t i = 0; i < Scaled(400); ++i) {
    const Case c = random.Make();
    FakeRequest request = RequestOf(c, 0);
    FakeReranker enough(c.options, FakeLimits(12, 4000, 20000));
    const auto expected = RunAll(enough, request, arena);

    rankfeed_rerank_limits limits = FakeLimits(1, 1, 1);
    rankfeed_status status = RANKFEED_OK;
    for (int attempt = 0; attempt < 4; ++attempt) {
      FakeReranker fake(c.options, limits);
      const rankfeed_request r = request.Get();
      status = fake.reranker->Begin(r);
      if (status == RANKFEED_OK) {
        rankfeed_batch batch;
        do {
          batch = arena.Batch();
          status = fake.reranker->Next(fake.batch_limits, false, &batch);
        } while (status == RANKFEED_OK && batch.rows != 0);
      }
      if (status == RANKFEED_OK) break;
      ASSERT_TRUE(status == RANKFEED_E_LIMIT || status == RANKFEED_E_WORKSPACE_SIZE);
      limits = fake.reranker->need;
      // The request is over, and another may follow.
      rankfeed_batch batch = arena.Batch();
      ASSERT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_E_STATE);
    }
    ASSERT_EQ(status, RANKFEED_OK);
    FakeReranker fits(c.options, limits);
    ExpectSame(expected, RunAll(fits, request, arena));
    // One token less does not.
    if (limits.max_tokens <= 1) continue;
    ++tried;
    limits.max_tokens -= 1;
    FakeReranker tight(c.options, limits);
    ASSERT_EQ(tight.reranker->Begin(request.Get()), RANKFEED_OK);
    rankfeed_batch batch;
    do {
      batch = arena.Batch();
      status = tight.reranker->Next(tight.batch_limits, false, &batch);
    } while (status == RANKFEED_OK && batch.rows != 0);
    ASSERT_EQ(status, RANKFEED_E_WORKSPACE_SIZE);
    ASSERT_EQ(tight.reranker->need.max_tokens, limits.max_tokens + 1);
  }
  EXPECT_GT(tried, Scaled(300) / 2);
}

TEST(Reranker, TooSmallAnArenaReportsItsNeedAndLosesNothing) {
  Random random(15);
  const Arena big(kBigArena);
  for (size_t i = 0; i < Scaled(300); ++i) {
    const Case c = random.Make();
    FakeRequest request = RequestOf(c, 2);
    FakeReranker fake(c.options, FakeLimits(16, 4000, 20000));
    const auto expected = RunAll(fake, request, big);
    ASSERT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_OK);
    for (const Taken& taken : expected) {
      // Nothing is written to an arena that is a byte short.
      const Arena small(taken.bytes.size() - 1, 0x77);
      rankfeed_batch batch = small.Batch();
      ASSERT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_E_OUTPUT_SIZE);
      ASSERT_EQ(batch.arena_size, taken.bytes.size());
      ASSERT_EQ(batch.rows, 0u);
      for (size_t k = 0; k < taken.bytes.size() - 1; ++k) {
        ASSERT_EQ(static_cast<unsigned char*>(batch.arena)[k], 0x77);
      }
      const Arena exact(taken.bytes.size());
      batch = exact.Batch();
      ASSERT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_OK);
      ASSERT_EQ(Take(batch).bytes, taken.bytes);
    }
  }
}

TEST(Reranker, SlotsInFlightKeepTheirRowMaps) {
  Case c;
  c.query = "query";
  for (int i = 0; i < 20; ++i) c.documents.push_back(std::string(static_cast<size_t>(i), 'x'));
  c.options.max_rows_per_batch = 3;
  c.options.sort = RANKFEED_SORT_DESCENDING;
  FakeRequest request = RequestOf(c, 0);
  FakeReranker fake(c.options, FakeLimits(20, 20, 1000));
  const Arena slots[3] = {Arena(4096), Arena(4096), Arena(4096)};
  ASSERT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_OK);
  std::vector<rankfeed_batch> flying;
  for (uint32_t k = 0; k < 3; ++k) {
    flying.push_back(slots[k].Batch());
    ASSERT_EQ(fake.reranker->Next(fake.batch_limits, false, &flying.back()), RANKFEED_OK);
  }
  uint32_t document = 19;
  for (const rankfeed_batch& batch : flying) {
    for (uint32_t r = 0; r < batch.rows; ++r) {
      EXPECT_EQ(batch.row_map[r].document, document);
      EXPECT_EQ(batch.row_map[r].length, 9 + document);
      --document;
    }
  }
}

TEST(Reranker, FirstBatchIsReadyBeforeTheLastDocumentIsRead) {
  Case c;
  c.query = "q";
  c.documents.assign(100, "document");
  c.options.max_rows_per_batch = 10;
  FakeRequest request = RequestOf(c, 0);
  FakeReranker fake(c.options, FakeLimits(100, 100, 1000));
  const Arena arena(kBigArena);
  ASSERT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_OK);
  EXPECT_EQ(fake.encoders[0].calls, 1u);  // the query, once per request
  rankfeed_batch batch = arena.Batch();
  ASSERT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_OK);
  EXPECT_EQ(batch.rows, 10u);
  EXPECT_EQ(fake.encoders[0].calls, 17u);  // two groups of eight documents hold ten rows
  EXPECT_EQ(request.status[16], RANKFEED_E_STATE);
}

TEST(Reranker, NumberOfDocuments) {
  const rankfeed_rerank_options options = FakeOptions();
  const Arena arena(kBigArena);
  for (const size_t n : {0, 1, 7, 8, 9}) {
    FakeReranker fake(options, FakeLimits(8, 0, 1000));
    Case c;
    c.query = "query";
    c.documents.assign(n, "doc");
    FakeRequest request = RequestOf(c, 0);
    const rankfeed_status status = fake.reranker->Begin(request.Get());
    if (n == 0) {
      EXPECT_EQ(status, RANKFEED_E_ARGUMENT);
    } else if (n == 9) {
      EXPECT_EQ(status, RANKFEED_E_LIMIT);
      EXPECT_EQ(fake.reranker->need.max_documents, 9u);
    } else {
      ASSERT_EQ(status, RANKFEED_OK);
      rankfeed_batch batch = arena.Batch();
      ASSERT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_OK);
      EXPECT_EQ(batch.rows, n);
      batch = arena.Batch();
      ASSERT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_OK);
      EXPECT_EQ(batch.rows, 0u);
      EXPECT_EQ(batch.arena_size, 0u);
    }
  }
}

TEST(Reranker, BadDocumentsDoNotVoidTheBatch) {
  Case c;
  c.query = "query";
  c.documents = {"good", "bad!", std::string(5000, 'x'), "also good"};
  FakeRequest request = RequestOf(c, 0);
  rankfeed_source null_text = {};
  null_text.text.size = 3;
  request.documents.push_back(null_text);
  request.documents.push_back({});  // zeroed: an empty text
  FakeReranker fake(c.options, FakeLimits(8, 0, 1000));
  const Arena arena(kBigArena);
  const auto batches = RunAll(fake, request, arena);
  EXPECT_EQ(request.status,
            (std::vector<rankfeed_status>{RANKFEED_OK, RANKFEED_E_UNK_ID, RANKFEED_E_LIMIT,
                                          RANKFEED_OK, RANKFEED_E_ARGUMENT, RANKFEED_OK}));
  ASSERT_EQ(batches.size(), 1u);
  ASSERT_EQ(batches[0].rows.size(), 3u);
  EXPECT_EQ(batches[0].rows[0].document, 0u);
  EXPECT_EQ(batches[0].rows[1].document, 3u);
  EXPECT_EQ(batches[0].rows[2].document, 5u);
}

TEST(Reranker, BadQueryEndsTheRequest) {
  Case c;
  c.query = "bad!";
  c.documents = {"good"};
  FakeRequest request = RequestOf(c, 0);
  FakeReranker fake(c.options, FakeLimits(8, 0, 1000));
  EXPECT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_E_UNK_ID);
  const Arena arena(kBigArena);
  rankfeed_batch batch = arena.Batch();
  EXPECT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_E_STATE);
}

TEST(Reranker, WindowsMapBackToTokensAndBytes) {
  Case c;
  c.query = "qq";
  c.documents = {"abcdefghij", "xy"};
  c.options.max_length = kFakeSpecials + 2 + 4;
  c.options.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
  c.options.overflow = RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST;
  c.options.stride = 1;
  FakeRequest request = RequestOf(c, 0);
  rankfeed_rerank_limits limits = FakeLimits(8, 8, 1000);
  limits.with_offsets = 1;
  FakeReranker fake(c.options, limits);
  const Arena arena(kBigArena);
  const auto batches = RunAll(fake, request, arena);
  ASSERT_EQ(batches.size(), 1u);
  const auto& rows = batches[0].rows;
  ASSERT_EQ(rows.size(), 4u);
  const uint32_t expected[4][4] = {{0, 0, 0, 4}, {0, 1, 3, 7}, {0, 2, 6, 10}, {1, 0, 0, 2}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].document, expected[i][0]);
    EXPECT_EQ(rows[i].chunk, expected[i][1]);
    EXPECT_EQ(rows[i].token_begin, expected[i][2]);
    EXPECT_EQ(rows[i].token_end, expected[i][3]);
    EXPECT_EQ(rows[i].byte_begin, expected[i][2]);  // one token per byte here
    EXPECT_EQ(rows[i].byte_end, expected[i][3]);
  }
}

TEST(Reranker, CancelledBetweenDocuments) {
  Case c;
  c.query = "q";
  c.documents.assign(50, "document");
  c.options.sort = RANKFEED_SORT_DESCENDING;
  FakeRequest request = RequestOf(c, 0);
  const Arena arena(kBigArena);
  FakeReranker fake(c.options, FakeLimits(50, 50, 1000));

  // A clock that ticks with every look: query, then documents.
  struct Clock {
    static uint64_t Now(void* ticks) { return ++*static_cast<uint64_t*>(ticks); }
  };
  uint64_t ticks = 0;
  rankfeed_control control = {sizeof(control), 0, nullptr, 12, &Clock::Now, &ticks};
  request.control = &control;
  ASSERT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_OK);
  rankfeed_batch batch = arena.Batch();
  EXPECT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_E_DEADLINE);
  // Looks 1 and 2 were begin and next; document k is looked at with tick k + 3.
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(request.status[i], i < 9 ? RANKFEED_OK : RANKFEED_E_STATE) << i;
  }
  batch = arena.Batch();
  EXPECT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_E_STATE);

  uint32_t cancel = 1;
  control = {sizeof(control), 0, &cancel, 0, nullptr, nullptr};
  EXPECT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_E_CANCELLED);
  cancel = 0;
  ASSERT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_OK);
  cancel = 1;
  batch = arena.Batch();
  EXPECT_EQ(fake.reranker->Next(fake.batch_limits, false, &batch), RANKFEED_E_CANCELLED);

  control = {sizeof(control), 0, nullptr, 1, nullptr, nullptr};  // the real clock is past 1 ns
  EXPECT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_E_DEADLINE);
  control.deadline_ns = ~uint64_t{0};
  cancel = 0;
  EXPECT_EQ(RunAll(fake, request, arena).size(), 1u);
}

TEST(Reranker, ScoresFromAnyBatchOrderToARanking) {
  Random random(16);
  const Arena arena(kBigArena);
  for (size_t i = 0; i < Scaled(500); ++i) {
    const Case c = random.Make();
    FakeRequest request = RequestOf(c, 0);
    FakeReranker fake(c.options, FakeLimits(16, 4000, 20000));
    const auto batches = RunAll(fake, request, arena);
    // Logits that depend on the row alone; few values, so that there are ties.
    const auto logit = [](const rankfeed_batch_row& row) {
      return static_cast<float>((row.document * 7 + row.chunk * 3) % 5);
    };
    const uint32_t aggregation = random.Below(3), top_n = random.Below(4);
    const rankfeed_score_options score = {sizeof(score), RANKFEED_SCORE_RAW, 2, 1};
    const rankfeed_rank_options rank = {sizeof(rank), aggregation, RANKFEED_TIES_ASCENDING, top_n};
    rankfeed_ranked ranked[16];
    uint32_t count = 0;
    std::map<uint32_t, std::vector<float>> by_document;
    for (size_t b = batches.size(); b-- > 0;) {  // last first
      ASSERT_EQ(fake.reranker->Rank(rank, ranked, 16, &count), RANKFEED_E_STATE);
      std::vector<float> logits;
      for (const auto& row : batches[b].rows) logits.insert(logits.end(), {-99.0f, logit(row)});
      ASSERT_EQ(fake.reranker->PutScores(batches[b].batch, logits.data(), score), RANKFEED_OK);
    }
    std::map<std::pair<uint32_t, uint32_t>, float> sorted;
    for (const Taken& taken : batches) {
      for (const auto& row : taken.rows) sorted[{row.document, row.chunk}] = logit(row);
    }
    for (const auto& [key, value] : sorted) by_document[key.first].push_back(value);
    std::vector<std::pair<float, uint32_t>> expected;
    for (const auto& [document, values] : by_document) {
      double sum = 0;
      for (const float value : values) sum += value;
      expected.emplace_back(aggregation == RANKFEED_AGGREGATE_FIRST ? values[0]
                            : aggregation == RANKFEED_AGGREGATE_MEAN
                                ? static_cast<float>(sum / static_cast<double>(values.size()))
                                : *std::max_element(values.begin(), values.end()),
                            document);
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    if (top_n != 0 && expected.size() > top_n) expected.resize(top_n);
    if (!expected.empty()) {
      ASSERT_EQ(
          fake.reranker->Rank(rank, ranked, static_cast<uint32_t>(expected.size() - 1), &count),
          RANKFEED_E_OUTPUT_SIZE);
      ASSERT_EQ(count, expected.size());
    }
    ASSERT_EQ(fake.reranker->Rank(rank, ranked, 16, &count), RANKFEED_OK);
    ASSERT_EQ(count, expected.size());
    for (uint32_t k = 0; k < count; ++k) {
      ASSERT_EQ(ranked[k].index, expected[k].second);
      ASSERT_EQ(ranked[k].score, expected[k].first);
    }
  }
}

TEST(Reranker, BadScores) {
  Case c;
  c.query = "q";
  c.documents = {"a", "b"};
  FakeRequest request = RequestOf(c, 0);
  FakeReranker fake(c.options, FakeLimits(8, 0, 1000));
  const Arena arena(kBigArena);
  const auto batches = RunAll(fake, request, arena);
  ASSERT_EQ(batches.size(), 1u);
  rankfeed_score_options raw = {sizeof(raw), RANKFEED_SCORE_RAW, 0, 0};
  const float good[] = {1.0f, 2.0f};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    for (uint32_t activation : {RANKFEED_SCORE_RAW, RANKFEED_SCORE_SIGMOID, RANKFEED_SCORE_SOFTMAX}) {
      const float bad[] = {1.0f, wrong};
      raw.activation = activation;
      EXPECT_EQ(fake.reranker->PutScores(batches[0].batch, bad, raw), RANKFEED_E_ARGUMENT) << wrong;
    }
  }
  raw.activation = RANKFEED_SCORE_RAW;
  rankfeed_batch later = batches[0].batch;
  later.first_row = 1;  // rows that no batch had
  EXPECT_EQ(fake.reranker->PutScores(later, good, raw), RANKFEED_E_STATE);
  raw.label = 1;
  EXPECT_EQ(fake.reranker->PutScores(batches[0].batch, good, raw), RANKFEED_E_ARGUMENT);
  raw = {sizeof(raw), 9, 0, 0};
  EXPECT_EQ(fake.reranker->PutScores(batches[0].batch, good, raw), RANKFEED_E_ARGUMENT);
}

TEST(Reranker, OneBatchWithEverything) {
  Case c;
  c.query = "q";
  c.documents.assign(9, "document");
  c.options.max_rows_per_batch = 2;
  FakeRequest request = RequestOf(c, 0);
  FakeReranker fake(c.options, FakeLimits(9, 9, 1000));
  const Arena arena(kBigArena);
  ASSERT_EQ(fake.reranker->Begin(request.Get()), RANKFEED_OK);
  rankfeed_batch batch = arena.Batch();
  ASSERT_EQ(fake.reranker->Next(BatchLimits{}, true, &batch), RANKFEED_OK);
  EXPECT_EQ(batch.rows, 9u);
}

TEST(Reranker, SingleTemplate) {
  Case c;
  c.query = "ignored";
  c.documents = {"abc", "abcdefgh"};
  c.options.template_kind = RANKFEED_TEMPLATE_SINGLE;
  c.options.max_length = 6;
  c.options.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  FakeRequest request = RequestOf(c, 0);
  FakeReranker fake(c.options, FakeLimits(8, 0, 1000));
  ASSERT_EQ(fake.init_status, RANKFEED_OK);
  const auto batches = RunAll(fake, request, Arena(kBigArena));
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].ids[0], (plain::Ids{0, FakeId('a'), FakeId('b'), FakeId('c'), 2}));
  EXPECT_EQ(batches[0].ids[1],
            (plain::Ids{0, FakeId('a'), FakeId('b'), FakeId('c'), FakeId('d'), 2}));
}

}  // namespace
}  // namespace rankfeed::rerank
