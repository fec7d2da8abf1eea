// SPDX-License-Identifier: MIT
#include "builder/files/json_value.h"

#include <algorithm>

#include "builder/base/code_points.h"
#include "builder/base/limits.h"

namespace rankfeed::builder {
namespace {

// Returns the begin of the value at pointer, by a second, lazy parse; npos when that fails.
// simdjson 3.0.1 takes the square of a member's name to undo its escapes, so a place under a name
// longer than any that is read is left out.
size_t OffsetOf(const JsonSource& source, const std::string& pointer) {
  if (pointer.size() > kMaxStringBytes) return std::string::npos;
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  if (parser.iterate(source.text).get(document) != simdjson::SUCCESS) return std::string::npos;
  simdjson::ondemand::value value;
  if (pointer.empty()) return 0;
  if (document.at_pointer(pointer).get(value) != simdjson::SUCCESS) return std::string::npos;
  const std::string_view token = value.raw_json_token();
  return static_cast<size_t>(token.data() - source.text.data());
}

}  // namespace

std::string Json::path() const {
  if (pointer_.empty()) return "the document";
  std::string out;
  for (size_t at = 1; at <= pointer_.size();) {
    const size_t end = std::min(pointer_.find('/', at), pointer_.size());
    std::string part = pointer_.substr(at, end - at);
    const bool index = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (index) {
      out += "[" + part + "]";
    } else {
      out += out.empty() ? "" : ".";
      for (size_t i = 0; i < part.size(); ++i) {
        const bool escape = part[i] == '~' && i + 1 < part.size();
        out += !escape ? part[i] : part[++i] == '1' ? '/' : '~';
      }
    }
    at = end + 1;
  }
  return out;
}

void Json::Fail(rankfeed_status status, const std::string& why) const {
  const size_t offset = OffsetOf(*source_, pointer_);
  const bool known = offset != std::string::npos;
  throw BuildError(status,
                   source_->name, ": ", (known ? "byte " + std::to_string(offset) + ": " : ""),
                       path(), " ", why).At(known ? offset : 0);
}

simdjson::dom::object Json::Object() const {
  simdjson::dom::object object;
  if (element_.get(object) != simdjson::SUCCESS) Fail(RANKFEED_E_PARSE, "must be an object");
  return object;
}

std::string Json::Child(std::string_view key) const {
  std::string escaped;
  for (const char c : key) {
    if (c == '~')
      escaped += "~0";
    else if (c == '/')
      escaped += "~1";
    else
      escaped += c;
  }
  return pointer_ + "/" + escaped;
}

std::optional<Json> Json::Member(const char* key) const {
  std::optional<Json> found;
  for (const auto& member : Object()) {
    if (member.key != key) continue;
    if (found) found->Fail(RANKFEED_E_PARSE, "is given twice");
    found = Json(*source_, member.value, Child(key));
  }
  return found;
}

std::optional<Json> Json::Find(const char* key) const {
  std::optional<Json> found = Member(key);
  if (found && found->is_null()) return std::nullopt;
  return found;
}

Json Json::At(const char* key) const {
  if (std::optional<Json> found = Member(key)) return *found;
  Fail(RANKFEED_E_PARSE, "has no \"" + std::string(key) + "\"");
}

simdjson::dom::array Json::Array() const {
  simdjson::dom::array array;
  if (element_.get(array) != simdjson::SUCCESS) Fail(RANKFEED_E_PARSE, "must be an array");
  return array;
}

simdjson::dom::array::iterator Json::ArrayBegin() const {
  return Array().begin();
}

size_t Json::ArraySize() const {
  return Array().size();
}

double Json::Number() const {
  double number;
  if (element_.get(number) != simdjson::SUCCESS) Fail(RANKFEED_E_PARSE, "must be a number");
  return number;
}

std::string Json::Minified() const {
  return simdjson::minify(element_);
}

std::string Json::String() const {
  std::string_view text;
  if (element_.get(text) != simdjson::SUCCESS) Fail(RANKFEED_E_PARSE, "must be a string");
  return std::string(text);
}

std::string Json::ShortString(const char* of) const {
  std::string_view text;
  if (element_.get(text) == simdjson::SUCCESS && text.size() > kMaxStringBytes) {
    Fail(RANKFEED_E_LIMIT, OverLimit(std::to_string(text.size()) + " bytes", of, kMaxStringBytes));
  }
  return String();
}

bool Json::Bool() const {
  bool value;
  if (element_.get(value) != simdjson::SUCCESS) Fail(RANKFEED_E_PARSE, "must be true or false");
  return value;
}

uint64_t Json::U64() const {
  uint64_t value;
  if (element_.get(value) != simdjson::SUCCESS) {
    Fail(RANKFEED_E_PARSE, "must be a whole number from 0");
  }
  return value;
}

uint32_t Json::U32() const {
  const uint64_t value = U64();
  if (value > 0x7fffffff) Fail(RANKFEED_E_LIMIT, "is larger than 2147483647");
  return static_cast<uint32_t>(value);
}

std::string Json::Char() const {
  const std::string text = String();
  size_t at = 0;
  uint32_t cp;
  if (!NextCodePoint(text, &at, &cp) || at != text.size()) {
    Fail(RANKFEED_E_PARSE, "must be one character");
  }
  return text;
}

bool Json::BoolOr(const char* key, bool otherwise) const {
  const std::optional<Json> value = Find(key);
  return value ? value->Bool() : otherwise;
}

}  // namespace rankfeed::builder
