// SPDX-License-Identifier: MIT
// builder/word_tables.h: the tables of the word engine (words/word_engine.h), made from an opened
// image. Empty when the pipeline's words cannot be encoded one by one.
#pragma once

#include <vector>

#include "builder/unicode_tables.h"
#include "image/model.h"

namespace rankfeed::builder {

std::vector<SectionData> BuildWordTables(const Model& model);

}  // namespace rankfeed::builder
