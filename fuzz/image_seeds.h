// SPDX-License-Identifier: MIT
// fuzz/image_seeds.h: good images of every kind of model for image_open.cc to change, which have together every
// section and every element of a pipeline.
#pragma once

#include <vector>

#include "image/format.h"
#include "target.h"

namespace rankfeed::fuzz {

// Images of a kind of model, compiled when they are first asked for. Before each section lie kGap bytes that are
// none's, so that a look past the end of a section is a look at nothing.
inline constexpr size_t kGap = 64;
const std::vector<Bytes>& ImageSeeds(image::ModelKind kind);

}  // namespace rankfeed::fuzz
