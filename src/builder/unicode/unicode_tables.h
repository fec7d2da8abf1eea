// SPDX-License-Identifier: MIT
// builder/unicode/unicode_tables.h: the Unicode data an image carries, so that the runtime needs no ICU and
// an image means the same on every machine.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "builder/base/model_spec.h"
#include "builder/image/sections.h"

namespace rankfeed::builder {

// The sections (props, ccc, lower, decompositions, map pool, compositions) that the steps and added
// tokens of spec use, and no others. Values are those of the reference wheel: ICU's, corrected by
// builder/unicode/unicode_delta.h. Throws BuildError when ICU is not the version the corrections are for.
std::vector<SectionData> BuildUnicodeTables(const ModelSpec& spec);

// Tells whether a code point lies where Unicode has assigned nothing so far, between the last characters
// of plane 3 (17.0) and plane 14 and after those of plane 14: it has no property and no mapping there.
constexpr bool IsUnassigned(uint32_t cp) {
  return (cp >= 0x33500 && cp < 0xe0000) || (cp >= 0xe1000 && cp < 0xf0000);
}

// Held while what is the same for all files is worked out, once in a process. Fork waits for it: a
// child would wait for ever for a thread that it does not have. Throws nothing.
class TablesLock {
 public:
  TablesLock();

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace rankfeed::builder
