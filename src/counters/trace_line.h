// SPDX-License-Identifier: MIT
// counters/trace_line.h: how a request is written in a trace (docs/audit.md); the recorder and `rankfeed trace` both
// write through here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rankfeed::counters {

std::string TraceHeader();
// Bytes that are not UTF-8 become U+FFFD.
std::string TraceLine(double arrival_s, std::string_view query,
                      const std::vector<std::string_view>& candidates);

}  // namespace rankfeed::counters
