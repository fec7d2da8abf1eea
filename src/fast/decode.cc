// SPDX-License-Identifier: MIT
// fast/decode.cc: see decode.h. The loops over characters that are one code each are in
// kernels/.
#include "fast/decode.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "fast/kernels/kernels.h"
#include "unicode/properties.h"

namespace rankfeed::fast {

using Kind = Outcome::Kind;

// Returns whether the character of three bytes at text is one of those from image::kFirstCjk on.
static bool IsCjk(const char* text) {
  static_assert(image::kFirstCjk == 0x2e80);  // E2 BA 80
  const auto lead = static_cast<unsigned char>(text[0]);
  return lead > 0xe2 || (lead == 0xe2 && static_cast<unsigned char>(text[1]) >= 0xba);
}

// Returns whether the character of three bytes at text stands for one code, and whether the kernels may
// read it: they load a byte more.
bool SpanDecoder::IsDirect(const char* text) const {
  return text < run_.readable && run_.direct[utf8::CodePointOfThree(utf8::LoadThree(text))] != 0;
}

void SpanDecoder::Scratch::Carve(Layout& layout) {
  codes = layout.Take<uint16_t>(kMaxSpans);
  begins = layout.Take<uint16_t>(kMaxSpans);
  decoded = layout.Take<Decoded>(LookUp::kMaxBatch + kVectorSlack);
  reader.Carve(layout);
}

SpanDecoder::SpanDecoder(const Model& model, const KernelTable& kernels,
                         const NormalizedTokens& normalized_tokens, SpanBatch& search, const Scratch& scratch)
    : model_(model),
      tables_(model.segment),
      kernels_(kernels),
      search_(search),
      decoded_(scratch.decoded),
      reader_(model, normalized_tokens, scratch.reader),
      groups_(reader_.groups()),
      leaves_nothing_((model.segment.config->rules & image::kEverySpaceIsWord) != 0 &&
                      !model.huggingface()),
      run_(model, scratch.codes, scratch.begins) {}

uint32_t SpanDecoder::Decode(SegmentQueue& queue, uint32_t count, LookUp& look_up) {
  search_.Clear();
  run_.size = run_.count = 0;
  cjk_codes_ = 0;
  const bool resumed = resumes_;  // the first segment, whose begin the batch before decoded
  resumes_ = false;
  const Segments segments = queue.segments();
  Decoded* const decoded = decoded_;
  uint32_t done = 0, run_number = 0, end = count;
  bool separated = false;
  for (uint32_t k = 0; k < look_up.miss_count(); ++k) {
    const uint32_t i = look_up.misses()[k];
    if (!resumed && segments.size(i) <= ShortDecode::kMaxBytes) {
      const uint32_t shorts = DecodeShort(segments, look_up, k, decoded + done);
      done += shorts;
      if (shorts != 0) {
        k += shorts - 1;
        continue;
      }
    }
    const SegmentRun& run = queue.RunOf(i, &run_number);
    const std::string_view bytes = segments.Bytes(run.stretch, i);
    const auto byte = [&](uint32_t at) { return int{static_cast<unsigned char>(run.stretch[at])}; };
    const uint32_t begin = segments.begin(i), bytes_end = segments.ends[i];
    before_ = begin != 0 ? byte(begin - 1) : kNoByte;
    after_ = bytes_end < run.stretch.size() ? byte(bytes_end) : kNoByte;
    Outcome outcome = DecodeLong(bytes, segments.word_start(i), resumed);
    if (outcome.kind == Kind::kNormalize) outcome = DecodeNormalized(bytes, segments.word_start(i));
    if (outcome.kind == Kind::kGeneral) {
      // The segments before it are encoded to their end.
      end = queue.Leave(run_number, i, outcome.reason, resumed);
      while (done != 0 && decoded[done - 1].segment >= end) --done;
      break;
    }
    if (run_.depends && !separated) {  // on what is beside the segment, so that repeats of it may differ
      look_up.ForgetRepeats(k);
      separated = true;
    }
    resumes_ = outcome.kind == Kind::kFull && run_.has_span();
    if (outcome.kind == Kind::kFull) end = i;
    if (outcome.kind == Kind::kFull && !resumes_) break;
    const uint32_t first = run_.first_count;
    const bool cacheable = !resumes_ && !resumed && run_.count - first == 1 && !run_.spaces &&
                           !run_.trailing_space && !run_.depends &&
                           run_.Codes(first).size() <= kMaxSegmentCodes;
    decoded[done++] = {static_cast<uint16_t>(i),
                       static_cast<uint16_t>(SpanBatch::kFirstOfRuns + first),
                       static_cast<uint16_t>(SpanBatch::kFirstOfRuns + run_.count),
                       cacheable,
                       run_.trailing_space,
                       run_.word_first};
    if (resumes_) break;
  }
  decoded_count_ = done;
  return end;
}

// Decodes misses from number `first` on, as long as they are short and of one code a character; returns how many.
uint32_t SpanDecoder::DecodeShort(const Segments& segments, const LookUp& look_up, uint32_t first,
                                  Decoded* out) {
  static_assert(ShortDecode::kMaxBytes < RunDecode::kCutFrom);
  // Groups of eight are written whole.
  constexpr uint32_t kRoom = ShortDecode::kMaxBytes + 1 + kCharRoom;
  ShortDecode to{
      .basic = run_.basic,
      .codes = search_.codes(),
      .spans = search_.spans(),
      .decoded = out,
      .size = search_.size(),
      .count = search_.count(),
      .size_limit = std::max(search_.room() - run_.size - run_.count, kRoom) - kRoom,
      .count_limit = SpanBatch::kMaxSpans - 2,
      .metaspace = run_.metaspace};
  const uint32_t done = kernels_.decode_short(segments, look_up.keys(), look_up.misses() + first,
                                              look_up.miss_count() - first, &to);
  search_.Grow(to.size, to.count);
  return done;
}

// The batch is full, before the character at `at`: the open span goes to the next one. A segment that fills a
// batch alone, without a place to cut it, takes the general path.
Outcome SpanDecoder::Full(size_t at) {
  if (!run_.has_span()) {
    if (run_.first_size + search_.size() == 0) return Outcome::General(RANKFEED_REASON_LENGTH);
    run_.TakeBack();
    return {Kind::kFull};
  }
  const uint32_t open = run_.open();
  cursor_.at = static_cast<uint32_t>(at);
  cursor_.previous = run_.previous;
  cursor_.open = static_cast<uint16_t>(open);
  cursor_.open_size = static_cast<uint16_t>(run_.size - open);
  cursor_.last = run_.codes[open - 1];
  cursor_.spaced = run_.trailing_space;
  run_.size = open;
  return {Kind::kFull};
}

// Returns the meaning of the character before `at`.
image::CharInfo SpanDecoder::InfoBefore(std::string_view segment, size_t at) const {
  return CharacterAt(tables_, segment, utf8::Previous(segment, at)).info;
}

// Appends the spans of the segment; resumed: from the cursor on, which Full() sets.
Outcome SpanDecoder::DecodeLong(std::string_view segment, bool word_start, bool resumed) {
  const char* const text = segment.data();
  if (!resumed) cursor_ = {.previous = CharInfo::OfUnknown()};  // the U+2581 before it may be unknown
  run_.Begin(!resumed, before_ == kNoByte, cursor_.spaced);
  run_.previous = cursor_.previous;
  if (room() < 2 * kCharRoom) return Full(cursor_.at);
  run_.Open(word_start && !resumed);
  std::copy_n(run_.codes + cursor_.open, cursor_.open_size, run_.codes + run_.size);
  run_.size += cursor_.open_size;
  // A character of three bytes may be read with the byte after it.
  const size_t beyond = after_ != kNoByte ? 2 : 3;
  run_.end = text + segment.size();
  run_.readable = text + std::max(segment.size(), beyond) - beyond;
  const Outcome outcome =
      run_.signs.any() ? DecodeBesideSigns(segment, cursor_.at) : DecodeChars(segment, cursor_.at);
  if (outcome.kind != Kind::kSearch) return outcome;
  if (MayJoinLineEnds()) return Outcome::General(RANKFEED_REASON_CONTEXT);
  run_.Close();
  return {};
}

// Appends the characters of a segment from pos on; the last span stays open.
Outcome SpanDecoder::DecodeChars(std::string_view segment, size_t pos) {
  const char* const text = segment.data();
  CharInfo& previous = run_.previous;
  bool after_special = false;  // another such character may follow: no loop need be entered
  while (pos < segment.size()) {
    if (room() < 2 * kCharRoom) return Full(pos);
    // Characters that stand for one code each, as most do, up to a place to cut.
    const size_t begin = pos;
    Character c = {};
    for (;; after_special = false) {
      if (!after_special && pos + 3 <= segment.size() && (text[pos] & 0xf0) == 0xe0) {
        run_.size_limit = run_.size + (room() - kCharRoom) / 2;  // codes, and as many spans
        const bool cjk = IsCjk(text + pos);
        if (!cjk) {
          pos = static_cast<size_t>(kernels_.decode_run(text + pos, &run_) - text);
        } else if (IsDirect(text + pos)) {
          const auto end = static_cast<size_t>(kernels_.decode_cjk(text + pos, &run_) - text);
          cjk_codes_ += static_cast<uint32_t>(end - pos) / 3;
          pos = end;
        }
      }
      if (pos < segment.size() && static_cast<unsigned char>(text[pos]) < 0x80) {
        pos = AppendAscii(segment, pos);
      }
      if (pos == segment.size() || room() < 2 * kCharRoom) {
        c = {};
        break;
      }
      c = CharacterAt(tables_, segment, pos);
      if (!c.valid) break;
      if (c.info.Follows(previous)) {
        if (run_.MayCut(c.info)) break;
        run_.Add(c.info.code());
        previous = c.info;
      } else if (!AppendExpansion(c.info, &run_)) {
        break;
      }
      pos += c.size;
    }
    if (pos != begin) {
      run_.trailing_space = false;
      if (c.size == 0) continue;
    }
    const Outcome outcome = SpecialChar(segment, c, &pos);
    after_special = true;
    if (outcome.kind != Kind::kSearch) return outcome;
  }
  return {};
}

// Appends ASCII characters from `at` on that are one code each, as long as there is room, up to a
// place to cut; returns where it stopped.
inline size_t SpanDecoder::AppendAscii(std::string_view segment, size_t at) {
  const CharInfo* const basic = run_.basic;
  const uint64_t* const pairs = run_.pairs;
  uint16_t* const codes = run_.codes;
  const uint32_t left = room(), cut_from = run_.open() + RunDecode::kCutFrom;
  uint32_t size = run_.size;
  CharInfo previous = run_.previous;
  const uint32_t limit = size + left - std::min(left, 2 * kCharRoom - 1);
  for (; at < segment.size() && size < limit; ++at) {
    const auto byte = static_cast<unsigned char>(segment[at]);
    if (byte >= 0x80) break;
    const CharInfo info = basic[byte];
    if (!info.Follows(previous)) break;
    if (size >= cut_from && !info.IsMark() &&
        MayEndBetween(pairs, codes[size - 1], previous, info)) {
      break;
    }
    codes[size++] = static_cast<uint16_t>(info.code());
    previous = info;
  }
  run_.size = size;
  run_.previous = previous;
  return at;
}

// Returns whether the character at `at` is read together with the one before it, of that info.
bool SpanDecoder::IsJoined(std::string_view segment, size_t at, CharInfo info) const {
  if (info.bases() == 0 || at == segment.size() || static_cast<unsigned char>(segment[at]) < 0x80) {
    return false;
  }
  return CharacterAt(tables_, segment, at).info.Joins(info);
}

// Appends the character c at *at, which is more or less than one code, or after which the open
// span ends; *at is moved on.
Outcome SpanDecoder::SpecialChar(std::string_view segment, const Character& c, size_t* at) {
  const CharInfo info = c.info;
  CharInfo& previous = run_.previous;
  if (info.TakesGeneralPath() && !StandsApart(segment, *at, info)) {
    return Outcome::General(RANKFEED_REASON_CHARACTER);
  }
  // A byte that is no character is U+FFFD; SentencePiece does not look that up in its charsmap.
  if ((!c.valid && !model_.huggingface()) ||
      info.NormalizesAfter(previous) || IsJoined(segment, *at + c.size, info)) {
    return Together(segment, at);
  }
  const bool begins = *at == 0;
  *at += c.size;
  if (info.Expands()) {
    const std::span<const uint16_t> codes = ExpansionOf(tables_, info);
    if (leaves_nothing_ && begins && codes.empty()) {
      return Outcome::General(RANKFEED_REASON_CONTEXT);
    }
    previous = info.AsUnknown();  // the last code may be
    // Each space takes a U+2581 and a closing zero.
    static_assert(2 * image::kMaxExpansionCodes + 2 <= 2 * kCharRoom);
    run_.AddElements(codes);
  } else if (info.EndsWord()) {
    previous = info.AsUnknown();
    run_.AddSpace();
  } else {
    run_.trailing_space = false;
    if (run_.MayCut(info)) run_.Cut();
    previous = info;
    run_.Add(info.code());
  }
  return {};
}

}  // namespace rankfeed::fast
