// SPDX-License-Identifier: MIT
// normalize/rewrite.cc: tokenizers 0.23.2, normalizers/{strip,unicode,utils,prepend,replace}.rs.
//
// A kept character keeps its range. A replaced stretch gives all new characters the range of its
// last byte (NormalizedString::replace); a prefix takes the range of the first character (prepend).
#include "normalize/rewrite.h"

#include "unicode/properties.h"

namespace rankfeed::normalize {
namespace {

// Calls f(character, from, to) for each character of in.
template <class F>
void ForEachChar(const NormalizedText& in, F f) {
  for (uint32_t pos = 0; pos < in.size;) {
    uint32_t size;
    const char32_t c = utf8::DecodeValid(in.data + pos, &size);
    f(c, pos, pos + size);
    pos += size;
  }
}

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

// normalizers/unicode.rs do_nmt: the characters it removes, and those it turns into a space.
bool NmtRemoves(char32_t c) {
  return (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
         c == 0x9f;
}
bool NmtIsSpace(char32_t c) {
  return c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
         (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff ||
         c == 0xfffd;
}

}  // namespace

bool RunStrip(bool left, bool right, const NormalizedText& in, NormalizedText* out) {
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

bool RunLowercase(const Model& model, const NormalizedText& in, NormalizedText* out) {
  Writer writer(in, out);
  ForEachChar(in, [&](char32_t c, uint32_t from, uint32_t to) {
    const std::span<const uint32_t> mapped = unicode::Mapping(model, model.lower, c);
    if (mapped.empty()) return writer.Copy(from, to);
    for (const uint32_t m : mapped) writer.Put(m, from);
  });
  return writer.ok();
}

bool RunStripAccents(const Model& model, const NormalizedText& in, NormalizedText* out) {
  Writer writer(in, out);
  ForEachChar(in, [&](char32_t c, uint32_t from, uint32_t to) {
    if (!unicode::HasProp(model, c, image::kCombiningMark)) writer.Copy(from, to);
  });
  return writer.ok();
}

bool RunNmt(const NormalizedText& in, NormalizedText* out) {
  Writer writer(in, out);
  ForEachChar(in, [&](char32_t c, uint32_t from, uint32_t to) {
    if (NmtRemoves(c)) return;
    if (NmtIsSpace(c)) return writer.Put(" ", from);
    writer.Copy(from, to);
  });
  return writer.ok();
}

bool RunPrepend(std::string_view prefix, const NormalizedText& in, NormalizedText* out) {
  Writer writer(in, out);
  writer.Put(prefix, 0);
  writer.Copy(0, in.size);
  return writer.ok();
}

bool RunReplace(std::string_view pattern, std::string_view content, const NormalizedText& in,
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

bool RunReplaceRun(std::string_view character, uint32_t least, std::string_view content,
                   const NormalizedText& in, NormalizedText* out) {
  const auto size = static_cast<uint32_t>(character.size());
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

bool RunReplaceSpaces(std::string_view content, const NormalizedText& in, NormalizedText* out) {
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

}  // namespace rankfeed::normalize
