// SPDX-License-Identifier: MIT
// tests/image/forged_image.h: images taken apart into sections, changed and sealed again, and cases
// that say which rule of image/verify.cc refuses the change.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "image/format.h"

namespace rankfeed::image_test {

using image::SectionId;

class Forged {
 public:
  explicit Forged(std::string_view image);

  // The elements of a section; none if it is absent. Valid until the section grows.
  template <class T>
  std::span<T> Get(SectionId id) {
    const auto at = sections_.find(id);
    if (at == sections_.end()) return {};
    EXPECT_EQ(at->second.element_size, sizeof(T));
    return {reinterpret_cast<T*>(at->second.bytes.data()), at->second.bytes.size() / sizeof(T)};
  }
  image::Config& config() { return Get<image::Config>(SectionId::kConfig)[0]; }
  image::SegmentConfig& segment_config() {
    return Get<image::SegmentConfig>(SectionId::kSegmentConfig)[0];
  }

  template <class T>
  void Add(SectionId id, const T& element, size_t count = 1) {
    Part& part = sections_[id];
    part.element_size = sizeof(T);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&element);
    for (; count > 0; --count) part.bytes.insert(part.bytes.end(), bytes, bytes + sizeof(T));
  }
  // Adds the string to the pool.
  image::Text AddText(std::string_view text);
  void Drop(SectionId id) { sections_.erase(id); }
  bool Has(SectionId id) const { return sections_.contains(id); }
  // Makes kSearchStarts as the builder does, for changes that it follows from.
  void RemakeStarts();

  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  struct Sealed {
    std::unique_ptr<uint8_t, Free> data;
    size_t size;
  };
  // The whole image, with the checksum that it should have.
  Sealed Seal() const;

 private:
  struct Part {
    uint32_t element_size = 0;
    std::vector<uint8_t> bytes;
  };
  image::Header header_;
  std::map<SectionId, Part> sections_;
};

// Images to change. Together they have every section.
enum class Original {
  kSentencePiece,  // with charsmap, denormalizer and user-defined symbols
  kBytes,          // SentencePiece with byte fallback
  kHuggingFace,    // with all Unicode tables, added tokens and templates, without byte fallback
  kSegments,       // HuggingFace, with the sections of the segment engine
  kWordPiece,      // HuggingFace, with a WordPiece model
  kSplits,         // HuggingFace, with a BPE model of bytes and the sections of the fast road
  kBpe,            // HuggingFace, with a BPE model of bytes whose merges share a rank
  kCharacters      // HuggingFace, with a BPE model of characters, byte fallback and the sections of the fast road
};
inline constexpr Original kOriginals[] = {Original::kSentencePiece, Original::kBytes,     Original::kHuggingFace,
                                          Original::kSegments,      Original::kWordPiece, Original::kSplits,
                                          Original::kBpe,           Original::kCharacters};
std::string_view ImageOf(Original original);

// A change that one rule refuses.
struct Case {
  const char* rule;  // part of one statement of image/verify.cc and of no other
  std::string what;
  Original original;
  SectionId section;                       // detail.section
  std::function<uint32_t(Forged&)> forge;  // returns detail.item

  // What becomes of the image without the rule. Where it is not accepted, the reason why the rule
  // is there all the same is said beside the case.
  enum class Without : uint8_t { kAccepted, kRefusedElsewhere, kNotTried };
  Without without = Without::kAccepted;
};

// Returns the section of the steps of a part.
SectionId SectionOf(image::Part part);  // text_cases.cc
std::vector<Case> CasesOfSegments();  // segment_cases.cc
std::vector<Case> CasesOfTexts();     // text_cases.cc

}  // namespace rankfeed::image_test
