// SPDX-License-Identifier: MIT
// cli/row_template.cc: see row_template.h.
#include "cli/row_template.h"

#include <fstream>
#include <iterator>
#include <memory>

#include "cli/cli.h"
#include "platform/files/file_calls.h"
#include "rankfeed/builder.hpp"
#include "receipt/engine.h"

namespace rankfeed::cli {

std::string RowTemplateNames() {
  std::string names;
  for (uint32_t i = 0; const char* name = rankfeed_template_preset_name(i); ++i) {
    names += (i != 0 ? ", " : "") + std::string(name);
  }
  return names;
}

RowTemplate LoadRowTemplate(const rankfeed_model* model, const std::string& name) {
  if (!name.ends_with(".json")) return receipt::Take(RowTemplate::Preset(model, name));
  files::CheckReadable(name, files::ReadAs::kWhole);
  std::ifstream in(name, std::ios::binary);
  const std::string json(std::istreambuf_iterator<char>(in), {});
  if (!in) throw Failure(name + ": cannot be read");
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  rankfeed_loaded_template* loaded = nullptr;
  if (rankfeed_template_read(json.data(), json.size(), name.c_str(), &loaded, &error) != RANKFEED_OK) {
    throw Failure(error.message);
  }
  const std::unique_ptr<rankfeed_loaded_template, void (*)(rankfeed_loaded_template*)> owner(
      loaded, rankfeed_loaded_template_free);
  return receipt::Take(RowTemplate::Compile(model, *rankfeed_loaded_template_get(loaded)));
}

const std::string& DocumentTexts::Of(const std::string& document) {
  text_.resize(document.size() + literal_bytes_);
  size_t size = 0;
  receipt::CheckStatus(rankfeed_template_document(row_.get(), {}, {}, {document.data(), document.size()}, text_.data(),
                                                  text_.size(), &size, nullptr),
                       "document");
  text_.resize(size);
  return text_;
}

}  // namespace rankfeed::cli
