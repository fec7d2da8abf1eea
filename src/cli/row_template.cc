// SPDX-License-Identifier: MIT
// cli/row_template.cc: see row_template.h.
#include "cli/row_template.h"

#include <fstream>
#include <iterator>

#include "cli/cli.h"
#include "platform/files/file_calls.h"
#include "rankfeed/builder.hpp"
#include "receipt/engine.h"

namespace rankfeed::cli {

RowTemplate LoadRowTemplate(const rankfeed_model* model, const std::string& name) {
  if (!name.ends_with(".json")) return receipt::Take(RowTemplate::Preset(model, name));
  files::CheckReadable(name, files::ReadAs::kWhole);
  std::ifstream in(name, std::ios::binary);
  const std::string json(std::istreambuf_iterator<char>(in), {});
  if (!in) throw Failure(name + ": cannot be read");
  return receipt::Take(ReadRowTemplate(model, json, name));
}

std::string DocumentText(const RowTemplate& row, const std::string& document) {
  std::string text(document.size() + row.info().literal_bytes, '\0');
  size_t size = 0;
  receipt::CheckStatus(rankfeed_template_document(row.get(), {}, {}, {document.data(), document.size()}, text.data(),
                                                  text.size(), &size, nullptr),
                       "document");
  text.resize(size);
  return text;
}

}  // namespace rankfeed::cli
