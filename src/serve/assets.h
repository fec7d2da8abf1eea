// SPDX-License-Identifier: MIT
// serve/assets.h: what a service ranks with: a vocabulary, a corpus (optional; a store, or a
// manifest of stores) and a cross-encoder. They are replaced as one set, while requests are under
// way: a request keeps the set it began with, and the old one is freed when its last request is
// done.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "serve/folder/pairing.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/crossencoder.hpp"
#include "rankfeed/rerank.hpp"

namespace rankfeed::serve {

// Device that the model runs on.
struct Device {
  const rankfeed_gpu_backend* backend = nullptr;  // null: the host, on the workers' threads
  uint32_t dtype = RANKFEED_DTYPE_AUTO;
  uint32_t graph_tokens = 0;  // batches of up to this many run as graphs
  bool on_host() const { return backend == nullptr; }
};

inline constexpr uint32_t kLeastRowTokens = 8, kMostRowTokens = 1 << 20;

struct AssetPaths {
  // vocab: a file, or the folder of a model; empty: the folder of the model that ranks.
  std::string vocab, corpus, model;
  std::string preset, label;  // empty: none; see folder::Pair
  int32_t parity = RANKFEED_PARITY_AUTO;
  uint32_t max_length = 0;    // tokens of a row; 0: as the vocabulary's folder says, or 512
  uint32_t encode_flags = 0;  // RANKFEED_SPECIALS_*, RANKFEED_SPLIT_SPECIAL_TOKENS
  bool has_specials = false;  // the operator chose encode_flags; else the vocabulary's folder may split special tokens
  Pages pages = Pages::kAuto;  // that the vocabulary lies on
  Device device;
};

struct Assets {
  AssetPaths paths;
  uint64_t generation = 0;
  std::optional<Vocabulary> vocabulary;  // this and the model: always there once loaded
  std::optional<LoadedCorpus> corpus;
  std::optional<Crossencoder> model;
  rankfeed_crossencoder_info model_info{};
  std::string device_name;  // as its runtime calls it; empty: the host
  rankfeed_model_info vocabulary_info{};
  std::string vocabulary_place, vocabulary_file;  // what paths.vocab led to: a file twice, or a folder and the file in it
  folder::Pairing pairing;
  uint32_t row_tokens = 0;    // most that a row has
  bool cut_left = false;      // rows are cut at the start where a request names no side
  uint32_t encode_flags = 0;  // of rows, of the corpus, and of /tokenize whether special tokens are split
  std::string note;         // for the operator; empty: nothing

  // RANKFEED_SCORE_* of answers.
  uint32_t Activation(bool raw) const;

  static Result<std::shared_ptr<const Assets>> Load(const AssetPaths& paths, uint64_t generation);
};

// The current set. Any thread.
class AssetBox {
 public:
  std::shared_ptr<const Assets> Get() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  // Loads the new set first; on failure the old one goes on serving.
  Error Swap(const AssetPaths& paths);

 private:
  mutable std::mutex mutex_;
  std::mutex loading_;
  std::shared_ptr<const Assets> current_;
};

}  // namespace rankfeed::serve
