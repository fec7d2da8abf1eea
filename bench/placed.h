// SPDX-License-Identifier: MIT
// bench/placed.h: a vocabulary file as an image on the largest pages there are.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "measure.h"
#include "rankfeed/builder.hpp"
#include "measure/placed_image.h"

namespace rankfeed::bench {

// The rule of the libsentencepiece that is linked here (Debian's 0.1.97): ids are compared with it.
inline constexpr int32_t kLinkedParity = RANKFEED_PARITY_SENTENCEPIECE_0_2_1;

// Makes the library use the instruction set that the variable RANKFEED_ISA names as rankfeed_force_isa does, where it is set.
inline void ForceIsa() {
  const char* const isa = std::getenv("RANKFEED_ISA");
  if (isa != nullptr && rankfeed_force_isa(isa) != RANKFEED_OK) {
    Die(std::string("RANKFEED_ISA: this CPU or this build has no ") + isa);
  }
}

inline std::unique_ptr<measure::PlacedImage> Place(const std::string& file,
                                                   int32_t parity = RANKFEED_PARITY_AUTO) {
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  rankfeed_loaded* loaded = nullptr;
  const rankfeed_compile_options options{sizeof(options), parity, nullptr};
  if (rankfeed_load(file.c_str(), &options, &loaded, &error) != RANKFEED_OK) Die(error.message);
  size_t size = 0;
  const void* image = rankfeed_loaded_image(loaded, &size);
  auto placed = std::make_unique<measure::PlacedImage>(image, size, Pages::kAuto);
  rankfeed_loaded_free(loaded);
  return placed;
}

}  // namespace rankfeed::bench
