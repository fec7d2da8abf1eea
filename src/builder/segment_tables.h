// SPDX-License-Identifier: MIT
// builder/segment_tables.h: the tables of the segment engine (segment/engine.h), made from an opened
// image. Empty when the pipeline's words cannot be encoded one by one.
#pragma once

#include <vector>

#include "builder/unicode_tables.h"
#include "image/model.h"

namespace rankfeed::builder {

std::vector<SectionData> BuildSegmentTables(const Model& model);

}  // namespace rankfeed::builder
