// SPDX-License-Identifier: MIT
// fuzz/json_damage.cc: see json_damage.h.
#include "json_damage.h"

#include <string_view>
#include <vector>

namespace rankfeed::fuzz {
namespace {

// Where a JSON value begins: after ':', ',' or '['; not inside strings, roughly.
std::vector<size_t> ValueStarts(std::string_view json) {
  std::vector<size_t> starts;
  bool quoted = false;
  for (size_t i = 0; i + 1 < json.size(); ++i) {
    if (json[i] == '"' && (i == 0 || json[i - 1] != '\\')) quoted = !quoted;
    if (!quoted && (json[i] == ':' || json[i] == ',' || json[i] == '[')) starts.push_back(i + 1);
  }
  return starts;
}

size_t ValueEnd(std::string_view json, size_t at) {
  int depth = 0;
  bool quoted = false;
  for (; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"' && json[at - 1] != '\\') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') {
      if (depth-- == 0) break;
    }
    if (c == ',' && depth == 0) break;
  }
  return at;
}

}  // namespace

void ReplaceValue(Random& random, std::span<const std::string> values, std::string* json) {
  const std::vector<size_t> starts = ValueStarts(*json);
  if (starts.empty()) return;
  const size_t at = starts[random.Below(starts.size())];
  const size_t end = ValueEnd(*json, at);
  if (random.OneIn(4)) {  // another value of the same file
    const size_t other = starts[random.Below(starts.size())];
    const std::string value = json->substr(other, ValueEnd(*json, other) - other);
    json->replace(at, end - at, value);
  } else if (random.OneIn(24)) {  // deep nesting
    const size_t depth = 1 + random.Below(1200);
    json->replace(at, end - at, std::string(depth, '[') + std::string(depth, ']'));
  } else {
    json->replace(at, end - at, values[random.Below(values.size())]);
  }
}

}  // namespace rankfeed::fuzz
