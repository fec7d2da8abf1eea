// SPDX-License-Identifier: MIT
// fast/wordpiece.cc: see wordpiece.h.
#include "fast/wordpiece.h"

#include "base/utf8.h"
#include "fast/spans.h"

namespace rankfeed::fast {

WordPieceSpeller::WordPieceSpeller(const Model& model, const reference::Scratch&, const Scratch& scratch)
    : tables_(model.segment),
      scratch_(scratch),
      search_(model),
      code_count_(model.config->code_count),
      max_chars_(model.config->max_input_chars),
      unk_id_(model.config->unk_id) {
  if (!model.segment.config.has_value()) return;
  scratch.lone_ids[0] = scratch.lone_ids[code_count_] = unk_id_;
  for (uint32_t code = 1; code < code_count_; ++code) {
    const uint32_t id = model.PieceOfCode(code);
    scratch.lone_ids[code] = id != trie::kNoValue && max_chars_ != 0 ? id : unk_id_;
  }
}

// Appends characters of three bytes that are words of their own, as most are in Chinese. Returns where
// it stopped, before a character of another kind.
template <bool kPlaces>
[[gnu::always_inline]] inline size_t WordPieceSpeller::SpellSigns(std::string_view segment, size_t at,
                                                         uint32_t offset, image::CharInfo* previous,
                                                         TokenSink* sink) const {
  const image::CharInfo* const basic = tables_.char_info.data;
  const uint32_t* const lone_ids = scratch_.lone_ids;
  for (image::CharInfo last = *previous; at + 4 <= segment.size(); at += 3) {
    const uint32_t word = utf8::LoadThree(segment.data() + at), c = utf8::CodePointOfThree(word);
    if (!utf8::IsThree(word) || c < 0x800) break;
    const image::CharInfo info = basic[c];
    const uint32_t code = info.code();
    if (!info.IsOneWordAfter(last) || code == 0 || code > code_count_) break;
    if (lone_ids[code] == image::kNoId) break;
    const auto begin = static_cast<uint32_t>(offset + at);
    sink->Push(lone_ids[code], kPlaces ? begin : 0, kPlaces ? begin + 3 : 0);
    *previous = last = info;
  }
  return at;
}

template <bool kPlaces>
[[gnu::always_inline]] inline void WordPieceSpeller::Add(uint32_t code, uint32_t begin, uint32_t end,
                                                Word* word) const {
  const uint32_t i = word->count++;
  word->known &= code < code_count_;
  if (kPlaces) {
    if (i == 0) word->first_begin = begin;
    word->last_end = end;
  }
  if (i >= max_chars_) return;
  scratch_.codes[i] = static_cast<uint16_t>(code);
  if (kPlaces) scratch_.begins[i] = begin, scratch_.ends[i] = end;
}

template <bool kPlaces>
[[gnu::always_inline]] inline void WordPieceSpeller::EndWord(Word* word, TokenSink* sink,
                                                    Spelling* spelling) const {
  const uint32_t count = word->count;
  if (count == 0) return;
  const uint32_t first = sink->count;
  bool found = word->known && count <= max_chars_;
  if (found) {
    found = search_.Match({scratch_.codes, count}, [&](uint32_t id, uint32_t from, uint32_t to) {
      sink->Push(id, kPlaces ? scratch_.begins[from] : 0, kPlaces ? scratch_.ends[to - 1] : 0);
    });
  }
  if (!found) {
    sink->count = first;
    spelling->leaves |= unk_id_ == image::kNoId;
    sink->Push(unk_id_, word->first_begin, word->last_end);
  }
  *word = {};
}

template <bool kPlaces>
Spelling WordPieceSpeller::SpellWith(std::string_view segment, uint32_t offset,
                                    TokenSink* sink) const {
  Spelling spelling;
  Word word;
  image::CharInfo previous;  // of the character before
  for (size_t at = 0; at < segment.size();) {
    if (word.count == 0) {
      at = SpellSigns<kPlaces>(segment, at, offset, &previous, sink);
      if (at == segment.size()) break;
    }
    const Character c = CharacterAt(tables_, segment, at);
    const auto begin = static_cast<uint32_t>(offset + at);
    at += c.size;
    const auto end = static_cast<uint32_t>(offset + at);
    const image::CharInfo info = c.info;
    const uint32_t code = info.code();
    if (info.Joins(previous)) return {.leaves = true};
    previous = info;
    if (info.IsOneCode()) {
      Add<kPlaces>(code, begin, end, &word);
      continue;
    }
    if (info.Normalizes() || info.TakesGeneralPath()) return {.leaves = true};
    if (!info.Expands()) {
      // White space, or with a code a word of its own.
      EndWord<kPlaces>(&word, sink, &spelling);
      spelling.gaps |= code == 0;
      if (code == 0) continue;
      Add<kPlaces>(code, begin, end, &word);
      EndWord<kPlaces>(&word, sink, &spelling);
      continue;
    }
    const uint16_t* const list = tables_.expansions.data() + code;
    const uint32_t count = ExpansionCount(list);
    spelling.gaps |= count == 0;
    for (uint32_t i = 1; i <= count; ++i) {
      const bool sign = list[i] == image::kSign;
      if (sign || list[i] == 0) EndWord<kPlaces>(&word, sink, &spelling);
      if (sign && i++ == count) break;
      if (list[i] != 0) Add<kPlaces>(list[i], begin, end, &word);
      if (sign) EndWord<kPlaces>(&word, sink, &spelling);
    }
  }
  EndWord<kPlaces>(&word, sink, &spelling);
  return spelling;
}

template Spelling WordPieceSpeller::SpellWith<true>(std::string_view, uint32_t, TokenSink*) const;
template Spelling WordPieceSpeller::SpellWith<false>(std::string_view, uint32_t, TokenSink*) const;

}  // namespace rankfeed::fast
