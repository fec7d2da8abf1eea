// SPDX-License-Identifier: MIT
// words/speller.cc: see speller.h.
#include "words/speller.h"

#include "base/utf8.h"
#include "segment/spans.h"

namespace rankfeed::words {

template <bool kPlaces>
[[gnu::always_inline]] inline void Speller::Add(uint32_t code, uint32_t begin, uint32_t end,
                                                Word* word) const {
  const uint32_t i = word->count++;
  word->known &= code < model_.config->code_count;
  if (kPlaces) {
    if (i == 0) word->first_begin = begin;
    word->last_end = end;
  }
  if (i >= model_.config->max_input_chars) return;
  scratch_.codes[i] = static_cast<uint16_t>(code);
  if (kPlaces) scratch_.begins[i] = begin, scratch_.ends[i] = end;
}

template <bool kPlaces>
[[gnu::always_inline]] inline void Speller::EndWord(Word* word, TokenSink* sink,
                                                    Outcome* outcome) const {
  const uint32_t count = word->count;
  if (count == 0) return;
  const uint32_t first = sink->count;
  bool found = word->known && count <= model_.config->max_input_chars;
  if (found) {
    found = search_.Match({scratch_.codes, count}, [&](uint32_t id, uint32_t from, uint32_t to) {
      sink->Push(id, kPlaces ? scratch_.begins[from] : 0, kPlaces ? scratch_.ends[to - 1] : 0);
    });
  }
  if (!found) {
    sink->count = first;
    outcome->missing |= model_.config->unk_id == image::kNoId;
    sink->Push(model_.config->unk_id, word->first_begin, word->last_end);
  }
  *word = {};
}

template <bool kPlaces>
Speller::Outcome Speller::SpellWith(std::string_view segment, uint32_t offset,
                                    TokenSink* sink) const {
  constexpr uint32_t kNotOne = image::kCharExpands | image::kCharNormalizes |
                               image::kCharGeneralPath | image::kCharSpace;
  Outcome outcome;
  Word word;
  uint32_t previous = 0;  // CharInfo of the character before
  for (size_t at = 0; at < segment.size();) {
    const utf8::Decoded c = utf8::DecodeInline(segment, at);
    const auto begin = static_cast<uint32_t>(offset + at);
    at += c.size;
    const auto end = static_cast<uint32_t>(offset + at);
    const uint32_t info = tables_.char_info[c.code_point];
    const uint32_t code = info & image::kCharCodeMask;
    if ((info & image::JoiningMarks(previous)) != 0) return {.general = true};
    previous = info;
    if ((info & kNotOne) == 0) {
      Add<kPlaces>(code, begin, end, &word);
      continue;
    }
    if ((info & (image::kCharNormalizes | image::kCharGeneralPath)) != 0) return {.general = true};
    if ((info & image::kCharExpands) == 0) {
      // White space, or with a code a word of its own.
      EndWord<kPlaces>(&word, sink, &outcome);
      outcome.gaps |= code == 0;
      if (code == 0) continue;
      Add<kPlaces>(code, begin, end, &word);
      EndWord<kPlaces>(&word, sink, &outcome);
      continue;
    }
    const uint16_t* const list = tables_.expansions.data() + code;
    const uint32_t count = segment::ExpansionCount(list);
    outcome.gaps |= count == 0;
    for (uint32_t i = 1; i <= count; ++i) {
      const bool sign = list[i] == image::kSign;
      if (sign || list[i] == 0) EndWord<kPlaces>(&word, sink, &outcome);
      if (sign && i++ == count) break;
      if (list[i] != 0) Add<kPlaces>(list[i], begin, end, &word);
      if (sign) EndWord<kPlaces>(&word, sink, &outcome);
    }
  }
  EndWord<kPlaces>(&word, sink, &outcome);
  return outcome;
}

template Speller::Outcome Speller::SpellWith<true>(std::string_view, uint32_t, TokenSink*) const;
template Speller::Outcome Speller::SpellWith<false>(std::string_view, uint32_t, TokenSink*) const;

}  // namespace rankfeed::words
