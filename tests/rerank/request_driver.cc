// SPDX-License-Identifier: MIT
// rerank/request_driver.cc: whole rerank requests over the public C API and pipes, for
// diff_requests.py. How a request is carried out (layout, element type, order, batch limits,
// threads, documents as texts or as ids) is drawn from its seed: none of it may change a row.
//
// All numbers little-endian. The first frame is the pool of texts, later ones are cases:
//   pool:  u32 n, u32 size[n], char text[]
//   cases: u32 n, then for each: u32 seed, max_length, max_query_tokens, max_tokens_per_doc,
//   stride,
//          max_chunks_per_doc, truncation, truncation_side, overflow, no_special_tokens, query,
//          documents, document[documents]      (texts are numbers in the pool)
// Each frame of cases is answered by a frame: for each case
//   i32 status; when it is 0: i32 document_status[], u32 rows[], then for each row in the
//   documents' order u32 length, i32 ids[length], i32 types[length]
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "rankfeed/builder.h"
#include "rankfeed/encode.h"
#include "rankfeed/parallel.h"
#include "rankfeed/rerank.h"
#include "support/pipe.h"

namespace {

constexpr uint32_t kWorkers = 3;
constexpr uint32_t kMaxTextBytes = 1u << 15;

using rankfeed::test::Die;
using rankfeed::test::ReadFrame;
using rankfeed::test::WriteFrame;
using Reader = rankfeed::test::FrameReader;

void Append(std::string* out, const void* data, size_t bytes) {
  out->append(static_cast<const char*>(data), bytes);
}
template <class T>
void Append(std::string* out, T value) {
  static_assert(sizeof(T) == 4);
  Append(out, &value, 4);
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};

// Aligned memory that grows on demand; new memory is poisoned, old content is kept dirty.
class Memory {
 public:
  void* Get(size_t size) {
    if (size > size_) {
      size_ = (size + 4095) / 4096 * 4096;
      data_.reset(std::aligned_alloc(256, size_));
      std::memset(data_.get(), 0xb5, size_);
    }
    return data_.get();
  }
  size_t size() const { return size_; }

 private:
  std::unique_ptr<void, Free> data_;
  size_t size_ = 0;
};

struct Row {
  std::vector<int32_t> ids, types;
};

class Driver {
 public:
  explicit Driver(const char* path) {
    rankfeed_builder_error error = {};
    error.struct_size = sizeof(error);
    if (rankfeed_load(path, nullptr, &loaded_, &error) != RANKFEED_OK) Die(error.message);
    if (rankfeed_parallel_open(kWorkers, &parallel_) != RANKFEED_OK) Die("parallel_open");
    rankfeed_limits limits = {};
    limits.struct_size = sizeof(limits);
    limits.max_text_bytes = kMaxTextBytes;
    limits.with_offsets = 1;
    rankfeed_mem_req need;
    if (rankfeed_encoder_mem_req(model(), &limits, &need) != RANKFEED_OK) Die("encoder_mem_req");
    for (uint32_t i = 0; i < kWorkers; ++i) {
      if (rankfeed_encoder_init(model(), &limits, encoder_memory_[i].Get(need.size), need.size,
                                &encoders_[i]) != RANKFEED_OK) {
        Die("encoder_init");
      }
    }
  }
  ~Driver() {
    rankfeed_parallel_close(parallel_);
    rankfeed_loaded_free(loaded_);
  }

  void Pool(Reader in) {
    texts_.resize(in.U32());
    std::vector<uint32_t> sizes(texts_.size());
    for (uint32_t& size : sizes) size = in.U32();
    for (size_t i = 0; i < texts_.size(); ++i) {
      texts_[i] = in.Bytes(sizes[i]);
      std::vector<int32_t> ids(sizes[i] + 64);
      rankfeed_encoding out = {};
      out.struct_size = sizeof(out);
      out.capacity = static_cast<uint32_t>(ids.size());
      out.input_ids = ids.data();
      const rankfeed_text text = {texts_[i].data(), texts_[i].size()};
      if (rankfeed_encode(encoders_[0], text, nullptr, &out) != RANKFEED_OK) Die("encode", i);
      ids.resize(out.count);
      ids_.push_back(std::move(ids));
    }
  }

  std::string Case(Reader& in) {
    std::mt19937 random(in.U32());
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    rankfeed_rerank_options options;
    rankfeed_rerank_options_init(&options);
    options.max_length = in.U32();
    options.max_query_tokens = in.U32();
    options.max_tokens_per_doc = in.U32();
    options.stride = in.U32();
    options.max_chunks_per_doc = in.U32();
    options.truncation = static_cast<uint8_t>(in.U32());
    options.truncation_side = static_cast<uint8_t>(in.U32());
    options.overflow = static_cast<uint8_t>(in.U32());
    options.no_special_tokens = static_cast<uint8_t>(in.U32());
    const uint32_t query = in.U32();
    std::vector<uint32_t> documents(in.U32());
    for (uint32_t& document : documents) document = in.U32();

    options.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS;
    options.layout = static_cast<uint8_t>(below(2));
    options.id_type = static_cast<uint8_t>(below(3));
    options.sort = static_cast<uint8_t>(below(3));
    const auto padding_side = static_cast<uint8_t>(below(3));
    if (options.layout == RANKFEED_PADDED) {
      options.padding_side = padding_side;
      options.tensors |= RANKFEED_TENSOR_ATTENTION_MASK;
      if (below(2) == 0) options.pad_to_multiple_of = 1 + below(16);
    }
    if (below(2) == 0) options.max_rows_per_batch = 1 + below(5);
    if (below(2) == 0) options.max_tokens_per_batch = 2000000 / (1 + below(100));

    std::vector<rankfeed_source> sources;
    uint64_t tokens = 1, rows = 0;
    for (const uint32_t document : documents) {
      sources.push_back(Source(document, below(3) == 0));
      tokens += ids_[document].size();
      rows += ids_[document].size() + 1;
    }
    rankfeed_rerank_limits limits = {};
    limits.struct_size = sizeof(limits);
    limits.max_documents = static_cast<uint32_t>(documents.size()) + below(3);
    limits.max_rows = static_cast<uint32_t>(rows);
    limits.max_text_bytes = kMaxTextBytes;
    limits.max_tokens = tokens;
    limits.workers = kWorkers;
    limits.with_offsets = below(2);
    std::string out;
    rankfeed_mem_req need = {};
    rankfeed_reranker* reranker = nullptr;
    rankfeed_status status = rankfeed_reranker_mem_req(model(), &limits, &options, &need);
    if (status == RANKFEED_OK) {
      status = rankfeed_reranker_init(model(), &limits, &options, encoders_,
                                      scratch_.Get(need.size), need.size, &reranker);
    }
    std::vector<rankfeed_status> document_status(documents.size());
    rankfeed_request request = {};
    request.struct_size = sizeof(request);
    request.query = Source(query, below(3) == 0);
    request.document_count = static_cast<uint32_t>(documents.size());
    request.documents = sources.data();
    request.document_status = document_status.data();
    request.executor = below(8) == 0 ? rankfeed_parallel_executor(parallel_) : nullptr;
    std::map<std::pair<uint32_t, uint32_t>, Row> found;
    if (status == RANKFEED_OK) {
      status = below(4) == 0 ? AllInOne(reranker, request, &found)
                             : BatchByBatch(reranker, request, &found);
    }
    Append(&out, status);
    if (status != RANKFEED_OK) return out;
    Append(&out, document_status.data(), 4 * documents.size());
    std::vector<uint32_t> counts(documents.size());
    for (const auto& [key, row] : found) counts[key.first] = key.second + 1;
    Append(&out, counts.data(), 4 * counts.size());
    for (const auto& [key, row] : found) {
      Append(&out, static_cast<uint32_t>(row.ids.size()));
      Append(&out, row.ids.data(), 4 * row.ids.size());
      Append(&out, row.types.data(), 4 * row.types.size());
    }
    return out;
  }

 private:
  using Found = std::map<std::pair<uint32_t, uint32_t>, Row>;

  const rankfeed_model* model() const { return rankfeed_loaded_model(loaded_); }

  rankfeed_source Source(uint32_t number, bool as_ids) const {
    rankfeed_source source = {};
    if (as_ids && !ids_[number].empty()) {
      source.ids = ids_[number].data();
      source.id_count = static_cast<uint32_t>(ids_[number].size());
    } else {
      source.text = {texts_[number].data(), texts_[number].size()};
    }
    return source;
  }

  // Fills *batch, giving the arena what it asks for.
  template <class Fill>
  rankfeed_status WithArena(rankfeed_batch* batch, Fill fill) {
    for (size_t size = arena_.size();; size = batch->arena_size) {
      *batch = {};
      batch->struct_size = sizeof(*batch);
      batch->arena = arena_.Get(size);
      batch->arena_capacity = size;
      const rankfeed_status status = fill(batch);
      if (status != RANKFEED_E_OUTPUT_SIZE) return status;
    }
  }

  rankfeed_status AllInOne(rankfeed_reranker* reranker, const rankfeed_request& request,
                           Found* found) {
    rankfeed_batch batch;
    const rankfeed_status status = WithArena(
        &batch, [&](rankfeed_batch* io) { return rankfeed_encode_pairs(reranker, &request, io); });
    if (status == RANKFEED_OK) Collect(batch, found);
    return status;
  }

  rankfeed_status BatchByBatch(rankfeed_reranker* reranker, const rankfeed_request& request,
                               Found* found) {
    rankfeed_status status = rankfeed_rerank_begin(reranker, &request);
    while (status == RANKFEED_OK) {
      rankfeed_batch batch;
      status =
          WithArena(&batch, [&](rankfeed_batch* io) { return rankfeed_rerank_next(reranker, io); });
      if (status == RANKFEED_OK && batch.rows == 0) break;
      if (status == RANKFEED_OK) Collect(batch, found);
    }
    return status;
  }

  static int32_t Value(const rankfeed_tensor& tensor, size_t i) {
    if (tensor.type == RANKFEED_INT64) {
      return static_cast<int32_t>(static_cast<const int64_t*>(tensor.data)[i]);
    }
    return static_cast<const int32_t*>(tensor.data)[i];
  }

  static void Collect(const rankfeed_batch& batch, Found* found) {
    for (uint32_t r = 0; r < batch.rows; ++r) {
      const rankfeed_batch_row& map = batch.row_map[r];
      size_t begin, end;
      if (batch.cu_seqlens.dimensions != 0) {
        begin = static_cast<size_t>(Value(batch.cu_seqlens, r));
        end = static_cast<size_t>(Value(batch.cu_seqlens, r + 1));
      } else {
        begin = size_t{r} * batch.row_length;
        end = begin + batch.row_length;
        while (begin < end && Value(batch.attention_mask, begin) == 0) ++begin;
        while (begin < end && Value(batch.attention_mask, end - 1) == 0) --end;
      }
      if (end - begin != map.length) Die("row length", r);
      Row row;
      for (size_t i = begin; i < end; ++i) {
        row.ids.push_back(Value(batch.input_ids, i));
        row.types.push_back(Value(batch.token_type_ids, i));
      }
      if (!found->emplace(std::pair(map.document, map.chunk), row).second) Die("row twice", r);
    }
  }

  rankfeed_loaded* loaded_ = nullptr;
  rankfeed_parallel* parallel_ = nullptr;
  Memory encoder_memory_[kWorkers], scratch_, arena_;
  rankfeed_encoder* encoders_[kWorkers] = {};
  std::vector<std::string> texts_;
  std::vector<std::vector<int32_t>> ids_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) Die("usage: rankfeed_request_driver MODEL");
  Driver driver(argv[1]);
  std::string frame;
  if (!ReadFrame(&frame)) Die("no pool");
  driver.Pool(Reader(frame));
  while (ReadFrame(&frame)) {
    Reader in(frame);
    std::string out;
    for (uint32_t n = in.U32(); n > 0; --n) out += driver.Case(in);
    WriteFrame(out);
  }
}
