// SPDX-License-Identifier: MIT
// normalize/sp_normalize.cc: see sp_normalize.h. Function names in comments are those of
// SentencePiece 0.1.97, normalizer.cc.
#include "normalize/sp_normalize.h"

#include <algorithm>

#include "base/narrow.h"
#include "base/utf8.h"

namespace rankfeed::normalize {

// The longest of so many user-defined symbols, from the shortest (kResultSize of PrefixMatch; up to
// 0.2.1 more of them were read past its array, without a defined result). Charsmaps with more than
// kMaxTrieResultsSize = 32 nested keys, which its own builder refuses, do not get here.
static constexpr uint32_t kMaxSymbolMatches = 64;

uint32_t LongestSpSymbol(const SpNormalizer& normalizer, std::string_view input) {
  const trie::View& symbols = normalizer.user_defined;
  if (symbols.empty()) return 0;
  trie::Unit unit = symbols.root();
  uint32_t longest = 0, matches = 0;
  // The bound keeps a crafted cyclic trie linear; real tries end by themselves.
  const size_t depth = std::min<size_t>(input.size(), normalizer.max_symbol_bytes);
  for (size_t i = 0; i < depth; ++i) {
    if (!symbols.Step(unit, Byte(input[i]) + 1u)) break;
    if (trie::Value(unit) == trie::kNoValue) continue;
    longest = static_cast<uint32_t>(i + 1);
    if (++matches == kMaxSymbolMatches) break;
  }
  // In a forged trie a key may end inside a character, and no text goes on so.
  return utf8::IsValid({input.data(), longest}) ? longest : 0;
}

namespace {

constexpr std::string_view kSpaceSymbol = "\xe2\x96\x81";      // U+2581
constexpr std::string_view kReplacementChar = "\xef\xbf\xbd";  // U+FFFD

// NormalizePrefix. input is not empty.
SpPrefix NormalizePrefix(const SpNormalizer& normalizer, std::string_view input) {
  if (const uint32_t size = LongestSpSymbol(normalizer, input); size != 0) {
    return {input.substr(0, size), size};
  }
  if (const CharsmapMatch match = normalizer.charsmap.Longest(input)) {
    return {match.replacement, match.key_size};
  }
  const utf8::Decoded c = utf8::Decode(input, 0);
  // One byte at a time, not the maximal subpart. This U+FFFD does not go through the charsmap,
  // although nmt maps turn a U+FFFD of the input into a space.
  if (!c.valid) return {kReplacementChar, 1};
  return {input.substr(0, c.size), c.size};
}

// The first place from `at` on that is not an ASCII character that is copied, as far as two bytes
// tell.
uint32_t SkipCopied(const SpNormalizer& normalizer, std::string_view input, uint32_t at) {
  if (!normalizer.user_defined.empty()) return at;
  for (; at + 1 < input.size(); ++at) {
    const auto byte = Byte(input[at]);
    if (byte == ' ' || byte >= 0x80) break;
    if (!normalizer.charsmap.NoneBeginsWith(input[at], input[at + 1])) break;
  }
  return at;
}

// Output cursor that refuses to pass capacity.
class Writer {
 public:
  Writer(char* out, uint32_t* origin, uint32_t capacity)
      : out_(out), origin_(origin), capacity_(capacity) {}

  bool Append(std::string_view bytes, uint32_t from) {
    const size_t size = bytes.size();
    if (size > capacity_ - size_) return false;
    for (size_t i = 0; i < size; ++i) out_[size_ + i] = bytes[i];  // most often one character
    for (size_t i = 0; i < size && origin_ != nullptr; ++i) origin_[size_ + i] = from;
    size_ += static_cast<uint32_t>(size);
    return true;
  }

  // Characters of one byte each that stand there from `from` on.
  bool Copy(std::string_view bytes, uint32_t from) {
    const uint32_t first = size_;
    if (!Append(bytes, from)) return false;
    for (uint32_t i = first; origin_ != nullptr && i < size_; ++i) origin_[i] = from + (i - first);
    return true;
  }

  // Removes suffix if the output ends with it, and says where it came from.
  bool Strip(std::string_view suffix, uint32_t* from) {
    if (!std::string_view(out_, size_).ends_with(suffix)) return false;
    size_ -= Size32(suffix);
    if (origin_ != nullptr) *from = origin_[size_];
    return true;
  }

  uint32_t size() const { return size_; }

 private:
  char* out_;
  uint32_t* origin_;
  uint32_t capacity_, size_ = 0;
};

}  // namespace

SpPrefix NormalizeSpPrefix(const SpNormalizer& normalizer, std::string_view input) {
  return NormalizePrefix(normalizer, input);
}

SpNormalizer SpNormalizerOf(const Model& model) {
  return {.charsmap = Charsmap(model.charsmap_units, model.charsmap_pool),
          .user_defined = model.user_defined,
          .max_symbol_bytes = model.config->max_piece_bytes,
          .add_dummy_prefix = model.has(image::kAddDummyPrefix),
          .remove_extra_whitespaces = model.has(image::kRemoveExtraWhitespaces),
          .escape_whitespaces = model.has(image::kEscapeWhitespaces),
          .treat_whitespace_as_suffix = model.has(image::kTreatWhitespaceAsSuffix)};
}

bool SpNormalize(const SpNormalizer& normalizer, std::string_view input, char* out,
                 uint32_t* origin, uint32_t capacity, SpNormalized* result) {
  *result = {};
  const bool squeeze = normalizer.remove_extra_whitespaces;
  const std::string_view space = normalizer.escape_whitespaces ? kSpaceSymbol : " ";
  uint32_t consumed = 0;
  const auto rest = [&] {
    return std::string_view(input.data() + consumed, input.size() - consumed);
  };

  // Front white space: only steps that become exactly one space.
  if (squeeze) {
    while (consumed < input.size()) {
      const SpPrefix prefix = NormalizePrefix(normalizer, rest());
      if (prefix.text != " ") break;
      consumed += prefix.consumed;
    }
  }
  // Nothing left: empty output, not even the dummy prefix. SentencePiece returns no end position
  // here; nothing can point at it.
  if (consumed == input.size()) return true;

  Writer writer(out, origin, capacity);
  if (normalizer.add_dummy_prefix && !normalizer.treat_whitespace_as_suffix &&
      !writer.Append(space, consumed)) {
    return false;
  }

  bool after_space = squeeze;
  while (consumed < input.size()) {
    if (const uint32_t end = SkipCopied(normalizer, input, consumed); end != consumed) {
      if (!writer.Copy({input.data() + consumed, end - consumed}, consumed)) return false;
      consumed = end;
      after_space = false;
      continue;
    }
    const SpPrefix prefix = NormalizePrefix(normalizer, rest());
    std::string_view text = prefix.text;
    if (after_space) text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    // Spaces may also stand inside a replacement or a user-defined symbol.
    while (!text.empty()) {
      const size_t run = std::min(text.find(' '), text.size());
      if (!writer.Append(text.substr(0, run), consumed)) return false;
      after_space = false;
      text.remove_prefix(run);
      if (text.empty()) break;
      if (!writer.Append(space, consumed)) return false;
      text.remove_prefix(1);
      // A step that vanished (a character mapped to nothing) leaves after_space as it was.
      after_space = squeeze;
    }
    consumed += prefix.consumed;
  }

  // Strips every trailing space symbol, those typed by the user included. The text then ends where
  // the first stripped one came from.
  if (squeeze) {
    while (writer.Strip(space, &consumed)) {
    }
  }
  if (normalizer.add_dummy_prefix && normalizer.treat_whitespace_as_suffix &&
      !writer.Append(space, consumed)) {
    return false;
  }
  *result = {writer.size(), consumed};
  return true;
}

}  // namespace rankfeed::normalize
