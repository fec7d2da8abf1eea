// SPDX-License-Identifier: MIT
// cli/row_template.h: --template NAME and --instruction of the commands that make rows or stores of documents.
#pragma once

#include <string>

#include "rankfeed/template.hpp"

namespace rankfeed::cli {

// A preset, or the template in a file whose name ends in .json. Throws Failure.
RowTemplate LoadRowTemplate(const rankfeed_model* model, const std::string& name);

// "qwen3-reranker, ..." for help and messages.
std::string RowTemplateNames();

// The texts that are tokenized for a document, for one after the other.
class DocumentTexts {
 public:
  explicit DocumentTexts(const RowTemplate& row) : row_(row), literal_bytes_(row.info().literal_bytes) {}
  // Valid until the next call.
  const std::string& Of(const std::string& document);

 private:
  const RowTemplate& row_;
  size_t literal_bytes_;
  std::string text_;
};

}  // namespace rankfeed::cli
