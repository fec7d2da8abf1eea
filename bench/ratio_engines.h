// SPDX-License-Identifier: MIT
// bench/ratio_engines.h: what bench_ratios and bench_forms share: an engine that is timed, rankfeed as one, and the ways of
// timing an engine over texts. Times are the thread's CPU time in nanoseconds.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "corpus.h"
#include "measure.h"
#include "placed.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed::bench {

using Texts = std::vector<std::string>;

inline constexpr uint32_t kMaxTextBytes = 1 << 20;
// The cache that a stream of tens of megabytes fills; else a smaller one, which is quick to make.
inline constexpr uint32_t kCacheBytes = 1 << 20, kStreamCacheBytes = 4 << 20;
inline constexpr size_t kTogether = 64;  // texts in one call of rankfeed_encode_batch

struct Engine {
  std::string name;
  std::function<size_t(const std::string&, int32_t* out)> encode;
  std::function<void()> reset = {};  // forgets what it has seen; empty in an engine that remembers nothing
  // Ids of up to kTogether texts, one after the other; returns how many.
  std::function<size_t(const std::string* texts, size_t count, int32_t* out)> encode_together = {};
};

// Where an encoder lies that forgets what it has seen: where it lay, emptied; or, as the C++ wrapper's
// does, in memory that it has just been given and fetched (rankfeed_encoder_warm).
enum class Memory { kSame, kAnew };

// An encoder over an image on the largest pages there are.
class Rankfeed {
 public:
  Rankfeed(std::shared_ptr<measure::PlacedImage> placed, bool offsets, Memory memory = Memory::kSame);
  // From a file of the shared folder.
  Rankfeed(const std::string& file, bool offsets, int32_t parity = RANKFEED_PARITY_AUTO)
      : Rankfeed(Place(SharedFile(file), parity), offsets) {}
  Rankfeed(const Rankfeed&) = delete;
  Rankfeed& operator=(const Rankfeed&) = delete;

  void UseCache(uint32_t bytes) {
    limits_.cache_bytes = bytes;
    Reset();
  }
  void UseLongest(uint32_t max_text_bytes) {
    limits_.max_text_bytes = max_text_bytes;
    Reset();
  }
  void Reset();
  size_t Encode(const std::string& text, int32_t* out);
  size_t EncodeTogether(const std::string* texts, size_t count, int32_t* out);
  // Texts go kTogether a call, or one.
  Engine AsEngine(std::string name, bool together);
  const std::shared_ptr<measure::PlacedImage>& shared() const { return placed_; }
  const measure::PlacedImage& placed() const { return *placed_; }
  const char* isa() const { return rankfeed_encoder_isa(encoder_); }

 private:
  std::shared_ptr<measure::PlacedImage> placed_;
  rankfeed_limits limits_{};
  const Memory where_;
  AlignedBytes memory_;
  std::vector<uint32_t> begin_, end_;  // of tokens
  rankfeed_encoder* encoder_ = nullptr;
};

// rankfeed as the README's C++ program opens and calls it: with a file and the longest text alone. Its encoder
// has the word cache and the memory that it has by default; what it has seen is forgotten by making another in its place.
class Door {
 public:
  // From a file of the shared folder.
  explicit Door(const std::string& file, int32_t parity = RANKFEED_PARITY_AUTO);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  Engine AsEngine(std::string name);
  void UseLongest(uint32_t max_text_bytes) {
    max_text_bytes_ = max_text_bytes;
    Reset();
  }
  // Whether ids are copied to where they are compared; they are not while it is timed: a caller has them.
  void CopyIds(bool copy) { copy_ = copy; }
  rankfeed_placement placement() const { return vocabulary_.placement(); }

 private:
  void Reset();
  size_t Encode(const std::string& text, int32_t* out);
  size_t EncodeTogether(const std::string* texts, size_t count, int32_t* out);

  Vocabulary vocabulary_;
  uint32_t max_text_bytes_ = kMaxTextBytes;
  bool copy_ = true;
  std::optional<Encoder> encoder_;
  Encoding encoding_;
  std::vector<int32_t> input_ids_;
  std::vector<uint32_t> cu_seqlens_;
};

// All texts once.
double Nanoseconds(const Engine& engine, const Texts& texts, size_t begin, size_t end, int32_t* out);
// All texts once after the engine has forgotten what it has seen, right after another engine's.
double First(const Engine& engine, const Texts& texts, int32_t* out);
// Repeats it until 100 ms are timed; returns the mean.
double Cold(const Engine& engine, const Texts& texts, int32_t* out);
// Where the timed quarter of a steady stream begins, and the time of that quarter after the other three.
size_t LastQuarter(const Texts& texts);
double Stream(const Engine& engine, const Texts& texts, int32_t* out);

double Median(std::vector<double> values);

// Ends the program where ids in a batch are not those of single calls, or those of the two engines differ.
void CheckTogether(const Engine& engine, const Texts& texts, const std::string& where);
void CheckSame(const Engine& one, const Engine& other, const Texts& texts, const std::string& where);

// Bytes of the texts from first on.
size_t BytesOf(const Texts& texts, size_t first);

}  // namespace rankfeed::bench
