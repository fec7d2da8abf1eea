// SPDX-License-Identifier: MIT
// crossencoder/model/reader.h: reads settings of a JSON object and refuses, by its name, what is
// not as it should be.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_READER_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_READER_H_

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "rankfeed/status.h"

namespace rankfeed::handoff {

// Returns the root of a text that is JSON. name is for messages. Throws ModelError (PARSE),
// std::bad_alloc.
simdjson::dom::element Parsed(simdjson::dom::parser* parser, std::string_view json,
                              const std::string& name);

class Reader {
 public:
  // name begins every message. Throws ModelError (PARSE) for a key that stands twice, which
  // Python's json would read differently: it keeps the last.
  Reader(simdjson::dom::object object, const std::string& name);

  [[noreturn]] void Refuse(rankfeed_status status, std::string_view key,
                           const std::string& why) const;
  // Finds what is there and is not null.
  bool Has(std::string_view key, simdjson::dom::element* out) const;
  bool Has(std::string_view key) const;
  // Reads a whole number from low to high; without a fallback of 0 or more it must be there.
  uint32_t Size(std::string_view key, uint64_t low, uint64_t high, int64_t fallback = -1) const;
  // Reads a number above 0, at most high.
  double Positive(std::string_view key, double high, double fallback) const;
  std::string Text(std::string_view key, const std::string& fallback) const;
  bool Flag(std::string_view key, bool fallback) const;
  // Reads the name of an activation of transformers as RANKFEED_GPU_*.
  uint32_t Activation(std::string_view key, const std::string& fallback) const;
  // Refuses a key that is there with another value than the one, which is written as in JSON.
  void RefuseUnless(std::string_view key, std::string_view value) const;
  // Reads an object in this one, whose keys are told with the key before them.
  Reader Object(std::string_view key) const;

 private:
  simdjson::dom::object object_;
  std::string name_, path_;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_READER_H_
