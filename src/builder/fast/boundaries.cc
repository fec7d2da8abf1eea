// SPDX-License-Identifier: MIT
// builder/fast/boundaries.cc: see boundaries.h.
#include "builder/fast/boundaries.h"

#include "base/utf8.h"

namespace rankfeed::builder {
namespace {

bool Has(const ByteSet& bytes, char32_t cp) {
  return cp < 0x80 && bytes.Has(static_cast<uint8_t>(cp));
}

// This tells whether a byte stands for itself, whatever comes before it.
bool Stays(image::CharInfo info) {
  return info.IsOneCode() && !info.IsMark();
}

// The greatest set of ASCII bytes other than letters that are pieces, stay as they are, join
// nothing, and share no piece with an ASCII letter.
ByteSet CommonBytes(const Model& model, const PieceNeighbours& neighbours,
                    const Characters& characters) {
  bool common[128] = {};
  for (char32_t cp = 0x21; cp < 0x7f; ++cp) {
    const image::CharInfo info = characters.info(cp);
    common[cp] = MaybeCommon(cp) && Stays(info) && info.bases() == 0 && IsPiece(model, cp);
  }
  for (const auto& [a, b] : neighbours.around_ascii) {
    if (a < 0x80 && IsAsciiLetter(b)) common[a] = false;
    if (b < 0x80 && IsAsciiLetter(a)) common[b] = false;
  }
  ByteSet bytes;
  for (uint8_t b = 0; b < 128; ++b) {
    if (common[b]) bytes.Add(b);
  }
  return bytes;
}

class Finder {
 public:
  Finder(const Model& model, const Pipeline& pipeline, const PieceNeighbours& neighbours,
         const CharsmapKeys& keys, const NormalizedCharacters& normalized, const ByteSet& common,
         const Characters& characters)
      : codes_(model.config->code_count),
        neighbours_(neighbours),
        normalized_(normalized),
        common_(common),
        characters_(characters) {
    for (const auto& [a, b] : neighbours.around_ascii) {
      if (Has(common, a)) shares_.insert(b);
      if (Has(common, b)) shares_.insert(a);
    }
    // The last of a key is a mark, so the other side of what it becomes needs no such look.
    for (const auto& [first, begin] : keys.joins()) {
      if (begin == ' ' || begin == kMetaspace || SharesPieces(begin)) joined_.insert(first);
    }
    // Marks of HuggingFace's charsmap are only where another character swallows them
    // (fast/scan.cc); with other steps around it none is looked at so closely.
    forbids_marks_ = pipeline.sentencepiece || normalized.composed();
    composed_ = !pipeline.sentencepiece && normalized.composed();
    if (composed_) FindComposing(model.compose);
  }

  // Whether a segment must not end beside the character, which is no common byte.
  bool NoBoundary(char32_t cp) const {
    const image::CharInfo info = characters_.info(cp);
    return info.Normalizes() || info.TakesGeneralPath() || info.EndsWord() ||
           (forbids_marks_ && info.IsMark()) || Joined(cp) || composing_.contains(cp) ||
           Becomes(cp, composing_) || (info.Expands() ? Expansion(info.code()) : Code(info.code()));
  }

 private:
  // A common byte, or next to one in some piece.
  bool SharesPieces(char32_t cp) const { return Has(common_, cp) || shares_.contains(cp); }
  static bool Any(std::string_view text, const std::set<char32_t>& these) {
    for (const utf8::Decoded c : utf8::Characters(text)) {
      if (these.contains(c.code_point)) return true;
    }
    return false;
  }
  // This tells whether one of the characters that it becomes is among these.
  bool Becomes(char32_t cp, const std::set<char32_t>& these) const {
    if (!composed_ || these.empty()) return false;
    char room[4];
    const std::string_view text = normalized_.Of(cp, room);
    return Any(text, these);
  }
  // Finds the characters that marks after them make another one of, which shares pieces with common bytes.
  void FindComposing(std::span<const image::ComposePair> pairs) {
    const auto shares = [&](char32_t c) {
      return shares_.contains(c) || composing_.contains(c) || Becomes(c, shares_) || Becomes(c, composing_);
    };
    if (pairs.empty()) return;
    constexpr char32_t kSyllables = 0xac00, kEnd = 0xd7a4, kLeads = 0x1100, kTails = 28, kOfLead = 588;
    for (char32_t c = kSyllables; c < kEnd; ++c) {
      if (!shares(c)) continue;
      composing_.insert(kLeads + (c - kSyllables) / kOfLead);
      composing_.insert(c - (c - kSyllables) % kTails);
    }
    for (bool more = true; more;) {
      more = false;
      for (const image::ComposePair& pair : pairs) {
        more |= shares(pair.composed) && composing_.insert(pair.first).second;
      }
    }
  }
  // Whether it stands for one of joined_ in front of the charsmap.
  bool Joined(char32_t cp) const {
    if (!composed_) return joined_.contains(cp);
    char room[4];
    const std::string_view text = normalized_.BeforeCharsmap(cp, room);
    return Any(text, joined_);
  }
  bool Code(uint32_t code) const {
    return code != 0 && code < codes_ && SharesPieces(neighbours_.code_point[code]);
  }
  bool Expansion(uint32_t at) const {
    const uint16_t* const list = characters_.expansions().data() + at;
    if (list[0] == 0) return true;
    for (uint32_t i = 1; i <= list[0]; ++i) {
      // A space ends a word: CharSpace stands for it.
      if (list[i] < codes_ && SharesPieces(neighbours_.code_point[list[i]])) return true;
    }
    return false;
  }

  const uint32_t codes_;
  const PieceNeighbours& neighbours_;
  const NormalizedCharacters& normalized_;
  bool composed_ = false;
  const ByteSet& common_;
  const Characters& characters_;
  std::set<char32_t> shares_;  // next to a common byte in some piece
  // Characters that may become, with those after them, something that ends a word or shares a piece
  // with a common byte before them.
  std::set<char32_t> joined_;
  std::set<char32_t> composing_;
  bool forbids_marks_ = false;
};

}  // namespace

std::optional<ByteSet> AsciiSigns(const Model& model, const Characters& characters) {
  ByteSet signs;
  for (uint8_t b = 0; b < 128; ++b) {
    if ((model.props[b] & image::kPunctuationProp) == 0) continue;
    if (!Stays(characters.info(b))) return std::nullopt;
    signs.Add(b);
  }
  return signs;
}

Boundaries FindBoundaries(const Model& model, const Pipeline& pipeline,
                          const PieceNeighbours& neighbours, const CharsmapKeys& keys,
                          const NormalizedCharacters& normalized, Characters* characters) {
  Boundaries found;
  found.common = (pipeline.rules & image::kPunctuationIsWord) != 0
                     ? AsciiSigns(model, *characters).value_or(ByteSet{})
                     : CommonBytes(model, neighbours, *characters);
  const Finder finder(model, pipeline, neighbours, keys, normalized, found.common, *characters);
  for (char32_t cp = 0; cp < 0x110000; ++cp) {
    if (Has(found.common, cp)) continue;
    if (finder.NoBoundary(cp)) {
      characters->Forbid(cp);
    } else if (cp < 0x80 && IsAsciiLetter(cp)) {
      found.letters.Add(static_cast<uint8_t>(cp));
    }
  }
  return found;
}

}  // namespace rankfeed::builder
