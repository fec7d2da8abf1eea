// SPDX-License-Identifier: MIT
// image/reader.h: from image bytes to a Model. Two steps: Bind trusts nothing but costs
// O(sections); Verify looks at every element once. A Model is safe to use after both, or after Bind
// alone when the image is known to have passed Verify before.
#pragma once

#include <cstdint>
#include <span>

#include "image/model.h"
#include "rankfeed/status.h"

namespace rankfeed::image {

// Checks header, sizes, alignment and section table, then points *model into the image.
rankfeed_status Bind(const void* image, size_t image_size, Model* model,
                     rankfeed_error_detail* detail);

// The same for sections that do not lie in an image yet (the builder's): no header is looked at,
// and elements may lie as their types need. model->image stays null.
struct SectionBytes {
  SectionId id;
  const unsigned char* data;
  uint64_t size;
};
rankfeed_status BindSections(std::span<const SectionBytes> sections, Model* model);

// Checks the checksum and every index that the runtime follows unchecked.
rankfeed_status Verify(const Model& model, rankfeed_error_detail* detail);

}  // namespace rankfeed::image
