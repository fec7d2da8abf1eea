// SPDX-License-Identifier: MIT
// normalize/normalized_text.h: a text on its way through normalizers, with the place in the
// original text that each of its bytes came from.
//
// Every step reads one text and writes another, so steps alternate between two buffers. All bytes
// of one character carry the same original range [begin, end). The ranges follow the reference's
// bookkeeping (tokenizers 0.23.2, tokenizer/normalizer.rs), which is not always what one would draw
// by hand; ids never depend on them, apart from Metaspace's "first".
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/narrow.h"
#include "base/utf8.h"

namespace rankfeed::normalize {

struct NormalizedText {
  char* data = nullptr;
  uint32_t* begin = nullptr;  // both null when offsets are not wanted
  uint32_t* end = nullptr;
  uint32_t capacity = 0;
  uint32_t size = 0;
  // Ranges of the whole text depend on how it begins: see Transform::Drop.
  bool shifted = false;

  std::string_view view() const { return {data, size}; }
  std::string_view view(uint32_t from, uint32_t to) const { return {data + from, to - from}; }
};

// Appends to one text with ranges taken from another. Past the capacity it writes nothing more and
// ok() is false.
class Writer {
 public:
  // Empties out. in is the text being rewritten; its characters give the ranges.
  Writer(const NormalizedText& in, NormalizedText* out) : in_(in), out_(*out) { out_.size = 0; }

  bool ok() const { return ok_; }

  // Bytes [from, to) of the input, as they are.
  void Copy(uint32_t from, uint32_t to) {
    const uint32_t n = to - from;
    if (n == 0 || !Reserve(n)) return;
    std::memcpy(out_.data + out_.size, in_.data + from, n);
    if (in_.begin != nullptr) {
      std::memcpy(out_.begin + out_.size, in_.begin + from, size_t{n} * sizeof(uint32_t));
      std::memcpy(out_.end + out_.size, in_.end + from, size_t{n} * sizeof(uint32_t));
    }
    out_.size += n;
  }

  // New characters with the range of the input byte at `like`.
  void Put(std::string_view s, uint32_t like) {
    const auto n = Size32(s);
    if (n == 0 || !Reserve(n)) return;
    std::memcpy(out_.data + out_.size, s.data(), n);
    if (in_.begin != nullptr) {
      std::fill_n(out_.begin + out_.size, n, in_.begin[like]);
      std::fill_n(out_.end + out_.size, n, in_.end[like]);
    }
    out_.size += n;
  }
  // The same where ranges are not wanted; at once for most marks, of which a text may be a row.
  [[gnu::always_inline]] void Put(char32_t c) {
    if (c < 0x80 || c >= 0x800 || out_.capacity - out_.size < 2) return Put(c, 0);
    utf8::Encode(c, out_.data + out_.size);
    out_.size += 2;
  }
  void Put(char32_t c, uint32_t like) {
    if (c < 0x80) {
      if (!Reserve(1)) return;
      out_.data[out_.size] = static_cast<char>(c);
      if (in_.begin != nullptr) {
        out_.begin[out_.size] = in_.begin[like];
        out_.end[out_.size] = in_.end[like];
      }
      ++out_.size;
      return;
    }
    char bytes[4];
    const uint32_t n = utf8::Encode(c, bytes);
    Put(std::string_view(bytes, n), like);
  }

 private:
  bool Reserve(uint32_t n) {
    ok_ = ok_ && n <= out_.capacity - out_.size;
    return ok_;
  }

  const NormalizedText& in_;
  NormalizedText& out_;
  bool ok_ = true;
};

// The reference's `transform`: the whole text is given anew as characters with a change each.
//   0: replaces the next input character      -n: the same, and drops the n characters after it
//   1: is added, with the range of the input byte before the cursor
// A change may still be lowered after the push, so one character is held back.
class Transform {
 public:
  Transform(const NormalizedText& in, NormalizedText* out)
      : in_(in), out_(*out), writer_(in, out) {}

  void Push(char32_t c, int32_t change) {
    if (in_.begin == nullptr) return writer_.Put(c);  // changes are about ranges
    Flush();
    pending_ = true;
    char_ = c;
    change_ = change;
  }

  // Drops n input characters after the last pushed one. Without a pushed one the reference forgets
  // the drop, and every later range is that of an earlier character; so does this.
  void Drop(int32_t n) {
    if (pending_) {
      change_ -= n;
    } else {
      dropped_ |= n != 0;
      out_.shifted |= dropped_;
    }
  }

  // Keeps the characters of input bytes [from, to), which are next, as if each were pushed with
  // change 0; returns false, and does nothing, where a drop was forgotten, so that others are.
  bool Keep(uint32_t from, uint32_t to) {
    if (in_.begin == nullptr) {
      writer_.Copy(from, to);
      return true;
    }
    if (dropped_) return false;
    Flush();
    uint32_t last = to - 1;
    while (utf8::IsContinuation(in_.data[last])) --last;
    writer_.Copy(from, last);
    cursor_ = last;
    uint32_t size;
    pending_ = true;
    char_ = utf8::DecodeValid(in_.data + last, &size);
    change_ = 0;
    return true;
  }

  bool ok() const { return writer_.ok(); }

  bool Finish() {
    Flush();
    return ok();
  }

 private:
  void Flush() {
    if (!pending_) return;
    pending_ = false;
    uint32_t like = cursor_;
    if (change_ > 0 && like > 0) --like;
    if (like >= in_.size) like = in_.size - 1;  // not reached: steps never outrun their input
    writer_.Put(char_, like);
    if (in_.begin == nullptr) return;
    for (int32_t n = change_; n <= 0 && cursor_ < in_.size; ++n) {
      cursor_ += utf8::SizeFromLead(Byte(in_.data[cursor_]));
    }
  }

  const NormalizedText& in_;
  NormalizedText& out_;
  Writer writer_;
  uint32_t cursor_ = 0;  // input byte of the next character to replace
  bool dropped_ = false;  // the cursor, by what was dropped without a pushed character
  bool pending_ = false;
  char32_t char_ = 0;
  int32_t change_ = 0;
};

}  // namespace rankfeed::normalize
