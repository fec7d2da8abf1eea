// SPDX-License-Identifier: MIT
// crossencoder/model/reader.cc: see reader.h.
#include "crossencoder/model/reader.h"

#include <new>
#include <set>
#include <utility>

#include "crossencoder/model/model_error.h"
#include "crossencoder/ops.h"

namespace rankfeed::handoff {
namespace {

namespace dom = simdjson::dom;

// Names of transformers' ACT2FN (activations.py) by what they compute in float32: gelu_fast and its
// neighbours write the constants and powers of one formula in different ways.
constexpr std::pair<std::string_view, uint32_t> kActivations[] = {
    {"gelu", RANKFEED_GPU_GELU},
    {"gelu_python", RANKFEED_GPU_GELU},
    {"gelu_new", RANKFEED_GPU_GELU_TANH},
    {"gelu_fast", RANKFEED_GPU_GELU_TANH},
    {"gelu_pytorch_tanh", RANKFEED_GPU_GELU_TANH},
    {"gelu_python_tanh", RANKFEED_GPU_GELU_TANH},
    {"gelu_accurate", RANKFEED_GPU_GELU_TANH},
    {"relu", RANKFEED_GPU_RELU},
    {"silu", RANKFEED_GPU_SILU},
    {"swish", RANKFEED_GPU_SILU},
    {"tanh", RANKFEED_GPU_TANH}};

}  // namespace

dom::element Parsed(dom::parser* parser, std::string_view json, const std::string& name) {
  dom::element root;
  const auto error = parser->parse(json.data(), json.size()).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error)
    throw ModelError(RANKFEED_E_PARSE, name + ": not JSON: " + simdjson::error_message(error));
  return root;
}

Reader::Reader(dom::object object, const std::string& name) : object_(object), name_(name) {
  std::set<std::string_view> keys;
  for (const dom::key_value_pair field : object) {
    if (!keys.insert(field.key).second)
      throw ModelError(RANKFEED_E_PARSE,
                       name + ": \"" + std::string(field.key) + "\" stands twice");
  }
}

void Reader::Refuse(rankfeed_status status, std::string_view key, const std::string& why) const {
  throw ModelError(status, name_ + ": \"" + path_ + std::string(key) + "\" " + why);
}

bool Reader::Has(std::string_view key, dom::element* out) const {
  return object_[key].get(*out) == simdjson::SUCCESS && !out->is_null();
}

bool Reader::Has(std::string_view key) const {
  dom::element element;
  return Has(key, &element);
}

uint32_t Reader::Size(std::string_view key, uint64_t low, uint64_t high, int64_t fallback) const {
  dom::element element;
  if (!Has(key, &element)) {
    if (fallback >= 0) return static_cast<uint32_t>(fallback);
    Refuse(RANKFEED_E_PARSE, key, "is missing");
  }
  uint64_t value = 0;
  if (element.get(value) != simdjson::SUCCESS)
    Refuse(RANKFEED_E_PARSE, key, "is not a whole number of 0 or more");
  if (value < low || value > high) {
    Refuse(RANKFEED_E_UNSUPPORTED, key,
           "is " + std::to_string(value) + ", supported are " + std::to_string(low) + " to " +
               std::to_string(high));
  }
  return static_cast<uint32_t>(value);
}

double Reader::Positive(std::string_view key, double high, double fallback) const {
  dom::element element;
  if (!Has(key, &element)) return fallback;
  double value = 0;
  if (element.get(value) != simdjson::SUCCESS || !(value > 0) || !(value <= high)) {
    std::string most = std::to_string(high);
    most.resize(most.find('.'));
    Refuse(RANKFEED_E_UNSUPPORTED, key, "is not a number above 0, at most " + most);
  }
  return value;
}

std::string Reader::Text(std::string_view key, const std::string& fallback) const {
  dom::element element;
  if (!Has(key, &element)) return fallback;
  std::string_view value;
  if (element.get(value) != simdjson::SUCCESS) Refuse(RANKFEED_E_PARSE, key, "is not a string");
  return std::string(value);
}

bool Reader::Flag(std::string_view key, bool fallback) const {
  dom::element element;
  bool value = fallback;
  if (Has(key, &element) && element.get(value) != simdjson::SUCCESS)
    Refuse(RANKFEED_E_PARSE, key, "is not true or false");
  return value;
}

uint32_t Reader::Activation(std::string_view key, const std::string& fallback) const {
  const std::string name = Text(key, fallback);
  std::string known;
  for (const auto& [told, activation] : kActivations) {
    if (name == told) return activation;
    known.append(known.empty() ? "" : ", ").append(told);
  }
  Refuse(RANKFEED_E_UNSUPPORTED, key, "is \"" + name + "\"; supported are " + known);
}

void Reader::RefuseUnless(std::string_view key, std::string_view value) const {
  dom::element element;
  if (!Has(key, &element)) return;
  const std::string told = simdjson::to_string(element);
  if (told != value)
    Refuse(RANKFEED_E_UNSUPPORTED, key,
           "is " + told.substr(0, 80) + "; supported is " + std::string(value));
}

Reader Reader::Object(std::string_view key) const {
  dom::element element;
  dom::object object;
  if (!Has(key, &element) || element.get(object) != simdjson::SUCCESS)
    Refuse(RANKFEED_E_PARSE, key, "is not an object");
  Reader inner(object, name_);
  inner.path_ = path_ + std::string(key) + ".";
  return inner;
}

}  // namespace rankfeed::handoff
