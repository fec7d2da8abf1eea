// SPDX-License-Identifier: MIT
// builder/fast/normalized_characters.cc: see normalized_characters.h.
#include "builder/fast/normalized_characters.h"

#include <algorithm>
#include <set>

#include "base/narrow.h"
#include "base/utf8.h"
#include "builder/unicode/unicode_tables.h"
#include "normalize/filters.h"
#include "normalize/precompiled.h"
#include "unicode/properties.h"

namespace rankfeed::builder {
namespace {

using image::CharInfo;
using image::FastRoadReason;
using image::Op;
using image::Step;

OffTheFastRoad Because(const Step& step) {
  return {FastRoadReason::kNormalizer, step.op};
}

// Calls f(code point) for every character that a text may hold.
template <class F>
void ForEachCharacter(F f) {
  for (char32_t cp = 0; cp < 0x110000; ++cp) {
    if (cp < 0xd800 || cp >= 0xe000) f(cp);
  }
}
// This leaves out the unassigned characters, one of which is kUnassigned.
constexpr char32_t kUnassigned = 0x40000;
template <class F>
void ForEachAssigned(F f) {
  ForEachCharacter([&](char32_t cp) {
    if (!IsUnassigned(cp)) f(cp);
  });
}

// Calls f(code point) for each character of text.
template <class F>
void ForEachIn(std::string_view text, F f) {
  for (const utf8::Decoded c : utf8::Characters(text)) f(c.code_point);
}

bool IsOneCharacter(std::string_view text) {
  return !text.empty() && utf8::Decode(text, 0).size == text.size();
}

}  // namespace

NormalizedCharacters::NormalizedCharacters(const Model& model, const CharsmapKeys& keys)
    : model_(model), keys_(keys) {
  for (auto& text : text_) text.resize(kRoom);
  for (auto& work : work_) work.resize(kRoom);
}

std::string_view NormalizedCharacters::Look(const Changes& changes, char32_t cp, char (&room)[4]) {
  if (const std::string* const found = changes.Find(cp)) return *found;
  return {room, utf8::Encode(cp, room)};
}

OffTheFastRoad NormalizedCharacters::Compose(Pipeline* pipeline) {
  joins_.assign(0x110000, CharInfo());
  const auto steps = model_.normalizer;
  for (size_t k = 0; k < steps.size(); ++k) {
    const Step& step = steps[k];
    if (k + 1 == steps.size() && normalize::MakesMetaspaces(model_)) break;
    if (PrependsSpace(step, *pipeline)) {
      pipeline->rules = image::kFrontSpaceIsWord;
      continue;
    }
    const bool about_spaces = normalize::IsAboutSpaces(model_, step);
    if ((about_spaces || step.Is(Op::kReplaceSpaces)) &&
        !AddSpaceStep(step, pipeline)) {
      return Because(step);
    }
    if (about_spaces) continue;
    if (step.Is(Op::kPrepend)) return Because(step);
    const bool precompiled = step.Is(Op::kPrecompiled);
    // Each is tried on every character: published pipelines have at most six.
    if (++changing_ > kMaxChanging || (precompiled && charsmap_)) return Because(step);
    composed_ |= !precompiled;
    Join(k);
    if (prepend_keys_) return {FastRoadReason::kPrependKeys};
    if (!Apply(step)) return Because(step);
    last_change_ = &step;
  }
  return SettleSpaces(pipeline);
}

// Whether a space is put in front of a stretch of which nothing else becomes of characters than
// that every space is a U+2581.
bool NormalizedCharacters::PrependsSpace(const Step& step, const Pipeline& pipeline) const {
  return step.Is(Op::kPrepend) && model_.text(step.a) == " " &&
         model_.normalizer.size() == 2 && normalize::MakesMetaspaces(model_) && pipeline.whole &&
         pipeline.rules == image::kPrependsNever;
}

bool NormalizedCharacters::Apply(const Step& step) {
  bool fits = true;
  // Filters and steps that read tables go by what Unicode says of characters.
  const bool by_unicode = image::IsFilter(step.op) || image::FindOp(step.op)->tables != 0;
  const bool decomposes = step.Is(Op::kNfd) || step.Is(Op::kNfkd);
  const bool by_characters = by_unicode && (decomposes || !ReadsSeveral(step));
  const auto apply = [&](char32_t cp) {
    if (!IsChanged(cp) && Keeps(step, cp)) return;
    char room[4];
    const std::string_view before = Of(cp, room);
    // Characters that a step keeps are kept beside each other too, but for marks that may be sorted.
    bool keeps = by_characters || (by_unicode && before.empty());
    if (keeps) ForEachIn(before, [&](char32_t c) { keeps &= Keeps(step, c) && !(decomposes && model_.ccc[c] != 0); });
    if (keeps) return;
    normalize::Buffers buffers;
    for (int i = 0; i < 2; ++i) buffers.text[i] = {text_[i].data(), nullptr, nullptr, kRoom, 0};
    for (int i = 0; i < 3; ++i) buffers.work[i] = work_[i].data();
    normalize::NormalizedText& in = buffers.in();
    if (before.size() > kRoom / 2) fits = false;
    if (!fits) return;
    std::copy(before.begin(), before.end(), in.data);
    in.size = Size32(before);
    fits = normalize::RunNormalizerStep(model_, step, &buffers) == RANKFEED_OK;
    if (buffers.in().view() == before) return;
    changed_.Set(cp, buffers.in().view());
    changed_unassigned_ |= IsUnassigned(cp);
  };
  // They do the same to all that is unassigned. What an earlier step changed may be changed further.
  by_unicode && !changed_unassigned_ && Keeps(step, kUnassigned) ? ForEachAssigned(apply) : ForEachCharacter(apply);
  return fits;
}

// Whether a step surely leaves a character as it is that stands alone: most do, with no need to run
// them.
bool NormalizedCharacters::Keeps(const Step& step, char32_t cp) const {
  constexpr char32_t kHangul = 0xac00, kHangulEnd = 0xd7a4;
  char room[4];
  const auto bytes = [&] { return std::string_view(room, utf8::Encode(cp, room)); };
  switch (image::NormalizerOp{step.op}) {
    case image::NormalizerOp::kPrecompiled:
      return !keys_.Replaces(bytes());
    case image::NormalizerOp::kLowercase:
      return unicode::Mapping(model_, model_.lower, cp).empty();
    case image::NormalizerOp::kNfc:
    case image::NormalizerOp::kNfd:
      return unicode::Mapping(model_, model_.decomp, cp).empty() &&
             (cp < kHangul || cp >= kHangulEnd);
    case image::NormalizerOp::kNfkc:
    case image::NormalizerOp::kNfkd:
      return unicode::Mapping(model_, model_.decomp_k, cp).empty() &&
             (cp < kHangul || cp >= kHangulEnd);
    case image::NormalizerOp::kStripAccents:
      return !unicode::HasProp(model_, cp, image::kCombiningMark);
    case image::NormalizerOp::kReplace:
      return model_.text(step.a) != bytes();
    case image::NormalizerOp::kReplaceRun:
      return !model_.text(step.a).starts_with(bytes());
    case image::NormalizerOp::kReplaceSpaces:
      return !unicode::IsWhiteSpace(cp);
    case image::NormalizerOp::kNmt:  // between and after those it knows (normalize/filters.cc)
      return (cp >= 0xa0 && cp < 0x1680) || (cp > 0x2581 && cp < 0xfeff) || cp > 0xfffd;
    case image::NormalizerOp::kBertClean:
      return !unicode::HasProp(model_, cp, image::kBertRemoved) && !unicode::IsWhiteSpace(cp);
    case image::NormalizerOp::kBertSpaceCjk:
      return !normalize::IsBertCjk(cp);
    case image::NormalizerOp::kBertStripMarks:
      return !unicode::HasProp(model_, cp, image::kNonspacingMark);
    case image::NormalizerOp::kStrip:
    case image::NormalizerOp::kPrepend:
      return false;
  }
  return false;
}

// Returns the pattern of an EDIT that finds several characters; empty for one that reads each character
// alone, or is about white space, which SettleSpaces sees to.
std::string_view NormalizedCharacters::Pattern(const Step& step) const {
  const std::string_view a = model_.text(step.a);
  switch (image::EditOp{step.op}) {
    case image::EditOp::kReplace: return IsOneCharacter(a) ? "" : a;
    case image::EditOp::kReplaceRun: return a;
    case image::EditOp::kReplaceSpaces:
    case image::EditOp::kStrip:
    case image::EditOp::kPrepend: break;
  }
  return {};
}

// Whether a step may read several characters together.
bool NormalizedCharacters::ReadsSeveral(const Step& step) const {
  const bool charsmap = step.Is(Op::kPrecompiled);
  if (charsmap || (!image::IsFilter(step.op) && image::FindOp(step.op)->tables != 0)) return true;
  return !Pattern(step).empty() && !normalize::IsAboutSpaces(model_, step);
}

// Notes what the k-th step may read together.
void NormalizedCharacters::Join(size_t k) {
  using Other = image::OtherNormalizerOp;
  const Step& step = model_.normalizer[k];
  const auto later = model_.normalizer.subspan(k + 1);
  if (image::IsFilter(step.op)) return;
  switch (Other{step.op}) {
    case Other::kPrecompiled:
      return JoinByCharsmap();
    case Other::kNfc:
    case Other::kNfkc:
      JoinByForm(step.Is(Op::kNfkc), 0);
      JoinByComposition(step.Is(Op::kNfkc),
                        std::any_of(later.begin(), later.end(),
                                    [&](const Step& of) { return ReadsSeveral(of); })
                            ? CharInfo::OfGeneralPath()
                            : CharInfo::OfMarks(image::kMarkReorders));
      return;
    case Other::kNfd:
    case Other::kNfkd: {
      const bool stripped =
          !later.empty() && later.front().Is(Op::kStripAccents);
      if (stripped && MarksAreAccents()) return;
      const bool strips = !later.empty() &&
                          later.front().Is(Op::kBertStripMarks);
      return JoinByForm(step.Is(Op::kNfkd),
                        strips ? uint32_t{image::kNonspacingMark} : 0);
    }
  }
  if (const std::string_view pattern = Pattern(step); !pattern.empty()) JoinByPattern(pattern);
}

void NormalizedCharacters::JoinByCharsmap() {
  charsmap_ = true;
  before_charsmap_ = changed_;
  ForEachCharacter([&](char32_t cp) {
    char room[4];
    const std::string_view before = Of(cp, room);
    CharInfo info = before.empty() ? CharInfo::OfBases(image::kClusterMarks) : CharInfo();
    size_t at = 0;
    ForEachIn(before, [&](char32_t c) {
      char bytes[4];
      const std::string_view one(bytes, utf8::Encode(c, bytes));
      const CharInfo of = CharsmapJoins(c, one);
      // A cluster of several that came from one character goes on with any mark.
      if (at != 0 && of.IsMark()) info |= CharInfo::OfBases(image::kClusterMarks);
      info |= of;
      // A cluster may join a Prepend character with a separator after it.
      if ((model_.props[c] & image::kGraphemeMask) == image::kGraphemePrepend) {
        prepend_keys_ |= keys_.SomeBegin(one);
        info |= CharInfo::OfNormalizer();
      }
      at += one.size();
    });
    joins_[cp] |= info;
  });
}

CharInfo NormalizedCharacters::CharsmapJoins(char32_t cp, std::string_view c) const {
  uint32_t marks = keys_.IsLater(cp) ? uint32_t{image::kMarkAfterKey} : 0;
  uint32_t bases = keys_.IsFirst(cp) ? uint32_t{image::kMarkAfterKey} : 0;
  // The shortest key that a cluster begins with replaces all of it, the marks after that too.
  marks |= c.size() <= 2 ? image::kMarkOfTwoBytes : image::kMarkOfMoreBytes;
  if (keys_.Replaces(c)) {
    if (c.size() + 2 < normalize::kWholeClusterBytes) bases |= image::kMarkOfTwoBytes;
    if (c.size() + 3 < normalize::kWholeClusterBytes) bases |= image::kMarkOfMoreBytes;
  }
  switch (model_.props[cp] & image::kGraphemeMask) {
    case image::kGraphemeExtend:
    case image::kGraphemeZwj:
    case image::kGraphemeSpacingMark:
    case image::kGraphemeLinker:
    case image::kGraphemeZwnj:
      return CharInfo::OfBases(bases) | CharInfo::OfMarks(marks);
  }
  return CharInfo::OfBases(bases);
}

void NormalizedCharacters::JoinByPattern(std::string_view pattern) {
  std::set<char32_t> in_pattern;
  ForEachIn(pattern, [&](char32_t c) { in_pattern.insert(c); });
  constexpr CharInfo kBoth =
      CharInfo::OfMarks(image::kMarkInPattern) | CharInfo::OfBases(image::kMarkInPattern);
  for (const char32_t c : in_pattern) {
    if (!IsChanged(c)) joins_[c] |= kBoth;
  }
  changed_.ForEach([&](char32_t cp, std::string_view before) {
    bool joins = false;
    ForEachIn(before, [&](char32_t c) { joins |= in_pattern.contains(c); });
    if (joins) joins_[cp] |= kBoth;
    if (before.empty()) joins_[cp] |= CharInfo::OfBases(image::kMarkInPattern);
  });
}

// Calls f(part) for each character that a form takes one apart to, composition aside.
template <class F>
void NormalizedCharacters::ForEachPart(char32_t cp, bool compatible, F f) const {
  const CodePointTable<uint32_t>& table = compatible ? model_.decomp_k : model_.decomp;
  char room[4];
  ForEachIn(Of(cp, room), [&](char32_t c) {
    const std::span<const uint32_t> parts = unicode::Mapping(model_, table, c);
    if (parts.empty()) f(c);
    for (const uint32_t part : parts) f(part);
  });
}

// dropped: props of the marks that the next step drops. Their order does not matter, but where one
// moves before a mark that stays, that one has other offsets (kMarkInPattern).
void NormalizedCharacters::JoinByForm(bool compatible, uint32_t dropped) {
  const CodePointTable<uint32_t>& table = compatible ? model_.decomp_k : model_.decomp;
  const uint32_t staying = image::kMarkReorders | (dropped != 0 ? image::kMarkInPattern : 0u);
  const auto join = [&](char32_t cp) {
    if (!IsChanged(cp) && model_.ccc[cp] == 0 && unicode::Mapping(model_, table, cp).empty()) {
      return;
    }
    bool vanished = true, only_marks = true;
    ForEachPart(cp, compatible, [&](char32_t part) {
      const bool mark = model_.ccc[part] != 0;
      const bool stays = !unicode::HasProp(model_, part, dropped);
      only_marks &= mark;
      if (only_marks) {
        joins_[cp] |= CharInfo::OfMarks(stays ? image::kMarkReorders : image::kMarkInPattern);
      }
      if (mark) joins_[cp] |= CharInfo::OfBases(stays ? staying : uint32_t{image::kMarkReorders});
      vanished = false;
    });
    if (vanished) joins_[cp] |= CharInfo::OfBases(staying);
  };
  changed_unassigned_ ? ForEachCharacter(join) : ForEachAssigned(join);
}

// composing: what characters are that may compose with one before them.
void NormalizedCharacters::JoinByComposition(bool compatible, CharInfo composing) {
  constexpr char32_t kLeads = 0x1100, kLeadsEnd = 0x1113, kVowels = 0x1161, kVowelsEnd = 0x1176,
                     kTails = 0x11a8, kTailsEnd = 0x11c3, kSyllables = 0xac00,
                     kSyllablesEnd = 0xd7a4;
  enum : uint8_t { kFirst = 1, kSecond = 2 };
  std::vector<uint8_t> is(0x110000, 0);
  const auto mark = [&](char32_t begin, char32_t end, uint8_t as) {
    for (char32_t c = begin; c < end; ++c) is[c] |= as;
  };
  for (const image::ComposePair& pair : model_.compose) {
    is[pair.first] |= kFirst;
    is[pair.second] |= kSecond;
  }
  mark(kLeads, kLeadsEnd, kFirst);
  mark(kVowels, kVowelsEnd, kFirst | kSecond);  // with what is before it, first
  mark(kTails, kTailsEnd, kSecond);
  mark(kSyllables, kSyllablesEnd, kFirst);  // of two letters, or of three
  ForEachCharacter([&](char32_t cp) {
    bool first = true;
    ForEachPart(cp, compatible, [&](char32_t part) {
      if (first && (is[part] & kSecond) != 0) joins_[cp] |= composing;
      if ((is[part] & kFirst) != 0) joins_[cp] |= CharInfo::OfBases(image::kMarkReorders);
      first = false;
    });
  });
}

bool NormalizedCharacters::JoinsLineEnds() const {
  char cr[4], lf[4];
  return charsmap_ && BeforeCharsmap('\r', cr) == "\r" && BeforeCharsmap('\n', lf) == "\n";
}

// Whether StripAccents drops all that a normalization form may sort.
bool NormalizedCharacters::MarksAreAccents() const {
  bool all = true;
  ForEachAssigned([&](char32_t cp) {
    all &= model_.ccc[cp] == 0 || unicode::HasProp(model_, cp, image::kCombiningMark);
  });
  return all;
}

std::vector<uint8_t> NormalizedCharacters::Contents() const {
  std::vector<uint8_t> contents(0x110000, kOthers);
  const auto content = [](std::string_view text) {
    uint8_t all = text.empty() ? kNothing : 0;
    ForEachIn(text, [&](char32_t c) {
      all |= c == ' ' ? kSpaces : unicode::IsWhiteSpace(c) ? kOtherWhiteSpace : kOthers;
    });
    return all;
  };
  for (char32_t cp = 0; cp <= 0x3000; ++cp) {
    if (unicode::IsWhiteSpace(cp)) contents[cp] = cp == ' ' ? kSpaces : kOtherWhiteSpace;
  }
  changed_.ForEach([&](char32_t cp, std::string_view text) { contents[cp] = content(text); });
  return contents;
}

bool NormalizedCharacters::AddSpaceStep(const Step& step, Pipeline* pipeline) {
  if (step.Is(Op::kStrip)) {
    if (strip_.step == nullptr && collapse_.step == nullptr && Untouched()) {
      pipeline->rules |= (step.arg0 != 0 ? uint32_t{image::kStripLeft} : 0) |
                         (step.arg1 != 0 ? uint32_t{image::kStripRight} : 0);
      return true;
    }
    // The replacement of a run is not white space.
    const bool to_metaspace =
        collapse_.step != nullptr && model_.text(collapse_.step->b) == kMetaspaceBytes;
    if (strip_.step != nullptr || step.arg1 == 0 || to_metaspace) return false;
    strip_ = {&step, Contents(), changed_};
    return true;
  }
  const std::string_view b = model_.text(step.b);
  const bool run = step.Is(Op::kReplaceRun);
  if (collapse_.step != nullptr || (run && step.arg0 != 1 && step.arg0 != 2)) return false;
  if (b != " " && !(run && b == kMetaspaceBytes)) return false;
  collapse_ = {&step, Contents(), changed_};
  if (run) return true;
  for (uint8_t& content : collapse_.contents) {  // \s is any white space
    if ((content & kOtherWhiteSpace) != 0) content |= kSpaces;
  }
  return true;
}

// Whether white space at the ends of a text is still what it was.
bool NormalizedCharacters::Untouched() const {
  bool untouched = true;
  changed_.ForEach([&](char32_t cp, std::string_view text) {
    bool white_space = unicode::IsWhiteSpace(cp) || text.empty();
    ForEachIn(text, [&](char32_t c) { white_space |= unicode::IsWhiteSpace(c); });
    untouched &= !white_space;
  });
  return untouched;
}

// Whether no white space came up since, and nothing vanished from between.
bool NormalizedCharacters::KeepsSpaces(const SpaceStep& before) const {
  const std::vector<uint8_t> now = Contents();
  for (size_t cp = 0; cp < now.size(); ++cp) {
    constexpr uint8_t kWatched = kNothing | kSpaces;
    if ((now[cp] & kWatched & ~before.contents[cp]) != 0) return false;
  }
  return true;
}

// Whether nothing but U+0020 was a space then, and nothing had vanished.
bool NormalizedCharacters::OnlySpaces(const SpaceStep& before) const {
  for (size_t cp = 0; cp < before.contents.size(); ++cp) {
    if (cp != ' ' && (before.contents[cp] & (kSpaces | kNothing)) != 0) return false;
  }
  return before.contents[' '] == kSpaces;
}

// Sends to the general path what was white space, alone or among others, and is something else now.
void NormalizedCharacters::LeaveLostSpaces(const SpaceStep& before) {
  for (size_t cp = 0; cp < before.contents.size(); ++cp) {
    if ((before.contents[cp] & (kSpaces | kOtherWhiteSpace)) == 0) continue;
    char then[4], now[4];
    const auto c = static_cast<char32_t>(cp);
    if (Look(before.changed, c, then) != Of(c, now)) joins_[cp] |= CharInfo::OfGeneralPath();
  }
}

// \s{2,} takes white space together that is no space on its own.
void NormalizedCharacters::FindOtherWhiteSpace(const SpaceStep& before) {
  const std::vector<uint8_t> now = Contents();
  joins_runs_.assign(now.size(), false);
  for (size_t cp = 0; cp < now.size(); ++cp) {
    const bool white_space = (before.contents[cp] & (kSpaces | kOtherWhiteSpace)) != 0;
    joins_runs_[cp] = white_space && now[cp] != kSpaces;
  }
}

// A run of spaces becomes a U+2581, which begins a word as WhitespaceSplit does, unless it comes
// last or next to other white space.
OffTheFastRoad NormalizedCharacters::SettleMetaspaces() {
  const bool stripped = strip_.step != nullptr && KeepsSpaces(strip_);
  if (!stripped || !KeepsSpaces(collapse_)) return Because(*collapse_.step);
  const std::vector<uint8_t> now = Contents();
  for (size_t cp = 0; cp < now.size(); ++cp) {
    if ((now[cp] & kOtherWhiteSpace) == 0) continue;
    if (cp < 0x80) return Because(*collapse_.step);
    joins_[cp] |= CharInfo::OfGeneralPath();
  }
  return {};
}

OffTheFastRoad NormalizedCharacters::SettleSpaces(Pipeline* pipeline) {
  if (JoinsLineEnds() && keys_.Replaces("\r")) pipeline->rules |= image::kCrLfIsOne;
  LeaveLostSpaces(collapse_);
  LeaveLostSpaces(strip_);
  const Step* const collapse = collapse_.step;
  const bool to_metaspace = collapse != nullptr && model_.text(collapse->b) == kMetaspaceBytes;
  if (to_metaspace && last_change_ > collapse) return Because(*collapse);
  // The space that other white space is taken together to must stay one.
  char room[4];
  if (collapse != nullptr && !to_metaspace && Of(' ', room) != " ") return Because(*collapse);
  if (pipeline->words == Words::kSplitAtWhiteSpace) {
    pipeline->rules |= image::kSpaceHasNoOffsets;
    // In front of a sign that U+2581 would be a word.
    if (to_metaspace && (pipeline->rules & image::kPunctuationIsWord) != 0) return Because(*collapse);
    if (to_metaspace) pipeline->rules |= image::kNoOffsets;  // but that has those of the spaces
    return to_metaspace ? SettleMetaspaces() : OffTheFastRoad{};  // however many spaces there are
  }
  const bool stripped = strip_.step != nullptr;
  if (stripped && !KeepsSpaces(strip_)) return Because(*strip_.step);
  if (stripped && strip_.step->arg0 != 0 && (pipeline->rules & image::kPrependRules) != 0) {
    return Because(*strip_.step);
  }
  // A text that begins with spaces begins with a U+2581 of its own then.
  if (stripped && strip_.step->arg0 != 0) pipeline->rules |= image::kNoOffsets;
  pipeline->words = stripped ? Words::kStripped : Words::kTrailing;
  if (stripped && strip_.step->arg0 != 0) pipeline->rules |= image::kDropsOtherLeft;
  if (stripped && strip_.step->arg1 != 0) pipeline->rules |= image::kDropsOtherRight;
  if (!stripped) pipeline->rules |= image::kTrailingSpaceIsWord;
  if (collapse != nullptr && KeepsSpaces(collapse_)) {
    if (collapse->Is(Op::kReplaceSpaces)) FindOtherWhiteSpace(collapse_);
    return {};
  }
  // Every space makes a word, but those that were taken together before others came up.
  if (stripped) return Because(*strip_.step);
  pipeline->rules |= image::kEverySpaceIsWord;
  if (collapse == nullptr) return {};
  if (!collapse->Is(Op::kReplaceRun) || !OnlySpaces(collapse_)) {
    return Because(*collapse);
  }
  pipeline->rules |= image::kSpaceRunIsOne;
  return {};
}

}  // namespace rankfeed::builder
