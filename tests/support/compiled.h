// SPDX-License-Identifier: MIT
// support/compiled.h: a model compiled of a file's bytes, by the public C API; and how tests show texts and encodings.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "rankfeed/builder.h"
#include "rankfeed/model.h"

namespace rankfeed::test {

struct FreeMemory {
  void operator()(void* p) const { std::free(p); }
};
using Memory = std::unique_ptr<void, FreeMemory>;
// Returns memory of the size rounded up to the alignment, so that a sanitizer sees every overrun.
inline Memory Allocate(rankfeed_mem_req need) {
  return Memory(std::aligned_alloc(need.alignment, (need.size + need.alignment - 1) / need.alignment * need.alignment));
}

// A compile: its answer, and the model opened over the image.
class Compiled {
 public:
  explicit Compiled(std::string_view source, int32_t parity = RANKFEED_PARITY_AUTO, const char* preset = nullptr) {
    const rankfeed_compile_options options{sizeof(options), parity, preset};
    error.struct_size = sizeof(error);
    status = rankfeed_compile(source.data(), source.size(), "file", &options, &image, &error);
    if (status != RANKFEED_OK) return;
    const rankfeed_mem_req need = rankfeed_model_mem_req();
    storage_ = Allocate(need);
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof(detail);
    const rankfeed_status opened = rankfeed_model_open(image.data, image.size, 0, storage_.get(), need.size, &model, &detail);
    if (opened == RANKFEED_OK) return;
    throw std::runtime_error(std::string("rankfeed_model_open: ") + rankfeed_status_name(opened) + ", section " +
                             std::to_string(detail.section) + ", item " + std::to_string(detail.item));
  }
  ~Compiled() { rankfeed_image_free(&image); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  std::string message() const { return status == RANKFEED_OK ? "" : error.message; }
  std::string_view bytes() const { return {static_cast<const char*>(image.data), image.size}; }
  // Returns the model. Throws where the file was refused.
  const rankfeed_model* get() const {
    return model != nullptr ? model : throw std::runtime_error("rankfeed_compile: " + message());
  }

  rankfeed_status status = RANKFEED_OK;
  rankfeed_builder_error error{};
  rankfeed_image image{};
  rankfeed_model* model = nullptr;

 private:
  Memory storage_;
};

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

}  // namespace rankfeed::test
