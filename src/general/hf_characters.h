// SPDX-License-Identifier: MIT
// general/hf_characters.h: what normalizer and pre-tokenizer make of a stretch, character by
// character, with or without the place in the text that each came from: the elements of
// src/normalize and hf_pretokenize.h as a chain in which each takes characters from the one before
// it, in a state that can be copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/hash.h"
#include "general/long_path.h"
#include "image/model.h"
#include "normalize/unicode_forms.h"
#include "rankfeed/encode.h"
#include "unicode/grapheme.h"

namespace rankfeed::general {

// Whether an added token of normalized text begins with that character.
bool BeginsAdded(const Model& model, char32_t c);
// Whether a model has added tokens of normalized text with a flag.
bool HasNormalizedAdded(const Model& model, image::AddedFlags flag);
// Whether the first so many elements of the normalizer leave a character as it is beside others of
// that kind.
bool IsPlainBefore(const Model& model, uint32_t stages, char32_t c);
// Which normalization form an element is.
normalize::Form FormOf(image::NormalizerOp op);
// Whether nothing before a character is sorted behind it or composed with it by a form.
bool StartsApart(const Model& model, char32_t c, normalize::Form form);
// Whether a form leaves a character that starts apart as it is if the one behind it does too.
bool StaysAlone(const Model& model, char32_t c, normalize::Form form);

// What becomes of one space between plain characters.
struct Separator {
  enum Kind : uint8_t {
    kUnknown,
    kOwn,      // a character in its place
    kOfNext,   // a character with the place of the next one
    kDropped,  // nothing, and the next one begins a split
  };
  Kind kind = kUnknown;
  char32_t c = 0;
  bool begins = false;  // it begins a split
};

// Characters that every element leaves as they are beside others of that kind, in the middle of a
// word; asked for again and again, so what was found is kept. Of one thread at a time.
class PlainCharacters {
 public:
  explicit PlainCharacters(const Model& model);

  const Separator& separator() const { return separator_; }

  bool HasAscii(unsigned char c) {
    if ((ascii_[c / 64] >> c % 64 & 1) != 0) return true;
    if (!Has(c)) return false;
    ascii_[c / 64] |= uint64_t{1} << c % 64;
    return true;
  }
  bool Has(char32_t c) {
    uint32_t& known = known_[(c ^ c >> 9) % kKnown];
    if (known >> 1 != c + 1) known = (c + 1) << 1 | (Find(c) ? 1 : 0);
    return (known & 1) != 0;
  }

 private:
  bool Find(char32_t c) const;

  static constexpr uint32_t kKnown = 512;
  const Model& model_;
  const Separator separator_;
  uint64_t ascii_[2] = {};       // found to be some
  uint32_t known_[kKnown] = {};  // behind the character and 1
};

// What normalization forms make of short groups of characters that they read together, and which
// characters they begin with, kept as those come again and again. Of one thread at a time.
class KnownForms {
 public:
  // U+FDFA makes 18.
  static constexpr uint32_t kMaxBytes = sizeof(uint64_t), kMaxMade = 18;

  explicit KnownForms(const Model& model) : model_(model) {}

  bool StartsApart(char32_t c, normalize::Form form) {
    return c < 0x80 || (Find(c, form) & 1) != 0;
  }
  // Whether that, and it StaysAlone.
  bool StaysAlone(char32_t c, normalize::Form form) { return c < 0x80 || (Find(c, form) & 2) != 0; }

  struct Group {
    uint64_t bytes = 0;  // in UTF-8; 0: none
    uint32_t op = 0;     // of the form
    uint32_t size = 0;   // of made
    uint32_t made[kMaxMade];
    uint8_t from[kMaxMade];  // which of the group each has the place of, where there are places

    bool Is(uint64_t of, uint32_t form) const { return bytes == of && op == form; }
  };

  // Of two characters, what they make where that is few.
  static constexpr uint32_t kMaxOfPair = 2;
  struct Pair {
    uint64_t key = 0;  // 0: none
    uint32_t size = 0;
    uint32_t made[kMaxOfPair] = {};
  };
  static uint64_t KeyOf(char32_t first, char32_t second, normalize::Form form) {
    const uint64_t rules = 4 | (form.compatible ? 2 : 0) | (form.composed ? 1 : 0);
    return rules << 42 | uint64_t{first} << 21 | second;
  }
  Pair& PairAt(uint64_t key) { return pairs_[HashEnds(0, key, 0) >> (64 - kBits)]; }

  // Its place, where another group may be.
  Group* At(uint64_t bytes) { return &groups_[HashEnds(0, bytes, 0) >> (64 - kBits)]; }

 private:
  static constexpr int kBits = 6;
  static constexpr uint32_t kCharacters = 256;

  uint32_t Find(char32_t c, normalize::Form form) {
    const uint32_t key = (c << 2 | (form.compatible ? 2 : 0) | (form.composed ? 1 : 0)) + 1;
    uint32_t& known = characters_[(c ^ c >> 8) % kCharacters];
    if (known >> 2 != key) {
      const bool apart = general::StartsApart(model_, c, form);
      known = key << 2 | (apart ? 1 : 0) | (apart && general::StaysAlone(model_, c, form) ? 2 : 0);
    }
    return known;
  }

  const Model& model_;
  uint32_t characters_[kCharacters] = {};  // behind a character and its form, and 1
  Group groups_[1 << kBits];
  Pair pairs_[1 << kBits];
};

// kPlaces: whether characters have one, as a byte of normalize::NormalizedText has a range.
template <bool kPlaces>
class HfChain {
 public:
  using Char = std::conditional_t<kPlaces, PlacedCharacter, Character>;
  // Marks of a character:
  static constexpr uint32_t kFront = 1;   // it came of the first character of the text
  static constexpr uint32_t kBegins = 2;  // a split begins with it
  static constexpr uint32_t kAdded = 4;  // it is the id of an added token, and a split, see added()

  // Whether the chain has all elements of the model: not a Split at more than one character, added
  // tokens of normalized text that hf_added.cc does not find, and more elements than anybody uses;
  // with places, not a Replace that looks for more than kMaxKept characters, nor two Precompiled.
  static bool Has(const Model& model);

  // Bytes [begin, end) of a text, for such a model, whose plain characters and groups those are.
  // skip_special: special tokens are text.
  HfChain(const Model& model, PlainCharacters* plain, KnownForms* known, std::string_view text,
          uint32_t begin, uint32_t end, bool skip_special);

  bool Next(Char* c) {
    if (words_at_ == words_count_) return Take(stage_count_, c);
    *c = Made(words_.c[words_at_], words_.mark[words_at_], words_.PlaceAt(words_at_));
    ++words_at_;
    return true;
  }
  // The next character that comes to a stage, of a chain that nothing else is taken from.
  bool NextBefore(uint32_t stage, Char* c) { return Take(stage, c); }
  // Plain characters, see LongSearch.
  uint32_t Run(const CharacterArrays& out, uint32_t at, uint32_t count) {
    if (words_at_ != words_count_) return RunWords(out, at, count);
    if (made_by_ != kNoStage) return RunMade(out, at, count);
    if (pause_ == 0) return RunPlain(out, at, count);
    --pause_;
    return 0;
  }
  static bool BeginsWord(const Character& c) { return (c.mark & kBegins) != 0; }
  static bool IsAdded(const Character& c) { return (c.mark & kAdded) != 0; }

  // An added token that was found in normalized text.
  struct Added {
    const image::AddedToken* token = nullptr;
    Place first = {}, last = {};         // of its first character and its last one
    uint32_t leading = 0, trailing = 0;  // white space at its ends that trimming takes off
    bool only_spaces = true;
  };
  // That of the last character that came, which was one.
  const Added& added() const { return finder_.added; }
  // Goes on to the next one, in a chain that nothing else is taken from. False: there is none.
  bool NextAdded() {
    for (Char c; Take(normalizer_count_ + 1, &c);) {
      if (IsAdded(c)) return true;
    }
    return false;
  }

  static constexpr uint32_t kNoStage = ~uint32_t{0};
  // Where a Precompiled drops the first characters of a text, the reference forgets them: what
  // follows has the places of characters before it, as many as were dropped (normalize::Transform).
  // So many are not kept: instead of a place each character then has the number of the one that
  // comes to that stage, the low half as begin, the high one as end. The stage, or kNoStage; known
  // as soon as there is a character.
  uint32_t NumberedStage() const {
    if constexpr (kPlaces) {
      if (precompiled_ != kNoStage && stages_[precompiled_].own.behind) return precompiled_;
    }
    return kNoStage;
  }
  static constexpr uint64_t NumberOf(Place place) {
    return uint64_t{place.end} << 32 | place.begin;
  }

  // More combining marks in a row than a normalization form holds, which do not come as they stand
  // in the text (hf_rows.cc): what came is not all.
  bool failed() const { return failed_; }

 private:
  static constexpr uint32_t kMaxStages = 13, kMaxForms = 2, kMaxKept = 8;
  // Characters that a normalization form reads together, and what becomes of them.
  static constexpr uint32_t kFormReads = RANKFEED_MAX_MARKS, kFormMakes = 160;

  // What an element knows of places.
  struct Places {
    Place like = {};  // of the text to come
    // Of characters that were taken and not passed on: of a pattern, a run, a cluster.
    Place kept[kMaxKept] = {};
    uint8_t kept_count = 0;
    bool behind = false;  // characters were forgotten, see NumberedStage

    // That of the first of them, which is passed on.
    Place TakeKept() {
      const Place first = kept[0];
      std::copy(kept + 1, kept + kMaxKept, kept);
      --kept_count;
      return first;
    }
  };
  struct NoPlaces {};

  // An element; what its fields mean is up to that.
  struct Stage {
    const image::Step* step;
    uint32_t form;               // of a normalization form
    char32_t first = 0;          // of what it looks for, or puts in front
    uint64_t front = 0;          // characters taken that are marked kFront; they come first
    uint64_t taken = 0;          // the character that the next one stands for, by number
    uint64_t count = 0;          // of a run
    const char* text = nullptr;  // to come, from the image
    uint32_t text_size = 0;
    uint32_t text_mark = 0;
    const uint32_t* list = nullptr;  // the same as code points
    uint32_t list_size = 0;
    uint32_t matched = 0;  // bytes of a pattern
    Char held = {};        // taken, and not passed on
    bool has_held = false;
    bool ended = false;        // nothing is left before it
    bool inside = false;       // behind the begin
    bool after_match = false;  // the character before was a match, white space, or gone
    uint8_t kind = 0;          // of the character before
    // Precompiled: the cluster and the character behind it.
    uint8_t ahead_size = 0, singles = 0;
    bool open = false;      // the cluster goes on
    uint64_t kept[2] = {};  // ASCII characters that no key is known to begin with
    int32_t change = 0, replaced = 0, made = 0;
    Char ahead[7] = {};
    unicode::ClusterRules rules{0};
    [[no_unique_address]] std::conditional_t<kPlaces, Places, NoPlaces> own{};
  };
  struct Form {
    uint32_t made[kFormMakes];  // characters, kFront at kFrontBit
    Place place[kPlaces ? kFormMakes : 1];
    uint32_t at = 0, size = 0;
  };
  static constexpr uint32_t kFrontBit = 1u << 31;

  // Characters that a form reads together, more than it holds: see hf_rows.cc.
  struct RowCursor {
    bool at_first = true;
    uint32_t at = 0;    // of the others, in the text
    uint32_t part = 0;  // of what the character there is decomposed into
  };
  struct Row {
    bool on = false;
    uint32_t stage = 0;
    Char first = {};  // the others are bytes [begin, end) of the text
    uint32_t begin = 0, end = 0;
    RowCursor next;  // behind the starter and marks that are on their way
    // Those: the starter, if it is still to come, and the marks, class by class.
    char32_t starter = 0;
    int32_t starter_change = 0;
    bool has_starter = false;
    RowCursor marks, reading;
    uint32_t classes[8] = {};  // a bit for each class there is
    uint32_t ccc = 0;          // that is read, 0: none
    uint32_t skip = 0;         // marks of it that became a part of the starter
    uint8_t composed[8] = {};  // classes of all those
    uint32_t composed_count = 0;
    // Characters of the row that others stand for already, and the last one's place.
    uint64_t taken = 0;
    uint32_t taken_end = 0;
    Place last = {};
  };

  // What finds added tokens in normalized text: a stage between normalizer and pre-tokenizer, where
  // the model has such tokens.
  static constexpr uint32_t kAhead = 128, kMaxAddedBytes = 111;
  struct Finder {
    Char ahead[kAhead];  // characters taken and not passed on, in a ring
    uint32_t at = 0, size = 0;
    bool ended = false;   // nothing is left before it
    bool begins = false;  // the next character begins a split: a token stands before it
    bool skip_special = false, has_lstrip = false;
    char32_t before = 0;  // the character before those ahead, if there is one
    bool has_before = false;
    // Characters from the next one on that no token begins with, as a match was rejected there, and
    // white space that is known not to belong to a token behind it.
    uint64_t passed = 0, spaces = 0;
    Added added;
  };
  // What stands at a place ahead: white space, a token that takes white space before it, or
  // neither.
  enum class Before : uint8_t { kSpace, kTakesSpaces, kOther };
  struct SpacesAhead {
    uint64_t count;
    bool taken;  // by the token behind them
  };
  bool HasFinder() const { return finder_stage_ != kNoStage; }
  bool FindAdded(Char* c);
  bool IsAhead(uint32_t i);
  Char& Ahead(uint32_t i) { return finder_.ahead[(finder_.at + i) % kAhead]; }
  void DropAhead(uint32_t count);
  const image::AddedToken* LongestAhead(uint32_t i, uint32_t* size);
  bool Accepts(const image::AddedToken& token, uint32_t i, uint32_t size);
  bool IsWordAhead(uint32_t i);
  Before LookAt(uint32_t i, uint64_t* passed);
  SpacesAhead LookPastSpaces();
  SpacesAhead LookFurther(uint32_t count, uint64_t passed) const;
  void OpenAdded();
  void AddAhead();
  bool CloseAdded(const image::AddedToken& token, uint32_t size, Char* c);

  static constexpr uint8_t kWordKind = 1;  // of a Whitespace stage: a character of a word
  // Characters that plain ones keep in a stage until others come.
  static constexpr uint32_t kMaxWaiting = 2 * kMaxStages;
  bool IsWaiting(uint32_t stage, Char** waiting, uint32_t* count);
  // Characters that were read ahead, as many as words are worth it.
  static constexpr uint32_t kWords = 64;
  struct Words {
    uint32_t c[kWords], mark[kWords];
    Place place[kPlaces ? kWords : 1];

    Place PlaceAt(uint32_t at) const { return kPlaces ? place[at] : Place(); }
    void SetPlace(uint32_t at, Place of) { place[at] = of; }
  };
  bool PlainAt(uint32_t* at) const;
  template <class Out>
  uint32_t ReadPlain(Out& out, uint32_t at, uint32_t count);
  uint32_t ReadWords(uint32_t at, uint32_t count, uint32_t least);
  void FillWords();
  uint32_t RunWords(const CharacterArrays& out, uint32_t at, uint32_t count);
  uint32_t RunPlain(const CharacterArrays& out, uint32_t at, uint32_t count);
  uint32_t ReadMade(Form& form, const CharacterArrays& out, uint32_t at, uint32_t count);
  uint32_t RunMade(const CharacterArrays& out, uint32_t at, uint32_t count);
  template <class Out, class ReadMore>
  uint32_t RunBehind(uint32_t first, Out& out, uint32_t at, uint32_t count, ReadMore read);

  bool Take(uint32_t stage, Char* c);
  bool Pull(uint32_t stage, Char* c);
  bool Source(Char* c);
  const image::Step& StepOf(uint32_t stage) const { return *stages_[stage].step; }
  uint32_t FrontOf(const Stage& s, uint64_t number) const { return number < s.front ? kFront : 0; }
  static Char Made(char32_t c, uint32_t mark, Place place) {
    if constexpr (kPlaces) {
      return {{c, mark}, place};
    } else {
      return {c, mark};
    }
  }
  static void Set(Character* to, char32_t c, uint32_t mark) { *to = {c, mark}; }
  // What is to come has the place of that character.
  static void SetLike(Stage& s, const Char& like) {
    if constexpr (kPlaces) s.own.like = like.place;
  }
  // A character was taken that may have to be passed on.
  static void Keep(Stage& s, const Char& taken) {
    if constexpr (kPlaces) s.own.kept[s.own.kept_count++ % kMaxKept] = taken.place;
  }
  static void DropKept(Stage& s) {
    if constexpr (kPlaces) s.own.kept_count = 0;
  }
  static Place NumberedPlace(uint64_t number) {
    return {static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32)};
  }
  bool TakeText(Stage& s, Char* c) const;
  void PutText(Stage& s, std::string_view text, uint32_t mark) const;
  bool Hold(uint32_t stage);
  bool Release(Stage& s, Char* c) const;
  template <class F>
  bool PassOn(uint32_t stage, Char* c, F is_sought);

  bool Strip(uint32_t stage, Char* c);
  bool Lowercase(uint32_t stage, Char* c);
  bool StripAccents(uint32_t stage, Char* c);
  bool Nmt(uint32_t stage, Char* c);
  bool Prepend(uint32_t stage, Char* c);
  bool Replace(uint32_t stage, Char* c);
  bool ReplaceRun(uint32_t stage, Char* c);
  bool ReplaceSpaces(uint32_t stage, Char* c);
  bool Precompiled(uint32_t stage, Char* c);
  bool KeptAlone(uint32_t stage);
  bool OpenCluster(uint32_t stage);
  bool PushChanged(Stage& s, const Char& made, int32_t change, Char* c) const;
  bool FlushChanged(Stage& s, Char* c) const;
  void PutReplacement(Stage& s, std::string_view replacement, int32_t count) const;
  bool NormalForm(uint32_t stage, Char* c);
  bool RunForm(uint32_t stage);
  bool RunTogether(uint32_t stage, const Char& first, uint32_t behind, normalize::Form rules,
                   const Char* second = nullptr);
  bool OpenRow(uint32_t stage, const Char& first, uint32_t behind,
               const normalize::NormalizedText& in, normalize::Form rules);
  bool ReadPart(RowCursor* at, normalize::Part* part, int32_t* change) const;
  bool OpenSegment();
  struct FirstMarks;
  bool ComposeMarks(const FirstMarks& marks, bool* held);
  void OpenClass();
  void TakeOfRow();
  bool NextOfRow(Char* c);
  Char MadeOfRow(char32_t made, int32_t change);
  bool Known(const normalize::NormalizedText& in, uint32_t op, normalize::Form rules, Form* form,
             uint8_t* from);
  bool MakeForm(normalize::NormalizedText in, normalize::Form rules, Form* form, uint8_t* from);

  bool Metaspace(uint32_t stage, Char* c);
  bool WhitespaceSplit(uint32_t stage, Char* c);
  bool Whitespace(uint32_t stage, Char* c);
  template <class IsMatch>
  bool SplitAt(uint32_t stage, uint32_t behavior, Char* c, IsMatch is_match);

  const Model* model_;
  PlainCharacters* plain_;
  KnownForms* known_;
  const char* text_;
  uint32_t at_, end_;
  uint32_t normalizer_count_, stage_count_ = 0;
  uint32_t precompiled_ = kNoStage;   // the last Precompiled, with places
  uint32_t finder_stage_ = kNoStage;  // of added tokens
  bool began_ = false, failed_ = false;
  // Calls of Run until it looks for plain characters again, and that it will be if it finds none.
  uint32_t pause_ = 0, next_pause_ = 0;
  uint32_t words_at_ = 0, words_count_ = 0;
  uint32_t made_by_ = kNoStage;  // the form that made several characters last, if some are left
  Stage stages_[kMaxStages];
  Form forms_[kMaxForms];
  Words words_;
  Finder finder_;
  Row row_;
};

using HfCharacters = HfChain<false>;
using HfPlacedCharacters = HfChain<true>;

}  // namespace rankfeed::general
