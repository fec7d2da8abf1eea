// SPDX-License-Identifier: MIT
// tests/builder/builder_test_util.h: small model files, compiled, with their error at hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "image/format.h"
#include "image/model.h"
#include "rankfeed/builder.h"
#include "support/compiled.h"

namespace rankfeed::builder_test {

struct Compiled : test::Compiled {
  explicit Compiled(std::string_view source, const char* preset = nullptr, int32_t parity = RANKFEED_PARITY_AUTO)
      : test::Compiled(source, parity, preset) {}

  const Model& view() const { return *model; }
  std::string piece(uint32_t id) const { return std::string(model->piece(id)); }
  rankfeed_model_info info() const {
    rankfeed_model_info out{};
    out.struct_size = sizeof out;
    EXPECT_EQ(rankfeed_model_get_info(model, &out), RANKFEED_OK);
    return out;
  }
};

// status, and a message that contains text.
inline ::testing::AssertionResult FailsWith(const Compiled& compiled, rankfeed_status status,
                                            std::string_view text) {
  if (compiled.status != status) {
    return ::testing::AssertionFailure()
           << rankfeed_status_name(compiled.status) << ": " << compiled.message();
  }
  if (compiled.message().find(text) == std::string::npos) {
    return ::testing::AssertionFailure() << "message is: " << compiled.message();
  }
  return ::testing::AssertionSuccess();
}

// A template as text: "5 A 6 B:1 6:1".
inline std::string Show(const Model&, std::span<const image::TemplateItem> items) {
  std::string s;
  for (const image::TemplateItem& item : items) {
    if (!s.empty()) s += ' ';
    const auto kind = static_cast<image::TemplateKind>(item.kind);
    s += kind == image::TemplateKind::kSequenceA   ? "A"
         : kind == image::TemplateKind::kSequenceB ? "B"
                                                   : std::to_string(item.id);
    if (item.type_id != 0) s += ":" + std::to_string(item.type_id);
  }
  return s;
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A file of the shared data folder, or empty when the folder is not there.
inline std::string SharedData(const std::string& name) {
  const char* folder = std::getenv("RANKFEED_SHARED_DATA");
  return folder == nullptr ? std::string() : ReadFile(std::string(folder) + "/" + name);
}

}  // namespace rankfeed::builder_test

// Binds name to a file of the shared data, or skips the test with a message.
#define RANKFEED_SHARED_FILE(variable, name)                             \
  const std::string variable = rankfeed::builder_test::SharedData(name); \
  if (variable.empty()) GTEST_SKIP() << "no " name " in RANKFEED_SHARED_DATA: not run"
