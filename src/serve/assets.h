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

#include "rankfeed/builder.hpp"
#include "rankfeed/crossencoder.hpp"
#include "rankfeed/rerank.hpp"
#include "serve/two_types.h"

namespace rankfeed::serve {

// Where the model runs.
struct Device {
  const rankfeed_gpu_backend* backend = nullptr;  // null: the host, on the workers' threads
  uint32_t dtype = RANKFEED_DTYPE_AUTO;
  uint32_t graph_tokens = 0;  // batches of up to this many run as graphs
  bool on_host() const { return backend == nullptr; }
};

struct AssetPaths {
  std::string vocab, corpus, model;
  Pages pages = Pages::kAuto;  // that the vocabulary lies on
  Device device;
};

struct Assets {
  AssetPaths paths;
  uint64_t generation = 0;
  Vocabulary vocabulary;
  std::optional<LoadedCorpus> corpus;
  Crossencoder model;
  rankfeed_crossencoder_info model_info{};
  std::string device_name;  // as its runtime calls it; empty: the host
  rankfeed_model_info vocabulary_info{};
  std::unique_ptr<TwoTypes>
      two_types;  // null: the vocabulary's template has the types that the model wants

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
