// SPDX-License-Identifier: MIT
// support/engine.h: an encoder over a compiled model, for tests that compare outputs.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "encode/encoder.h"
#include "rankfeed/encode.h"
#include "support/compiled.h"

namespace rankfeed::test {

// Errors in loading throw; statuses of encode and decode are returned.
class TestEngine {
 public:
  // source: bytes of a .model or tokenizer.json.
  explicit TestEngine(std::string_view source, uint32_t max_text_bytes = 1u << 16,
                      uint32_t cache_bytes = 1u << 16, int32_t parity = RANKFEED_PARITY_AUTO,
                      bool offsets = true)
      : offsets_(offsets), compiled_(source, parity) {
    rankfeed_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_text_bytes = max_text_bytes;
    limits.max_stretch_bytes = 1u << 28;  // for texts that cannot be cut and become many times as long
    limits.with_offsets = offsets ? 1 : 0;
    limits.cache_bytes = cache_bytes;
    rankfeed_mem_req need{};
    if (rankfeed_encoder_mem_req(model(), &limits, &need) != RANKFEED_OK) {
      throw std::runtime_error("rankfeed_encoder_mem_req failed");
    }
    scratch_ = Allocate(need);
    if (rankfeed_encoder_init(model(), &limits, scratch_.get(), need.size, &encoder_) !=
        RANKFEED_OK) {
      throw std::runtime_error("rankfeed_encoder_init failed");
    }
  }

  const rankfeed_model* model() const { return compiled_.get(); }

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
  const Compiled compiled_;
  Memory scratch_;
  rankfeed_encoder* encoder_ = nullptr;
  std::vector<int32_t> ids_ = std::vector<int32_t>(64);
  std::vector<uint32_t> begin_ = std::vector<uint32_t>(64), end_ = std::vector<uint32_t>(64);
};

}  // namespace rankfeed::test
