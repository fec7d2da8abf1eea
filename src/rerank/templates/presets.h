// SPDX-License-Identifier: MIT
// rerank/templates/presets.h: row templates of published rerankers, each as its model card or library makes rows.
#pragma once

#include <cstdint>
#include <span>

#include "rankfeed/template.h"

namespace rankfeed::templates {

// In the order of rankfeed_template_preset_name.
std::span<const rankfeed_row_template> Presets();

}  // namespace rankfeed::templates
