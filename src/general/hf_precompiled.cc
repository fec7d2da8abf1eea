// SPDX-License-Identifier: MIT
// general/hf_precompiled.cc: the charsmap of hf_characters.h, as normalize/precompiled.cc has it.
#include <algorithm>

#include "base/utf8.h"
#include "general/hf_characters.h"
#include "normalize/charsmap.h"
#include "normalize/precompiled.h"

namespace rankfeed::general {

// normalize::Transform: a character that was made goes out when the next one comes, as what is
// dropped until then is taken off its change.
template <bool kPlaces>
bool HfChain<kPlaces>::FlushChanged(Stage& s, Char* c) const {
  if (!s.has_held) return false;
  s.has_held = false;
  const uint64_t like = s.change > 0 && s.taken > 0 ? s.taken - 1 : s.taken;
  *c = s.held;
  c->mark = FrontOf(s, like);
  if constexpr (kPlaces) {
    if (s.own.behind) c->place = NumberedPlace(like);
  }
  if (s.change <= 0) s.taken += static_cast<uint64_t>(1 - int64_t{s.change});
  return true;
}

template <bool kPlaces>
bool HfChain<kPlaces>::PushChanged(Stage& s, const Char& made, int32_t change, Char* c) const {
  const bool flushed = FlushChanged(s, c);
  s.held = made;
  s.change = change;
  s.has_held = true;
  return flushed;
}

// `count` characters, whose places are kept, become what a key maps to.
template <bool kPlaces>
void HfChain<kPlaces>::PutReplacement(Stage& s, std::string_view replacement, int32_t count) const {
  PutText(s, replacement, 0);
  s.replaced = count;
  s.made = 0;
  if (!replacement.empty()) return;
  if constexpr (kPlaces) {
    s.own.behind |= !s.has_held;
    // One that was added is so no more: it replaces the first that is dropped.
    if (s.change > 0) s.held.place = s.own.kept[0];
  }
  if (s.has_held) s.change -= count;
}

template <bool kPlaces>
bool HfChain<kPlaces>::Precompiled(uint32_t stage, Char* c) {
  const Charsmap charsmap(model_->charsmap_units, model_->charsmap_pool);
  Stage& s = stages_[stage];
  for (;;) {
    Char made;
    if (TakeText(s, &made)) {
      if constexpr (kPlaces) made.place = s.own.kept[std::min(s.made, s.replaced - 1)];
      const bool flushed = PushChanged(s, made, s.made < s.replaced ? 0 : 1, c);
      ++s.made;
      if (s.text_size == 0 && s.made < s.replaced) s.change -= s.replaced - s.made;
      if (flushed) return true;
      continue;
    }
    if (s.singles == 0 && !s.open && KeptAlone(stage)) {
      const Char kept = s.ahead[0];
      s.ahead[0] = s.ahead[1];
      --s.ahead_size;
      if (PushChanged(s, kept, 0, c)) return true;
      continue;
    }
    if (s.singles == 0 && !OpenCluster(stage)) return FlushChanged(s, c);
    if (s.singles == 0) continue;  // it was replaced as a whole
    const Char single = s.ahead[0];
    std::copy(s.ahead + 1, s.ahead + s.ahead_size, s.ahead);
    --s.ahead_size;
    --s.singles;
    char bytes[4];
    if (const CharsmapMatch match = charsmap.Shortest({bytes, utf8::Encode(single.c, bytes)})) {
      if constexpr (kPlaces) s.own.kept[0] = single.place;
      PutReplacement(s, match.replacement, 1);
    } else if (PushChanged(s, single, 0, c)) {
      return true;
    }
  }
}

// Whether the next character is ASCII that no key begins with, in a cluster of its own, as most
// are: two ASCII characters join only as CR LF.
template <bool kPlaces>
bool HfChain<kPlaces>::KeptAlone(uint32_t stage) {
  Stage& s = stages_[stage];
  if (s.ahead_size == 0) s.ahead_size = Take(stage, &s.ahead[0]) ? 1 : 0;
  const char32_t c = s.ahead[0].c;
  if (s.ahead_size == 0 || c >= 0x80 || c == '\r') return false;
  if ((s.kept[c / 64] >> c % 64 & 1) == 0) {
    const char byte = static_cast<char>(c);
    const Charsmap charsmap(model_->charsmap_units, model_->charsmap_pool);
    if (charsmap.Shortest({&byte, 1})) return false;
    s.kept[c / 64] |= uint64_t{1} << c % 64;
  }
  if (s.ahead_size == 1 && Take(stage, &s.ahead[1])) s.ahead_size = 2;
  return s.ahead_size == 1 || s.ahead[1].c < 0x80;
}

// Reads a cluster on, or the next one as far as it may be replaced as a whole, and replaces it.
// s.singles: characters that are replaced each. False at the end.
template <bool kPlaces>
bool HfChain<kPlaces>::OpenCluster(uint32_t stage) {
  Stage& s = stages_[stage];
  const auto kind = [this](const Char& of) { return model_->props[of.c] & image::kGraphemeMask; };
  if (s.ahead_size == 0) {
    if (!Take(stage, &s.ahead[0])) return false;
    s.ahead_size = 1;
  }
  if (s.open && s.rules.Joins(kind(s.ahead[0]))) {
    s.singles = 1;
    return true;
  }
  s.rules = unicode::ClusterRules(kind(s.ahead[0]));
  char bytes[normalize::kWholeClusterBytes + 4];
  uint32_t size = utf8::Encode(s.ahead[0].c, bytes);
  uint8_t count = 1;
  s.open = true;
  while (s.open && size < normalize::kWholeClusterBytes) {
    s.open = s.ahead_size > count || Take(stage, &s.ahead[count]);
    if (!s.open) break;
    s.ahead_size = std::max<uint8_t>(s.ahead_size, count + 1);
    s.open = s.rules.Joins(kind(s.ahead[count]));
    if (s.open) size += utf8::Encode(s.ahead[count++].c, bytes + size);
  }
  if (!s.open) {
    const Charsmap charsmap(model_->charsmap_units, model_->charsmap_pool);
    if (const CharsmapMatch match = charsmap.Shortest({bytes, size})) {
      if constexpr (kPlaces) {
        static_assert(normalize::kWholeClusterBytes <= kMaxKept);
        for (uint32_t i = 0; i < count; ++i) s.own.kept[i] = s.ahead[i].place;
      }
      std::copy(s.ahead + count, s.ahead + s.ahead_size, s.ahead);
      s.ahead_size -= count;
      PutReplacement(s, match.replacement, count);
      return true;
    }
  }
  s.singles = count;
  return true;
}

template bool HfChain<false>::Precompiled(uint32_t, Char*);
template bool HfChain<true>::Precompiled(uint32_t, Char*);

}  // namespace rankfeed::general
