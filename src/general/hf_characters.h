// SPDX-License-Identifier: MIT
// general/hf_characters.h: what normalizer and pre-tokenizer make of a stretch, character by
// character, without offsets: the elements of src/normalize and hf_pretokenize.h as a chain in
// which each takes characters from the one before it, in a state that can be copied.
#pragma once

#include <cstdint>
#include <string_view>

#include "general/long_path.h"
#include "image/model.h"
#include "normalize/unicode_forms.h"
#include "rankfeed/encode.h"
#include "unicode/grapheme.h"

namespace rankfeed::general {

// Which normalization form an element is.
normalize::Form FormOf(image::NormalizerOp op);
// Whether nothing before a character is sorted behind it or composed with it by a form.
bool StartsApart(const Model& model, char32_t c, normalize::Form form);
// Whether that, and a form leaves it as it is if the character behind it starts apart too.
bool StaysAlone(const Model& model, char32_t c, normalize::Form form);

// Characters that every element leaves as they are beside others of that kind, in the middle of a
// word; asked for again and again, so what was found is kept. Of one thread at a time.
class PlainCharacters {
 public:
  explicit PlainCharacters(const Model& model) : model_(model) {}

  bool Has(char32_t c) {
    uint32_t& known = known_[c % kKnown];
    if (known >> 1 != c + 1) known = (c + 1) << 1 | (Find(c) ? 1 : 0);
    return (known & 1) != 0;
  }

 private:
  bool Find(char32_t c) const;

  static constexpr uint32_t kKnown = 512;
  const Model& model_;
  uint32_t known_[kKnown] = {};  // behind the character and 1
};

// What normalization forms make of short groups of characters that they read together, kept as
// those come again and again. Of one thread at a time.
class KnownForms {
 public:
  static constexpr uint32_t kMaxBytes = sizeof(uint64_t), kMaxMade = 6;

  struct Group {
    uint64_t bytes = 0;  // in UTF-8; 0: none
    uint32_t op = 0;     // of the form
    uint32_t size = 0;   // of made
    uint32_t made[kMaxMade];

    bool Is(uint64_t of, uint32_t form) const { return bytes == of && op == form; }
  };

  // Its place, where another group may be.
  Group* At(uint64_t bytes) { return &groups_[bytes * 0x9e3779b97f4a7c15u >> (64 - kBits)]; }

 private:
  static constexpr int kBits = 6;
  Group groups_[1 << kBits];
};

class HfCharacters {
 public:
  // Marks of a character:
  static constexpr uint32_t kFront = 1;   // it came of the first character of the text
  static constexpr uint32_t kBegins = 2;  // a split begins with it

  // Whether the chain has all elements of the model: not added tokens of normalized text, Split,
  // and more elements than anybody uses.
  static bool Has(const Model& model);

  // Bytes [begin, end) of a text, for such a model, whose plain characters and groups those are.
  HfCharacters(const Model& model, PlainCharacters* plain, KnownForms* known,
               std::string_view text, uint32_t begin, uint32_t end);

  bool Next(Character* c) { return Take(stage_count_, c); }
  // Plain characters, see LongSearch.
  uint32_t Run(const CharacterArrays& out, uint32_t at, uint32_t count) {
    if (pause_ == 0) return RunPlain(out, at, count);
    --pause_;
    return 0;
  }
  static bool BeginsWord(const Character& c) { return (c.mark & kBegins) != 0; }

  // More combining marks in a row than a normalization form holds: what came is not all.
  bool failed() const { return failed_; }

 private:
  static constexpr uint32_t kMaxStages = 12, kMaxForms = 2;
  // Characters that a normalization form reads together, and what becomes of them.
  static constexpr uint32_t kFormReads = RANKFEED_MAX_MARKS, kFormMakes = 160;

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
    Character held = {};   // taken, and not passed on
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
    Character ahead[7] = {};
    unicode::ClusterRules rules{0};
  };
  struct Form {
    uint32_t made[kFormMakes];  // characters, kFront at kFrontBit
    uint32_t at = 0, size = 0;
  };
  static constexpr uint32_t kFrontBit = 1u << 31;

  static constexpr uint8_t kWordKind = 1;  // of a Whitespace stage: a character of a word
  // Characters that plain ones keep in a stage until others come.
  static constexpr uint32_t kMaxWaiting = 2 * kMaxStages;
  bool IsWaiting(uint32_t stage, Character** waiting, uint32_t* count);
  uint32_t ReadPlain(uint32_t* to, uint32_t count);
  uint32_t RunPlain(const CharacterArrays& out, uint32_t at, uint32_t count);

  bool Take(uint32_t stage, Character* c);
  bool Pull(uint32_t stage, Character* c);
  bool Source(Character* c);
  const image::Step& StepOf(uint32_t stage) const { return *stages_[stage].step; }
  uint32_t FrontOf(const Stage& s, uint64_t number) const { return number < s.front ? kFront : 0; }
  bool TakeText(Stage& s, Character* c) const;
  void PutText(Stage& s, std::string_view text, uint32_t mark) const;
  bool Hold(uint32_t stage);
  bool Release(Stage& s, Character* c) const;
  template <class F>
  bool PassOn(uint32_t stage, Character* c, F is_sought);

  bool Strip(uint32_t stage, Character* c);
  bool Lowercase(uint32_t stage, Character* c);
  bool StripAccents(uint32_t stage, Character* c);
  bool Nmt(uint32_t stage, Character* c);
  bool Prepend(uint32_t stage, Character* c);
  bool Replace(uint32_t stage, Character* c);
  bool ReplaceRun(uint32_t stage, Character* c);
  bool ReplaceSpaces(uint32_t stage, Character* c);
  bool Precompiled(uint32_t stage, Character* c);
  bool KeptAlone(uint32_t stage);
  bool OpenCluster(uint32_t stage);
  bool PushChanged(Stage& s, char32_t made, int32_t change, Character* c) const;
  bool FlushChanged(Stage& s, Character* c) const;
  void PutReplacement(Stage& s, std::string_view replacement, int32_t count) const;
  bool NormalForm(uint32_t stage, Character* c);
  bool RunForm(uint32_t stage);
  bool RunTogether(uint32_t stage, const Character& first, normalize::Form rules);
  bool MakeForm(normalize::NormalizedText in, normalize::Form rules, Form* form);

  bool Metaspace(uint32_t stage, Character* c);
  bool WhitespaceSplit(uint32_t stage, Character* c);
  bool Whitespace(uint32_t stage, Character* c);
  bool SplitAt(uint32_t stage, image::UnicodeProp prop, uint32_t behavior, Character* c);

  const Model* model_;
  PlainCharacters* plain_;
  KnownForms* known_;
  const char* text_;
  uint32_t at_, end_;
  uint32_t normalizer_count_, stage_count_ = 0;
  bool began_ = false, failed_ = false;
  uint32_t pause_ = 0;  // calls of Run until it looks for plain characters again
  Stage stages_[kMaxStages];
  Form forms_[kMaxForms];
};

}  // namespace rankfeed::general
