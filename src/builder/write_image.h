// SPDX-License-Identifier: MIT
// builder/write_image.h: ModelSpec to image bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "builder/base/model_spec.h"
#include "builder/image/sections.h"

namespace rankfeed::builder {

ConfigHash HashConfig(std::string_view source, uint32_t parity, std::string_view preset);

// The image of spec, byte for byte the same for equal arguments. Takes the spec over, because it is freed before the tables
// of the fast road are made. source: the file, for messages. Cost: about 1 s for 250,000 pieces. Throws BuildError.
ImageBytes WriteImage(ModelSpec spec, const ConfigHash& config_hash, const std::string& source);

}  // namespace rankfeed::builder
