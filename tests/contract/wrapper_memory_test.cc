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
#include "rankfeed/rankfeed.hpp"
#include "rankfeed/rerank.hpp"
#include "support/faults.h"

namespace {

long allowed = -1;  // allocations before all fail; -1: none fails

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
  ASSERT_EQ(std::fwrite(model_.image().data, 1, model_.image().size, file), model_.image().size);
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
}

}  // namespace
}  // namespace rankfeed::contract
