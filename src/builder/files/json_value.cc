// SPDX-License-Identifier: MIT
#include "builder/files/json_value.h"

#include <algorithm>
#include <new>

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

size_t LocateBadUtf8(std::string_view text) {
  size_t at = 0;
  for (uint32_t cp; NextCodePoint(text, &at, &cp);) {
  }
  return at;
}

// Returns whether the lazy parser takes the value; it has stopped at the first broken one where not.
bool Walk(simdjson::ondemand::value value, int depth) {
  simdjson::ondemand::json_type type;
  if (depth > 512 || value.type().get(type) != simdjson::SUCCESS) return false;
  switch (type) {
    case simdjson::ondemand::json_type::object: {
      simdjson::ondemand::object object;
      if (value.get_object().get(object) != simdjson::SUCCESS) return false;
      for (auto field : object) {
        simdjson::ondemand::value member;
        if (field.value().get(member) != simdjson::SUCCESS || !Walk(member, depth + 1))
          return false;
      }
      return true;
    }
    case simdjson::ondemand::json_type::array: {
      simdjson::ondemand::array array;
      if (value.get_array().get(array) != simdjson::SUCCESS) return false;
      for (auto item : array) {
        simdjson::ondemand::value element;
        if (item.get(element) != simdjson::SUCCESS || !Walk(element, depth + 1)) return false;
      }
      return true;
    }
    case simdjson::ondemand::json_type::string: {
      simdjson::ondemand::raw_json_string text;
      return value.get_raw_json_string().get(text) == simdjson::SUCCESS;
    }
    case simdjson::ondemand::json_type::number: {
      double number;
      return value.get_double().get(number) == simdjson::SUCCESS;
    }
    case simdjson::ondemand::json_type::boolean: {
      bool boolean;
      return value.get_bool().get(boolean) == simdjson::SUCCESS;
    }
    default: {
      bool is_null;
      return value.is_null().get(is_null) == simdjson::SUCCESS && is_null;
    }
  }
}

size_t LocateError(const simdjson::padded_string& text) {
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  if (parser.iterate(text).get(document) != simdjson::SUCCESS) return 0;
  simdjson::ondemand::value root;
  if (document.get_value().get(root) == simdjson::SUCCESS) Walk(root, 0);
  const char* at = nullptr;
  if (document.current_location().get(at) != simdjson::SUCCESS) return text.size();
  return std::min(static_cast<size_t>(at - text.data()), text.size());
}

}  // namespace

void FailParse(const JsonSource& source, simdjson::error_code error) {
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  // The complete parser does not say where; the lazy one stops at the first broken value.
  const size_t offset = error == simdjson::UTF8_ERROR ? LocateBadUtf8(source.text) : LocateError(source.text);
  throw BuildError(RANKFEED_E_PARSE, source.name, ": byte ", offset, ": not valid JSON: ", simdjson::error_message(error)).At(offset);
}

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
