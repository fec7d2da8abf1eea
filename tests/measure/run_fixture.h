// SPDX-License-Identifier: MIT
// tests/measure/run_fixture.h: a workload on the default vocabulary, and running it, for tests of receipts and
// of the audit.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "rankfeed/builder.h"
#include "measure/receipt.h"
#include "support/compiled.h"

namespace rankfeed::test {

using namespace measure;

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string SourceFile(const std::string& name) {
  return std::string(std::getenv("RANKFEED_SOURCE_DIR")) + "/" + name;
}

// The image of data/default.model (5 MB), compiled once.
inline const rankfeed_image& DefaultImage() {
  static const Compiled compiled(ReadFile(SourceFile("data/default.model")));
  return compiled.image;
}

// Passages of about 700 bytes of ordinary words, all different.
inline std::vector<std::string> Passages(size_t count) {
  static const char* const kWords[] = {"the", "panda", "is", "a", "bear", "which", "lives", "in", "mountains", "and",
                                       "eats", "bamboo", "every", "day", "because", "its", "digestion", "works", "slowly",
                                       "forest", "water", "number", "system", "language", "between", "number", "history"};
  std::vector<std::string> out;
  uint64_t state = 12345;
  for (size_t i = 0; i < count; ++i) {
    std::string text = "Passage " + std::to_string(i);
    while (text.size() < 700) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += ' ';
      text += kWords[(state >> 33) % std::size(kWords)];
      if ((state >> 40) % 9 == 0) text += std::to_string((state >> 45) % 1000) + ",";
    }
    out.push_back(std::move(text));
  }
  return out;
}

inline Workload SmallWorkload(uint32_t requests, uint32_t candidates, double rate = 0) {
  SyntheticOptions options;
  options.requests = requests;
  options.candidates = candidates;
  options.requests_per_second = rate;
  return MakeSynthetic({"What does a panda eat?", "Where do bears live?"}, Passages(100), options);
}

struct Subject {
  explicit Subject(Pages pages = Pages::kAuto)
      : image(DefaultImage().data, DefaultImage().size, pages) {}
  PlacedImage image;
  EngineFactory engines = [this]() -> std::unique_ptr<Engine> {
    return std::make_unique<RankfeedEngine>(image.model(), 1 << 16, 1 << 20);
  };
};

inline RunOptions Quick() {
  RunOptions options;
  options.encode_seconds = 0.05;
  options.pointer_chase = false;
  options.unicode_texts = 200;
  return options;
}

}  // namespace rankfeed::test
