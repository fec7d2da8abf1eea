// SPDX-License-Identifier: MIT
// cli/row_template.h: --template NAME and --instruction of the commands that make rows or stores of documents.
#pragma once

#include <string>

#include "rankfeed/template.hpp"

namespace rankfeed::cli {

// A preset, or the template in a file whose name ends in .json. Throws Failure.
RowTemplate LoadRowTemplate(const rankfeed_model* model, const std::string& name);

// The text that is tokenized for a document.
std::string DocumentText(const RowTemplate& row, const std::string& document);

}  // namespace rankfeed::cli
