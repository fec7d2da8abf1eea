// SPDX-License-Identifier: MIT
// support/driver.cc: rankfeed_test_driver, the public C API over pipes, so that Python tests can
// compare it with the reference wheels. Reads requests from stdin, answers on stdout, ends at end
// of input; diagnostics go to stderr. One process holds one model at a time.
//
// All numbers little-endian. Request: u32 command, u64 size, payload. Answer: u64 size, payload.
//   'L' load     i32 parity, char path[]            -> i32 status, char message[]
//   'I' info     -                                  -> the numbers of rankfeed_model_info, as
//   i32[19] 'E' encode   u32 flags, u8 sp_extra[8], u32 columns, u32 n, u32 size[n], char text[]
//                                                   -> i32 status[n], u32 count[n], i32 ids[],
//                   then as columns asks: 1: u32 begin[], u32 end[]; 2: u8 mask[]; 4: u32 type[]
//   'D' decode   u32 flags, u32 n, u32 count[n], i32 ids[]
//                                                   -> i32 status[n], u32 size[n], char text[]
//   'P' pairs    u32 max_length, u32 max_query_tokens, u32 truncation, u32 side, u32 stride,
//                u32 overflow, u32 no_special, u32 n, u32 size[2 n] (query, document), char text[]
//                                                   -> i32 status[n], u32 rows[n], u32 length[],
//                                                      i32 ids[], i32 types[]
//   'T' piece    u32 id                             -> i32 status, char piece[]
//   'F' find     char piece[]                       -> i32 id
//   'R' road     -                                  -> char rankfeed_model_off_fast_road[], or nothing
// Texts of one request are concatenated; outputs of all of them are concatenated column by column.
// An encoding whose status is not OK has count 0.

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rankfeed/builder.h"
#include "rankfeed/encode.h"
#include "rankfeed/model.h"
#include "rankfeed/rerank.h"
#include "rankfeed/status.h"
#include "support/pipe.h"

namespace {

using rankfeed::test::Die;
using Reader = rankfeed::test::FrameReader;

template <typename T>
void Append(std::string& out, const std::vector<T>& values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}
void AppendInt(std::string& out, int32_t value) {
  out.append(reinterpret_cast<const char*>(&value), 4);
}

// Address space that costs nothing until touched, as scratch of encoders is meant to be.
class Region {
 public:
  explicit Region(size_t size) : size_(size == 0 ? 1 : size) {
    data_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) Die("mmap failed");
  }
  ~Region() { munmap(data_, size_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void* data_;
  size_t size_;
};

class Driver {
 public:
  ~Driver() { rankfeed_loaded_free(loaded_); }

  std::string Answer(uint32_t command, std::string_view payload) {
    Reader in(payload);
    if (command == 'L') return Load(in);
    if (loaded_ == nullptr) Die("no model");
    switch (command) {
      case 'I':
        return Info();
      case 'E':
        return Encode(in);
      case 'D':
        return Decode(in);
      case 'P':
        return Pairs(in);
      case 'T':
        return Piece(in);
      case 'F':
        return Find(in);
      case 'R':
        return rankfeed_model_off_fast_road(model()) == nullptr
                   ? std::string()
                   : rankfeed_model_off_fast_road(model());
      default:
        Die("unknown command");
    }
  }

 private:
  std::string Load(Reader& in) {
    encoder_ = nullptr;
    scratch_.reset();
    rankfeed_loaded_free(loaded_);
    loaded_ = nullptr;
    rankfeed_compile_options options{};
    options.struct_size = sizeof(options);
    options.parity = static_cast<int32_t>(in.U32());
    const std::string path(in.Rest());
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    const rankfeed_status status = rankfeed_load(path.c_str(), &options, &loaded_, &error);
    std::string out;
    AppendInt(out, status);
    if (status != RANKFEED_OK) {
      if (loaded_ != nullptr) Die("a failed load returned a model");
      out += error.message;
    }
    return out;
  }

  std::string Info() {
    rankfeed_model_info info{};
    info.struct_size = sizeof(info);
    if (rankfeed_model_get_info(model(), &info) != RANKFEED_OK) Die("get_info failed");
    std::string out;
    for (const uint32_t v : {info.parity, info.id_count, info.piece_count})
      AppendInt(out, static_cast<int32_t>(v));
    for (const int32_t v : {info.unk_id, info.bos_id, info.eos_id, info.pad_id, info.cls_id,
                            info.sep_id, info.mask_id}) {
      AppendInt(out, v);
    }
    for (const uint32_t v :
         {info.pad_type_id, info.max_piece_chars, info.specials_single, info.specials_pair,
          info.position_offset, info.position_pad, info.has_token_type_ids, info.byte_fallback,
          static_cast<uint32_t>(info.image_size)}) {
      AppendInt(out, static_cast<int32_t>(v));
    }
    return out;
  }

  const rankfeed_model* model() const { return rankfeed_loaded_model(loaded_); }

  // Makes the encoder fit for texts of this size. Grows by powers of two.
  void Fit(size_t text_bytes) {
    if (encoder_ != nullptr && text_bytes <= limit_) return;
    limit_ = 1u << 16;
    while (limit_ < text_bytes) limit_ *= 2;
    rankfeed_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_text_bytes = static_cast<uint32_t>(limit_);
    limits.with_offsets = 1;
    limits.cache_bytes = 1u << 20;
    // The text may be one stretch that cannot be cut, and grow tenfold.
    limits.max_stretch_bytes = std::max(1u << 20, limits.max_text_bytes);
    rankfeed_mem_req need{};
    if (rankfeed_encoder_mem_req(model(), &limits, &need) != RANKFEED_OK) Die("mem_req failed");
    encoder_ = nullptr;
    scratch_ = std::make_unique<Region>(need.size);
    if (rankfeed_encoder_init(model(), &limits, scratch_->data(), need.size, &encoder_) !=
        RANKFEED_OK) {
      Die("encoder_init failed");
    }
  }

  // Without offsets the library may take a faster path: its ids must be those just found in ids_.
  void CheckWithoutOffsets(std::string_view text, const rankfeed_encode_options& options,
                           rankfeed_status expected, uint32_t count) {
    fast_ids_.resize(ids_.size());
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(fast_ids_.size());
    io.input_ids = fast_ids_.data();
    const rankfeed_status status =
        rankfeed_encode(encoder_, {text.data(), text.size()}, &options, &io);
    if (status != expected || (status == RANKFEED_OK && io.count != count) ||
        !std::equal(ids_.begin(), ids_.begin() + count, fast_ids_.begin())) {
      Die("ids with and without offsets differ");
    }
  }

  // So must those of the text in pieces, where it can be cut.
  void CheckInPieces(std::string_view text, rankfeed_encode_options options,
                     rankfeed_status expected, uint32_t count) {
    options.flags &= ~(uint32_t{RANKFEED_OFFSETS_CODE_POINTS} | RANKFEED_OFFSETS_UTF16);
    char window[160];
    rankfeed_status status = rankfeed_encode_begin(encoder_, &options, window, sizeof(window));
    if (status == RANKFEED_E_UNSUPPORTED) return;
    uint32_t done = 0;
    rankfeed_stream_io io{};
    io.struct_size = sizeof(io);
    for (size_t at = 0; status == RANKFEED_OK && at <= text.size(); at += 100) {
      io.capacity = static_cast<uint32_t>(fast_ids_.size()) - done;
      io.input_ids = fast_ids_.data() + done;
      const std::string_view piece = text.substr(at, 100);
      status = rankfeed_encode_feed(encoder_, {piece.data(), piece.size()}, &io);
      done += io.count;
    }
    if (status == RANKFEED_OK) {
      io.capacity = static_cast<uint32_t>(fast_ids_.size()) - done;
      io.input_ids = fast_ids_.data() + done;
      status = rankfeed_encode_end(encoder_, &io);
      done += io.count;
    }
    if (status == RANKFEED_E_LIMIT) return;  // no place to cut
    if (status != expected || (status == RANKFEED_OK && done != count) ||
        (status == RANKFEED_OK && !std::equal(ids_.begin(), ids_.begin() + count, fast_ids_.begin()))) {
      Die("ids of a text in pieces differ, bytes", static_cast<long>(text.size()));
    }
  }

  // A call of all texts at once gives each what it gets alone. After one that fails the next call begins.
  void CheckTogether(const std::vector<rankfeed_text>& texts, const rankfeed_encode_options& options,
                     const std::vector<int32_t>& statuses, const std::vector<uint32_t>& counts,
                     const std::vector<int32_t>& ids, const std::vector<uint32_t>& begin,
                     const std::vector<uint32_t>& end) {
    // One more than needed: there is an array to write to where every text fails.
    const size_t capacity = ids.size() + 1;
    std::vector<int32_t> all(capacity);
    std::vector<uint32_t> all_begin(capacity), all_end(capacity), cu_seqlens(texts.size() + 1);
    size_t done = 0, tokens = 0;
    while (done < texts.size()) {
      rankfeed_encodings io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(capacity - tokens);
      io.input_ids = all.data() + tokens;
      io.cu_seqlens = cu_seqlens.data();
      io.offset_begin = all_begin.data() + tokens;
      io.offset_end = all_end.data() + tokens;
      const rankfeed_status status = rankfeed_encode_batch(encoder_, texts.data() + done,
                                                           texts.size() - done, &options, &io);
      for (size_t i = 0; i < io.text_count; ++i, ++done) {
        if (statuses[done] != RANKFEED_OK || cu_seqlens[i + 1] - cu_seqlens[i] != counts[done]) {
          Die("a text of a batch has other tokens than alone");
        }
      }
      tokens += io.count;
      const rankfeed_status expected = done == texts.size() ? RANKFEED_OK : statuses[done++];
      if (status != expected) Die("a batch ends with another status than its text alone");
    }
    for (auto* column : {&all_begin, &all_end}) column->resize(tokens);
    all.resize(tokens);
    if (all != ids || all_begin != begin || all_end != end) Die("ids or offsets of a batch differ");
  }

  std::string Encode(Reader& in) {
    rankfeed_encode_options options{};
    options.struct_size = sizeof(options);
    options.flags = in.U32();
    std::memcpy(options.sp_extra, in.Bytes(8).data(), 8);
    const uint32_t columns = in.U32();
    const uint32_t n = in.U32();
    std::vector<uint32_t> sizes(n);
    for (uint32_t& size : sizes) size = in.U32();
    std::vector<int32_t> statuses, all_ids;
    std::vector<uint32_t> counts, all_begin, all_end, all_types;
    std::vector<uint8_t> all_mask;
    std::vector<rankfeed_text> texts;
    for (const uint32_t size : sizes) {
      const std::string_view text = in.Bytes(size);
      texts.push_back({text.data(), text.size()});
      Fit(size);
      rankfeed_encoding io{};
      rankfeed_status status;
      for (;;) {
        io = {};
        io.struct_size = sizeof(io);
        io.capacity = static_cast<uint32_t>(ids_.size());
        io.input_ids = ids_.data();
        if (columns & 1) io.offset_begin = begin_.data(), io.offset_end = end_.data();
        if (columns & 2) io.special_tokens_mask = mask_.data();
        if (columns & 4) io.token_type_ids = types_.data();
        status = rankfeed_encode(encoder_, {text.data(), text.size()}, &options, &io);
        if (status != RANKFEED_E_OUTPUT_SIZE) break;
        if (io.count <= ids_.size()) Die("E_OUTPUT_SIZE, yet the output is large enough");
        Resize(io.count);
      }
      const uint32_t count = status == RANKFEED_OK ? io.count : 0;
      if ((columns & 1) != 0) {
        CheckWithoutOffsets(text, options, status, count);
        CheckInPieces(text, options, status, count);
      }
      statuses.push_back(status);
      counts.push_back(count);
      all_ids.insert(all_ids.end(), ids_.begin(), ids_.begin() + count);
      if (columns & 1) {
        all_begin.insert(all_begin.end(), begin_.begin(), begin_.begin() + count);
        all_end.insert(all_end.end(), end_.begin(), end_.begin() + count);
      }
      if (columns & 2) all_mask.insert(all_mask.end(), mask_.begin(), mask_.begin() + count);
      if (columns & 4) all_types.insert(all_types.end(), types_.begin(), types_.begin() + count);
    }
    if ((columns & 1) != 0) {
      CheckTogether(texts, options, statuses, counts, all_ids, all_begin, all_end);
    }
    std::string out;
    Append(out, statuses);
    Append(out, counts);
    Append(out, all_ids);
    Append(out, all_begin);
    Append(out, all_end);
    Append(out, all_mask);
    Append(out, all_types);
    return out;
  }

  std::string Decode(Reader& in) {
    const uint32_t flags = in.U32();
    const uint32_t n = in.U32();
    std::vector<uint32_t> counts(n), sizes;
    for (uint32_t& count : counts) count = in.U32();
    std::vector<int32_t> statuses;
    std::string texts, text(256, '\0');
    for (const uint32_t count : counts) {
      std::vector<int32_t> ids(count);
      if (count > 0) std::memcpy(ids.data(), in.Bytes(4u * count).data(), 4u * count);
      Fit(count);
      size_t size = 0;
      rankfeed_status status;
      for (;;) {
        status =
            rankfeed_decode(encoder_, ids.data(), count, flags, text.data(), text.size(), &size);
        if (status != RANKFEED_E_OUTPUT_SIZE) break;
        if (size <= text.size()) Die("E_OUTPUT_SIZE, yet the output is large enough");
        text.resize(size);
      }
      statuses.push_back(status);
      if (status != RANKFEED_OK) size = 0;
      sizes.push_back(static_cast<uint32_t>(size));
      texts.append(text, 0, size);
    }
    std::string out;
    Append(out, statuses);
    Append(out, sizes);
    return out + texts;
  }

  std::string Pairs(Reader& in) {
    rankfeed_rerank_options options;
    rankfeed_rerank_options_init(&options);
    options.max_length = in.U32();
    options.max_query_tokens = in.U32();
    options.truncation = static_cast<uint8_t>(in.U32());
    options.truncation_side = static_cast<uint8_t>(in.U32());
    options.stride = in.U32();
    options.overflow = static_cast<uint8_t>(in.U32());
    options.no_special_tokens = static_cast<uint8_t>(in.U32());
    options.layout = RANKFEED_PACKED;
    options.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS;
    const uint32_t n = in.U32();
    std::vector<uint32_t> sizes(2 * size_t{n});
    uint32_t longest = 0;
    for (uint32_t& size : sizes) {
      size = in.U32();
      longest = std::max(longest, size);
    }
    Fit(longest);
    const uint32_t bound = rankfeed_token_bound(model(), longest);
    rankfeed_rerank_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_documents = 1;
    limits.max_rows = bound + 1;
    limits.max_text_bytes = longest;
    limits.max_tokens = 2 * uint64_t{bound} + 64;
    limits.workers = 1;
    rankfeed_mem_req need{};
    rankfeed_status made = rankfeed_reranker_mem_req(model(), &limits, &options, &need);
    std::unique_ptr<Region> scratch;
    rankfeed_reranker* reranker = nullptr;
    if (made == RANKFEED_OK) {
      scratch = std::make_unique<Region>(need.size);
      made = rankfeed_reranker_init(model(), &limits, &options, &encoder_, scratch->data(),
                                    need.size, &reranker);
    }
    std::vector<int32_t> statuses, ids, types;
    std::vector<uint32_t> rows, lengths;
    if (arena_ == nullptr) arena_ = std::make_unique<Region>(size_t{1} << 30);
    for (uint32_t i = 0; i < n; i++) {
      const std::string_view query = in.Bytes(sizes[2 * i]);
      const std::string_view text = in.Bytes(sizes[2 * i + 1]);
      rankfeed_status status = made, document_status = RANKFEED_OK;
      rankfeed_batch batch{};
      if (status == RANKFEED_OK) {
        rankfeed_source document{};
        document.text = {text.data(), text.size()};
        rankfeed_request request{};
        request.struct_size = sizeof(request);
        request.document_count = 1;
        request.query.text = {query.data(), query.size()};
        request.documents = &document;
        request.document_status = &document_status;
        batch.struct_size = sizeof(batch);
        batch.arena = arena_->data();
        batch.arena_capacity = arena_->size();
        status = rankfeed_encode_pairs(reranker, &request, &batch);
        if (status == RANKFEED_OK) status = document_status;
      }
      statuses.push_back(status);
      const uint32_t count = status == RANKFEED_OK ? batch.rows : 0;
      rows.push_back(count);
      const int32_t* row_ids = static_cast<const int32_t*>(batch.input_ids.data);
      const int32_t* row_types = static_cast<const int32_t*>(batch.token_type_ids.data);
      for (uint32_t r = 0; r < count; r++) {
        const uint32_t length = batch.row_map[r].length;
        lengths.push_back(length);
        ids.insert(ids.end(), row_ids, row_ids + length);
        types.insert(types.end(), row_types, row_types + length);
        row_ids += length;
        row_types += length;
      }
    }
    std::string out;
    Append(out, statuses);
    Append(out, rows);
    Append(out, lengths);
    Append(out, ids);
    Append(out, types);
    return out;
  }

  std::string Piece(Reader& in) {
    const char* data = nullptr;
    size_t size = 0;
    const rankfeed_status status = rankfeed_model_id_to_piece(model(), in.U32(), &data, &size);
    std::string out;
    AppendInt(out, status);
    if (status == RANKFEED_OK) out.append(data, size);
    return out;
  }

  std::string Find(Reader& in) {
    const std::string_view piece = in.Rest();
    std::string out;
    AppendInt(out, rankfeed_model_piece_to_id(model(), piece.data(), piece.size()));
    return out;
  }

  void Resize(size_t count) {
    ids_.resize(count);
    begin_.resize(count);
    end_.resize(count);
    mask_.resize(count);
    types_.resize(count);
  }

  rankfeed_loaded* loaded_ = nullptr;
  rankfeed_encoder* encoder_ = nullptr;
  size_t limit_ = 0;
  std::unique_ptr<Region> scratch_, arena_;
  std::vector<int32_t> fast_ids_, ids_ = std::vector<int32_t>(64);
  std::vector<uint32_t> begin_ = std::vector<uint32_t>(64), end_ = begin_, types_ = begin_;
  std::vector<uint8_t> mask_ = std::vector<uint8_t>(64);
};

}  // namespace

int main() {
  Driver driver;
  rankfeed::test::AnswerRequests(
      [&](uint32_t command, std::string_view payload) { return driver.Answer(command, payload); });
}
