// SPDX-License-Identifier: MIT
// Stands in until builder/unicode_tables.cc exists.
#include "builder/unicode_tables.h"

namespace rankfeed::builder {
std::vector<SectionData> BuildUnicodeTables(const ModelSpec&) {
  throw BuildError(RANKFEED_E_UNSUPPORTED, 0, "built without Unicode tables: no HuggingFace images");
}
}  // namespace rankfeed::builder
