// SPDX-License-Identifier: MIT
// support/test_engine.h: a model and an encoder over the public C API, for tests that compare
// outputs. Errors in loading throw; statuses of encode and decode are returned.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "encode/encoder.h"
#include "rankfeed/builder.h"
#include "rankfeed/encode.h"
#include "rankfeed/model.h"

namespace rankfeed::test {

struct Encoding {
  rankfeed_status status = RANKFEED_OK;
  std::vector<int32_t> ids;
  std::vector<uint32_t> begin, end;
  bool operator==(const Encoding&) const = default;
};

inline std::string Show(const Encoding& encoding) {
  std::string out = encoding.status == RANKFEED_OK ? "" : rankfeed_status_name(encoding.status);
  for (size_t i = 0; i < encoding.ids.size(); i++) {
    out += (i > 0 ? " " : "") + std::to_string(encoding.ids[i]);
    if (i < encoding.begin.size()) {
      out += "[" + std::to_string(encoding.begin[i]) + "," + std::to_string(encoding.end[i]) + ")";
    }
  }
  return out;
}

// Everything but printable ASCII as \xHH.
inline std::string Escape(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      out += c;
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

class TestEngine {
 public:
  // source: bytes of a .model or tokenizer.json.
  explicit TestEngine(std::string_view source, uint32_t max_text_bytes = 1u << 16,
                      uint32_t cache_bytes = 1u << 16, int32_t parity = RANKFEED_PARITY_AUTO,
                      bool offsets = true)
      : offsets_(offsets) {
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    const rankfeed_compile_options options{sizeof(options), parity, nullptr};
    if (rankfeed_compile(source.data(), source.size(), "generated", &options, &image_, &error) !=
        RANKFEED_OK) {
      throw std::runtime_error(std::string("rankfeed_compile: ") + error.message);
    }
    const rankfeed_mem_req model_need = rankfeed_model_mem_req();
    storage_ = Allocate(model_need);
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof(detail);
    if (rankfeed_model_open(image_.data, image_.size, 0, storage_.get(), model_need.size, &model_,
                            &detail) != RANKFEED_OK) {
      throw std::runtime_error("rankfeed_model_open failed");
    }
    rankfeed_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_text_bytes = max_text_bytes;
    limits.max_stretch_bytes = 1u << 28;  // for texts that cannot be cut and become many times as long
    limits.with_offsets = offsets ? 1 : 0;
    limits.cache_bytes = cache_bytes;
    rankfeed_mem_req need{};
    if (rankfeed_encoder_mem_req(model_, &limits, &need) != RANKFEED_OK) {
      throw std::runtime_error("rankfeed_encoder_mem_req failed");
    }
    scratch_ = Allocate(need);
    if (rankfeed_encoder_init(model_, &limits, scratch_.get(), need.size, &encoder_) !=
        RANKFEED_OK) {
      throw std::runtime_error("rankfeed_encoder_init failed");
    }
  }
  ~TestEngine() { rankfeed_image_free(&image_); }
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;

  const rankfeed_model* model() const { return model_; }

  rankfeed_encoder* encoder() const { return encoder_; }

  // Ids alone, of a text whose ids Encode has found.
  std::vector<int32_t> Ids(std::string_view text) { return IdsWith(nullptr, nullptr, text, ids_.size()); }
  // Returns ids, with those columns of offsets that are not null, of a text of at most so many ids.
  std::vector<int32_t> IdsWith(std::vector<uint32_t>* begins, std::vector<uint32_t>* ends, std::string_view text, size_t most) {
    std::vector<int32_t> ids(most);
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(most);
    io.input_ids = ids.data();
    for (auto [column, out] : {std::pair(begins, &io.offset_begin), std::pair(ends, &io.offset_end)}) {
      if (column != nullptr) column->resize(most), *out = column->data();
    }
    if (rankfeed_encode(encoder_, {text.data(), text.size()}, nullptr, &io) != RANKFEED_OK) return {-1};
    ids.resize(io.count);
    return ids;
  }

  // From now on no text takes the fast road.
  void LeaveFastRoad() { encoder_->engine.emplace<std::monostate>(); }

  Encoding Encode(std::string_view text, uint32_t flags = 0,
                  const std::vector<uint8_t>& sp_extra = {}) {
    rankfeed_encode_options options{};
    options.struct_size = sizeof(options);
    options.flags = flags;
    for (size_t i = 0; i < sp_extra.size() && i < 8; i++) options.sp_extra[i] = sp_extra[i];
    Encoding out;
    for (;;) {
      rankfeed_encoding io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(ids_.size());
      io.input_ids = ids_.data();
      io.offset_begin = offsets_ ? begin_.data() : nullptr;
      io.offset_end = offsets_ ? end_.data() : nullptr;
      out.status = rankfeed_encode(encoder_, {text.data(), text.size()}, &options, &io);
      if (out.status == RANKFEED_E_OUTPUT_SIZE && io.count > ids_.size()) {
        ids_.resize(io.count);
        begin_.resize(io.count);
        end_.resize(io.count);
        continue;
      }
      if (out.status == RANKFEED_OK) {
        out.ids.assign(ids_.begin(), ids_.begin() + io.count);
        out.begin.assign(begin_.begin(), begin_.begin() + io.count);
        out.end.assign(end_.begin(), end_.begin() + io.count);
      }
      return out;
    }
  }

  rankfeed_status Decode(const std::vector<int32_t>& ids, std::string* text, uint32_t flags = 0) {
    text->assign(64, '\0');
    for (;;) {
      size_t size = 0;
      const rankfeed_status status = rankfeed_decode(encoder_, ids.data(), ids.size(), flags,
                                                     text->data(), text->size(), &size);
      if (status == RANKFEED_E_OUTPUT_SIZE && size > text->size()) {
        text->resize(size);
        continue;
      }
      text->resize(status == RANKFEED_OK ? size : 0);
      return status;
    }
  }

 private:
  const bool offsets_;
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  static std::unique_ptr<void, Free> Allocate(const rankfeed_mem_req& need) {
    const size_t size = (need.size + need.alignment - 1) / need.alignment * need.alignment;
    return std::unique_ptr<void, Free>(std::aligned_alloc(need.alignment, size));
  }

  rankfeed_image image_{};
  std::unique_ptr<void, Free> storage_, scratch_;
  rankfeed_model* model_ = nullptr;
  rankfeed_encoder* encoder_ = nullptr;
  std::vector<int32_t> ids_ = std::vector<int32_t>(64);
  std::vector<uint32_t> begin_ = std::vector<uint32_t>(64), end_ = std::vector<uint32_t>(64);
};

}  // namespace rankfeed::test
