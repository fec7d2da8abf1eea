// SPDX-License-Identifier: MIT
#include "support/stress.h"

#include <algorithm>
#include <string_view>

namespace rankfeed::test {
namespace {

using Pool = std::vector<std::string>;

std::string Utf8(uint32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
  if (c < 0x10000) {
    return {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
            static_cast<char>(0x80 | (c & 63))};
  }
  return {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
          static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
}

Pool Characters(std::initializer_list<std::pair<uint32_t, uint32_t>> ranges) {
  Pool pool;
  for (const auto& [first, last] : ranges) {
    for (uint32_t c = first; c <= last; c++) pool.push_back(Utf8(c));
  }
  return pool;
}

const Pool kTies = {"o", "a", "O", "0", "=", "-", "ha", "na", "xx", "の", "オ", "ก", "한", "ا"};
const Pool kSpaces = {" ",      " ",      " ",      "  ",     "\t",     "\n",
                      "\r",     "\r\n",   "\v",     "\f",     "\u0085", "\u00a0",
                      "\u1680", "\u2000", "\u2009", "\u200b", "\u200c", "\u200d",
                      "\u200e", "\u200f", "\u2028", "\u2029", "\u202f", "\u205f",
                      "\u2060", "\u2581", "\u3000", "\ufeff", "\ufffd"};
const Pool kSpecials = {"<s>",   "</s>",  "<pad>",  "<unk>", "<mask>", "[CLS]", "[SEP]", "<sep>",
                        "<cls>", "<eod>", "<0x41>", "<s",    "</s",    "<<s>>", "</S>"};
const Pool kPrepend = Characters({{0x600, 0x605},
                                  {0x6dd, 0x6dd},
                                  {0x70f, 0x70f},
                                  {0x890, 0x891},
                                  {0x8e2, 0x8e2},
                                  {0xd4e, 0xd4e},
                                  {0x110bd, 0x110bd},
                                  {0x113d1, 0x113d1}});
const Pool kMarks = Characters({{0x300, 0x345},
                                {0x483, 0x487},
                                {0x5b0, 0x5bd},
                                {0x64b, 0x652},
                                {0x93c, 0x93c},
                                {0x94d, 0x94d},
                                {0x897, 0x897},
                                {0x1ab0, 0x1aeb},
                                {0x1dc0, 0x1dff},
                                {0x200d, 0x200d},
                                {0x20d0, 0x20f0},
                                {0x302a, 0x302f},
                                {0x3099, 0x309a},
                                {0xfe00, 0xfe0f},
                                {0xfe20, 0xfe2f},
                                {0x10efa, 0x10efc},
                                {0x113ce, 0x113d0},
                                {0x1d165, 0x1d169},
                                {0xe0100, 0xe0105}});
const Pool kBases = {"a", "A", "e",  "E",          "o",          "u",         "1",  " ",
                     ",", "À", "é",  "©",          "½",          "Α",         "Σ",  "И",
                     "א", "ا", "क",  "\u0958",     "ก",          "ᄀ",        "ἀ",  "\u212b",
                     "™", "☎", "カ", "ハ",         "あ",         "中",        "가", "Ａ",
                     "ｶ", "ﾊ", "ﬁ",  "\U0001d400", "\U0001f600", "\U00020000"};
const Pool kKana = Characters({{0xff61, 0xff9f},
                               {0xff9e, 0xff9f},
                               {0xff9e, 0xff9f},
                               {0xff9e, 0xff9f},
                               {0x30ab, 0x30dd},
                               {0x3099, 0x309c},
                               {0x3099, 0x309a}});
const Pool kJamo = Characters({{0x1100, 0x1112},
                               {0x1161, 0x1175},
                               {0x11a7, 0x11c2},
                               {0xac00, 0xac20},
                               {0x3131, 0x3163},
                               {0xffa1, 0xffbe},
                               {0xa960, 0xa963},
                               {0xd7b0, 0xd7b3}});
const Pool kEmoji = {
    "\U0001f468", "\U0001f469", "\U0001f467", "\U0001f3f3", "\U0001f308", "❤",      "☎",
    "™",          "ℹ",          "‼",          "㊗",         "©",          "®",      "\U0001f170",
    "\u200d",     "\u200d",     "\u200d",     "\ufe0f",     "\ufe0e",     "\u20e3", "\U0001f3fb",
    "\U0001f1e6", "\U0001f1e7", "\U000e0067", "1",          "#",          "\u0301"};
const Pool kIndic = Characters({{0x915, 0x939},
                                {0x958, 0x95f},
                                {0x94d, 0x94d},
                                {0x94d, 0x94d},
                                {0x94d, 0x94d},
                                {0x93c, 0x93c},
                                {0x93f, 0x93f},
                                {0x9cd, 0x9cd},
                                {0x9dc, 0x9dd},
                                {0xd4d, 0xd4d},
                                {0xd15, 0xd18},
                                {0x1039, 0x1039},
                                {0x1000, 0x1004},
                                {0x200c, 0x200d},
                                {0x301, 0x301}});
const Pool kExpanding = {"\ufdfa", "\ufdfb", "\u33a5",     "\u3300",     "\u330d", "\u2474",
                         "\u24b6", "½",      "¾",          "…",          "™",      "\u2121",
                         "Ａ",     "０",     "，",         "～",         "ﬀ",      "ﬃ",
                         "\u0132", "\u01c4", "\u017f",     "\u1e9e",     "\u0130", "\u0149",
                         "²",      "\u32ff", "\U0001f16c", "\U0001fbf0", " ",      "a"};
const Pool kDigits = {"0", "1", "2", "9", ",", ",", ".",  "-", "%",
                      "²", "½", "٠", "०", "Ⅰ", "①", "〇", "０"};
const Pool kPunctuation = {"!", "\"", "#", "'",  "''", "``", "(", ")", "*", "/",
                           ":", ";",  "?", "@",  "\\", "^",  "_", "{", "|", "~",
                           "¡", "«",  "¿", "、", "。", "“",  "—", "…", "a", " "};
const Pool kVowels = {"a", "ă", "â", "e", "ê", "i", "o", "ô", "ơ", "u", "ư", "y", "đ", "A", "Ê"};
const Pool kTones = {"",       "\u0300", "\u0301", "\u0303", "\u0309",
                     "\u0323", "\u0302", "\u0306", "\u031b"};
const Pool kWords = {"the", "ing", "▁the", "▁",  "世界", "ation", "мир",
                     "การ", "ال",  "है",    "の", "ooo",  "2,000"};
// Overlong, surrogate, out of range, stray and truncated (RFC 3629).
const Pool kBroken = {"\xc0\x80",
                      "\xc1\xbf",
                      "\xe0\x80\x80",
                      "\xe0\x9f\xbf",
                      "\xf0\x80\x80\x80",
                      "\xed\xa0\x80",
                      "\xed\xbf\xbf",
                      "\xf4\x90\x80\x80",
                      "\xf8\x88\x80\x80\x80",
                      "\xfe",
                      "\xff",
                      "\x80",
                      "\xbf\xbf",
                      "\xc3",
                      "\xe2\x96",
                      "\xe2",
                      "\xf0\x9f\x98",
                      "\xf0\x9f",
                      "\xef\xbf",
                      "\xe2\x28\xa1",
                      "\xf0\x28\x8c\xbc"};

constexpr size_t kClasses = 19;
constexpr size_t kMixed = kClasses - 1;

}  // namespace

StressTexts::StressTexts(uint64_t seed, std::vector<std::string> fragments, bool valid_only)
    : random_(seed), fragments_(std::move(fragments)), valid_only_(valid_only) {
  if (fragments_.empty()) fragments_ = kWords;
}

std::string StressTexts::Picks(const Pool& pool, size_t low, size_t high) {
  std::string out;
  for (size_t n = low + Below(high - low + 1); n > 0; n--) out += Pick(pool);
  return out;
}

std::string StressTexts::OfClass(size_t kind) {
  std::string out;
  const size_t units = 1 + Below(8);
  const auto repeat = [&](const auto& unit) {
    for (size_t i = 0; i < units; i++) out += unit();
  };
  switch (kind) {
    case 0: {  // ties
      const std::string& unit = Pick(kTies);
      for (size_t n = 1 + Below(40); n > 0; n--) out += unit;
      break;
    }
    case 1: {  // repetition of a fragment
      const std::string unit = Pick(fragments_) + (Below(3) == 0 ? " " : "");
      for (size_t n = 2 + Below(10); n > 0; n--) out += unit;
      break;
    }
    case 2:
      return Picks(kKana, 1, 14);
    case 3:
      repeat([&] {
        return Pick({"", "t", "ng", "Th", " "}) + Pick(kVowels) + Pick(kTones) + Pick(kTones);
      });
      break;
    case 4:
      return Picks(kJamo, 1, 12);
    case 5:
      repeat([&] { return Pick(kBases) + Picks(kMarks, 0, 3); });
      break;
    case 6:
      repeat([&] {
        return (Below(2) == 0 ? Pick(kPrepend) : "") + Pick(kBases) + Picks(kMarks, 0, 1);
      });
      break;
    case 7:
      return Picks(kEmoji, 1, 14);
    case 8:
      return Picks(kIndic, 1, 14);
    case 9:
      repeat([&] { return (Below(2) == 0 ? Pick(fragments_) : "a") + Picks(kSpaces, 0, 3); });
      break;
    case 10:  // controls, NUL and soft hyphen among them
      repeat([&] {
        const size_t c = Below(66);
        return (Below(2) == 0 ? Pick(fragments_) : "") +
               Utf8(static_cast<uint32_t>(c < 32   ? c
                                          : c < 65 ? 0x7f + c - 32
                                                   : 0xad));
      });
      break;
    case 11:
      return Picks(kExpanding, 1, 10);
    case 12:
      repeat([&] { return Pick({"", " ", "  ", "a", "_"}) + Pick(kSpecials); });
      break;
    case 13:
      return Picks(kDigits, 1, 14);
    case 14:
      return Picks(kPunctuation, 1, 14);
    case 15:  // long and unspaced, in every eighth case far beyond any cache or table
      if (Below(8) == 0) {
        const std::string unit = Pick({"ab", "o", "xyz", "世", "\u0301"});
        for (size_t n = 80 + Below(600); n > 0; n--) out += unit;
      } else {
        out = Picks(fragments_, 20, 60);
        std::erase(out, ' ');
      }
      break;
    case 16: {  // glued, spaced or cut fragments
      const size_t how = Below(3);
      for (size_t n = 1 + Below(10); n > 0; n--) {
        const std::string& piece = Pick(fragments_);
        if (how == 2) {
          size_t cut = Below(piece.size() + 1);
          while (cut < piece.size() && (piece[cut] & 0xc0) == 0x80) cut++;
          out += Below(2) == 0 ? piece.substr(cut) : piece.substr(0, cut);
        } else {
          out += piece + (how == 1 ? " " : "");
        }
      }
      break;
    }
    case 17:  // code points of all planes
      repeat([&] {
        static constexpr uint32_t kTop[] = {0x800, 0x3000, 0x10000, 0x20000, 0x32000, 0x110000};
        const uint32_t c = static_cast<uint32_t>(Below(kTop[Below(6)]));
        return Utf8(c >= 0xd800 && c < 0xe000 ? 0xd7ff : c);
      });
      break;
    default:  // kMixed
      for (size_t n = 2 + Below(3); n > 0; n--) out += OfClass(Below(kMixed));
      break;
  }
  return out;
}

std::string StressTexts::Damage(std::string text) {
  for (size_t n = 1 + Below(3); n > 0; n--) {
    const size_t at = Below(text.size() + 1);
    const size_t how = text.empty() ? 0 : Below(4);
    if (how == 0)
      text.insert(at, Pick(kBroken));
    else if (how == 1)
      text.resize(at);
    else if (how == 2)
      text.erase(0, at);
    else
      text[std::min(at, text.size() - 1)] = static_cast<char>(Below(256));
  }
  return text;
}

std::string StressTexts::Next() {
  std::string text = OfClass(count_ % kClasses);
  count_++;
  return !valid_only_ && count_ % 8 == 0 ? Damage(std::move(text)) : text;
}

}  // namespace rankfeed::test
