// SPDX-License-Identifier: MIT
// general/hf_forms.cc: normalization forms of hf_characters.h, which read some characters together.
#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "general/hf_characters.h"

namespace rankfeed::general {

using image::NormalizerOp;

bool HfCharacters::NormalForm(uint32_t stage, Character* c) {
  Form& form = forms_[stages_[stage].form];
  while (form.at == form.size) {
    if (!RunForm(stage)) return false;
  }
  const uint32_t made = form.made[form.at++];
  *c = {made & ~kFrontBit, (made & kFrontBit) != 0 ? kFront : 0};
  return true;
}

// Normalizes the next characters that are read together. False at the end.
bool HfCharacters::RunForm(uint32_t stage) {
  const normalize::Form rules = FormOf(NormalizerOp{StepOf(stage).op});
  Stage& s = stages_[stage];
  Form& form = forms_[s.form];
  if (!Hold(stage)) return false;
  const Character first = s.held;
  s.has_held = false;
  const bool more = Hold(stage) && !StartsApart(*model_, s.held.c, rules);
  if (!more && StaysAlone(*model_, first.c, rules)) {
    form.made[0] = first.c | ((first.mark & kFront) != 0 ? kFrontBit : 0);
    form.at = 0;
    form.size = 1;
    return true;
  }
  return RunTogether(stage, first, rules);
}

// The same of the first one and those behind it, of which s.held is one if it does not start apart.
bool HfCharacters::RunTogether(uint32_t stage, const Character& first, normalize::Form rules) {
  Stage& s = stages_[stage];
  Form& form = forms_[s.form];
  char in_bytes[4 * kFormReads];
  uint32_t in_front[4 * kFormReads], in_end[4 * kFormReads];
  normalize::NormalizedText in;
  in.data = in_bytes;
  in.begin = in_front;
  in.end = in_end;
  in.capacity = sizeof(in_bytes);
  bool front = false;
  const auto put = [&](const Character& c) {
    const uint32_t size = utf8::Encode(c.c, in_bytes + in.size);
    std::fill_n(in_front + in.size, size, c.mark & kFront);
    std::fill_n(in_end + in.size, size, 0u);
    in.size += size;
    front |= (c.mark & kFront) != 0;
  };
  put(first);
  while (Hold(stage) && !StartsApart(*model_, s.held.c, rules)) {
    if (in.capacity - in.size < 4) {
      failed_ = true;
      return false;
    }
    put(s.held);
    s.has_held = false;
  }
  if (front) return MakeForm(in, rules, &form);
  in.begin = in.end = nullptr;  // so they are not looked at
  if (in.size > KnownForms::kMaxBytes) return MakeForm(in, rules, &form);
  uint64_t bytes = 0;
  std::memcpy(&bytes, in_bytes, in.size);
  KnownForms::Group* const group = known_->At(bytes);
  if (!group->Is(bytes, StepOf(stage).op)) {
    if (!MakeForm(in, rules, &form)) return false;
    if (form.size > KnownForms::kMaxMade) return true;
    group->bytes = bytes;
    group->op = StepOf(stage).op;
    group->size = form.size;
    std::copy_n(form.made, form.size, group->made);
    return true;
  }
  form.at = 0;
  form.size = group->size;
  std::copy_n(group->made, group->size, form.made);
  return true;
}

// What a form makes of characters that it reads together. in: with begins, kFront or 0, where some
// is of the first character of the text.
bool HfCharacters::MakeForm(normalize::NormalizedText in, normalize::Form rules, Form* form) {
  const bool front = in.begin != nullptr;
  char out_bytes[4 * kFormMakes];
  uint32_t out_front[4 * kFormMakes], out_end[4 * kFormMakes];
  uint32_t work[3][4 * kFormMakes];
  normalize::NormalizedText out;
  out.data = out_bytes;
  out.begin = out_front;
  out.end = out_end;
  out.capacity = sizeof(out_bytes);
  if (!front) out.begin = out.end = nullptr;
  uint32_t* const works[3] = {work[0], work[1], work[2]};
  failed_ |= !normalize::RunForm(*model_, rules, works, in, &out);
  form->at = form->size = 0;
  for (uint32_t pos = 0, size; pos < out.size && !failed_; pos += size) {
    const char32_t made = utf8::DecodeValid(out_bytes + pos, &size);
    failed_ |= form->size == kFormMakes;
    if (!failed_) form->made[form->size++] = made | (front && out_front[pos] != 0 ? kFrontBit : 0);
  }
  return !failed_;
}

}  // namespace rankfeed::general
