// SPDX-License-Identifier: MIT
// examples/assets.h: what a rerank service serves with: a vocabulary, a corpus store (optional) and a
// cross-encoder. They are replaced as one set, while requests are under way: a request keeps the set
// it began with, and the old one is freed when its last request is done.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "rankfeed/builder.hpp"
#include "rankfeed/crossencoder.hpp"
#include "rankfeed/rerank.hpp"

namespace example {

struct AssetPaths {
  std::string vocab, corpus, model;
};

struct Assets {
  AssetPaths paths;
  uint64_t generation = 0;
  rankfeed::Vocabulary vocabulary;
  std::optional<rankfeed::Corpus> corpus;
  rankfeed::Crossencoder model;
  rankfeed_crossencoder_info model_info{};

  static rankfeed::Result<std::shared_ptr<const Assets>> Load(const AssetPaths& paths,
                                                              uint64_t generation) {
    auto vocabulary = rankfeed::Vocabulary::Load(paths.vocab);
    if (!vocabulary) return vocabulary.error();
    auto model = rankfeed::Crossencoder::Open(paths.model.c_str());
    if (!model) return model.error();
    const rankfeed_crossencoder_info info = model->info();
    auto out = std::make_shared<Assets>(
        Assets{paths, generation, std::move(*vocabulary), std::nullopt, std::move(*model), info});
    if (!paths.corpus.empty()) {
      // Checks that the store was made with this vocabulary.
      auto corpus = rankfeed::Corpus::Open(paths.corpus, out->vocabulary.model());
      if (!corpus) return corpus.error();
      out->corpus.emplace(std::move(*corpus));
    }
    if (out->model_info.vocab_size < rankfeed::Info(out->vocabulary.model()).id_count) {
      return rankfeed::Error{RANKFEED_E_VOCABULARY,
                             paths.model + ": fewer embeddings than the vocabulary has ids"};
    }
    return std::shared_ptr<const Assets>(std::move(out));
  }
};

// The current set. Any thread.
class AssetBox {
 public:
  std::shared_ptr<const Assets> Get() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  // Loads the new set first; on failure the old one goes on serving.
  rankfeed::Error Swap(const AssetPaths& paths) {
    const std::lock_guard loading(loading_);
    const auto before = Get();
    auto loaded = Assets::Load(paths, before == nullptr ? 1 : before->generation + 1);
    if (!loaded) return loaded.error();
    const std::lock_guard lock(mutex_);
    current_ = std::move(*loaded);
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::mutex loading_;
  std::shared_ptr<const Assets> current_;
};

}  // namespace example
