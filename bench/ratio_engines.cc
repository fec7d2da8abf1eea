// SPDX-License-Identifier: MIT
// bench/ratio_engines.cc: see ratio_engines.h.
#include "ratio_engines.h"

#include <algorithm>
#include <cstring>

namespace rankfeed::bench {

Rankfeed::Rankfeed(std::shared_ptr<measure::PlacedImage> placed, bool offsets, Memory memory)
    : placed_(std::move(placed)), where_(memory) {
  limits_ = {sizeof(limits_), kMaxTextBytes, offsets ? 1u : 0u, kStreamCacheBytes};
  begin_.resize(offsets ? kMaxTextBytes : 0);
  end_.resize(begin_.size());
  Reset();
}

void Rankfeed::Reset() {
  rankfeed_mem_req need{};
  Check(rankfeed_encoder_mem_req(placed_->model(), &limits_, &need));
  if (where_ == Memory::kAnew || memory_.size() < need.size) {
    memory_ = AlignedBytes();
    memory_ = AlignedBytes(need);
  }
  Check(rankfeed_encoder_init(placed_->model(), &limits_, memory_.data(), memory_.size(), &encoder_));
  if (where_ == Memory::kAnew) Check(rankfeed_encoder_warm(encoder_));
}

size_t Rankfeed::Encode(const std::string& text, int32_t* out) {
  rankfeed_encoding io{};
  io.struct_size = sizeof(io);
  io.capacity = kMaxTextBytes;
  io.input_ids = out;
  io.offset_begin = begin_.empty() ? nullptr : begin_.data();
  Check(rankfeed_encode(encoder_, {text.data(), text.size()}, nullptr, &io));
  return io.count;
}

size_t Rankfeed::EncodeTogether(const std::string* texts, size_t count, int32_t* out) {
  rankfeed_text views[kTogether];
  uint32_t cu_seqlens[kTogether + 1];
  for (size_t i = 0; i < count; ++i) views[i] = {texts[i].data(), texts[i].size()};
  rankfeed_encodings io{};
  io.struct_size = sizeof(io);
  io.capacity = kMaxTextBytes;
  io.input_ids = out;
  io.cu_seqlens = cu_seqlens;
  io.offset_begin = begin_.empty() ? nullptr : begin_.data();
  io.offset_end = end_.empty() ? nullptr : end_.data();
  Check(rankfeed_encode_batch(encoder_, views, count, nullptr, &io));
  return io.count;
}

Engine Rankfeed::AsEngine(std::string name, bool together) {
  Engine engine = {std::move(name), [this](const std::string& text, int32_t* out) { return Encode(text, out); },
                   [this] { Reset(); }};
  if (together) {
    engine.encode_together = [this](const std::string* texts, size_t count, int32_t* out) {
      return EncodeTogether(texts, count, out);
    };
  }
  return engine;
}

namespace {

Vocabulary LoadOrDie(const std::string& file, int32_t parity) {
  Result<Vocabulary> loaded = Vocabulary::Load(SharedFile(file), parity);
  if (!loaded) Die(loaded.error().message);
  return std::move(*loaded);
}

rankfeed_encode_options Plain() {
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  return options;
}

}  // namespace

Door::Door(const std::string& file, int32_t parity) : vocabulary_(LoadOrDie(file, parity)) { Reset(); }

// Its memory is fetched before the clock runs, as that of the other engines is.
void Door::Reset() {
  encoder_.reset();
  Result<Encoder> encoder = Encoder::Create(vocabulary_.model(), max_text_bytes_);
  if (!encoder) Die(encoder.error().message);
  encoder_ = std::move(*encoder);
  if (const Error error = encoder_->Warm()) Die(error.message);
}

size_t Door::Encode(const std::string& text, int32_t* out) {
  if (const Error error = encoder_->Encode(text, Plain(), &encoding_)) Die(error.message);
  if (copy_) std::memcpy(out, encoding_.input_ids.data(), encoding_.input_ids.size() * sizeof(int32_t));
  return encoding_.input_ids.size();
}

size_t Door::EncodeTogether(const std::string* texts, size_t count, int32_t* out) {
  std::string_view views[kTogether];
  for (size_t i = 0; i < count; ++i) views[i] = texts[i];
  if (const Error error = encoder_->EncodeBatch({views, count}, Plain(), &input_ids_, &cu_seqlens_)) Die(error.message);
  if (copy_) std::memcpy(out, input_ids_.data(), input_ids_.size() * sizeof(int32_t));
  return input_ids_.size();
}

Engine Door::AsEngine(std::string name) {
  return {std::move(name), [this](const std::string& text, int32_t* out) { return Encode(text, out); }, [this] { Reset(); },
          [this](const std::string* texts, size_t count, int32_t* out) { return EncodeTogether(texts, count, out); }};
}

double Nanoseconds(const Engine& engine, const Texts& texts, size_t begin, size_t end, int32_t* out) {
  const uint64_t start = Clock(CLOCK_THREAD_CPUTIME_ID);
  if (engine.encode_together) {
    for (size_t i = begin; i < end; i += kTogether) engine.encode_together(&texts[i], std::min(kTogether, end - i), out);
  } else {
    for (size_t i = begin; i < end; ++i) engine.encode(texts[i], out);
  }
  return static_cast<double>(Clock(CLOCK_THREAD_CPUTIME_ID) - start);
}

double First(const Engine& engine, const Texts& texts, int32_t* out) {
  if (engine.reset) engine.reset();
  return Nanoseconds(engine, texts, 0, texts.size(), out);
}

double Cold(const Engine& engine, const Texts& texts, int32_t* out) {
  double total = 0, passes = 0;
  for (; total < 100e6; ++passes) total += First(engine, texts, out);
  return total / passes;
}

size_t LastQuarter(const Texts& texts) { return texts.size() - texts.size() / 4; }

double Stream(const Engine& engine, const Texts& texts, int32_t* out) {
  const size_t begin = LastQuarter(texts);
  if (engine.reset) {
    engine.reset();
    (void)Nanoseconds(engine, texts, 0, begin, out);
  }
  return Nanoseconds(engine, texts, begin, texts.size(), out);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void CheckTogether(const Engine& engine, const Texts& texts, const std::string& where) {
  std::vector<int32_t> together(kMaxTextBytes), single(kMaxTextBytes);
  for (size_t i = 0; i < texts.size(); i += kTogether) {
    const size_t count = std::min(kTogether, texts.size() - i);
    const size_t got = engine.encode_together(&texts[i], count, together.data());
    size_t at = 0;
    for (size_t k = 0; k < count; ++k) {
      const size_t n = engine.encode(texts[i + k], single.data());
      if (at + n > got || std::memcmp(together.data() + at, single.data(), n * sizeof(int32_t)) != 0) {
        Die(where + ": ids of " + engine.name + " differ in a batch");
      }
      at += n;
    }
    if (at != got) Die(where + ": ids of " + engine.name + " differ in a batch");
  }
}

void CheckSame(const Engine& one, const Engine& other, const Texts& texts, const std::string& where) {
  std::vector<int32_t> mine(kMaxTextBytes), theirs(kMaxTextBytes);
  for (const std::string& text : texts) {
    const size_t count = one.encode(text, mine.data());
    if (other.encode(text, theirs.data()) != count || std::memcmp(mine.data(), theirs.data(), count * sizeof(int32_t)) != 0) {
      Die(where + ": ids of " + one.name + " and " + other.name + " differ: " + text.substr(0, 200));
    }
  }
}

size_t BytesOf(const Texts& texts, size_t first) {
  size_t bytes = 0;
  for (size_t i = first; i < texts.size(); ++i) bytes += texts[i].size();
  return bytes;
}

}  // namespace rankfeed::bench
