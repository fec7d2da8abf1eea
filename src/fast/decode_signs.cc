// SPDX-License-Identifier: MIT
// fast/decode_signs.cc: segments with signs in them (signs.h), and characters and groups that
// become signs: each sign is a word.
//
// A sign of ASCII is in a segment only where it begins that, or where it may be read with what
// follows it.
#include <algorithm>

#include "base/utf8.h"
#include "fast/decode.h"

namespace rankfeed::fast {

using Kind = Outcome::Kind;

// Appends the characters of the segment from pos on.
Outcome SpanDecoder::DecodeBesideSigns(std::string_view segment, size_t pos) {
  const int after = after_;
  while (pos < segment.size()) {
    if (run_.signs.Has(segment[pos])) {
      const Outcome outcome = DecodeSign(segment, &pos);
      if (outcome.kind != Kind::kSearch) return outcome;
      continue;
    }
    const std::string_view part{segment.data(), NextSign(segment, pos)};
    run_.end = part.data() + part.size();
    after_ = part.size() == segment.size() ? after : static_cast<unsigned char>(*run_.end);
    const Outcome outcome = DecodeChars(part, pos);
    after_ = after;
    if (outcome.kind != Kind::kSearch) return outcome;
    pos = part.size();
  }
  return {};
}

// The first sign of ASCII from `at`, which is none, on, or the end of the segment. A batch may end
// many times before it.
size_t SpanDecoder::NextSign(std::string_view segment, size_t at) {
  if (at < cursor_.no_sign_begin || at >= cursor_.no_sign_end) {
    size_t end = at + 1;
    while (end != segment.size() && !run_.signs.Has(segment[end])) ++end;
    cursor_.no_sign_begin = static_cast<uint32_t>(at);
    cursor_.no_sign_end = static_cast<uint32_t>(end);
  }
  return cursor_.no_sign_end;
}

// Appends the sign of ASCII at *at, which is moved on.
Outcome SpanDecoder::DecodeSign(std::string_view segment, size_t* at) {
  const size_t begin = *at, end = begin + 1;
  const bool more = end != segment.size() && !run_.signs.Has(segment[end]);
  if (more && run_.signs.MayJoin(segment, end)) return Outcome::General(RANKFEED_REASON_CONTEXT);
  if (room() < 4 * kCharRoom) return Full(begin);
  // At the begin the scanner has determined that a word begins there.
  const auto sign = static_cast<unsigned char>(segment[begin]);
  run_.AddSign(reader_.CodeOf(sign), /*begun=*/begin == 0 && run_.front);
  run_.previous = tables_.char_info[sign];
  cursor_.after_sign = static_cast<uint32_t>(*at = end);
  return {};
}

}  // namespace rankfeed::fast
