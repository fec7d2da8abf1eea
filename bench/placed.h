// SPDX-License-Identifier: MIT
// bench/placed.h: a vocabulary file as an image on the largest pages there are.
#pragma once

#include <memory>
#include <string>

#include "measure.h"
#include "rankfeed/builder.hpp"
#include "receipt/placed_image.h"

namespace rankfeed::bench {

inline std::unique_ptr<receipt::PlacedImage> Place(const std::string& file) {
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  rankfeed_loaded* loaded = nullptr;
  if (rankfeed_load(file.c_str(), nullptr, &loaded, &error) != RANKFEED_OK) Die(error.message);
  size_t size = 0;
  const void* image = rankfeed_loaded_image(loaded, &size);
  auto placed = std::make_unique<receipt::PlacedImage>(image, size, receipt::Pages::kLargest);
  rankfeed_loaded_free(loaded);
  return placed;
}

}  // namespace rankfeed::bench
