// SPDX-License-Identifier: MIT
// general/hf_forms.cc: normalization forms of hf_characters.h, which read some characters together.
#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "general/hf_characters.h"

namespace rankfeed::general {

using image::NormalizerOp;

template <bool kPlaces>
bool HfChain<kPlaces>::NormalForm(uint32_t stage, Char* c) {
  Form& form = forms_[stages_[stage].form];
  for (;;) {
    if (row_.on && row_.stage == stage) {
      if (NextOfRow(c)) return true;
      if (failed_) return false;
    }
    if (form.at != form.size) break;
    if (!RunForm(stage)) return false;
  }
  const uint32_t made = form.made[form.at];
  Set(c, made & ~kFrontBit, (made & kFrontBit) != 0 ? kFront : 0);
  if constexpr (kPlaces) c->place = form.place[form.at];
  ++form.at;
  return true;
}

// Normalizes the next characters that are read together. False at the end.
template <bool kPlaces>
bool HfChain<kPlaces>::RunForm(uint32_t stage) {
  const normalize::Form rules = FormOf(NormalizerOp{StepOf(stage).op});
  Stage& s = stages_[stage];
  Form& form = forms_[s.form];
  if (!Hold(stage)) return false;
  const Char first = s.held;
  const uint32_t behind = at_;
  s.has_held = false;
  const bool more = Hold(stage) && !known_->StartsApart(s.held.c, rules);
  if (!more && known_->StaysAlone(first.c, rules)) {
    form.made[0] = first.c | ((first.mark & kFront) != 0 ? kFrontBit : 0);
    if constexpr (kPlaces) form.place[0] = first.place;
    form.at = 0;
    form.size = 1;
    return true;
  }
  if (!more) return RunTogether(stage, first, behind, rules);
  const Char second = s.held;
  s.has_held = false;
  const bool front = ((first.mark | second.mark) & kFront) != 0;
  if (kPlaces || front || (Hold(stage) && !known_->StartsApart(s.held.c, rules))) {
    return RunTogether(stage, first, behind, rules, &second);
  }
  // Two characters that are read together, as most are that are.
  const uint64_t key = KnownForms::KeyOf(first.c, second.c, rules);
  KnownForms::Pair& pair = known_->PairAt(key);
  if (pair.key != key) {
    if (!RunTogether(stage, first, behind, rules, &second)) return false;
    if (form.size > KnownForms::kMaxOfPair) return true;
    pair.key = key;
    pair.size = form.size;
    std::copy_n(form.made, form.size, pair.made);
    return true;
  }
  form.at = 0;
  form.size = pair.size;
  std::copy_n(pair.made, KnownForms::kMaxOfPair, form.made);
  return true;
}

// The same of the first one, the second one if that was taken, and those behind it, of which s.held
// is one if it does not start apart. behind: where the text goes on behind the first one, where the
// elements before hold nothing.
template <bool kPlaces>
bool HfChain<kPlaces>::RunTogether(uint32_t stage, const Char& first, uint32_t behind,
                                   normalize::Form rules, const Char* second) {
  Stage& s = stages_[stage];
  Form& form = forms_[s.form];
  // At most a byte each.
  constexpr uint32_t kBytes = 4 * kFormReads;
  char in_bytes[kBytes];
  uint32_t in_number[kBytes], in_end[kBytes];
  Place places[kPlaces ? kBytes : 1];
  normalize::NormalizedText in;
  in.data = in_bytes;
  in.begin = in_number;
  in.end = in_end;
  in.capacity = kBytes;
  uint32_t count = 0, front = 0;  // those that came of the first character of the text come first
  const auto put = [&](const Char& c) {
    const uint32_t size = utf8::Encode(c.c, in_bytes + in.size);
    front += c.mark & kFront;
    if (kPlaces || front != 0) {  // otherwise they are not looked at
      std::fill_n(in_number + in.size, size, count);
      std::fill_n(in_end + in.size, size, 0u);
    }
    in.size += size;
    if constexpr (kPlaces) places[count] = c.place;
    ++count;
  };
  put(first);
  if (second != nullptr) put(*second);
  while (Hold(stage) && !known_->StartsApart(s.held.c, rules)) {
    if (count == kFormReads && OpenRow(stage, first, behind, in, rules)) return true;
    if (in.capacity - in.size < 4) {
      failed_ = true;
      return false;
    }
    put(s.held);
    s.has_held = false;
  }
  if (!kPlaces && front == 0) in.begin = in.end = nullptr;
  uint8_t from[kFormMakes];
  if (!Known(in, StepOf(stage).op, rules, &form, from)) return false;
  if (form.size > 2) made_by_ = stage;
  for (uint32_t i = 0; i < form.size && in.begin != nullptr; ++i) {
    if (from[i] < front) form.made[i] |= kFrontBit;
    if constexpr (kPlaces) form.place[i] = places[from[i]];
  }
  return true;
}

// MakeForm, or what it made of the same before.
template <bool kPlaces>
bool HfChain<kPlaces>::Known(const normalize::NormalizedText& in, uint32_t op,
                             normalize::Form rules, Form* form, uint8_t* from) {
  const bool ranges = in.begin != nullptr;
  // Without places those with ranges are few, and the others have none to keep.
  if ((ranges && !kPlaces) || in.size > KnownForms::kMaxBytes) {
    return MakeForm(in, rules, form, from);
  }
  uint64_t bytes = 0;
  std::memcpy(&bytes, in.data, in.size);
  KnownForms::Group* const group = known_->At(bytes);
  if (!group->Is(bytes, op)) {
    if (!MakeForm(in, rules, form, from)) return false;
    if (form->size > KnownForms::kMaxMade) return true;
    group->bytes = bytes;
    group->op = op;
    group->size = form->size;
    std::copy_n(form->made, form->size, group->made);
    if constexpr (kPlaces) std::copy_n(from, form->size, group->from);
    return true;
  }
  form->at = 0;
  form->size = group->size;
  std::copy_n(group->made, group->size, form->made);
  if constexpr (kPlaces) std::copy_n(group->from, group->size, from);
  return true;
}

// What a form makes of characters that it reads together. in: with their numbers as begins, or
// without; then from gets that of the one that each character made has the place of.
template <bool kPlaces>
bool HfChain<kPlaces>::MakeForm(normalize::NormalizedText in, normalize::Form rules, Form* form,
                                uint8_t* from) {
  const bool ranges = in.begin != nullptr;
  char out_bytes[4 * kFormMakes];
  uint32_t out_number[4 * kFormMakes], out_end[4 * kFormMakes];
  uint32_t work[3][4 * kFormMakes];
  normalize::NormalizedText out;
  out.data = out_bytes;
  out.begin = out_number;
  out.end = out_end;
  out.capacity = sizeof(out_bytes);
  if (!ranges) out.begin = out.end = nullptr;
  uint32_t* const works[3] = {work[0], work[1], work[2]};
  failed_ |= !normalize::RunForm(*model_, rules, works, in, &out);
  form->at = form->size = 0;
  for (uint32_t pos = 0, size; pos < out.size && !failed_; pos += size) {
    const char32_t made = utf8::DecodeValid(out_bytes + pos, &size);
    failed_ |= form->size == kFormMakes;
    if (failed_) break;
    if (ranges) from[form->size] = static_cast<uint8_t>(out_number[pos]);
    form->made[form->size++] = made;
  }
  return !failed_;
}

template bool HfChain<false>::NormalForm(uint32_t, Char*);
template bool HfChain<true>::NormalForm(uint32_t, Char*);

}  // namespace rankfeed::general
