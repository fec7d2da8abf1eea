// SPDX-License-Identifier: MIT
#include "plain/hf_normalize.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "builder/unicode/unicode_delta.h"

namespace rankfeed::plain {
namespace {

using builder::ConjunctBreak;
using builder::GraphemeBreak;
using builder::HfConjunctBreak;
using builder::HfGraphemeBreak;
using builder::HfPictographic;

bool IsWhitespace(char32_t c) {
  return u_hasBinaryProperty(c, UCHAR_WHITE_SPACE);
}

using Json = nlohmann::json;

std::string FromBase64(const std::string& text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    int digit;
    if (c >= 'A' && c <= 'Z') {
      digit = c - 'A';
    } else if (c >= 'a' && c <= 'z') {
      digit = c - 'a' + 26;
    } else if (c >= '0' && c <= '9') {
      digit = c - '0' + 52;
    } else if (c == '+' || c == '/') {
      digit = c == '+' ? 62 : 63;
    } else {
      break;
    }
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

template <typename Function>
std::string MapEach(std::string_view text, Function map) {
  std::u32string out;
  for (const char32_t c : DecodeUtf8(text)) out += map(c);
  return EncodeUtf8(out);
}

// Whether there is a boundary before text[i], by the rules in their order, looking back as far as
// each needs.
bool IsClusterStart(const std::u32string& text, size_t i) {
  using G = GraphemeBreak;
  const G a = HfGraphemeBreak(text[i - 1]), b = HfGraphemeBreak(text[i]);
  const auto control = [](G g) { return g == G::kControl || g == G::kCr || g == G::kLf; };
  const auto in = [](G g, std::initializer_list<G> set) {
    return std::find(set.begin(), set.end(), g) != set.end();
  };
  if (a == G::kCr && b == G::kLf) return false;                            // GB3
  if (control(a) || control(b)) return true;                               // GB4, GB5
  if (a == G::kL && in(b, {G::kL, G::kV, G::kLv, G::kLvt})) return false;  // GB6
  if (in(a, {G::kLv, G::kV}) && in(b, {G::kV, G::kT})) return false;       // GB7
  if (in(a, {G::kLvt, G::kT}) && b == G::kT) return false;                 // GB8
  if (in(b, {G::kExtend, G::kZwj, G::kSpacingMark})) return false;         // GB9, GB9a
  if (a == G::kPrepend) return false;                                      // GB9b
  if (HfConjunctBreak(text[i]) == ConjunctBreak::kConsonant) {             // GB9c
    bool linked = false;
    size_t k = i;
    while (k > 0 && HfConjunctBreak(text[k - 1]) != ConjunctBreak::kNone &&
           HfConjunctBreak(text[k - 1]) != ConjunctBreak::kConsonant) {
      linked = linked || HfConjunctBreak(text[k - 1]) == ConjunctBreak::kLinker;
      k--;
    }
    if (linked && k > 0 && HfConjunctBreak(text[k - 1]) == ConjunctBreak::kConsonant) return false;
  }
  if (a == G::kZwj && HfPictographic(text[i])) {  // GB11
    size_t k = i - 1;
    while (k > 0 && HfGraphemeBreak(text[k - 1]) == G::kExtend) k--;
    if (k > 0 && HfPictographic(text[k - 1])) return false;
  }
  if (a == G::kRegionalIndicator && b == a) {  // GB12, GB13
    size_t k = i;
    while (k > 0 && HfGraphemeBreak(text[k - 1]) == G::kRegionalIndicator) k--;
    if ((i - k) % 2 == 1) return false;
  }
  return true;  // GB999
}

}  // namespace

std::u32string DecodeUtf8(std::string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const unsigned char lead = static_cast<unsigned char>(text[i]);
    const int tail = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    char32_t c = tail == 0 ? lead : lead & (0x3f >> tail);
    for (int k = 1; k <= tail; k++) {
      if (i + k >= text.size()) throw std::runtime_error("reference: text is not valid UTF-8");
      c = c << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
    }
    out += c;
    i += 1 + tail;
  }
  return out;
}

std::string EncodeUtf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      out += {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
              static_cast<char>(0x80 | (c & 63))};
    } else {
      out += {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
              static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
    }
  }
  return out;
}

std::vector<std::u32string> GraphemeClusters(const std::u32string& text) {
  std::vector<std::u32string> clusters;
  for (size_t i = 0; i < text.size(); i++) {
    if (i == 0 || IsClusterStart(text, i)) clusters.emplace_back();
    clusters.back() += text[i];
  }
  return clusters;
}

std::string Precompiled(const CharsmapRules& rules, std::string_view text) {
  std::string out;
  size_t key_size;
  for (const std::u32string& cluster : GraphemeClusters(DecodeUtf8(text))) {
    const std::string bytes = EncodeUtf8(cluster);
    // precompiled.rs: grapheme.len() < 6
    const std::string* whole = bytes.size() < 6 ? rules.Shortest(bytes, &key_size) : nullptr;
    if (whole != nullptr) {
      out += *whole;
      continue;
    }
    for (const char32_t c : cluster) {
      const std::string one = EncodeUtf8(std::u32string_view(&c, 1));
      const std::string* replacement = rules.Shortest(one, &key_size);
      out += replacement != nullptr ? *replacement : one;
    }
  }
  return out;
}

std::string NormalizationForm(Form form, std::string_view text) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* base = nullptr;
  switch (form) {
    case Form::kNfc:
      base = icu::Normalizer2::getNFCInstance(error);
      break;
    case Form::kNfd:
      base = icu::Normalizer2::getNFDInstance(error);
      break;
    case Form::kNfkc:
      base = icu::Normalizer2::getNFKCInstance(error);
      break;
    case Form::kNfkd:
      base = icu::Normalizer2::getNFKDInstance(error);
      break;
  }
  static const icu::UnicodeSet known = [] {
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeSet set(u"[:age=9.0:]", status);  // builder/unicode/unicode_delta.h
    if (U_FAILURE(status)) throw std::runtime_error("reference: ICU set");
    return set;
  }();
  const icu::FilteredNormalizer2 filtered(*base, known);
  icu::UnicodeString in, out;
  for (const char32_t c : DecodeUtf8(text)) in.append(static_cast<UChar32>(c));
  static_cast<const icu::Normalizer2&>(filtered).normalize(in, out, error);
  if (U_FAILURE(error)) throw std::runtime_error("reference: ICU normalization");
  std::string bytes;
  out.toUTF8String(bytes);
  return bytes;
}

std::string Lowercase(std::string_view text) {
  return MapEach(text, [](char32_t c) -> std::u32string {
    if (c == 0x130) return U"i\u0307";
    return {static_cast<char32_t>(builder::HfLowercase(static_cast<UChar32>(c)))};
  });
}

std::string StripAccents(std::string_view text) {
  return MapEach(text, [](char32_t c) -> std::u32string {
    return builder::HfCombiningMark(static_cast<UChar32>(c)) ? std::u32string() : std::u32string{c};
  });
}

// normalizers/unicode.rs, do_nmt
std::string Nmt(std::string_view text) {
  return MapEach(text, [](char32_t c) -> std::u32string {
    if ((c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
        c == 0x9f) {
      return {};
    }
    if (c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
        (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff ||
        c == 0xfffd) {
      return U" ";
    }
    return {c};
  });
}

std::string Strip(std::string_view text, bool left, bool right) {
  std::u32string t = DecodeUtf8(text);
  if (left) t.erase(t.begin(), std::find_if_not(t.begin(), t.end(), IsWhitespace));
  while (right && !t.empty() && IsWhitespace(t.back())) t.pop_back();
  return EncodeUtf8(t);
}

std::string Prepend(std::string_view text, std::string_view prefix) {
  return text.empty() ? std::string() : std::string(prefix) + std::string(text);
}

std::string ReplaceAll(std::string_view text, std::string_view pattern, std::string_view content) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, pattern.size()) == pattern) {
      out += content;
      i += pattern.size();
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::string ReplaceSpaceRuns(std::string_view text, size_t least, std::string_view content) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && text[end] == ' ') end++;
    if (end > i && end - i >= least) {
      out += content;
      i = end;
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::string ReplaceWhitespaceRuns(std::string_view text, std::string_view content) {
  const std::u32string t = DecodeUtf8(text), with = DecodeUtf8(content);
  std::u32string out;
  for (size_t i = 0; i < t.size();) {
    size_t end = i;
    while (end < t.size() && IsWhitespace(t[end])) end++;
    if (end - i >= 2) {
      out += with;
      i = end;
    } else if (t[i] == '\n' || t[i] == '\r' || t[i] == '\t') {
      out += with;
      i++;
    } else {
      out += t[i++];
    }
  }
  return EncodeUtf8(out);
}

std::string BertCleanText(std::string_view text) {
  return MapEach(text, [](char32_t c) -> std::u32string {
    if (builder::HfBertRemoved(static_cast<UChar32>(c))) return U"";
    return std::u32string(1, IsWhitespace(c) ? U' ' : c);
  });
}

std::string BertSpaceChinese(std::string_view text) {
  static constexpr char32_t kRanges[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                            {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff},
                                            {0x2f800, 0x2fa1f}};
  return MapEach(text, [](char32_t c) -> std::u32string {
    for (const auto& [first, last] : kRanges) {
      if (c >= first && c <= last) return {U' ', c, U' '};
    }
    return {c};
  });
}

std::string BertStripAccents(std::string_view text) {
  return MapEach(NormalizationForm(Form::kNfd, text), [](char32_t c) -> std::u32string {
    if (builder::HfNonspacingMark(static_cast<UChar32>(c))) return U"";
    return {c};
  });
}

void AppendNormalizer(const nlohmann::json& n, std::vector<std::function<std::string(const std::string&)>>* list) {
  if (n.is_null()) return;
  const std::string type = n.at("type");
  const auto add = [&](auto function) { list->push_back(function); };
  if (type == "Sequence") {
    for (const Json& one : n.at("normalizers")) AppendNormalizer(one, list);
  } else if (type == "Precompiled") {
    const CharsmapRules rules(FromBase64(n.at("precompiled_charsmap")));
    add([rules](const std::string& text) { return Precompiled(rules, text); });
  } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    const Form form = type == "NFC"    ? Form::kNfc
                      : type == "NFD"  ? Form::kNfd
                      : type == "NFKC" ? Form::kNfkc
                                       : Form::kNfkd;
    add([form](const std::string& text) { return NormalizationForm(form, text); });
  } else if (type == "Lowercase") {
    add([](const std::string& text) { return Lowercase(text); });
  } else if (type == "StripAccents") {
    add([](const std::string& text) { return StripAccents(text); });
  } else if (type == "Nmt") {
    add([](const std::string& text) { return Nmt(text); });
  } else if (type == "BertNormalizer") {
    const bool lower = n.at("lowercase");
    const Json strip = n.value("strip_accents", Json());
    if (n.at("clean_text")) add([](const std::string& text) { return BertCleanText(text); });
    if (n.at("handle_chinese_chars")) add([](const std::string& text) { return BertSpaceChinese(text); });
    if (strip.is_null() ? lower : strip.get<bool>()) {
      add([](const std::string& text) { return BertStripAccents(text); });
    }
    if (lower) add([](const std::string& text) { return Lowercase(text); });
  } else if (type == "Strip") {
    const bool left = n.at("strip_left"), right = n.at("strip_right");
    add([left, right](const std::string& text) { return Strip(text, left, right); });
  } else if (type == "Prepend") {
    const std::string prefix = n.at("prepend");
    add([prefix](const std::string& text) { return Prepend(text, prefix); });
  } else if (type == "Replace") {
    const std::string content = n.at("content");
    const Json& pattern = n.at("pattern");
    if (pattern.contains("String")) {
      const std::string from = pattern["String"];
      add([from, content](const std::string& text) { return ReplaceAll(text, from, content); });
    } else if (pattern.at("Regex") == " {2,}") {
      add([content](const std::string& text) { return ReplaceSpaceRuns(text, 2, content); });
    } else if (pattern.at("Regex") == R"(\s{2,}|[\n\r\t])") {
      add([content](const std::string& text) { return ReplaceWhitespaceRuns(text, content); });
    } else {
      throw std::runtime_error("reference: regular expression");
    }
  } else {
    throw std::runtime_error("reference: normalizer " + type);
  }
}

}  // namespace rankfeed::plain
