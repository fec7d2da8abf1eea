// SPDX-License-Identifier: MIT
// tests/rerank/fake_model.h: a reranker without a model, for tests of what happens around the
// encoder: one token per byte, and texts that fail on demand.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "rerank/reference.h"
#include "rerank/reranker.h"

namespace rankfeed::rerank {

// Token of byte b. 1 is the pad id, 0 and 2 are specials.
inline int32_t FakeId(char b) {
  return 10 + static_cast<unsigned char>(b);
}

struct FakeEncoder {
  std::atomic<uint32_t> calls{0};
  std::atomic<bool> busy{false};
  // As rankfeed_encode: a text with '!' has an unknown piece.
  static rankfeed_status Encode(rankfeed_encoder* encoder, rankfeed_text text,
                                const rankfeed_encode_options* options, rankfeed_encoding* io) {
    auto* self = reinterpret_cast<FakeEncoder*>(encoder);
    EXPECT_FALSE(self->busy.exchange(true)) << "one encoder, two threads";
    ++self->calls;
    EXPECT_EQ(options->struct_size, sizeof(*options));
    rankfeed_status status = RANKFEED_OK;
    io->count = static_cast<uint32_t>(text.size);
    for (uint32_t i = 0; i < text.size; ++i) {
      if (text.data[i] == '!') status = RANKFEED_E_UNK_ID;
      if (i >= io->capacity) continue;
      io->input_ids[i] = FakeId(text.data[i]);
      if (io->offset_begin != nullptr) io->offset_begin[i] = i;
      if (io->offset_end != nullptr) io->offset_end[i] = i + 1;
    }
    if (io->count > io->capacity) status = RANKFEED_E_OUTPUT_SIZE;
    self->busy = false;
    return status;
  }

  // As rankfeed_encode_batch; a call for each text.
  static rankfeed_status EncodeBatch(rankfeed_encoder* encoder, const rankfeed_text* texts,
                                     size_t text_count, const rankfeed_encode_options* options,
                                     rankfeed_encodings* io) {
    EXPECT_EQ(io->struct_size, sizeof(*io));
    io->count = 0;
    io->cu_seqlens[0] = 0;
    for (io->text_count = 0; io->text_count < text_count; ++io->text_count) {
      const uint32_t place = std::min(io->count, io->capacity);
      rankfeed_encoding one = {};
      one.struct_size = sizeof(one);
      one.capacity = io->capacity - place;
      one.input_ids = io->input_ids + place;
      if (io->offset_begin != nullptr) one.offset_begin = io->offset_begin + place;
      if (io->offset_end != nullptr) one.offset_end = io->offset_end + place;
      const rankfeed_status status = Encode(encoder, texts[io->text_count], options, &one);
      if (status != RANKFEED_OK && status != RANKFEED_E_OUTPUT_SIZE) return status;
      io->count += one.count;
      io->cu_seqlens[io->text_count + 1] = io->count;
    }
    return io->count > io->capacity ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK;
  }
};

// <s> query </s> </s> document </s>, types 0 0 0 1 1 1.
inline constexpr TemplateItem kFakePair[] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 2, 0, 0},
                                             {0, 2, 1, 0}, {2, 0, 1, 0}, {0, 2, 1, 0}};
inline constexpr TemplateItem kFakeSingle[] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 2, 0, 0}};
inline constexpr uint32_t kFakeSpecials = 4;

inline ModelFacts FakeFacts() {
  return {kFakePair, kFakeSingle, {1, 0, 2, 1, false}, true};
}

inline rankfeed_rerank_options FakeOptions() {
  rankfeed_rerank_options options = {};
  options.struct_size = sizeof(options);
  return options;
}

inline rankfeed_rerank_limits FakeLimits(uint32_t documents, uint32_t rows, uint64_t tokens,
                                         uint32_t workers = 1) {
  rankfeed_rerank_limits limits = {};
  limits.struct_size = sizeof(limits);
  limits.max_documents = documents;
  limits.max_rows = rows;
  limits.max_text_bytes = 4096;
  limits.max_tokens = tokens;
  limits.workers = workers;
  return limits;
}

// A reranker in scratch of exactly the size it asks for, filled with poison.
class FakeReranker {
 public:
  FakeReranker(const rankfeed_rerank_options& options, const rankfeed_rerank_limits& limits,
               unsigned char poison = 0xcd) {
    Setup setup;
    init_status = CheckOptions(options, FakeFacts(), &setup);
    if (init_status != RANKFEED_OK) return;
    const uint32_t text_tokens = limits.workers != 0 ? limits.max_text_bytes : 0;
    const Reranker::Sizes sizes = {limits.max_documents,
                                   limits.max_rows != 0 ? limits.max_rows : limits.max_documents,
                                   TemplateBound(setup.template_source, text_tokens),
                                   {limits.max_tokens, text_tokens, limits.max_text_bytes,
                                    limits.workers, limits.with_offsets != 0}};
    Layout measure(nullptr);
    measure.Take<rankfeed_reranker>(1);
    Reranker().CarveArrays(measure, sizes);
    EXPECT_TRUE(measure.ok());
    memory_.reset(static_cast<unsigned char*>(
        std::aligned_alloc(Layout::kAlignment, (measure.size() + 63) / 64 * 64)));
    std::memset(memory_.get(), poison, measure.size());
    Layout layout(memory_.get());
    reranker = new (layout.Take<rankfeed_reranker>(1)) rankfeed_reranker;
    reranker->CarveArrays(layout, sizes);
    encoders.reset(new FakeEncoder[limits.workers + 1]);
    std::vector<rankfeed_encoder*> handles;
    for (uint32_t i = 0; i < limits.workers; ++i) {
      handles.push_back(reinterpret_cast<rankfeed_encoder*>(&encoders[i]));
    }
    init_status = reranker->Init(setup, options, limits, handles.data(),
                                 {&FakeEncoder::Encode, &FakeEncoder::EncodeBatch});
    batch_limits = setup.batch;
  }

  rankfeed_status init_status;
  rankfeed_reranker* reranker = nullptr;
  std::unique_ptr<FakeEncoder[]> encoders;
  BatchLimits batch_limits;

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<unsigned char, Free> memory_;
};

// The documents of a request and everything that must stay alive with them.
struct FakeRequest {
  rankfeed_source Text(const std::string& text) {
    texts.push_back(std::make_unique<std::string>(text));
    rankfeed_source source = {};
    source.text = {texts.back()->data(), texts.back()->size()};
    return source;
  }
  // The same tokens, made before.
  rankfeed_source Ids(const std::string& text) {
    ids.push_back(std::make_unique<plain::Ids>());
    ids.back()->push_back(0);  // so that data() is not null for an empty text
    for (const char c : text) ids.back()->push_back(FakeId(c));
    rankfeed_source source = {};
    source.ids = ids.back()->data() + 1;
    source.id_count = static_cast<uint32_t>(text.size());
    return source;
  }
  rankfeed_request Get() {
    status.assign(documents.size(), -1);
    rankfeed_request request = {};
    request.struct_size = sizeof(request);
    request.document_count = static_cast<uint32_t>(documents.size());
    request.query = query;
    request.documents = documents.data();
    request.document_status = status.data();
    request.executor = executor;
    request.control = control;
    return request;
  }

  rankfeed_source query = {};
  std::vector<rankfeed_source> documents;
  std::vector<rankfeed_status> status;
  const rankfeed_executor* executor = nullptr;
  const rankfeed_control* control = nullptr;
  std::vector<std::unique_ptr<std::string>> texts;
  std::vector<std::unique_ptr<plain::Ids>> ids;
};

// A filled batch, copied out of the arena.
struct Taken {
  rankfeed_batch batch;  // tensors point into arena
  std::vector<unsigned char> bytes;
  std::vector<rankfeed_batch_row> rows;
  std::vector<plain::Ids> ids, types, positions;  // per row, pads taken off and checked
};

// 256-byte aligned memory of a slot.
class Arena {
 public:
  explicit Arena(size_t size, unsigned char poison = 0xee)
      : memory_(static_cast<unsigned char*>(
            std::aligned_alloc(kTensorAlignment, (size + 255) / 256 * 256 + 256))),
        size_(size) {
    std::memset(memory_.get(), poison, size);
  }
  rankfeed_batch Batch() const {
    rankfeed_batch batch = {};
    batch.struct_size = sizeof(batch);
    batch.arena = memory_.get();
    batch.arena_capacity = size_;
    return batch;
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<unsigned char, Free> memory_;
  size_t size_;
};

inline int64_t Element(const rankfeed_tensor& tensor, size_t i) {
  if (tensor.type == RANKFEED_INT64) return static_cast<const int64_t*>(tensor.data)[i];
  return static_cast<const int32_t*>(tensor.data)[i];
}

// Reads rows out of the tensors, checking masks, pads, lengths and cu_seqlens on the way.
inline Taken Take(const rankfeed_batch& batch) {
  Taken taken;
  taken.batch = batch;
  const auto* arena = static_cast<const unsigned char*>(batch.arena);
  taken.bytes.assign(arena, arena + batch.arena_size);
  taken.rows.assign(batch.row_map, batch.row_map + batch.rows);
  const bool packed = batch.cu_seqlens.dimensions != 0;
  uint64_t tokens = 0;
  uint32_t longest = 0;
  for (uint32_t r = 0; r < batch.rows; ++r) {
    const uint32_t length = taken.rows[r].length;
    size_t first = size_t{r} * batch.row_length;
    if (packed) {
      EXPECT_EQ(Element(batch.cu_seqlens, r), static_cast<int64_t>(tokens));
      first = tokens;
    }
    if (batch.lengths.dimensions != 0) {
      EXPECT_EQ(Element(batch.lengths, r), length);
    }
    size_t skip = 0;  // pads on the left
    if (!packed && batch.attention_mask.dimensions != 0) {
      while (skip < batch.row_length - length && Element(batch.attention_mask, first + skip) == 0) {
        ++skip;
      }
      for (uint32_t i = 0; i < batch.row_length; ++i) {
        const bool pad = i < skip || i >= skip + length;
        EXPECT_EQ(Element(batch.attention_mask, first + i), pad ? 0 : 1);
        if (pad) {
          EXPECT_EQ(Element(batch.input_ids, first + i), 1);
        }
      }
    }
    const auto column = [&](const rankfeed_tensor& tensor) {
      plain::Ids out;
      for (uint32_t i = 0; tensor.dimensions != 0 && i < length; ++i) {
        out.push_back(static_cast<int32_t>(Element(tensor, first + skip + i)));
      }
      return out;
    };
    taken.ids.push_back(column(batch.input_ids));
    taken.types.push_back(column(batch.token_type_ids));
    taken.positions.push_back(column(batch.position_ids));
    tokens += length;
    longest = std::max(longest, length);
  }
  if (packed) {
    EXPECT_EQ(Element(batch.cu_seqlens, batch.rows), static_cast<int64_t>(tokens));
    EXPECT_EQ(batch.row_length, longest);
  }
  EXPECT_EQ(batch.tokens, tokens);
  EXPECT_EQ(batch.max_seqlen, longest);
  return taken;
}

// Runs a whole request through one arena; fails the test on any error.
inline std::vector<Taken> RunAll(FakeReranker& fake, FakeRequest& request, const Arena& arena) {
  std::vector<Taken> batches;
  const rankfeed_request r = request.Get();
  EXPECT_EQ(fake.reranker->Begin(r), RANKFEED_OK);
  for (;;) {
    rankfeed_batch batch = arena.Batch();
    const rankfeed_status status = fake.reranker->Next(fake.batch_limits, false, &batch);
    EXPECT_EQ(status, RANKFEED_OK);
    if (status != RANKFEED_OK || batch.rows == 0) return batches;
    batches.push_back(Take(batch));
  }
}

}  // namespace rankfeed::rerank
