// SPDX-License-Identifier: MIT
// measure/engine.cc: see engine.h.
#include "measure/engine.h"

#include <fmt/format.h>
#include <time.h>

#include <stdexcept>

namespace rankfeed::measure {
namespace {

uint64_t Clock(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

uint32_t WithinLimit(const rankfeed_model* model, size_t text_bytes) {
  const uint32_t most = rankfeed_max_text_bytes(model);
  if (text_bytes <= most) return static_cast<uint32_t>(text_bytes);
  throw std::runtime_error(
      fmt::format("a text has {} bytes; the limit of the vocabulary is {}", text_bytes, most));
}

}  // namespace

uint64_t MonotonicNs() { return Clock(CLOCK_MONOTONIC); }
uint64_t ThreadCpuNs() { return Clock(CLOCK_THREAD_CPUTIME_ID); }

RankfeedEngine::RankfeedEngine(const rankfeed_model* model, size_t max_text_bytes,
                               uint32_t cache_bytes)
    : model_(model),
      limits_{sizeof(rankfeed_limits), WithinLimit(model, max_text_bytes), 0, cache_bytes} {
  rankfeed_mem_req need;
  CheckStatus(rankfeed_encoder_mem_req(model_, &limits_, &need), "encoder");
  scratch_ = AlignedBytes(need);
  Reset();
  const rankfeed_model_info facts = Info(model_);
  info_.family = rankfeed_model_kind(model_);
  info_.implementation = "rankfeed";
  info_.version = rankfeed_version_string();
  info_.parity = rankfeed_parity_name(facts.parity);
  for (const uint8_t byte : facts.config_hash) info_.config_hash += fmt::format("{:02x}", byte);
  info_.normalization = facts.parity == RANKFEED_PARITY_HUGGINGFACE
                            ? "normalizers of the tokenizer.json, in order"
                            : "normalizer spec of the model (charsmap, whitespace escape)";
  if (const char* why = rankfeed_model_off_fast_road(model_)) info_.off_fast_road = why;
  info_.isa = rankfeed_encoder_isa(encoder_);
}

std::optional<RoadCounts> RankfeedEngine::Roads() const {
  RoadCounts roads{};
  CheckStatus(rankfeed_encoder_roads(encoder_, roads.data(), roads.size()), "roads");
  return roads;
}

void RankfeedEngine::Reset() {
  CheckStatus(
      rankfeed_encoder_init(model_, &limits_, scratch_.data(), scratch_.size(), &encoder_),
      "encoder");
}

void RankfeedEngine::Encode(std::span<const std::string_view> texts, EncodedTexts* out) {
  out->begin.clear();
  out->ns.clear();
  out->begin.push_back(0);
  uint32_t at = 0;
  uint64_t before = MonotonicNs();
  for (size_t i = 0; i < texts.size(); ++i) {
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(out->ids.size() - at);
    io.input_ids = out->ids.data() + at;
    rankfeed_status status =
        rankfeed_encode(encoder_, {texts[i].data(), texts[i].size()}, nullptr, &io);
    if (status == RANKFEED_E_OUTPUT_SIZE) {  // the caller reserved too little
      out->ids.resize(2 * (at + io.count));
      io.capacity = static_cast<uint32_t>(out->ids.size() - at);
      io.input_ids = out->ids.data() + at;
      status = rankfeed_encode(encoder_, {texts[i].data(), texts[i].size()}, nullptr, &io);
    }
    if (status == RANKFEED_E_LIMIT) {
      throw std::runtime_error(fmt::format(
          "a text has {} bytes, with a stretch that cannot be cut and is longer than 256 KiB; it has to be measured in parts",
          texts[i].size()));
    }
    CheckStatus(status, "encode");
    at += io.count;
    const uint64_t now = MonotonicNs();
    out->begin.push_back(at);
    out->ns.push_back(static_cast<uint32_t>(now - before));
    before = now;
  }
}

}  // namespace rankfeed::measure
