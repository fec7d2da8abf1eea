// SPDX-License-Identifier: MIT
// normalize/filters.cc: tokenizers 0.23.2, normalizers/{strip,unicode,utils,bert}.rs. A kept character
// keeps its range; what it becomes takes it.
#include "normalize/filters.h"

#include "base/narrow.h"
#include "unicode/properties.h"

namespace rankfeed::normalize {
namespace {

// Copies a text in stretches, but for characters that `changes` says of: write(writer, c, from)
// writes what takes the place of c, if anything does. kept(byte): an ASCII character that stays.
template <class Kept, class Changes, class Write>
bool Rewrite(const NormalizedText& in, NormalizedText* out, Kept kept, Changes changes,
             Write write) {
  Writer writer(in, out);
  uint32_t unchanged = 0;  // from there on nothing was
  for (uint32_t pos = 0; pos < in.size;) {
    if (kept(Byte(in.data[pos]))) {
      ++pos;
      continue;
    }
    uint32_t size;
    const char32_t c = utf8::DecodeValid(in.data + pos, &size);
    if (changes(c)) {
      writer.Copy(unchanged, pos);
      write(&writer, c, pos);
      unchanged = pos + size;
    }
    pos += size;
  }
  writer.Copy(unchanged, in.size);
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

bool Lowercase(const Model& model, const NormalizedText& in, NormalizedText* out) {
  return Rewrite(
      in, out, [](unsigned char byte) { return byte < 0x80 && !(byte >= 'A' && byte <= 'Z'); },
      [&](char32_t c) { return !unicode::Mapping(model, model.lower, c).empty(); },
      [&](Writer* writer, char32_t c, uint32_t from) {
        for (const uint32_t m : unicode::Mapping(model, model.lower, c)) writer->Put(m, from);
      });
}

bool DropProperty(const Model& model, uint32_t property, const NormalizedText& in, NormalizedText* out) {
  return Rewrite(
      in, out, [](unsigned char byte) { return byte < 0x80; },
      [&](char32_t c) { return unicode::HasProp(model, c, property); },
      [](Writer*, char32_t, uint32_t) {});
}

// Takes characters out and makes a space of others.
template <class Removes, class IsSpace>
bool Clean(const NormalizedText& in, NormalizedText* out, Removes removes, IsSpace is_space) {
  return Rewrite(
      in, out, [](unsigned char byte) { return byte >= 0x20 && byte < 0x7f; },
      [&](char32_t c) { return removes(c) || is_space(c); },
      [&](Writer* writer, char32_t c, uint32_t from) {
        if (!removes(c)) writer->Put(" ", from);
      });
}

// BertNormalizer's handle_chinese_chars: puts a space on either side of an ideograph.
bool BertSpaceCjk(const NormalizedText& in, NormalizedText* out) {
  return Rewrite(
      in, out, [](unsigned char byte) { return byte < 0x80; }, IsBertCjk,
      [](Writer* writer, char32_t c, uint32_t from) {
        writer->Put(" ", from);
        writer->Put(c, from);
        writer->Put(" ", from);
      });
}

}  // namespace

bool RunFilter(const Model& model, image::FilterOp op, const NormalizedText& in, NormalizedText* out) {
  switch (op) {
    case image::FilterOp::kLowercase: return Lowercase(model, in, out);
    case image::FilterOp::kStripAccents: return DropProperty(model, image::kCombiningMark, in, out);
    case image::FilterOp::kNmt: return Clean(in, out, NmtRemoves, NmtIsSpace);
    case image::FilterOp::kBertClean:
      return Clean(in, out, [&](char32_t c) { return unicode::HasProp(model, c, image::kBertRemoved); }, unicode::IsWhiteSpace);
    case image::FilterOp::kBertSpaceCjk: return BertSpaceCjk(in, out);
    case image::FilterOp::kBertStripMarks: return DropProperty(model, image::kNonspacingMark, in, out);
  }
  return false;  // image::IsFilter
}

}  // namespace rankfeed::normalize
