// SPDX-License-Identifier: MIT
// cli/growing_encoder.h: an encoder that is made again, larger, when a longer text comes.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cli/cli.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed::cli {

class GrowingEncoder {
 public:
  GrowingEncoder(const rankfeed_model* model, bool offsets, uint32_t max_stretch_bytes = 0)
      : model_(model), offsets_(offsets), max_stretch_bytes_(max_stretch_bytes) {}
  // Makes room for a text of so many bytes; returns what keeps it from that.
  Error Grow(size_t text_bytes) {
    if (encoder_ && text_bytes <= max_bytes_) return {};
    const size_t most = rankfeed_max_text_bytes(model_);
    if (text_bytes > most) {
      return {RANKFEED_E_LIMIT, fmt::format("a text has {} bytes; the limit of the vocabulary is {}", text_bytes, most)};
    }
    while (max_bytes_ < text_bytes) max_bytes_ *= 2;
    max_bytes_ = std::min(max_bytes_, most);
    roads_ = Roads();
    encoder_.reset();
    auto made = Encoder::Create(model_, static_cast<uint32_t>(max_bytes_), offsets_, Encoder::kDefaultCacheBytes,
                                max_stretch_bytes_);
    if (!made) return made.error();
    encoder_.emplace(std::move(*made));
    return {};
  }
  // Returns an encoder with that room, or throws.
  Encoder& For(size_t text_bytes) {
    if (const Error error = Grow(text_bytes)) throw Failure(error.message);
    return *encoder_;
  }

  // The texts that all of them have encoded so far.
  RoadCounts Roads() const {
    RoadCounts roads = roads_;
    if (encoder_) Add(encoder_->Roads(), &roads);
    return roads;
  }

 private:
  const rankfeed_model* model_;
  bool offsets_;
  uint32_t max_stretch_bytes_;
  size_t max_bytes_ = 64 << 10;
  std::optional<Encoder> encoder_;
  RoadCounts roads_{};  // of those before it
};

}  // namespace rankfeed::cli
