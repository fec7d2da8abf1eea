// SPDX-License-Identifier: MIT
// folder/rebuilt.h: the classes of transformers 5 that do not run the tokenizer.json they load, and whether
// that gives texts other ids.
#pragma once

#include <string>

namespace rankfeed::folder {

// A sentence for the user of a tokenizer.json where AutoTokenizer of transformers 5 gives some texts other ids
// than the file, as the tokenizer_config.json and config.json beside it show; else empty. A file that
// cannot be read, which its reader refuses, has none. O(bytes) where a class rebuilds.
std::string RebuiltNote(const std::string& file);

// The class that rebuilds the tokenizer.json, as the files beside it show; empty where none does. O(bytes of those).
std::string RebuildingClass(const std::string& file);

}  // namespace rankfeed::folder
