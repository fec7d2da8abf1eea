// SPDX-License-Identifier: MIT
// normalize/filters.cc: tokenizers 0.23.2, normalizers/{strip,unicode,utils}.rs. A kept character
// keeps its range; what it becomes takes it.
#include "normalize/filters.h"

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

}  // namespace rankfeed::normalize
