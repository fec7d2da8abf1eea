// SPDX-License-Identifier: MIT
// cli/growing_encoder.h: an encoder that is made again, larger, when a longer text comes.
#pragma once

#include <optional>
#include <utility>

#include "cli/cli.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed::cli {

class GrowingEncoder {
 public:
  GrowingEncoder(const rankfeed_model* model, bool offsets) : model_(model), offsets_(offsets) {}
  Encoder& For(size_t text_bytes) {
    if (!encoder_ || text_bytes > max_bytes_) {
      while (max_bytes_ < text_bytes) max_bytes_ *= 2;
      if (max_bytes_ > 0xffffffffu) throw Failure("a text is longer than 4 GiB");
      encoder_.reset();
      auto made = Encoder::Create(model_, static_cast<uint32_t>(max_bytes_), offsets_);
      if (!made) throw Failure(made.error().message);
      encoder_.emplace(std::move(*made));
    }
    return *encoder_;
  }

 private:
  const rankfeed_model* model_;
  bool offsets_;
  size_t max_bytes_ = 64 << 10;
  std::optional<Encoder> encoder_;
};

}  // namespace rankfeed::cli
