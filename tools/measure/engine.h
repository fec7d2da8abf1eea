// SPDX-License-Identifier: MIT
// measure/engine.h: what is measured: a tokenizer that turns texts into ids. rankfeed itself, or a
// foreign one with an adapter (foreign_engine.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/checked.h"
#include "rankfeed/model.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed::measure {

using cli::CheckError;
using cli::CheckStatus;
using cli::Take;

struct EngineInfo {
  std::string family = "unigram", implementation, version;
  std::string parity;         // "huggingface", "sentencepiece" or "" when not known
  std::string config_hash;    // of the vocabulary; "" when not known
  std::string normalization;  // what happens to a text before it is searched
  std::string off_fast_road;  // why no text takes the fast road; "" where they may, and not known
  std::string isa;            // the instruction set it runs; "" when not known
  bool in_process = true;     // allocations and counters of the calling thread are the engine's
};

// Ids of several texts, one after the other. Reserve makes room, so that Encode does not allocate.
struct EncodedTexts {
  std::vector<int32_t> ids;
  std::vector<uint32_t> begin;  // texts + 1 entries
  std::vector<uint32_t> ns;     // of each text
  // Times that a foreign engine reports of the stages after tokenization; 0 from others.
  uint64_t assemble_ns = 0, batch_ns = 0;
  double foreign_allocations = -1;  // for all texts; negative: not reported

  void Reserve(size_t texts, size_t tokens) {
    ids.resize(tokens);
    begin.reserve(texts + 1);
    ns.reserve(texts);
  }
  std::span<const int32_t> Of(size_t text) const {
    return {ids.data() + begin[text], begin[text + 1] - begin[text]};
  }
  uint32_t tokens() const { return begin.empty() ? 0 : begin.back(); }
};

// One thread at a time.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const EngineInfo& info() const = 0;
  // Ids without special tokens. Throws std::runtime_error when a text cannot be encoded.
  virtual void Encode(std::span<const std::string_view> texts, EncodedTexts* out) = 0;
  // Texts encoded since the last Reset(), by road; empty for an engine without roads.
  virtual std::optional<RoadCounts> Roads() const { return std::nullopt; }
  // Forgets what it has cached, where that is possible.
  virtual void Reset() {}
};
using EngineFactory = std::function<std::unique_ptr<Engine>()>;

// rankfeed over a model that outlives it. Texts of up to max_text_bytes.
class RankfeedEngine final : public Engine {
 public:
  RankfeedEngine(const rankfeed_model* model, size_t max_text_bytes, uint32_t cache_bytes);
  const EngineInfo& info() const override { return info_; }
  void Encode(std::span<const std::string_view> texts, EncodedTexts* out) override;
  std::optional<RoadCounts> Roads() const override;
  void Reset() override;
  size_t scratch_bytes() const { return scratch_.size(); }

 private:
  const rankfeed_model* model_;
  rankfeed_limits limits_;
  AlignedBytes scratch_;
  rankfeed_encoder* encoder_ = nullptr;
  EngineInfo info_;
};

// Nanoseconds.
uint64_t MonotonicNs();
uint64_t ThreadCpuNs();
}  // namespace rankfeed::measure
