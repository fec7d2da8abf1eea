// SPDX-License-Identifier: MIT
#include "builder/models/bpe/space_words.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "builder/fast/piece_neighbours.h"
#include "builder/models/bpe/word_parts.h"
#include "models/bpe/word.h"
#include "split/pattern.h"

namespace rankfeed::builder {
namespace {

using image::FastRoadReason;
using image::Op;
using image::SectionId;

// The rules of what a stretch of a model of characters begins with, or why its steps keep texts off the road.
std::variant<uint32_t, OffTheFastRoad> SpaceRules(const Model& model) {
  constexpr uint32_t kPrefix = image::kFrontSpaceIsWord;
  if (!model.huggingface()) {
    const bool plain = model.charsmap_units.empty() && model.has(image::kEscapeWhitespaces) && !model.has(image::kRemoveExtraWhitespaces);
    if (!plain) return OffTheFastRoad{FastRoadReason::kNormalizesMore};
    if (!model.user_defined.empty()) return OffTheFastRoad{FastRoadReason::kUserDefinedSymbols};
    return model.has(image::kAddDummyPrefix) ? kPrefix : uint32_t{image::kPrependsNever};
  }
  bool prepends = false, replaces = false;
  for (const image::Step& step : model.normalizer) {
    bool& of = step.Is(Op::kPrepend) ? prepends : replaces;
    const bool from_space = step.Is(Op::kReplace) && model.text(step.a) == " " && model.text(step.b) == kMetaspaceBytes;
    const bool known = step.Is(Op::kPrepend) ? model.text(step.a) == kMetaspaceBytes : from_space;
    if (!known || of) return OffTheFastRoad{FastRoadReason::kNormalizer, step.op};
    of = true;
  }
  uint32_t rules = prepends ? kPrefix : uint32_t{image::kPrependsNever};
  const image::Step* metaspace = nullptr;
  for (const image::Step& step : model.pre_tokenizer) {
    // It finds none after every space has become a U+2581.
    if (step.Is(Op::kSplitString) && model.text(step.a) == " " && step.arg1 == 0 && (replaces || metaspace != nullptr)) continue;
    const bool known = step.Is(Op::kMetaspace) && model.text(step.a) == kMetaspaceBytes && step.arg1 == 0;
    if (!known || metaspace != nullptr || prepends) return OffTheFastRoad{FastRoadReason::kPreTokenizer, step.op};
    metaspace = &step;
    constexpr uint32_t kRules[] = {0, image::kPrependOnlyFirst, image::kPrependsNever};  // by image::PrependScheme
    rules = kRules[step.arg0];
  }
  if (!replaces && metaspace == nullptr) return OffTheFastRoad{FastRoadReason::kNoPattern};
  return rules;
}

// The classes of the characters that merges join, as sets of codes: two that some merge joins are in one. All letters of
// ASCII are in one from the start, all digits, and all others.
class Classes {
 public:
  explicit Classes(const Model& model) : model_(model), parent_(model.config->code_count) {
    for (uint32_t code = 0; code < parent_.size(); ++code) parent_[code] = code;
    for (char32_t c = 0; c < 0x80; ++c) {
      if (c == U' ' || model.codes[c] == 0) continue;
      uint32_t& first = of_ascii_[ClassOfAscii(c)];
      if (first == 0) first = model.codes[c];
      parent_[Root(model.codes[c])] = Root(first);
    }
  }

  void Join(char32_t first, char32_t second) {
    joined_.push_back(model_.codes[first]);
    parent_[Root(model_.codes[first])] = Root(model_.codes[second]);
  }

  // Rules about what is apart.
  uint32_t Rules() {
    for (const uint32_t a : of_ascii_) {
      for (const uint32_t b : of_ascii_) {
        if (a != 0 && b != 0 && a != b && Root(a) == Root(b)) return 0;
      }
    }
    const uint32_t digit = of_ascii_[split::kDigit];
    const bool joins_digits = digit != 0 && std::any_of(joined_.begin(), joined_.end(), [&](uint32_t code) { return Root(code) == Root(digit); });
    return image::kClassesApart | (joins_digits ? 0 : uint32_t{image::kDigitsApart});
  }

  // The class of a character. Those that no merge joins to one of ASCII are letters.
  uint8_t Of(char32_t c) {
    if (c < 0x80) return ClassOfAscii(c);
    for (const uint8_t kind : {split::kDigit, split::kOther}) {
      if (of_ascii_[kind] != 0 && model_.codes[c] != 0 && Root(model_.codes[c]) == Root(of_ascii_[kind])) return kind;
    }
    return split::kLetter;
  }

 private:
  // Classes as the kernels tell ASCII apart.
  static uint8_t ClassOfAscii(char32_t c) {
    if (IsAsciiLetter(c)) return split::kLetter;
    return c >= U'0' && c <= U'9' ? uint8_t{split::kDigit} : uint8_t{split::kOther};
  }
  uint32_t Root(uint32_t code) {
    while (parent_[code] != code) code = parent_[code] = parent_[parent_[code]];
    return code;
  }

  const Model& model_;
  std::vector<uint32_t> parent_;  // by code
  uint32_t of_ascii_[split::kMark + 1] = {};  // by class the code of a character in it, 0: none has one
  std::vector<uint32_t> joined_;  // codes of characters that merges join to others
};

// Finds the neighbours that merges join, or why the pieces of a model of characters keep texts off the road.
//
// A merge is across two characters of a text if its left token ends with the one and its right token begins with
// the other, since tokens are spelled as the text is, but for unknown characters: those are tokens that no merge takes, and
// none is left out. Words begin at a U+2581 after another character, and no merge is across the two. So between two places
// that no merge is across, the same merges happen in the same order as in a text of its own (models/bpe/merge.h).
FastRoadReason JoinMerged(const Model& model, Neighbours* neighbours, Classes* classes) {
  if (model.has(image::kIgnoreMerges)) return FastRoadReason::kNoPattern;
  if (!IsPiece(model, kMetaspace)) return FastRoadReason::kMetaspaceNoPiece;
  const bool falls_back = model.has(image::kByteFallback);
  if (model.huggingface() && !falls_back && model.config->unk_piece.size == 0) return FastRoadReason::kNoUnknownId;
  const bpe::Words words(model);
  const auto is_unknown = [&](uint32_t id) {
    if (!falls_back) return id == model.config->unk_id;
    return std::find(model.byte_ids.begin(), model.byte_ids.end(), id) != model.byte_ids.end();
  };
  for (const uint64_t merge : model.merges.merges) {
    const uint32_t left = image::MergeLeft(merge), right = image::MergeRight(merge);
    const std::string_view before = model.piece(left), after = model.piece(right);
    // An added token may have the id of another piece.
    const bool spelled = words.Find(before) == left && words.Find(after) == right;
    if (is_unknown(left) || is_unknown(right) || !spelled) return FastRoadReason::kMergedUnknowns;
    const std::string_view last = before.substr(utf8::Previous(before, before.size()));
    const std::string_view first = after.substr(0, utf8::Decode(after, 0).size);
    if (first == kMetaspaceBytes && last != kMetaspaceBytes) return FastRoadReason::kMetaspaceInsidePieces;
    neighbours->Add(std::string(last) + std::string(first));
    // No word is cut after a U+2581.
    if (last != kMetaspaceBytes) classes->Join(utf8::CodePointAt(last, 0), utf8::CodePointAt(first, 0));
  }
  return FastRoadReason::kNone;
}

// The bytes of a raw text that is a piece of a model of characters.
std::string RawOf(std::string_view piece) {
  std::string raw;
  for (; piece.starts_with(kMetaspaceBytes); piece.remove_prefix(sizeof(kMetaspaceBytes) - 1)) raw.push_back(' ');
  return raw.append(piece);
}

// Appends the class of each character; null: all are letters. Surrogates are none, so that bytes of one are looked at.
void AddClasses(Classes* classes, std::vector<SectionData>* out) {
  std::vector<uint16_t> blocks;
  std::vector<uint8_t> data;
  for (char32_t c = 0; c < 0x110000; c += 256) {
    uint8_t block[256];
    for (char32_t i = 0; i < 256; ++i) {
      const uint8_t kind = classes != nullptr ? classes->Of(c + i) : uint8_t{split::kLetter};
      block[i] = (c & 0xfff800) == 0xd800 ? uint8_t{split::kOther} : kind;
    }
    size_t at = 0;
    while (at < data.size() && std::memcmp(data.data() + at, block, sizeof(block)) != 0) at += sizeof(block);
    if (at == data.size()) data.insert(data.end(), block, block + sizeof(block));
    blocks.push_back(static_cast<uint16_t>(at / sizeof(block)));
  }
  out->emplace_back(SectionId::kSplitBlocks, std::move(blocks));
  out->emplace_back(SectionId::kSplitClasses, std::move(data));
}

}  // namespace

std::variant<std::vector<SectionData>, OffTheFastRoad> BuildSpaceWords(const Model& model) {
  const auto rules = SpaceRules(model);
  if (const auto* off = std::get_if<OffTheFastRoad>(&rules)) return *off;
  for (const image::AddedToken& token : model.added_tokens) {
    if ((token.flags & image::kNormalized) != 0) return OffTheFastRoad{FastRoadReason::kNormalizedAddedTokens};
  }
  Neighbours neighbours;
  Classes classes(model);
  if (const FastRoadReason reason = JoinMerged(model, &neighbours, &classes); reason != FastRoadReason::kNone) return OffTheFastRoad{reason};
  std::vector<Entry> entries;
  const bpe::Words words(model, /*raw=*/true);
  std::vector<uint32_t> ids = PieceIds(model);
  std::sort(ids.begin(), ids.end());
  for (const uint32_t id : ids) {
    std::string bytes = RawOf(model.piece(id));
    if (bytes.empty() || bytes.size() > image::kMaxEntryBytes || (model.id_flags[id] & image::kIdSpecial) != 0) continue;
    uint32_t made[image::kMaxEntryBytes], sizes[image::kMaxEntryBytes];
    uint64_t work[image::kMaxEntryBytes * bpe::Merger::kWorkPerSymbol];
    bool missing = false;
    if (words.Make(bytes, {made, sizes}, work, &missing) == 1 && made[0] == id) entries.push_back({std::move(bytes), id, false});
  }
  image::SegmentConfig config{};
  config.rules = image::kSpaceWords | std::get<uint32_t>(rules) | (model.has(image::kTrimOffsets) ? uint32_t{image::kNoOffsets} : 0);
  config.space_code = model.codes[kMetaspace];
  // Words are not cut if two unknown characters may be one token.
  const bool fused = !model.has(image::kByteFallback) && (model.has(image::kFuseUnk) || !model.huggingface());
  if (fused) neighbours.JoinAll();
  if (!fused) config.rules |= classes.Rules();
  std::vector<SectionData> out;
  neighbours.Take(&config, &out);
  AddClasses((config.rules & image::kClassesApart) != 0 ? &classes : nullptr, &out);
  AddTable(entries, &config, &out);
  return out;
}

}  // namespace rankfeed::builder
