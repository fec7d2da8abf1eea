// SPDX-License-Identifier: MIT
// measure/parity.cc: see parity.h.
#include "measure/parity.h"

#include <algorithm>
#include <random>

namespace rankfeed::measure {
namespace {

using Pool = std::vector<std::string>;

const std::vector<Pool>& Classes() {
  static const std::vector<Pool> classes = {
      {"a", "aa", "aaa", "ab", "ba", "the", "The ", "ing", "tion"},                     // ties
      {"e\u0301", "o\u0308\u0323", "n\u0303", "A\u030a", "\u0301", "\u0345", "q\u0307\u0323"},
      {"\u0e01\u0e33", "\u0e19\u0e49\u0e33", "\u0915\u094d\u0937\u093f", "\u0930\u093c", "\u0644\u0627",
       "\u0643\u064e\u062a\u064e", "\u06cc\u200c"},
      {"\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u2764\ufe0f", "\u200d",
       "\U0001f44d\U0001f3fd", "\ufe0f"},
      {"\uff76\uff9e", "\uff8a\uff9f", "\uff76", "\uff21\uff22", "\uff11", "\u30d1", "\u3099"},  // widths
      {"\u1112\u1161\u11ab", "\u1100\u1161", "\ud55c", "\uae00", "\u11a8"},             // jamo
      {" ", "  ", "\u00a0", "\u3000", "\u2009", "\u200b", "\u0085", "\u2028", "\t", "\n", "\r\n", "\ufeff"},
      {"\u2581", "\u2581\u2581", "_", "a\u2581b", " \u2581"},
      {"\u0001", "\u001f", "\u007f", "\u0080", "\u00ad", "\u200e", "\u2060", "\ufffd"},
      {"\ufb01", "\u00bd", "\u2460", "\u33a1", "\ufdfa", "\u2122", "\u0132", "\u1e9b\u0323", "\u00b5"},
      {"\u4e2d", "\u6587", "\u5206\u8bcd", "\u65e5\u672c\u8a9e", "\u3002", "\uff0c", "\U00020000"},
      {"0", "1", "12", "2026", "3.14", "1,000", "\u0661", "\u0967", "\u00b2"},
      {"\u0130", "\u01c5", "\u1e9e", "\u00df", "\u03c2", "\u03a3", "\u0149"},
      {".", ",", "...", "\u2026", "?!", "\u201c", "\u2019", "--", "\u2014", "(", ")", "\u00bf"},
  };
  return classes;
}

void Compare(Engine& engine, Engine& reference, const std::vector<std::string_view>& texts,
             ParityPart* part) {
  EncodedTexts got, expected;
  constexpr size_t kTextsPerCall = 64;
  for (size_t from = 0; from < texts.size(); from += kTextsPerCall) {
    const std::span<const std::string_view> some(texts.data() + from,
                                                 std::min(kTextsPerCall, texts.size() - from));
    size_t bytes = 64;
    for (const std::string_view text : some) bytes += 4 * text.size() + 16;
    got.Reserve(some.size(), bytes);
    expected.Reserve(some.size(), bytes);
    engine.Encode(some, &got);
    reference.Encode(some, &expected);
    for (size_t i = 0; i < some.size(); ++i) {
      ++part->compared;
      const auto a = got.Of(i), b = expected.Of(i);
      if (std::equal(a.begin(), a.end(), b.begin(), b.end())) continue;
      if (part->mismatches++ != 0) continue;
      part->first_text = some[i].substr(0, 160);
      while (!part->first_text.empty() && (part->first_text.back() & 0x80) != 0 &&
             some[i].size() > 160) {
        part->first_text.pop_back();  // not in the middle of a character
      }
      const size_t at = static_cast<size_t>(
          std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
      const size_t begin = at < 2 ? 0 : at - 2;
      part->first_ids.assign(a.begin() + static_cast<ptrdiff_t>(std::min(begin, a.size())),
                             a.begin() + static_cast<ptrdiff_t>(std::min(at + 6, a.size())));
      part->reference.assign(b.begin() + static_cast<ptrdiff_t>(std::min(begin, b.size())),
                             b.begin() + static_cast<ptrdiff_t>(std::min(at + 6, b.size())));
    }
  }
}

std::vector<std::string_view> Views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace

std::vector<std::string> SpecialTexts() {
  std::vector<std::string> texts;
  for (const char* token : {"<s>", "</s>", "<pad>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[PAD]",
                            "[MASK]", "[UNK]", "<extra_id_0>", "<cls>", "<sep>", "<eod>"}) {
    const std::string t = token;
    texts.insert(texts.end(), {t, "a" + t, t + "a", "a " + t + " b", t + t, " " + t + " ",
                               "What is" + t + "this?", t.substr(0, t.size() - 1)});
  }
  return texts;
}

std::vector<std::string> UnicodeTexts(uint64_t seed, size_t count) {
  const auto& classes = Classes();
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    std::string text;
    const size_t units = 1 + below(i % 16 == 15 ? 200 : 12);  // every 16th is long
    const bool mixed = i % 3 == 2;
    const size_t fixed = i % classes.size();
    for (size_t u = 0; u < units; ++u) {
      const Pool& pool = classes[mixed ? below(classes.size()) : fixed];
      text += pool[below(pool.size())];
      if (below(5) == 0) text += ' ';
      if (below(8) == 0) text += classes[0][below(classes[0].size())];
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

Parity CompareParity(Engine& engine, Engine& reference,
                     const std::vector<std::string_view>& documents, size_t unicode_texts) {
  Parity parity;
  parity.reference = reference.info();
  Compare(engine, reference, documents, &parity.documents);
  const std::vector<std::string> specials = SpecialTexts(), unicode = UnicodeTexts(1, unicode_texts);
  Compare(engine, reference, Views(specials), &parity.specials);
  Compare(engine, reference, Views(unicode), &parity.unicode);
  parity.valid = true;
  return parity;
}

}  // namespace rankfeed::measure
