// SPDX-License-Identifier: MIT
// tests/measure/json_schema.h: the part of JSON Schema that docs/receipt.schema.json uses: type, enum,
// properties, required, additionalProperties: false, items, minLength, anyOf, $ref into $defs. A keyword it
// does not know is an error, so that the schema cannot outgrow it unseen.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

namespace rankfeed::test {

class JsonSchema {
 public:
  using Json = nlohmann::ordered_json;
  explicit JsonSchema(Json root) : root_(std::move(root)) {}

  // "" when valid, otherwise the first problem with its path.
  std::string Check(const Json& value) const { return Check(value, root_, "$"); }

 private:
  static bool HasType(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    throw std::runtime_error("unknown type " + type);
  }

  std::string Check(const Json& value, const Json& schema, const std::string& path) const {
    static const std::set<std::string> kKnown = {"$schema", "title", "$defs", "type", "enum", "required", "items",
                                                 "properties", "additionalProperties", "anyOf", "$ref", "minLength"};
    for (const auto& [key, rule] : schema.items()) {
      if (!kKnown.contains(key)) throw std::runtime_error("unknown keyword " + key);
    }
    if (schema.contains("$ref")) {
      return Check(value, root_.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), path);
    }
    if (schema.contains("anyOf")) {
      std::string problems;
      for (const Json& option : schema["anyOf"]) {
        const std::string problem = Check(value, option, path);
        if (problem.empty()) return "";
        problems += " | " + problem;
      }
      return path + ": no alternative fits:" + problems;
    }
    if (schema.contains("type")) {
      const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
      bool any = false;
      for (const Json& type : types) any = any || HasType(value, type.get<std::string>());
      if (!any) return path + ": is " + value.dump().substr(0, 60) + ", not " + schema["type"].dump();
    }
    if (schema.contains("enum")) {
      bool any = false;
      for (const Json& option : schema["enum"]) any = any || option == value;
      if (!any) return path + ": " + value.dump() + " is not one of " + schema["enum"].dump();
    }
    if (schema.contains("minLength") && value.get<std::string>().size() < schema["minLength"].get<size_t>()) {
      return path + ": too short";
    }
    for (const Json& name : schema.value("required", Json::array())) {
      if (!value.contains(name.get<std::string>())) return path + ": lacks " + name.dump();
    }
    if (value.is_object()) {
      const Json properties = schema.value("properties", Json::object());
      for (const auto& [key, member] : value.items()) {
        if (properties.contains(key)) {
          const std::string problem = Check(member, properties[key], path + "." + key);
          if (!problem.empty()) return problem;
        } else if (schema.value("additionalProperties", true) == false) {
          return path + ": has unknown " + key;
        }
      }
    }
    if (value.is_array() && schema.contains("items")) {
      for (size_t i = 0; i < value.size(); ++i) {
        const std::string problem = Check(value[i], schema["items"], path + "[" + std::to_string(i) + "]");
        if (!problem.empty()) return problem;
      }
    }
    return "";
  }

  Json root_;
};

}  // namespace rankfeed::test
