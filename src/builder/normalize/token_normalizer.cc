// SPDX-License-Identifier: MIT
// builder/normalize/token_normalizer.cc: see token_normalizer.h.
#include "builder/normalize/token_normalizer.h"

#include <cstdio>

#include "base/narrow.h"
#include "builder/base/code_points.h"
#include "builder/base/limits.h"
#include "normalize/normalize.h"

namespace rankfeed::builder {
namespace {

// Runs the normalizer of a model over added tokens, one step at a time: what the steps read and
// write is counted.
class TokenNormalizer {
 public:
  explicit TokenNormalizer(const Model& model) {
    for (size_t i = 0; i < model.normalizer.size(); ++i) {
      steps_.push_back(model);
      steps_.back().normalizer = model.normalizer.subspan(i, 1);
    }
    for (int i = 0; i < 2; ++i) {
      bytes_[i].resize(kCapacity);
      buffers_.text[i].data = bytes_[i].data();
      buffers_.text[i].capacity = kCapacity;
    }
    for (int i = 0; i < 3; ++i) {
      work_[i].resize(kCapacity);
      buffers_.work[i] = work_[i].data();
    }
  }

  // id: of the token, for messages.
  std::string Normalize(uint32_t id, std::string_view text) {
    if (!normalize::Load(text, 0, Size32(text), &buffers_)) TooLong(id);
    for (const Model& step : steps_) {
      done_ += buffers_.in().size;
      if (normalize::RunNormalizer(step, &buffers_) != RANKFEED_OK) TooLong(id);
      done_ += buffers_.in().size;
      if (done_ > kMaxAddedTokenWork) {
        throw BuildError(RANKFEED_E_LIMIT,
                         Name(id), " makes it more than ", kMaxAddedTokenWork,
                         " bytes that the normalizer reads and writes for added tokens; that "
                         "is the limit");
      }
    }
    return std::string(buffers_.in().view());
  }

 private:
  static constexpr uint32_t kCapacity = kMaxStringBytes;

  static std::string Name(uint32_t id) { return "the added token of id " + std::to_string(id); }
  [[noreturn]] static void TooLong(uint32_t id) {
    throw BuildError(RANKFEED_E_LIMIT,
                     Name(id), " is longer than ", kCapacity,
                     " bytes when it is normalized; that is the limit of an added token");
  }

  std::vector<Model> steps_;  // the model with one step each
  std::vector<char> bytes_[2];
  std::vector<uint32_t> work_[3];
  normalize::Buffers buffers_;
  uint64_t done_ = 0;
};

// Refuses a token that the normalizer makes nothing of. tokenizers looks for the empty text then: it finds
// the token between all characters, and panics on some texts.
[[noreturn]] void RefuseNothing(const std::string& source, const AddedTokenSpec& token) {
  std::string characters;  // by their numbers, because most of them cannot be seen
  uint32_t cp;
  for (size_t at = 0; NextCodePoint(token.content, &at, &cp);) {
    char number[16];
    std::snprintf(number, sizeof number, "%sU+%04X", characters.empty() ? "" : " ", cp);
    characters += number;
  }
  throw BuildError(RANKFEED_E_UNSUPPORTED,
                   source, ": the added token of id ", token.id, " (", characters,
                   ") is looked for in normalized text, and normalizes to nothing; with "
                   "\"normalized\": false it is looked for as it is written");
}

}  // namespace

std::vector<std::string> NormalizeAddedTokens(const Model& model, const std::vector<AddedTokenSpec>& tokens,
                                              const std::string& source) {
  std::vector<std::string> normalized;
  TokenNormalizer normalizer(model);
  for (const AddedTokenSpec& token : tokens) {
    const bool wanted = (token.flags & image::kNormalized) != 0;
    normalized.push_back(wanted ? normalizer.Normalize(token.id, token.content) : std::string());
    if (wanted && normalized.back().empty()) RefuseNothing(source, token);
  }
  return normalized;
}

}  // namespace rankfeed::builder
