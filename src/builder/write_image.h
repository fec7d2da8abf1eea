// SPDX-License-Identifier: MIT
// builder/write_image.h: ModelSpec to image bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "builder/image_bytes.h"
#include "builder/model_spec.h"

namespace rankfeed::builder {

// Identifies what an image was made from: XXH3-128 over the source bytes, parity and preset.
struct ConfigHash {
  uint8_t bytes[16];
};
ConfigHash HashConfig(std::string_view source, uint32_t parity, std::string_view preset);

// The image of spec, byte for byte the same for equal arguments. normalized holds, for each added
// token with the normalized flag, its content run through the normalizer (empty vector: contents
// as written). Cost: about 1 s for 250,000 pieces. Throws BuildError.
ImageBytes WriteImage(const ModelSpec& spec, const ConfigHash& config_hash,
                      const std::vector<std::string>& normalized);

}  // namespace rankfeed::builder
