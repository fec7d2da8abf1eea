// SPDX-License-Identifier: MIT
// include/rankfeed/*.hpp where operator new fails: every call answers E_NO_MEMORY, none throws, and
// the objects are usable afterwards. And what the wrappers say of limits.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include "contract_models.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/handoff.hpp"
#include "rankfeed/rankfeed.hpp"
#include "rankfeed/rerank.hpp"
#include "support/faults.h"

namespace {

// Of this thread, because streams of the host backend are threads too: allocations before all fail;
// -1: none fails.
thread_local long allowed = -1;

void* Take(size_t size, size_t alignment) {
  if (allowed == 0) return nullptr;
  if (allowed > 0) --allowed;
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void* TakeOrThrow(size_t size, size_t alignment) {
  if (void* const block = Take(size, alignment)) return block;
  throw std::bad_alloc();
}

}  // namespace

// Inlined, gcc takes them for mismatched pairs.
#define KEPT __attribute__((noinline))
KEPT void* operator new(size_t size) {
  return TakeOrThrow(size, alignof(std::max_align_t));
}
KEPT void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Take(size, alignof(std::max_align_t));
}
KEPT void* operator new(size_t size, std::align_val_t alignment) {
  return TakeOrThrow(size, static_cast<size_t>(alignment));
}
KEPT void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Take(size, static_cast<size_t>(alignment));
}
KEPT void operator delete(void* p) noexcept {
  std::free(p);
}
KEPT void operator delete(void* p, size_t) noexcept {
  std::free(p);
}
KEPT void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
KEPT void operator delete(void* p, size_t, std::align_val_t) noexcept {
  std::free(p);
}
#undef KEPT

namespace rankfeed::contract {
namespace {

uint64_t faults = 0;

// Runs call with no memory at all, then after one allocation, and so on until it succeeds. call
// returns the status.
template <class Call>
void ExpectNoMemoryUntilItSucceeds(const char* what, const Call& call) {
  for (long n = 0;; ++n) {
    ASSERT_LT(n, 10'000) << what;
    allowed = n;
    rankfeed_status status;
    try {
      status = call();
    } catch (const std::bad_alloc&) {
      allowed = -1;
      FAIL() << what << " throws with " << n << " allocations";
    }
    allowed = -1;
    if (status == RANKFEED_OK) return;
    ++faults;
    ASSERT_EQ(status, RANKFEED_E_NO_MEMORY) << what << " with " << n << " allocations";
  }
}

template <class T>
rankfeed_status Status(const Result<T>& result) {
  return result ? RANKFEED_OK : result.error().status;
}

class WrapperMemory : public testing::Test {
 protected:
  WrapperMemory() : model_(HuggingFaceSource()) {}
  ~WrapperMemory() override {
    test::ReportFaults("allocations refused (C++ wrappers)", std::exchange(faults, 0));
  }
  OpenModel model_;
};

TEST_F(WrapperMemory, Encoders) {
  ExpectNoMemoryUntilItSucceeds(
      "Encoder::Create", [&] { return Status(Encoder::Create(model_.get(), 1 << 16, true)); });
  auto encoder = Encoder::Create(model_.get(), 1 << 16, true);
  ASSERT_TRUE(encoder);
  const std::string text(5000, 'a');
  const std::string_view texts[] = {text, "ab", text};
  const rankfeed_encode_options options{sizeof options, 0, {}};
  ExpectNoMemoryUntilItSucceeds("Encoder::Encode", [&] {
    Encoding out;
    return encoder->Encode(text, options, &out).status;
  });
  ExpectNoMemoryUntilItSucceeds("Encoder::EncodeBatch", [&] {
    std::vector<int32_t> ids;
    std::vector<uint32_t> begins;
    return encoder->EncodeBatch(texts, options, &ids, &begins).status;
  });
  const std::vector<int32_t> ids(3000, 5);
  ExpectNoMemoryUntilItSucceeds("Encoder::Decode", [&] {
    std::string out;
    return encoder->Decode(ids, false, &out).status;
  });
}

TEST_F(WrapperMemory, Files) {
  const std::string path = testing::TempDir() + "wrapper_memory_test.rfi";
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fwrite(model_.image.data, 1, model_.image.size, file), model_.image.size);
  ASSERT_EQ(std::fclose(file), 0);
  ExpectNoMemoryUntilItSucceeds("Model::Open", [&] { return Status(Model::Open(path.c_str())); });
  ExpectNoMemoryUntilItSucceeds("Vocabulary::Load", [&] { return Status(Vocabulary::Load(path)); });
  std::remove(path.c_str());
}

TEST_F(WrapperMemory, Rerankers) {
  rankfeed_rerank_limits limits{};
  limits.max_documents = 4;
  limits.max_text_bytes = 1 << 12;
  rankfeed_rerank_options options = RerankOptions();
  options.max_length = 32;
  ExpectNoMemoryUntilItSucceeds(
      "Reranker::Create", [&] { return Status(Reranker::Create(model_.get(), limits, options)); });
  auto reranker = Reranker::Create(model_.get(), limits, options);
  ASSERT_TRUE(reranker);
  rankfeed_source query{}, documents[8] = {};
  const std::string query_text = "ab", document_text = "ba ab";
  query.text = Text(query_text);
  for (rankfeed_source& document : documents) document.text = Text(document_text);
  // A request that ran out of memory is over; the next one begins anew, with the same object.
  ExpectNoMemoryUntilItSucceeds("Reranker::Begin and Next", [&] {
    if (const Error error = reranker->Begin(query, documents)) return error.status;
    rankfeed_batch batch;
    return reranker->Next(&batch).status;
  });
  rankfeed_batch batch;
  do {
    ASSERT_FALSE(reranker->Next(&batch));
  } while (batch.rows != 0);
}

TEST_F(WrapperMemory, Rings) {
  rankfeed_handoff_options options{};
  options.flags = RANKFEED_HANDOFF_DEVICE_SLOTS;
  options.slot_bytes = 4096;
  options.slots = 2;
  ExpectNoMemoryUntilItSucceeds("Handoff::Open", [&] { return Status(Handoff::Open(options)); });
  auto ring = Handoff::Open(options);
  ASSERT_TRUE(ring);
  ExpectNoMemoryUntilItSucceeds("Handoff::MakeStream", [&] { return Status(ring->MakeStream()); });
  ExpectNoMemoryUntilItSucceeds("Handoff::Allocate", [&] { return Status(ring->Allocate(100)); });
  auto stream = ring->MakeStream();
  ASSERT_TRUE(stream);
  // A copy that found no memory leaves the slot filling, an event that found none a quarantined one
  // (handoff.h); both are free again here.
  rankfeed_status status = RANKFEED_E_DEVICE;
  int no_copy = 0, no_event = 0;
  for (long n = 0; status != RANKFEED_OK; ++n) {
    ASSERT_LT(n, 100);
    uint32_t state = RANKFEED_SLOT_FREE;
    allowed = n;
    {
      auto slot = ring->Acquire();
      auto lease = slot ? slot->Submit(100, stream->get()) : Result<LeasedSlot>(slot.error());
      status = Status(lease);
      if (lease) status = lease->ReleaseNow().status;
      if (slot) state = ring->State(slot->ticket());
    }
    allowed = -1;
    if (status == RANKFEED_OK) break;
    ++faults;
    EXPECT_EQ(status, RANKFEED_E_DEVICE);
    (state == RANKFEED_SLOT_FILLING ? no_copy : no_event) += 1;
    EXPECT_TRUE(state == RANKFEED_SLOT_FILLING || state == RANKFEED_SLOT_QUARANTINED) << state;
    ASSERT_FALSE(stream->Synchronize());
    ASSERT_FALSE(ring->Reset());
  }
  EXPECT_GT(no_copy, 0);
  EXPECT_GT(no_event, 0);
  ASSERT_FALSE(stream->Synchronize());
  auto first = ring->Acquire(), second = ring->Acquire();
  ASSERT_TRUE(first && second);
  allowed = 0;
  const rankfeed_status none = Status(ring->Acquire());
  allowed = -1;
  EXPECT_EQ(none, RANKFEED_E_BUSY);  // without words
}

TEST(WrapperLimits, SayTheLimitAndTheValue) {
  const OpenModel model(HuggingFaceSource());
  const uint32_t most = rankfeed_max_text_bytes(model.get());
  const auto too_large = Encoder::Create(model.get(), most + 1);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().status, RANKFEED_E_LIMIT);
  EXPECT_NE(too_large.error().message.find("max_text_bytes is " + std::to_string(most + 1)),
            std::string::npos)
      << too_large.error().message;
  EXPECT_NE(too_large.error().message.find("is " + std::to_string(most)), std::string::npos)
      << too_large.error().message;
  auto encoder = Encoder::Create(model.get(), 10);
  ASSERT_TRUE(encoder);
  Encoding out;
  const rankfeed_encode_options options{sizeof options, 0, {}};
  const Error error = encoder->Encode("eleven byte", options, &out);
  EXPECT_EQ(error.status, RANKFEED_E_LIMIT);
  EXPECT_EQ(error.message, "encoder: the text has 11 bytes; max_text_bytes is 10");
  std::string text;
  const Error decoded = encoder->Decode(std::vector<int32_t>(11), false, &text);
  EXPECT_EQ(decoded.status, RANKFEED_E_LIMIT);
  EXPECT_EQ(decoded.message, "encoder: there are 11 ids; max_text_bytes is 10");
}

// A document over the limit of the vocabulary is an error of its own; a query ends the request.
TEST(WrapperLimits, OfTextsOfARequest) {
  const OpenModel model(HuggingFaceSource());
  const uint32_t most = rankfeed_max_text_bytes(model.get());
  rankfeed_rerank_limits limits{};
  limits.max_documents = 1;
  limits.max_text_bytes = 1;
  auto reranker = Reranker::Create(model.get(), limits, RerankOptions());
  ASSERT_TRUE(reranker) << reranker.error().message;
  const std::string text = "ba ab";
  rankfeed_source fits{}, too_long{};
  fits.text = Text(text);
  too_long.text = {text.data(), size_t{most} + 1};  // refused before anything of it is read
  const rankfeed_source documents[] = {fits, too_long, fits};
  ASSERT_FALSE(reranker->Begin(fits, documents));
  rankfeed_batch batch;
  ASSERT_FALSE(reranker->Next(&batch));
  EXPECT_EQ(batch.rows, 2u);
  EXPECT_EQ(reranker->status()[0], RANKFEED_OK);
  EXPECT_EQ(reranker->status()[1], RANKFEED_E_LIMIT);
  EXPECT_EQ(reranker->status()[2], RANKFEED_OK);
  const Error error = reranker->Begin(too_long, documents);
  EXPECT_EQ(error.status, RANKFEED_E_LIMIT);
  EXPECT_EQ(error.message, "reranker: the query has " + std::to_string(size_t{most} + 1) +
                               " bytes; the limit of the vocabulary is " + std::to_string(most));
  EXPECT_FALSE(reranker->Begin(fits, documents));
}

}  // namespace
}  // namespace rankfeed::contract
