// SPDX-License-Identifier: MIT
// builder/models/wordpiece/word_tables.cc: see word_tables.h.
//
// The normalizer is composed into characters (normalized_characters.h), and then the pre-tokenizer: of
// each raw character it is known which codes it becomes, whether words end there, and whether it is a
// word of its own. White space that a normalizer puts around a character (BertNormalizer, around
// Chinese ones) makes a word of it too.
#include "builder/models/wordpiece/word_tables.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "base/byte_set.h"
#include "base/narrow.h"
#include "base/utf8.h"
#include "builder/fast/characters.h"
#include "builder/fast/charsmap_keys.h"
#include "builder/fast/normalized_characters.h"
#include "builder/fast/piece_neighbours.h"
#include "builder/fast/segment_table.h"
#include "fast/key.h"
#include "reference/hf_trim_offsets.h"
#include "unicode/properties.h"

namespace rankfeed::builder {
namespace {

using image::CharInfo;
using image::FastRoadReason;
using image::Op;
using image::SectionId;
using image::Step;

// Tells whether the pre-tokenizer isolates punctuation, or why this road does not know it.
std::variant<bool, OffTheFastRoad> IsolatesPunctuation(const Model& model) {
  bool splits = false, isolates = false;
  for (const Step& step : model.pre_tokenizer) {
    if (step.Is(Op::kWhitespaceSplit)) {
      splits = true;
    } else if (step.Is(Op::kPunctuation) &&
               step.arg0 == image::kIsolated) {
      isolates = true;
    } else {
      return OffTheFastRoad{FastRoadReason::kPreTokenizer, step.op};
    }
  }
  if (!splits) return OffTheFastRoad{FastRoadReason::kNoWords};
  return isolates;
}

// The meanings of raw characters.
class WordCharacters : public CharacterTable {
 public:
  WordCharacters(const Model& model, const NormalizedCharacters& normalized, bool isolates)
      : CharacterTable(model, isolates), normalized_(normalized) {
    Fill([&](char32_t cp) { return normalized.joins(cp); }, [&](char32_t cp) { return Meaning(cp); });
    char room[4];
    for (char32_t cp = 0x80; cp < 0x110000; ++cp) {
      if (MayBeginToken(normalized.Of(cp, room))) info_[cp] = CharInfo::OfGeneralPath();
    }
  }

  CharInfo operator[](char32_t cp) const { return info_[cp]; }

  // Tells whether a character is one code inside of a word, in any company.
  bool IsPlain(char32_t cp) const { return info_[cp].StandsAlone() && Code(cp) != 0; }
  // Tells whether a character is a word of its own.
  bool IsOneWord(char32_t cp) const {
    return info_[cp].IsOneWord() && !info_[cp].IsMark() && Code(cp) != 0;
  }
  bool IsSeparator(char32_t cp) const { return info_[cp] == CharInfo::OfSpace(); }
  uint32_t Code(char32_t cp) const { return info_[cp].code(); }

 private:
  CharInfo Meaning(char32_t cp) {
    char room[4];
    const bool ends_word = ListCodes(normalized_.Of(cp, room), unicode::IsWhiteSpace);
    const CharInfo words = ends_word ? CharInfo::OfSpace() : CharInfo();
    const std::vector<uint16_t>& list = list_;
    const size_t count = list[0];
    if (count == 1) return words | CharInfo::OfCode(list[1]);
    if (count == 2 && list[1] == image::kSign) return words | CharInfo::OfCode(list[2]);
    // A character between spaces.
    if (count == 3 && list[1] == 0 && list[2] != 0 && list[3] == 0) return words | CharInfo::OfCode(list[2]);
    if (count != 0 && std::all_of(list.begin() + 1, list.end(), [](uint16_t c) { return c == 0; })) {
      return words;
    }
    return AddList(ends_word);
  }

  const NormalizedCharacters& normalized_;
};

// The raw bytes that separate words, that are words of their own, and those inside of words. Empty
// where one of the first two may be read together with what is before it, or a separator with
// what is after it: then segments do not end where words do.
struct Bytes {
  ByteSet separators, signs, letters;
};
std::optional<Bytes> AsciiBytes(const WordCharacters& characters) {
  Bytes bytes;
  for (uint8_t b = 0; b < 128; ++b) {
    const CharInfo info = characters[b];
    const bool ends_word = info.EndsWord();
    if (ends_word && (info.IsMark() || info.Expands())) return std::nullopt;
    if (characters.IsSeparator(b)) bytes.separators.Add(b);
    else if (characters.IsOneWord(b)) bytes.signs.Add(b);
    else if (ends_word) return std::nullopt;
    else if (characters.IsPlain(b)) bytes.letters.Add(b);
  }
  return bytes;
}

using Words = std::vector<std::pair<std::string, uint32_t>>;  // raw text and id

// Adds the raw texts that are one token, of a piece that a word can be: the piece itself, and where
// capitals become small letters with a first capital too.
void AddWord(const Model& model, const WordCharacters& characters, std::string_view piece,
             uint32_t id, Words* words) {
  const utf8::Decoded first = utf8::Decode(piece, 0);
  const bool alone = first.size == piece.size();
  for (const utf8::Decoded c : utf8::Characters(piece)) {
    const bool is_word = characters.IsPlain(c.code_point) ||
                         (alone && characters.IsOneWord(c.code_point));
    if (!c.valid || !is_word || characters[c.code_point].bases() != 0) return;
    // It becomes itself, not another character that the piece does not hold.
    if (characters.Code(c.code_point) != model.codes[c.code_point]) return;
  }
  words->emplace_back(piece, id);
  if (first.code_point < 'a' || first.code_point > 'z') return;
  const char32_t capital = first.code_point - 'a' + 'A';
  if (!characters.IsPlain(capital)) return;
  if (characters.Code(capital) != characters.Code(first.code_point)) return;
  words->emplace_back(piece, id);
  words->back().first[0] = static_cast<char>(capital);
}

SegmentTable MakeWordTable(const Model& model, const WordCharacters& characters) {
  Words words;
  // A full bucket drops the later ids, which are those of rarer pieces in trained vocabularies.
  std::vector<uint32_t> ids = PieceIds(model);
  std::sort(ids.begin(), ids.end());
  for (const uint32_t id : ids) {
    const std::string_view piece = model.piece(id);
    const auto chars = static_cast<uint32_t>(
        std::count_if(piece.begin(), piece.end(), [](char c) { return !utf8::IsContinuation(c); }));
    if (piece.empty() || piece.size() > image::kMaxEntryBytes) continue;
    if (chars > model.config->max_input_chars) continue;
    if ((model.id_flags[id] & image::kIdSpecial) != 0) continue;
    AddWord(model, characters, piece, id, &words);
  }
  SegmentTable table = EmptySegmentTable(words.size());
  for (const auto& [word, id] : words) {
    const auto size = Size32(word);
    // Every boundary begins a word here (fast/scan.h).
    const auto key = fast::SegmentKey::Make(word.data(), size,
                                               fast::SegmentKey::Tag(size, /*word_start=*/true));
    InsertSegment(key, id, image::PathInfo::OfWord(1, /*cuts=*/1), &table);
  }
  return table;
}

// Tells whether RobertaProcessing trims the place of a piece, by what the piece is called.
bool TrimsPieces(const Model& model) {
  const std::vector<uint32_t> ids = PieceIds(model);
  return model.has(image::kTrimOffsets) && std::any_of(ids.begin(), ids.end(), [&](uint32_t id) {
    const reference::EndSpaces spaces = reference::CountEndSpaces(model.piece(id));
    return spaces.leading != 0 || spaces.trailing != 0;
  });
}

// Tells whether a charsmap drops characters: what follows such a one at the begin of a stretch has its place.
bool CharsmapDrops(const Pipeline& pipeline, const NormalizedCharacters& normalized) {
  char room[4];
  for (char32_t cp = 0; pipeline.precompiled && cp < 0x110000; ++cp) {
    if (normalized.IsChanged(cp) && normalized.Of(cp, room).empty()) return true;
  }
  return false;
}

}  // namespace

std::variant<std::vector<SectionData>, OffTheFastRoad> BuildWordTables(const Model& model) {
  const auto isolates = IsolatesPunctuation(model);
  if (const auto* off = std::get_if<OffTheFastRoad>(&isolates)) return *off;
  if (!NormalizedTokensCanBeFound(model)) {
    return OffTheFastRoad{FastRoadReason::kNormalizedAddedTokens};
  }
  if (model.config->code_count + 1 >= image::kSign) {
    return OffTheFastRoad{FastRoadReason::kManyCharacters};
  }
  if (model.config->max_input_chars > image::kMaxWordChars) {
    return OffTheFastRoad{FastRoadReason::kLongWords};
  }
  Pipeline pipeline;
  for (const Step& step : model.normalizer) {
    pipeline.precompiled |= step.Is(Op::kPrecompiled);
  }
  const CharsmapKeys keys(model, pipeline);
  NormalizedCharacters normalized(model, keys);
  const OffTheFastRoad off = normalized.Compose(&pipeline);
  if (off.reason != FastRoadReason::kNone) return off;
  const WordCharacters characters(model, normalized, std::get<bool>(isolates));
  const std::optional<Bytes> bytes = AsciiBytes(characters);
  if (!bytes.has_value()) return OffTheFastRoad{FastRoadReason::kSeparatorPatterns};

  SegmentTable table = MakeWordTable(model, characters);
  image::SegmentConfig config{};
  const bool no_offsets = TrimsPieces(model) || CharsmapDrops(pipeline, normalized);
  config.rules = image::kPunctuationIsWord | (no_offsets ? image::kNoOffsets : 0u);
  config.table_bits = table.bits;
  const auto copy = [](const ByteSet& set, uint8_t(&to)[16]) {
    std::memcpy(to, set.low, sizeof(to));
  };
  copy(bytes->separators, config.separators);
  copy(bytes->signs, config.common);
  copy(bytes->letters, config.letters);
  std::vector<SectionData> out;
  out.emplace_back(SectionId::kSegmentConfig, std::vector<image::SegmentConfig>{config});
  out.emplace_back(SectionId::kSegmentTable, std::move(table.entries));
  characters.AddSections(&out);
  return out;
}

}  // namespace rankfeed::builder
