// SPDX-License-Identifier: MIT
// Pipelines that take the fast path, and texts made of what its segments are made of.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "encode/encoder.h"
#include "fast/kernels/kernels.h"
#include "rankfeed/builder.h"
#include "rankfeed/rankfeed.hpp"
#include "reference/sp_model_proto.h"
#include "reference/sp_texts.h"
#include "support/base64.h"
#include "support/compiled.h"

namespace rankfeed::fast_test {

using nlohmann::json;

std::string DefaultModel();
// Pieces and charsmap of the default vocabulary as a tokenizer.json without pipeline.
json DefaultTokenizer();

// Elements of pipelines.
extern const json kMetaspace, kStripRight;
json ReplaceRun(const char* content);
json Sequence(const char* key, std::vector<json> elements);
json Replace(const char* pattern, const char* content);
json Type(const char* type);
json Metaspace(const char* prepend_scheme);

// Puts a token behind the added ones of a file, which is looked for in normalized text; with those
// of its flags that are named.
void AddNormalizedToken(json& file, const char* content, std::vector<const char*> flags = {});

// A file of a form that builder/fast/eligibility.cc accepts, and the mode to compile it for. It is megabytes, so
// one of the two makes it for who asks.
struct FormFile {
  std::string name;
  std::function<json()> tokenizer;     // a tokenizer.json
  std::function<std::string()> model;  // a .model
  int32_t parity = RANKFEED_PARITY_AUTO;

  std::string File() const { return tokenizer ? tokenizer().dump() : model(); }
};

const std::vector<FormFile>& Forms();
// One of them by name.
const FormFile& Form(std::string_view name);

class Image {
 public:
  explicit Image(const json& file) : Image(file.dump()) {}
  explicit Image(const FormFile& form) : Image(form.File(), form.parity) {}
  explicit Image(const std::string& source, int32_t parity = RANKFEED_PARITY_AUTO) : compiled_(source, parity) {}
  const rankfeed_model* model() const { return compiled_.get(); }

 private:
  const test::Compiled compiled_;
};

// Of one of Forms(), compiled once for all tests of a program: that takes longer than most of them.
const Image& ImageOf(const FormFile& form);

// A test that goes through Forms() is a TEST_P of a class of this kind, with RANKFEED_EACH_FORM(CLASS) after the class: a
// case for each form, which is named Forms/CLASS.NAME/NUMBER. CMakeLists.txt shares the forms out by the number's last
// digit, so that each is compiled in one process.
class EachForm : public testing::TestWithParam<size_t> {
 protected:
  const FormFile& form() const { return Forms()[GetParam()]; }
  const rankfeed_model* model() const { return ImageOf(form()).model(); }
  bool IsOneOf(std::initializer_list<std::string_view> names) const {
    return std::find(names.begin(), names.end(), form().name) != names.end();
  }

 private:
  const testing::ScopedTrace trace_{__FILE__, __LINE__, form().name};
};
#define RANKFEED_EACH_FORM(suite) \
  INSTANTIATE_TEST_SUITE_P(Forms, suite, testing::Range<size_t>(0, fast_test::Forms().size()))

std::vector<int32_t> Encode(Encoder& encoder, std::string_view text, uint32_t flags);
// plain: all texts take the general path, and offsets may be asked for.
Encoder Make(const rankfeed_model* model, bool plain, uint32_t cache_bytes);
// This asserts that a text has the ids and places that are expected.
void ExpectSame(const Encoding& encoding, const Encoding& expected, const std::string& text);

// Calls use() with the loops of every instruction set that this CPU can run in turn, forced for
// encoders that are made meanwhile. Says once which sets were not run.
template <class Use>
void OnEveryIsa(Use use) {
  std::string not_run;
  for (uint8_t i = 0; i < fast::kIsaCount; ++i) {
    const auto isa = fast::Isa{i};
    if (!fast::ForceIsa(isa)) {
      not_run += std::string(" ") + fast::IsaName(isa);
      continue;
    }
    SCOPED_TRACE(fast::IsaName(isa));
    use();
  }
  fast::ForgetForcedIsa();
  [[maybe_unused]] static const bool said =
      std::printf("NOT RUN, as this CPU or build lacks them:%s\n", not_run.c_str()) > 0;
}

// The loops of the set that is forced.
inline const fast::KernelTable& ForcedKernels() {
  return *fast::KernelsOf(fast::ChosenIsa());
}

// Calls check(encoder) with an encoder of every instruction set this CPU has.
template <class Check>
void OnEveryIsa(const rankfeed_model* model, Check check) {
  OnEveryIsa([&] {
    Encoder encoder = Make(model, false, 4096);
    check(encoder);
  });
}

// What words are made of: pieces, separators in and out of ASCII, marks, characters that vanish.
std::string Text(std::mt19937_64& random);

}  // namespace rankfeed::fast_test
