// SPDX-License-Identifier: MIT
// What a hostile model file costs, the parser of its format included: it is refused, or compiled,
// within the bounds of support/load_budget.h, which SECURITY.md promises. Each file is loaded in a
// process of its own, whose processor time and peak of resident memory count. The fuzz targets
// assert the same of every file they try.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "rankfeed/builder.h"
#include "reference/sp_texts.h"
#include "support/hostile_files.h"
#include "support/load_budget.h"
#include "support/process_cost.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

constexpr size_t kSizes[] = {64 << 10, 1 << 20, kSanitized ? 1 << 20 : 4 << 20};

// Bytes of the image, 0 when the file is refused.
uint64_t Load(const std::string& file) {
  rankfeed_image image{};
  rankfeed_builder_error error{};
  error.struct_size = sizeof error;
  const rankfeed_status status =
      rankfeed_compile(file.data(), file.size(), "file", nullptr, &image, &error);
  std::printf("  %.100s\n", status == RANKFEED_OK ? "compiled" : error.message);
  std::fflush(stdout);
  const uint64_t size = image.size;
  rankfeed_image_free(&image);
  return size;
}

void Check(const char* format, const char* name, const std::string& file) {
  const auto measure = [&] { return test::Measure([&] { return Load(file); }); };
  test::ProcessCost cost = measure();
  // A busy machine only ever adds to a process's time: over the bound, the least of three counts.
  for (int i = 0; i < 2 && cost.seconds > test::SecondsFor(file.size()); ++i) {
    cost.seconds = std::min(cost.seconds, measure().seconds);
  }
  if (!cost.measured) GTEST_SKIP() << "a child process, or its memory in /proc, cannot be had here";
  const double seconds = cost.seconds / test::SecondsFor(file.size());
  const double bytes = static_cast<double>(cost.bytes) /
                       static_cast<double>(test::BytesFor(file.size(), cost.result));
  std::printf(
      "%-6s %-47s %8zu bytes %6.3f s %6.1f MiB, image %5.1f MiB: %3.0f%% and %3.0f%% of the "
      "bound\n",
      format, name, file.size(), cost.seconds, static_cast<double>(cost.bytes) / (1 << 20),
      static_cast<double>(cost.result) / (1 << 20), 100 * seconds, 100 * bytes);
  EXPECT_LE(seconds, 1) << format << ": " << name;
  EXPECT_LE(bytes, 1) << format << ": " << name;
}

void CheckFiles(const char* format, const std::vector<test::HostileFile>& files) {
  for (const test::HostileFile& hostile : files) {
    for (const size_t size : kSizes) Check(format, hostile.name, hostile.make(size));
  }
}

TEST(LoaderCost, TokenizerJson) {
  CheckFiles("json", test::HostileJson());
}

TEST(LoaderCost, SentencePieceModel) {
  CheckFiles(".model", test::HostileModels());
}

TEST(LoaderCost, PublishedFiles) {
  for (const char* name : {"xlmr.tokenizer.json", "xlmr.model"}) {
    const std::string path = sp_test::SharedData(name);
    if (path.empty()) GTEST_SKIP() << name << " is absent";
    Check("", name, sp_test::ReadFile(path));
  }
}

}  // namespace
}  // namespace rankfeed
