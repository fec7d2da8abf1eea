// SPDX-License-Identifier: MIT
// general/hf_added.cc: added tokens of normalized text, found in the characters of hf_characters.h
// as added_tokens.h finds them in a text. White space before a token that takes it may have any
// length: it is looked past and counted, and kept where few characters hold it.
#include <algorithm>

#include "base/utf8.h"
#include "general/hf_characters.h"
#include "general/hf_trim_offsets.h"
#include "unicode/properties.h"

namespace rankfeed::general {
namespace {

bool HasFlag(const image::AddedToken& token, image::AddedFlags flag) {
  return (token.flags & flag) != 0;
}

}  // namespace

bool BeginsAdded(const Model& model, char32_t c) {
  char bytes[4];
  const uint32_t size = utf8::Encode(c, bytes);
  trie::Unit unit = model.added_normalized.root();
  for (uint32_t i = 0; i < size; ++i) {
    if (!model.added_normalized.Step(unit, static_cast<unsigned char>(bytes[i]) + 1u)) return false;
  }
  return true;
}

bool HasNormalizedAdded(const Model& model, image::AddedFlags flag) {
  return std::any_of(model.added_tokens.begin(), model.added_tokens.end(),
                     [flag](const image::AddedToken& token) {
                       return HasFlag(token, image::kNormalized) && HasFlag(token, flag);
                     });
}

// Whether there are so many characters ahead and one more.
template <bool kPlaces>
bool HfChain<kPlaces>::IsAhead(uint32_t i) {
  Finder& f = finder_;
  while (f.size <= i) {
    if (f.ended || f.size == kAhead) return false;
    if (!Take(finder_stage_, &Ahead(f.size))) {
      f.ended = true;
      return false;
    }
    ++f.size;
  }
  return true;
}

template <bool kPlaces>
void HfChain<kPlaces>::DropAhead(uint32_t count) {
  if (count == 0) return;
  finder_.before = Ahead(count - 1).c;
  finder_.has_before = true;
  finder_.at = (finder_.at + count) % kAhead;
  finder_.size -= count;
}

// The longest token that begins there; null if there is none.
template <bool kPlaces>
const image::AddedToken* HfChain<kPlaces>::LongestAhead(uint32_t i, uint32_t* size) {
  const trie::View& trie = model_->added_normalized;
  const image::AddedToken* token = nullptr;
  trie::Unit unit = trie.root();
  uint32_t left = model_->max_added_bytes;  // also where a crafted trie leads in circles
  for (uint32_t at = i; trie::Base(unit) != 0 && IsAhead(at);) {
    char bytes[4];
    const uint32_t count = utf8::Encode(Ahead(at).c, bytes);
    if (count > left) break;
    left -= count;
    uint32_t stepped = 0;
    while (stepped < count && trie.Step(unit, static_cast<unsigned char>(bytes[stepped]) + 1u)) {
      ++stepped;
    }
    if (stepped != count) break;
    ++at;
    if (const uint32_t value = trie::Value(unit); value != trie::kNoValue) {
      token = &model_->added_tokens[value];
      *size = at - i;
    }
  }
  return token;
}

template <bool kPlaces>
bool HfChain<kPlaces>::IsWordAhead(uint32_t i) {
  return IsAhead(i) && unicode::HasProp(*model_, Ahead(i).c, image::kWord);
}

// Whether a token of so many characters is one there.
template <bool kPlaces>
bool HfChain<kPlaces>::Accepts(const image::AddedToken& token, uint32_t i, uint32_t size) {
  if (finder_.skip_special && HasFlag(token, image::kSpecial)) return false;
  if (!HasFlag(token, image::kSingleWord)) return true;
  const bool word_before =
      i != 0 ? IsWordAhead(i - 1)
             : finder_.has_before && unicode::HasProp(*model_, finder_.before, image::kWord);
  return !word_before && !IsWordAhead(i + size);
}

// *passed: as that of the finder, from there on.
template <bool kPlaces>
typename HfChain<kPlaces>::Before HfChain<kPlaces>::LookAt(uint32_t i, uint64_t* passed) {
  uint32_t size = 0;
  if (const image::AddedToken* token = *passed == 0 ? LongestAhead(i, &size) : nullptr) {
    if (Accepts(*token, i, size)) {
      return HasFlag(*token, image::kLstrip) ? Before::kTakesSpaces : Before::kOther;
    }
    *passed = size;
  }
  if (!IsAhead(i) || !unicode::IsWhiteSpace(Ahead(i).c)) return Before::kOther;
  if (*passed != 0) --*passed;
  return Before::kSpace;
}

// The white space that is next.
template <bool kPlaces>
typename HfChain<kPlaces>::SpacesAhead HfChain<kPlaces>::LookPastSpaces() {
  uint64_t passed = finder_.passed;
  // Behind a place there must be room for a token and the character behind that.
  uint32_t i = 0;
  for (; i + kMaxAddedBytes + 1 < kAhead; ++i) {
    const Before what = LookAt(i, &passed);
    if (what != Before::kSpace) return {i, what == Before::kTakesSpaces};
  }
  return LookFurther(i, passed);
}

// The same behind `count` others.
template <bool kPlaces>
typename HfChain<kPlaces>::SpacesAhead HfChain<kPlaces>::LookFurther(uint32_t count,
                                                                     uint64_t passed) const {
  HfChain ahead = *this;
  ahead.DropAhead(count);
  for (uint64_t all = count;; ++all) {
    const Before what = ahead.LookAt(0, &passed);
    if (what != Before::kSpace) return {all, what == Before::kTakesSpaces};
    ahead.DropAhead(1);
  }
}

template <bool kPlaces>
void HfChain<kPlaces>::OpenAdded() {
  finder_.added = {};
  if constexpr (kPlaces) finder_.added.first = Ahead(0).place;
}

// The next character is one of the token.
template <bool kPlaces>
void HfChain<kPlaces>::AddAhead() {
  Added& added = finder_.added;
  const Char& c = Ahead(0);
  if constexpr (kPlaces) added.last = c.place;
  const bool space = IsTrimmed(c.c);
  added.only_spaces = added.only_spaces && space;
  added.leading += added.only_spaces;
  added.trailing = space ? added.trailing + 1 : 0;
  DropAhead(1);
}

// A token of so many characters is next, behind white space that it takes.
template <bool kPlaces>
bool HfChain<kPlaces>::CloseAdded(const image::AddedToken& token, uint32_t size, Char* c) {
  for (; size != 0; --size) AddAhead();
  if (HasFlag(token, image::kRstrip)) {
    while (IsAhead(0) && unicode::IsWhiteSpace(Ahead(0).c)) AddAhead();
  }
  Finder& f = finder_;
  f.added.token = &token;
  f.passed = f.spaces = 0;
  f.begins = true;
  *c = Made(token.id, kAdded | kBegins, f.added.first);
  return true;
}

// The next character, or the next token as one.
template <bool kPlaces>
bool HfChain<kPlaces>::FindAdded(Char* c) {
  Finder& f = finder_;
  if (!IsAhead(0)) return false;
  SpacesAhead spaces{0, false};
  if (f.has_lstrip && f.spaces == 0 && unicode::IsWhiteSpace(Ahead(0).c)) {
    spaces = LookPastSpaces();
    if (!spaces.taken) f.spaces = spaces.count;
  }
  if (spaces.taken) {
    OpenAdded();
    for (; spaces.count != 0 && IsAhead(0); --spaces.count) AddAhead();
    f.passed = 0;
  }
  uint32_t size = 0;
  if (const image::AddedToken* token = f.passed == 0 ? LongestAhead(0, &size) : nullptr) {
    if (Accepts(*token, 0, size)) {
      if (!spaces.taken) OpenAdded();
      return CloseAdded(*token, size, c);
    }
    f.passed = size;
  }
  *c = Ahead(0);
  DropAhead(1);
  if (f.begins) c->mark |= kBegins;
  f.begins = false;
  if (f.passed != 0) --f.passed;
  if (f.spaces != 0) --f.spaces;
  return true;
}

template bool HfChain<false>::FindAdded(Char*);
template bool HfChain<true>::FindAdded(Char*);

}  // namespace rankfeed::general
