// SPDX-License-Identifier: MIT
// segment/decode.cc: see decode.h.
#include "segment/decode.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "unicode/properties.h"
#include "base/utf8.h"

namespace rankfeed::segment {

// Whether a character of three bytes begins at text.
static bool BeginsThree(const char* text) {
  return (static_cast<unsigned char>(text[0]) & 0xf0) == 0xe0;
}

// Whether the character of three bytes at text is one of those from image::kFirstCjk on.
static bool IsCjk(const char* text) {
  static_assert(image::kFirstCjk == 0x2e80);  // E2 BA 80
  const auto lead = static_cast<unsigned char>(text[0]);
  return lead > 0xe2 || (lead == 0xe2 && static_cast<unsigned char>(text[1]) >= 0xba);
}

void Decoder::Open(bool word_start, const char* resume, uint32_t skip) {
  run_.begins[run_.count] = static_cast<uint16_t>(run_.size);
  run_.resume = skip_at_ = resume;
  skip_ = skip;
  if (word_start) Add(model_.segment.config->space_code);
}

// Empty words vanish, and so do the separators around them.
void Decoder::Close() {
  const std::span<const uint16_t> open(run_.codes + run_.open(), run_.codes + run_.size);
  if (open.empty() || (open.size() == 1 && BeginsWord(open))) {
    run_.size = run_.open();
  } else {
    run_.Cut(nullptr);
  }
}

// Appends what the character at text is replaced by, without the first `skip` elements.
void Decoder::AddExpansion(uint32_t info, const char* text, uint32_t skip) {
  const uint16_t* const list = model_.segment.expansions.data() + (info & image::kCharCodeMask);
  // With a U+2581 and a closing zero for each space.
  static_assert(2 * image::kMaxExpansionCodes + 2 <= 2 * kReserve);
  for (uint32_t i = skip, end = ExpansionCount(list); i < end; ++i) {
    uint16_t* out = run_.codes + run_.size;
    for (; i < end && list[1 + i] != 0; ++i) *out++ = list[1 + i];
    const auto size = static_cast<uint32_t>(out - run_.codes);
    if (size != run_.size) trailing_space_ = false;
    run_.size = size;
    if (i == end) break;
    Close();
    Open(true, text, i + 1);
    trailing_space_ = spaces_ = phrases_ = true;
  }
}

// Whether what is left of a segment holds nothing that sends its text to the general path.
bool Decoder::Normalizable(std::string_view rest) const {
  for (size_t pos = 0; pos < rest.size();) {
    const utf8::Decoded c = utf8::Decode(rest, pos);
    if (!c.valid || (model_.segment.char_info[c.code_point] & image::kCharGeneralPath) != 0) return false;
    pos += c.size;
  }
  return true;
}

// Whether the open part may end before that character.
bool Decoder::MayCut(uint32_t info) const {
  return run_.size - run_.open() >= RunDecode::kCutFrom && (info & image::kCharMarks) == 0 &&
         Cuttable(run_.pairs, run_.codes[run_.size - 1], run_.previous, info);
}

uint32_t Decoder::Short(const Segments& segments, const SegmentKey* keys, const uint16_t* misses,
                        uint32_t count, Decoded* out) {
  static_assert(ShortDecode::kMaxBytes < RunDecode::kCutFrom);
  // Groups of eight are written whole.
  constexpr uint32_t kRoom = ShortDecode::kMaxBytes + 1 + kReserve;
  ShortDecode to{run_.basic,
                 stream_.codes(),
                 stream_.sequences(),
                 stream_.size(),
                 stream_.count(),
                 std::max(Stream::kCapacity - run_.size - run_.count, kRoom) - kRoom,
                 Stream::kMaxSequences - 2,
                 static_cast<uint16_t>(model_.segment.config->space_code)};
  const uint32_t done = kernels_.decode_short(segments, keys, misses, count, &to, out);
  stream_.Grow(to.size, to.count);
  return done;
}

DecodeStatus Decoder::Raw(std::string_view segment, bool more, Resume* from) {
  const uint32_t first_size = run_.size, first_count = run_.count;
  const char* const text = segment.data();
  uint32_t& previous = run_.previous;
  previous = image::kCharUnknown;  // the U+2581 before it may be
  trailing_space_ = spaces_ = false;
  // What is open goes to the next batch.
  const auto full = [&] {
    if (run_.count == first_count) {
      run_.size = first_size;
      return first_size + stream_.size() == 0 ? DecodeStatus::kBail : DecodeStatus::kFull;
    }
    const std::span<const uint16_t> open(run_.codes + run_.open(), run_.codes + run_.size);
    *from = {static_cast<uint32_t>(run_.resume - text), run_.resume == skip_at_ ? skip_ : 0,
             !open.empty() && BeginsWord(open)};
    run_.size = run_.open();
    return DecodeStatus::kFull;
  };
  if (room() < 2 * kReserve) return full();
  Open(from->word_start, text + from->at, from->skip);
  uint32_t skip = from->skip;
  // A character of three bytes may be read with the byte behind it.
  const size_t beyond = more ? 2 : 3;
  run_.end = text + segment.size();
  run_.readable = text + std::max(segment.size(), beyond) - beyond;
  for (size_t pos = from->at; pos < segment.size();) {
    if (room() < 2 * kReserve) return full();
    // Characters that stand for one code each, as most do, up to a place to cut.
    const size_t begin = pos;
    for (;;) {
      if (pos + 3 <= segment.size() && BeginsThree(text + pos)) {
        run_.size_limit = run_.size + (room() - kReserve) / 2;  // codes, and as many parts
        const bool apart = IsCjk(text + pos);
        const auto decode = apart ? kernels_.decode_cjk : kernels_.decode_run;
        const auto end = static_cast<size_t>(decode(text + pos, &run_) - text);
        has_cjk_ |= apart && end != pos;
        pos = end;
      }
      if (pos == segment.size() || room() < 2 * kReserve) break;
      const utf8::Decoded c = utf8::Decode(segment, pos);
      const uint32_t info = model_.segment.char_info[c.code_point];
      if (!c.valid || !Follows(info, previous)) break;
      if (MayCut(info)) break;
      Add(info);
      previous = info;
      pos += c.size;
    }
    if (pos != begin) {
      trailing_space_ = false;
      continue;
    }
    const utf8::Decoded c = utf8::Decode(segment, pos);
    if (!c.valid) return DecodeStatus::kBail;
    const uint32_t info = model_.segment.char_info[c.code_point];
    if ((info & image::kCharGeneralPath) != 0) return DecodeStatus::kBail;
    if ((info & (image::kCharNormalizes | image::JoiningMarks(previous))) != 0) {
      // A mark at the start is in one cluster with the separator before it.
      const uint32_t first = model_.segment.char_info[utf8::Decode(segment, 0).code_point];
      if (from->at != 0 || (model_.huggingface() && (first & image::kCharMarks) != 0) ||
          !Normalizable({text + pos, segment.size() - pos})) {
        return DecodeStatus::kBail;
      }
      run_.size = first_size;
      run_.count = first_count;
      return DecodeStatus::kSlow;
    }
    pos += c.size;
    if ((info & image::kCharExpands) != 0) {
      previous = info | image::kCharUnknown;  // the last code may be
      AddExpansion(info, text + pos - c.size, skip);
      skip = 0;
      continue;
    }
    if ((info & image::kCharSpace) != 0) {
      previous = info | image::kCharUnknown;
      Close();
      Open(true, text + pos);
      trailing_space_ = spaces_ = true;
      continue;
    }
    trailing_space_ = false;
    if (MayCut(info)) run_.Cut(text + pos - c.size);
    previous = info;
    Add(info);
  }
  Close();
  return DecodeStatus::kDone;
}

DecodeStatus Decoder::Normalized(std::string_view text, bool word_start) {
  trailing_space_ = spaces_ = false;
  const uint32_t first_size = run_.size, first_count = run_.count;
  Open(word_start, nullptr);
  for (size_t pos = 0; pos < text.size();) {
    if (room() < kReserve) {
      run_.size = first_size;
      run_.count = first_count;
      return first_size + stream_.size() == 0 ? DecodeStatus::kBail : DecodeStatus::kFull;
    }
    uint32_t size;
    const char32_t c = utf8::DecodeValid(text.data() + pos, &size);
    pos += size;
    // HuggingFace may split here too. SentencePiece splits at spaces, and no charsmap that spells
    // a U+2581 comes here (builder/segment_tables.cc).
    if (model_.huggingface() && c != ' ' && (c == 0x2581 || unicode::IsWhiteSpace(c))) {
      return DecodeStatus::kBail;
    }
    trailing_space_ = c == ' ';
    if (trailing_space_) {
      Close();
      Open(true, nullptr);
      spaces_ = phrases_ = true;
      continue;
    }
    const uint32_t code = model_.codes[c];
    Add(code != 0 ? code : model_.config->code_count);
  }
  Close();
  return DecodeStatus::kDone;
}

// As Stream::Append of that part. Words of characters that became several come again with each of
// them: they are searched once.
uint32_t Decoder::AppendOnce(uint32_t i, uint16_t* slots) {
  static_assert(RunDecode::kBeyond >= 4);
  const std::span<const uint16_t> codes = part(i);
  const auto size = static_cast<uint32_t>(codes.size());
  // Codes behind the last part may be read.
  uint64_t front, back = 0;
  std::memcpy(&front, codes.data(), sizeof(front));
  if (size < 4) front &= (uint64_t{1} << 16 * size) - 1;
  if (size > 4) std::memcpy(&back, &codes[size - 4], sizeof(back));
  uint16_t& slot = slots[SegmentKey::Hash(size, front, back) >> (64 - kSlotBits)];
  const std::span<const uint16_t> before = slot < i ? part(slot) : std::span<const uint16_t>();
  if (!std::equal(codes.begin(), codes.end(), before.begin(), before.end())) {
    slot = static_cast<uint16_t>(i);
    return stream_.Append(codes.data(), size, BeginsWord(codes));
  }
  return scratch_.sequences[slot];
}

void Decoder::Solve(const ExactnessRule& rule) {
  // Without characters of those scripts hardly any part is short.
  uint32_t search_count = run_.count;
  if (has_cjk_) {
    const SpanTable table{model_.segment.spans.data(), model_.config->code_count,
                          model_.segment.config->span_bits};
    search_count = kernels_.look_up_spans(table, run_, scratch_.found, scratch_.searches);
  }
  uint16_t slots[1 << kSlotBits];
  if (phrases_) std::fill(std::begin(slots), std::end(slots), static_cast<uint16_t>(~0));
  for (uint32_t k = 0; k < search_count; ++k) {
    const uint32_t i = has_cjk_ ? scratch_.searches[k] : k;
    if (phrases_) {
      scratch_.sequences[i] = static_cast<uint16_t>(AppendOnce(i, slots));
      continue;
    }
    const std::span<const uint16_t> codes = part(i);
    scratch_.sequences[i] = static_cast<uint16_t>(
        stream_.Append(codes.data(), static_cast<uint32_t>(codes.size()), BeginsWord(codes)));
  }
  if (stream_.count() == 0) return;
  stream_.Solve(model_, kernels_, rule);
  for (uint32_t k = 0; k < search_count; ++k) {
    const uint32_t i = has_cjk_ ? scratch_.searches[k] : k;
    const PathResult& result = part_result(i);
    const bool kept = (result.flags & PathResult::NotKept(rule.float32())) == 0 &&
                      result.count <= CacheLine::kMaxIds;
    // A limit of 0 and a weight stop whoever writes ids by their infos.
    scratch_.found[i] = {stream_.ids() + result.first_id, 0,
                         kept ? result.info : image::PathInfo{0, 0, ExactnessRule::kMaxWeight}};
  }
}

uint32_t DecodePlain(const Model& model, std::string_view segment, bool word_start,
                     uint16_t* codes) {
  uint32_t count = 0;
  if (word_start) codes[count++] = static_cast<uint16_t>(model.segment.config->space_code);
  for (size_t pos = 0; pos < segment.size();) {
    uint32_t size;
    const uint32_t info = model.segment.char_info[utf8::DecodeValid(segment.data() + pos, &size)];
    pos += size;
    if ((info & image::kCharExpands) != 0) {
      const uint16_t* list = model.segment.expansions.data() + (info & image::kCharCodeMask);
      const uint32_t mapped = ExpansionCount(list);
      for (uint32_t i = 0; i < mapped; ++i) codes[count++] = list[1 + i];
    } else {
      codes[count++] = static_cast<uint16_t>(info & image::kCharCodeMask);
    }
  }
  return count;
}

}  // namespace rankfeed::segment
