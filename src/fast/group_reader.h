// SPDX-License-Identifier: MIT
// fast/group_reader.h: what the normalizer makes of characters that are read together, and of
// whole segments.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/layout.h"
#include "fast/groups.h"
#include "fast/known_groups.h"
#include "stretch/normalized_tokens.h"
#include "stretch/signs.h"
#include "fast/symbols.h"
#include "image/model.h"
#include "rankfeed/encode.h"
#include "unicode/properties.h"

namespace rankfeed::fast {

class GroupReader {
 public:
  static constexpr uint32_t kNormalizedBytes = 4 * 1024;
  static constexpr uint32_t kMaxNormalizable = kNormalizedBytes / 16;  // bytes of a segment

  struct Scratch {
    // kNormalizedBytes each: text on its way through the normalizer.
    char* texts[2] = {};
    uint32_t* work[3] = {};
    uint16_t* elements = nullptr;  // what a group becomes
    KnownGroups::Memory* groups = nullptr;
    void Carve(Layout& layout);
  };

  GroupReader(const Model& model, const NormalizedTokens& normalized_tokens, const Scratch& scratch);

  const CharacterGroups& groups() const { return groups_; }

  // All functions return why the stretch takes the general path, if it does.

  // Reads what the group [begin, extent.end) of a segment becomes, to *elements, which stay until the
  // next: codes, 0 for a space, image::kSign before the code of a sign.
  rankfeed_reason ReadGroup(std::string_view segment, size_t begin, CharacterGroups::Extent extent,
                            std::span<const uint16_t>* elements);
  // Reads what a whole segment becomes, to *elements in the same way.
  rankfeed_reason ReadSegment(std::string_view segment, std::span<const uint16_t>* elements) {
    return Read(segment, /*is_group=*/false, elements);
  }
  // Writes the codes of a raw segment of one span, of which groups were read before; returns the count, 0 if it
  // is too long to be normalized as a whole or has more codes than there is room for.
  uint32_t CodesOf(std::string_view segment, bool word_start, std::span<uint16_t> codes) const;

  uint32_t CodeOf(char32_t c) const {
    const uint32_t code = model_.codes[c];
    return code != 0 ? code : model_.config->code_count;
  }

 private:
  rankfeed_reason Read(std::string_view text, bool is_group, std::span<const uint16_t>* elements);
  bool Normalize(std::string_view text, bool is_group, std::string_view* normalized) const;
  bool IsOtherSpace(char32_t c, std::string_view raw) const;

  const Model& model_;
  const NormalizedTokens& normalized_tokens_;
  const Scratch& scratch_;
  const Signs signs_;
  const CharacterGroups groups_;
  const Symbols symbols_;
  KnownGroups known_groups_;
  const bool keeps_other_spaces_;  // white space that is no space is a character
};

}  // namespace rankfeed::fast
