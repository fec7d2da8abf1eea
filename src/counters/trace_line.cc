// SPDX-License-Identifier: MIT
// counters/trace_line.cc: see trace_line.h.
#include "counters/trace_line.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace rankfeed::counters {

std::string TraceHeader() { return "{\"rankfeed_trace\":1}\n"; }

std::string TraceLine(double arrival_s, std::string_view query,
                      const std::vector<std::string_view>& candidates) {
  nlohmann::ordered_json line;
  line["t"] = std::round(arrival_s * 1e6) / 1e6;
  line["query"] = query;
  auto list = nlohmann::ordered_json::array();
  for (const std::string_view text : candidates) list.push_back(text);
  line["candidates"] = std::move(list);
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace rankfeed::counters
