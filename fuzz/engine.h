// SPDX-License-Identifier: MIT
// fuzz/engine.h: a model and encoders over the public C API, in heap blocks of exactly the size they
// ask for, so that a sanitizer sees every access outside.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/encoder.h"
#include "rankfeed/builder.h"
#include "rankfeed/encode.h"
#include "rankfeed/model.h"
#include "support/cut_everywhere.h"
#include "target.h"

namespace rankfeed::fuzz {

// operator new gives blocks of exactly the size asked for; aligned_alloc wants multiples.
class Block {
 public:
  Block() = default;
  Block(size_t size, size_t alignment)
      : data_(::operator new(size, std::align_val_t(alignment))), alignment_(alignment) {}
  explicit Block(rankfeed_mem_req need) : Block(need.size, need.alignment) {}
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(alignment_, other.alignment_);
    return *this;
  }
  ~Block() {
    if (data_ != nullptr) ::operator delete(data_, std::align_val_t(alignment_));
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  size_t alignment_ = 1;
};

struct Tokens {
  rankfeed_status status = RANKFEED_OK;
  std::vector<int32_t> ids;
  std::vector<uint32_t> begin, end;
  bool operator==(const Tokens&) const = default;
};

inline std::string Show(const Tokens& tokens) {
  std::string out = tokens.status == RANKFEED_OK ? "" : rankfeed_status_name(tokens.status);
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    out += (i > 0 ? " " : "") + std::to_string(tokens.ids[i]);
    if (i >= tokens.begin.size()) continue;
    out += "[" + std::to_string(tokens.begin[i]) + "," + std::to_string(tokens.end[i]) + ")";
  }
  return out;
}

// An opened model. Null when the image is refused.
class OpenModel {
 public:
  OpenModel(const void* image, size_t size, uint32_t flags = 0)
      : image_(size, 64), storage_(rankfeed_model_mem_req()), size_(size) {
    if (size != 0) std::memcpy(image_.data(), image, size);
    status_ = rankfeed_model_open(image_.data(), size, flags, storage_.data(),
                                  rankfeed_model_mem_req().size, &model_, nullptr);
    FUZZ_ASSERT((status_ == RANKFEED_OK) == (model_ != nullptr));
  }
  rankfeed_status status() const { return status_; }
  const rankfeed_model* get() const { return model_; }
  size_t size() const { return size_; }

 private:
  Block image_, storage_;
  size_t size_;
  rankfeed_status status_;
  rankfeed_model* model_ = nullptr;
};

// Compiles; null with the reason in *error when the file is refused.
inline std::unique_ptr<OpenModel> Compile(std::string_view source, rankfeed_builder_error* error,
                                          int32_t parity = RANKFEED_PARITY_AUTO,
                                          const char* preset = nullptr) {
  rankfeed_image image{};
  *error = {};
  error->struct_size = sizeof(*error);
  const rankfeed_compile_options options{sizeof(options), parity, preset};
  const rankfeed_status status =
      rankfeed_compile(source.data(), source.size(), "fuzz", &options, &image, error);
  if (status != RANKFEED_OK) {
    FUZZ_ASSERT(error->code == status && error->message[0] != '\0' && image.data == nullptr);
    FUZZ_ASSERT(status != RANKFEED_E_IMAGE_STRUCTURE);  // the builder's own image
    return nullptr;
  }
  auto model = std::make_unique<OpenModel>(image.data, image.size);
  FUZZ_ASSERT(model->status() == RANKFEED_OK);
  rankfeed_image_free(&image);
  return model;
}

class Encoder {
 public:
  Encoder(const rankfeed_model* model, uint32_t max_text_bytes, bool offsets, uint32_t cache_bytes)
      : model_(model), offsets_(offsets) {
    rankfeed_limits limits{sizeof(limits), max_text_bytes, offsets ? 1u : 0u, cache_bytes};
    rankfeed_mem_req need{};
    FUZZ_ASSERT(rankfeed_encoder_mem_req(model, &limits, &need) == RANKFEED_OK);
    scratch_ = Block(need);
    FUZZ_ASSERT(rankfeed_encoder_init(model, &limits, scratch_.data(), need.size, &encoder_) ==
                RANKFEED_OK);
  }

  // From now on no text takes the fast road.
  void LeaveFastRoad() { encoder_->engine.emplace<std::monostate>(); }

  // From now on every text takes the general path, in as many parts as it can be cut into. False
  // where texts of the model cannot be cut.
  bool CutEverywhere() {
    LeaveFastRoad();
    return test::CutEverywhere(encoder_);
  }

  Tokens Encode(std::string_view text, uint32_t flags = 0) {
    const uint32_t bound = rankfeed_token_bound(model_, text.size());
    if (ids_.size() < bound) {
      ids_.resize(bound);
      begin_.resize(bound);
      end_.resize(bound);
    }
    rankfeed_encode_options options{};
    options.struct_size = sizeof(options);
    options.flags = flags;
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = bound;
    io.input_ids = ids_.data();
    io.offset_begin = offsets_ ? begin_.data() : nullptr;
    io.offset_end = offsets_ ? end_.data() : nullptr;
    Tokens tokens;
    tokens.status = rankfeed_encode(encoder_, {text.data(), text.size()}, &options, &io);
    FUZZ_ASSERT(tokens.status != RANKFEED_E_OUTPUT_SIZE);  // the bound is one
    if (tokens.status != RANKFEED_OK) return tokens;
    tokens.ids.assign(ids_.begin(), ids_.begin() + io.count);
    if (offsets_) {
      tokens.begin.assign(begin_.begin(), begin_.begin() + io.count);
      tokens.end.assign(end_.begin(), end_.begin() + io.count);
    }
    return tokens;
  }

  // The same in pieces of up to 64 bytes, through a small window, with little room for ids. Without
  // offsets. Nothing where the pipeline or the text has no place to cut.
  std::optional<Tokens> EncodeInPieces(std::string_view text, uint32_t flags = 0) {
    rankfeed_encode_options options{};
    options.struct_size = sizeof(options);
    options.flags = flags;
    uint64_t random = 0x9e3779b97f4a7c15ULL * (text.size() + 1);
    const auto below = [&](uint64_t n) {
      random = random * 6364136223846793005ULL + 1;
      return (random >> 33) % n;
    };
    const auto window_bytes = static_cast<uint32_t>(4 + below(48));
    Block window(window_bytes, 1);
    const rankfeed_status begun = rankfeed_encode_begin(
        encoder_, &options, static_cast<char*>(window.data()), window_bytes);
    if (begun == RANKFEED_E_UNSUPPORTED) return std::nullopt;
    FUZZ_ASSERT(begun == RANKFEED_OK);
    Tokens tokens;
    uint32_t room = static_cast<uint32_t>(below(64));
    std::vector<int32_t> ids;
    const auto run = [&](std::string_view piece, bool last) {
      for (;;) {
        ids.resize(room);
        rankfeed_stream_io io{};
        io.struct_size = sizeof(io);
        io.capacity = room;
        io.input_ids = ids.data();
        tokens.status = last ? rankfeed_encode_end(encoder_, &io)
                             : rankfeed_encode_feed(encoder_, {piece.data(), piece.size()}, &io);
        FUZZ_ASSERT(io.count <= room && io.consumed <= piece.size());
        tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.begin() + io.count);
        piece.remove_prefix(io.consumed);
        if (tokens.status != RANKFEED_E_OUTPUT_SIZE) break;
        FUZZ_ASSERT(io.needed > room - io.count);
        room = io.needed;
      }
      FUZZ_ASSERT(tokens.status != RANKFEED_OK || piece.empty());
    };
    while (!text.empty() && tokens.status == RANKFEED_OK) {
      const size_t size = std::min<size_t>(text.size(), below(65));
      run(text.substr(0, size), false);
      text.remove_prefix(size);
    }
    if (tokens.status == RANKFEED_OK) run({}, true);
    if (tokens.status == RANKFEED_E_LIMIT) return std::nullopt;
    if (tokens.status != RANKFEED_OK) tokens.ids.clear();
    return tokens;
  }

  rankfeed_status Decode(const std::vector<int32_t>& ids, uint32_t flags, std::string* text) {
    size_t size = 0;
    rankfeed_status status =
        rankfeed_decode(encoder_, ids.data(), ids.size(), flags, nullptr, 0, &size);
    if (status != RANKFEED_E_OUTPUT_SIZE) {
      text->clear();
      FUZZ_ASSERT(status != RANKFEED_OK || size == 0);
      return status;
    }
    const std::unique_ptr<char[]> out(new char[size]);
    size_t again = 0;
    status = rankfeed_decode(encoder_, ids.data(), ids.size(), flags, out.get(), size, &again);
    FUZZ_ASSERT(status == RANKFEED_OK && again == size);
    text->assign(out.get(), size);
    return status;
  }

  rankfeed_encoder* get() const { return encoder_; }

 private:
  const rankfeed_model* model_;
  bool offsets_;
  Block scratch_;
  rankfeed_encoder* encoder_ = nullptr;
  std::vector<int32_t> ids_;
  std::vector<uint32_t> begin_, end_;
};

// A text in a block of its own size.
class ExactText {
 public:
  explicit ExactText(std::string_view text) : data_(new char[text.size()]), size_(text.size()) {
    if (!text.empty()) std::memcpy(data_.get(), text.data(), text.size());
  }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  size_t size_;
};

}  // namespace rankfeed::fuzz
