// SPDX-License-Identifier: MIT
// rankfeed/builder.hpp: header-only C++20 wrapper over rankfeed/builder.h.
#ifndef RANKFEED_BUILDER_HPP_
#define RANKFEED_BUILDER_HPP_

#include <memory>
#include <string>
#include <utility>

#include "rankfeed/builder.h"
#include "rankfeed/rankfeed.hpp"

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
  // Which pages the image got, and why not larger ones.
  rankfeed_placement placement() const {
    rankfeed_placement placement{};
    placement.struct_size = sizeof(placement);
    (void)rankfeed_loaded_placement(loaded_.get(), &placement);
    return placement;
  }
  // The image behind the model, for as long as this object lives.
  const void* image(size_t* size) const { return rankfeed_loaded_image(loaded_.get(), size); }

 private:
  explicit Vocabulary(rankfeed_loaded* loaded) : loaded_(loaded, rankfeed_loaded_free) {}
  std::unique_ptr<rankfeed_loaded, void (*)(rankfeed_loaded*)> loaded_;
};

}  // namespace v1
}  // namespace rankfeed

#endif  // RANKFEED_BUILDER_HPP_
