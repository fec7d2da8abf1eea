// SPDX-License-Identifier: MIT
// normalize/replace.cc: tokenizers 0.23.2, normalizers/{strip,prepend,replace}.rs.
//
// A replaced stretch gives all new characters the range of its
// last byte (NormalizedString::replace); a prefix takes the range of the first character (prepend).
#include "normalize/replace.h"

#include "base/narrow.h"
#include "base/utf8.h"
#include "unicode/properties.h"

namespace rankfeed::normalize {
namespace {

// Replaces the stretches that next(from, &begin, &end) finds at or after from. A pattern is not
// empty (image/verify.cc); in an image that is written to while it is mapped it may become so,
// which is an error here, as nothing would come to an end.
template <class Next>
bool ReplaceEach(std::string_view content, const NormalizedText& in, NormalizedText* out,
                 Next next) {
  Writer writer(in, out);
  uint32_t done = 0, begin = 0, end = 0;
  while (next(done, &begin, &end)) {
    writer.Copy(done, begin);
    writer.Put(content, end - 1);
    done = end;
  }
  writer.Copy(done, in.size);
  return writer.ok();
}

bool Strip(bool left, bool right, const NormalizedText& in, NormalizedText* out) {
  uint32_t from = 0, to = in.size;
  while (left && from < in.size) {
    uint32_t size;
    if (!unicode::IsWhiteSpace(utf8::DecodeValid(in.data + from, &size))) break;
    from += size;
  }
  while (right && to > from) {
    uint32_t last = to - 1, size;
    while (utf8::IsContinuation(in.data[last])) --last;
    if (!unicode::IsWhiteSpace(utf8::DecodeValid(in.data + last, &size))) break;
    to = last;
  }
  Writer writer(in, out);
  writer.Copy(from, to);
  return writer.ok();
}

bool Prepend(std::string_view prefix, const NormalizedText& in, NormalizedText* out) {
  Writer writer(in, out);
  writer.Put(prefix, 0);
  writer.Copy(0, in.size);
  return writer.ok();
}

bool Replace(std::string_view pattern, std::string_view content, const NormalizedText& in,
             NormalizedText* out) {
  if (pattern.empty()) return false;
  return ReplaceEach(content, in, out, [&](uint32_t from, uint32_t* begin, uint32_t* end) {
    const size_t at = in.view().find(pattern, from);
    if (at == std::string_view::npos) return false;
    *begin = static_cast<uint32_t>(at);
    *end = static_cast<uint32_t>(at + pattern.size());
    return true;
  });
}

// Replaces runs of at least `least` of one character.
bool ReplaceRun(std::string_view character, uint32_t least, std::string_view content,
                const NormalizedText& in, NormalizedText* out) {
  const auto size = Size32(character);
  if (size == 0) return false;
  return ReplaceEach(content, in, out, [&](uint32_t from, uint32_t* begin, uint32_t* end) {
    for (;;) {
      const size_t at = in.view().find(character, from);
      if (at == std::string_view::npos) return false;
      uint32_t count = 0;
      from = static_cast<uint32_t>(at);
      while (std::string_view(in.view().data() + from, in.size - from).starts_with(character)) {
        from += size;
        ++count;
      }
      if (count < least) continue;
      *begin = static_cast<uint32_t>(at);
      *end = from;
      return true;
    }
  });
}

// Replaces what \s{2,}|[\n\r\t] finds.
bool ReplaceSpaces(std::string_view content, const NormalizedText& in, NormalizedText* out) {
  return ReplaceEach(content, in, out, [&](uint32_t pos, uint32_t* begin, uint32_t* end) {
    while (pos < in.size) {
      uint32_t size;
      const char32_t first = utf8::DecodeValid(in.data + pos, &size);
      *begin = pos;
      pos += size;
      if (!unicode::IsWhiteSpace(first)) continue;
      uint32_t count = 1;
      while (pos < in.size && unicode::IsWhiteSpace(utf8::DecodeValid(in.data + pos, &size))) {
        pos += size;
        ++count;
      }
      *end = pos;
      if (count > 1 || first == '\n' || first == '\r' || first == '\t') return true;
    }
    return false;
  });
}

}  // namespace

bool RunEdit(const image::Step& step, std::string_view a, std::string_view b, const NormalizedText& in,
             NormalizedText* out) {
  switch (image::EditOp{step.op}) {
    case image::EditOp::kStrip: return Strip(step.arg0 != 0, step.arg1 != 0, in, out);
    case image::EditOp::kPrepend: return Prepend(a, in, out);
    case image::EditOp::kReplace: return Replace(a, b, in, out);
    case image::EditOp::kReplaceRun: return ReplaceRun(a, step.arg0, b, in, out);
    case image::EditOp::kReplaceSpaces: return ReplaceSpaces(b, in, out);
  }
  return false;  // image/verify.cc: StepList admits normalizers only
}

}  // namespace rankfeed::normalize
