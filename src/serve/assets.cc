// SPDX-License-Identifier: MIT
// serve/assets.cc: see assets.h.
#include "serve/assets.h"

#include <fmt/format.h>

#include "rankfeed/handoff.hpp"

namespace rankfeed::serve {
namespace {

// Opens a ring as small as they come: that one can be had is then known before the first request.
Result<std::string> DeviceName(const Device& device) {
  rankfeed_handoff_options options{};
  options.slot_bytes = 1;
  options.slots = 1;
  options.backend = device.backend;
  auto ring = Handoff::Open(options);
  if (!ring) return ring.error();
  if (ring->info().has_mapped == 0) {
    return Error{RANKFEED_E_UNSUPPORTED, "the device cannot write to page-locked memory"};
  }
  return std::string(ring->info().device_name);
}

}  // namespace

Result<std::shared_ptr<const Assets>> Assets::Load(const AssetPaths& paths, uint64_t generation) {
  auto vocabulary = Vocabulary::Load(paths.vocab, RANKFEED_PARITY_AUTO, nullptr, paths.pages);
  if (!vocabulary) return vocabulary.error();
  rankfeed_crossencoder_options options{};
  options.backend = paths.device.backend;
  options.dtype = paths.device.dtype;
  options.graph_tokens = paths.device.graph_tokens;
  auto model = Crossencoder::Open(paths.model.c_str(), options);
  if (!model) return model.error();
  const rankfeed_crossencoder_info info = model->info();
  auto out = std::make_shared<Assets>(Assets{paths,
                                             generation,
                                             std::move(*vocabulary),
                                             std::nullopt,
                                             std::move(*model),
                                             info,
                                             {},
                                             {},
                                             nullptr});
  if (!paths.device.on_host()) {
    auto name = DeviceName(paths.device);
    if (!name) return name.error();
    out->device_name = std::move(*name);
  }
  out->vocabulary_info = Info(out->vocabulary.model());
  if (!paths.corpus.empty()) {
    // Checks that the store was made with this vocabulary.
    auto corpus = LoadedCorpus::Load(paths.corpus, out->vocabulary.model());
    if (!corpus) return corpus.error();
    out->corpus.emplace(std::move(*corpus));
  }
  // One id more is common: <mask>, which no text spells by accident.
  if (out->vocabulary_info.id_count > info.vocab_size + 1) {
    return Error{
        RANKFEED_E_VOCABULARY,
        fmt::format("{} has {} ids, {} embeds {}: they do not belong together", paths.vocab,
                    out->vocabulary_info.id_count, paths.model, info.vocab_size)};
  }
  if (info.type_vocab_size > 1 && !out->vocabulary_info.has_token_type_ids) {
    out->two_types = std::make_unique<TwoTypes>(out->vocabulary_info);
    if (!out->two_types->complete()) {
      return Error{RANKFEED_E_VOCABULARY, paths.vocab + ": no <s> and </s> to build pairs with"};
    }
  }
  return std::shared_ptr<const Assets>(std::move(out));
}

Error AssetBox::Swap(const AssetPaths& paths) {
  const std::lock_guard loading(loading_);
  const auto before = Get();
  auto loaded = Assets::Load(paths, before == nullptr ? 1 : before->generation + 1);
  if (!loaded) return loaded.error();
  const std::lock_guard lock(mutex_);
  current_ = std::move(*loaded);
  return {};
}

}  // namespace rankfeed::serve
