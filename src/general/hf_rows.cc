// SPDX-License-Identifier: MIT
// general/hf_rows.cc: what normalization forms make of more characters in a row than they read
// together, as a letter with thousands of marks, without holding them.
//
// They fall into segments: a starter and the marks behind it, which are sorted by class. Those are
// read from the text once for each class that there is. Only the first ones of a class may become a
// part of the starter, so it is known before the first mark leaves. As in unicode_forms.cc,
// characters stand for those of the text in their order, whichever they came of.
#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "base/utf8.h"
#include "general/hf_characters.h"

namespace rankfeed::general {

// Of each class, as many as may become a part of a starter, and whether there are more.
template <bool kPlaces>
struct HfChain<kPlaces>::FirstMarks {
  static constexpr uint32_t kMost = 4;
  struct Mark {
    char32_t c;
    int32_t change;
  };
  Mark mark[256][kMost];
  uint8_t count[256] = {};  // kMost + 1: more

  void Add(uint32_t ccc, char32_t c, int32_t change) {
    uint8_t& of = count[ccc];
    if (of < kMost) mark[ccc][of] = {c, change};
    if (of <= kMost) ++of;
  }
};

// Begins with a row that does not end in what was read of it, `in`. False: it is not one of
// characters of the text that come to the stage as they are.
template <bool kPlaces>
bool HfChain<kPlaces>::OpenRow(uint32_t stage, const Char& first, uint32_t behind,
                               const normalize::NormalizedText& in, normalize::Form rules) {
  Char* waiting[kMaxWaiting];
  uint32_t waiting_count = 0;
  for (uint32_t before = stage; before > 0; --before) {
    if (!IsWaiting(before - 1, waiting, &waiting_count) || waiting_count != 0) return false;
  }
  // What was read of the row, and the character behind that, which is held, stand behind the first
  // one, to where the text was read: where a Prepend put that one in front, they begin before it.
  const uint32_t first_size = utf8::SizeFromLead(static_cast<unsigned char>(in.data[0]));
  char held[4];
  const uint32_t held_size = utf8::Encode(stages_[stage].held.c, held);
  if (at_ - behind != in.size - first_size + held_size) return false;
  uint32_t at = behind, read = first_size;
  while (at != end_) {
    const utf8::Decoded d = utf8::Decode({text_, end_}, at);
    if (known_->StartsApart(d.code_point, rules)) break;
    if (!d.valid || !IsPlainBefore(*model_, stage, d.code_point)) return false;
    if (read < in.size) {
      if (d.size > in.size - read || std::memcmp(text_ + at, in.data + read, d.size) != 0) {
        return false;
      }
      read += d.size;
    }
    at += d.size;
  }
  if (read != in.size || at < at_) return false;
  row_ = {};
  row_.on = true;
  row_.stage = stage;
  row_.first = first;
  row_.begin = row_.next.at = row_.taken_end = behind;
  row_.end = at_ = at;
  stages_[stage].has_held = false;
  return true;
}

// The next part of a character. change: as in unicode_forms.cc.
template <bool kPlaces>
bool HfChain<kPlaces>::ReadPart(RowCursor* at, normalize::Part* part, int32_t* change) const {
  const normalize::Form rules = FormOf(image::NormalizerOp{StepOf(row_.stage).op});
  utf8::Decoded d{};
  if (at->at_first) {
    d.code_point = row_.first.c;
  } else if (at->at == row_.end) {
    return false;
  } else {
    d = utf8::Decode({text_, row_.end}, at->at);
  }
  *part = normalize::PartOf(*model_, rules, d.code_point, at->part);
  *change = at->part != 0 ? 1 : 0;
  if (++at->part < part->count) return true;
  at->part = 0;
  at->at += d.size;  // 0 of the first character
  at->at_first = false;
  return true;
}

// Composes what the starter takes of the marks behind it, by class. *held: some are left. False:
// they are more than any starter takes.
template <bool kPlaces>
bool HfChain<kPlaces>::ComposeMarks(const FirstMarks& marks, bool* held) {
  Row& r = row_;
  for (uint32_t ccc = 1; ccc < std::size(marks.count); ++ccc) {
    for (uint32_t i = 0; i < marks.count[ccc]; ++i) {
      if (i == FirstMarks::kMost || r.composed_count == std::size(r.composed)) return false;
      const auto [c, change] = marks.mark[ccc][i];
      const char32_t composed = normalize::Compose(*model_, r.starter, c);
      *held = *held || composed == 0;
      if (composed == 0) break;  // and it blocks those of its class
      r.starter = composed;
      r.starter_change += change - 1;
      r.composed[r.composed_count++] = static_cast<uint8_t>(ccc);
    }
  }
  return true;
}

// The next starter and the marks behind it. False: there is nothing left.
template <bool kPlaces>
bool HfChain<kPlaces>::OpenSegment() {
  Row& r = row_;
  const bool composes = FormOf(image::NormalizerOp{StepOf(r.stage).op}).composed;
  normalize::Part part;
  int32_t change;
  RowCursor at = r.next;
  if (!ReadPart(&at, &part, &change)) return false;
  r.has_starter = part.ccc == 0;
  if (r.has_starter) {
    r.starter = part.c;
    r.starter_change = change;
    r.next = at;
  }
  for (;;) {
    r.marks = r.next;
    r.composed_count = 0;
    std::fill_n(r.classes, std::size(r.classes), 0u);
    FirstMarks marks;
    bool more;
    while (at = r.next, more = ReadPart(&at, &part, &change), more && part.ccc != 0) {
      r.classes[part.ccc / 32] |= 1u << part.ccc % 32;
      marks.Add(part.ccc, part.c, change);
      r.next = at;
    }
    if (!composes || !r.has_starter) return true;
    bool held = false;
    failed_ |= !ComposeMarks(marks, &held);
    if (failed_) return false;
    if (held || !more || part.c < normalize::kFirstJoiningStarter) return true;
    // No mark stands between it and the next starter.
    const char32_t composed = normalize::Compose(*model_, r.starter, part.c);
    if (composed == 0) return true;
    r.starter = composed;
    r.starter_change += change - 1;
    r.next = at;
  }
}

// Goes on to the next class.
template <bool kPlaces>
void HfChain<kPlaces>::OpenClass() {
  Row& r = row_;
  do {
    r.ccc = (r.ccc + 1) % 256;
  } while (r.ccc != 0 && (r.classes[r.ccc / 32] >> r.ccc % 32 & 1) == 0);
  r.reading = r.marks;
  r.skip = static_cast<uint32_t>(
      std::count(r.composed, r.composed + r.composed_count, static_cast<uint8_t>(r.ccc)));
}

// A character of the row is stood for by what was made.
template <bool kPlaces>
void HfChain<kPlaces>::TakeOfRow() {
  Row& r = row_;
  if constexpr (kPlaces) {
    if (r.taken == 0) {
      r.last = r.first.place;
    } else if (r.taken_end != r.end) {
      const uint32_t begin = r.taken_end;
      r.taken_end += utf8::Decode({text_, r.end}, begin).size;
      r.last = {begin, r.taken_end};
    }
  }
  ++r.taken;
}

template <bool kPlaces>
typename HfChain<kPlaces>::Char HfChain<kPlaces>::MadeOfRow(char32_t made, int32_t change) {
  Row& r = row_;
  if (change <= 0) TakeOfRow();
  const uint32_t mark = r.taken <= 1 ? r.first.mark & kFront : 0;
  Place place = r.last;
  if constexpr (kPlaces) {
    if (r.taken == 0) place = r.first.place;
  }
  for (; change < 0; ++change) TakeOfRow();
  return Made(made, mark, place);
}

template <bool kPlaces>
bool HfChain<kPlaces>::NextOfRow(Char* c) {
  Row& r = row_;
  for (;;) {
    if (r.has_starter) {
      r.has_starter = false;
      *c = MadeOfRow(r.starter, r.starter_change);
      OpenClass();
      return true;
    }
    while (r.ccc != 0) {
      normalize::Part part;
      int32_t change;
      while (ReadPart(&r.reading, &part, &change) && part.ccc != 0) {
        if (part.ccc != r.ccc) continue;
        if (r.skip == 0) {
          *c = MadeOfRow(part.c, change);
          return true;
        }
        --r.skip;
      }
      OpenClass();
    }
    if (!OpenSegment()) {
      r.on = false;
      return false;
    }
    if (!r.has_starter) OpenClass();
  }
}

template bool HfChain<false>::OpenRow(uint32_t, const Char&, uint32_t,
                                      const normalize::NormalizedText&, normalize::Form);
template bool HfChain<true>::OpenRow(uint32_t, const Char&, uint32_t,
                                     const normalize::NormalizedText&, normalize::Form);
template bool HfChain<false>::NextOfRow(Char*);
template bool HfChain<true>::NextOfRow(Char*);

}  // namespace rankfeed::general
