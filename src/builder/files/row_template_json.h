// SPDX-License-Identifier: MIT
// builder/files/row_template_json.h: row templates of LLM rerankers from JSON (docs/batches.md has the format).
#pragma once

#include <string_view>

#include "rankfeed/builder.h"
#include "rankfeed/template.h"

// A template and the texts that it refers to. It stays where it was made.
struct rankfeed_loaded_template {
  virtual ~rankfeed_loaded_template() = default;
  rankfeed_row_template row = {};
};

namespace rankfeed::builder {

// The template in a JSON document; name: for messages. Throws BuildError.
rankfeed_loaded_template* ReadRowTemplate(std::string_view json, const char* name);

}  // namespace rankfeed::builder
