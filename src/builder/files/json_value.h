// SPDX-License-Identifier: MIT
// builder/files/json_value.h: typed access to a parsed JSON document that can say where something is.
//
// A Json value knows its JSON pointer; errors print it as a path (normalizer.normalizers[2].type)
// and, with the text at hand, as a byte offset. Reading rules are serde's, as the reference reads
// with it: unknown members are ignored, types never convert. A repeated member is refused, since
// serde sometimes errors and sometimes takes the last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "builder/base/model_spec.h"

namespace rankfeed::builder {

// The text of one document, shared by all its values.
struct JsonSource {
  std::string name;  // for messages
  simdjson::padded_string text;
};

// Throws BuildError PARSE, which names the byte at which the text is broken. error: of the parser.
[[noreturn]] void FailParse(const JsonSource& source, simdjson::error_code error);

class Json {
 public:
  Json(const JsonSource& source, simdjson::dom::element element, std::string pointer)
      : source_(&source), element_(element), pointer_(std::move(pointer)) {}

  // Members. Find: absent and null are the same, nothing. At: absent is an error, null is a value.
  std::optional<Json> Find(const char* key) const;
  Json At(const char* key) const;
  // Calls f with each item of an array. Items are made one at a time: an array of millions costs
  // what f keeps.
  template <class F>
  void Each(const F& f) const {
    size_t i = 0;
    for (const auto item : Array()) f(Json(*source_, item, Child(std::to_string(i++))));
  }
  simdjson::dom::array::iterator ArrayBegin() const;  // the same without paths, for long ones
  size_t ArraySize() const;
  // The same with the name and value of each member of an object.
  template <class F>
  void EachMember(const F& f) const {
    for (const auto& member : Object())
      f(member.key, Json(*source_, member.value, Child(member.key)));
  }

  bool is_null() const { return element_.is_null(); }
  bool is_object() const { return element_.is_object(); }
  bool is_array() const { return element_.is_array(); }
  bool is_string() const { return element_.is_string(); }

  std::string String() const;
  // A string of at most kMaxStringBytes; of names it in the message ("a piece").
  std::string ShortString(const char* of) const;
  bool Bool() const;
  uint32_t U32() const;      // LIMIT-checked
  uint64_t U64() const;
  double Number() const;
  bool IsZero() const { return Number() == 0; }
  std::string Char() const;  // a string of exactly one code point

  bool BoolOr(const char* key, bool otherwise) const;  // absent or null: otherwise

  std::string Minified() const;  // the value as JSON without white space
  std::string path() const;
  // "<source>: byte N: <path> <why>"
  [[noreturn]] void Fail(rankfeed_status status, const std::string& why) const;

 private:
  simdjson::dom::object Object() const;
  simdjson::dom::array Array() const;
  std::optional<Json> Member(const char* key) const;  // null is a value
  std::string Child(std::string_view key) const;

  const JsonSource* source_;
  simdjson::dom::element element_;
  std::string pointer_;
};

}  // namespace rankfeed::builder
