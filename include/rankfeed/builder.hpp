// SPDX-License-Identifier: MIT
// rankfeed/builder.hpp: header-only C++20 wrapper over rankfeed/builder.h and
// rankfeed/corpus_manifest.h.
#ifndef RANKFEED_BUILDER_HPP_
#define RANKFEED_BUILDER_HPP_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rankfeed/builder.h"
#include "rankfeed/corpus_manifest.h"
#include "rankfeed/rankfeed.hpp"
#include "rankfeed/template.hpp"

namespace rankfeed {
inline namespace v1 {

// A model from an image, a SentencePiece .model or a HuggingFace tokenizer.json.
class Vocabulary {
 public:
  static Result<Vocabulary> Load(const std::string& path, int32_t parity = RANKFEED_PARITY_AUTO,
                                 const char* preset = nullptr, Pages pages = Pages::kAuto) {
    const rankfeed_compile_options options{sizeof(options), parity, preset};
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    rankfeed_loaded* loaded = nullptr;
    const rankfeed_status status = rankfeed_load_on(path.c_str(), static_cast<uint32_t>(pages),
                                                    &options, &loaded, &error);
    if (status != RANKFEED_OK) {
      return detail::OrNoMemory([&] { return Error{status, error.message}; });
    }
    return Vocabulary(loaded);
  }
  const rankfeed_model* model() const { return rankfeed_loaded_model(loaded_.get()); }
  // Returns which pages the image got, and why not larger ones.
  rankfeed_placement placement() const {
    rankfeed_placement placement{};
    placement.struct_size = sizeof(placement);
    (void)rankfeed_loaded_placement(loaded_.get(), &placement);
    return placement;
  }
  // Returns rankfeed_loaded_note.
  const char* note() const { return rankfeed_loaded_note(loaded_.get()); }
  // The image of the model, for as long as this object lives.
  const void* image(size_t* size) const { return rankfeed_loaded_image(loaded_.get(), size); }

 private:
  explicit Vocabulary(rankfeed_loaded* loaded) : loaded_(loaded, rankfeed_loaded_free) {}
  std::unique_ptr<rankfeed_loaded, void (*)(rankfeed_loaded*)> loaded_;
};

// A corpus store, or the stores that a manifest names, as one corpus. Immutable, share freely.
class LoadedCorpus {
 public:
  // model null: any vocabulary. flags: RANKFEED_CORPUS_TRUSTED, RANKFEED_CORPUS_MAP_FILE.
  static Result<LoadedCorpus> Load(const std::string& path, const rankfeed_model* model,
                                   uint32_t flags = 0, uint32_t encode_flags = 0,
                                   const rankfeed_template* row_template = nullptr) {
    const rankfeed_corpus_options options{sizeof(options), flags, encode_flags, row_template};
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    rankfeed_loaded_corpus* loaded = nullptr;
    const rankfeed_status status =
        rankfeed_corpus_load(path.c_str(), model, &options, &loaded, &error);
    if (status != RANKFEED_OK) {
      return detail::OrNoMemory([&] { return Error{status, error.message}; });
    }
    return LoadedCorpus(loaded);
  }
  const rankfeed_corpus* get() const { return rankfeed_loaded_corpus_get(loaded_.get()); }
  // False when there is no such document, or a store is damaged there.
  bool Find(std::string_view id, rankfeed_source* out) const {
    return rankfeed_corpus_find(get(), {id.data(), id.size()}, out) == RANKFEED_OK;
  }
  rankfeed_corpus_info info() const {
    rankfeed_corpus_info info{};
    info.struct_size = sizeof(info);
    (void)rankfeed_corpus_get_info(get(), &info);
    return info;
  }
  // 0: one store, no manifest.
  uint32_t shard_count() const { return rankfeed_loaded_corpus_shard_count(loaded_.get()); }
  // Texts are valid for as long as this object lives. index: below shard_count().
  rankfeed_corpus_shard shard(uint32_t index) const {
    rankfeed_corpus_shard shard{};
    shard.struct_size = sizeof(shard);
    (void)rankfeed_loaded_corpus_shard(loaded_.get(), index, &shard);
    return shard;
  }

 private:
  explicit LoadedCorpus(rankfeed_loaded_corpus* loaded)
      : loaded_(loaded, rankfeed_loaded_corpus_free) {}
  std::unique_ptr<rankfeed_loaded_corpus, void (*)(rankfeed_loaded_corpus*)> loaded_;
};

// This compiles the row template that a JSON document describes (docs/batches.md has its format) with a vocabulary,
// which must outlive it. Messages call the document `name`. Errors: those of rankfeed_template_read and _init.
inline Result<RowTemplate> ReadRowTemplate(const rankfeed_model* model, std::string_view json, const std::string& name) {
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  rankfeed_loaded_template* loaded = nullptr;
  const rankfeed_status status = rankfeed_template_read(json.data(), json.size(), name.c_str(), &loaded, &error);
  if (status != RANKFEED_OK) {
    return detail::OrNoMemory([&] { return Error{status, error.message}; });
  }
  const std::unique_ptr<rankfeed_loaded_template, void (*)(rankfeed_loaded_template*)> owner(
      loaded, rankfeed_loaded_template_free);
  return RowTemplate::Compile(model, *rankfeed_loaded_template_get(loaded));
}

}  // namespace v1
}  // namespace rankfeed

#endif  // RANKFEED_BUILDER_HPP_
