// SPDX-License-Identifier: MIT
// folder/classes.h: which class of transformers reads a tokenizer where no file names one.
#pragma once

#include <string_view>

namespace rankfeed::folder {

// Returns the class that AutoTokenizer of transformers 5.23 takes for a model_type of config.json, of those classes that are
// known here; empty for other types. mobilebert has a class of its own there, which is BertTokenizer by another name.
std::string_view ClassOfModelType(std::string_view model_type);

}  // namespace rankfeed::folder
