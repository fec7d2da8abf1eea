// SPDX-License-Identifier: MIT
// Tests of text/sp_normalize: each rule of normalizer.cc on its own, with origins. The comparison
// with libsentencepiece itself is in reference/sp_encode_test.cc.
#include "normalize/sp_normalize.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "reference/sp_model_proto.h"

namespace rankfeed::normalize {
namespace {

using namespace std::string_literals;

// A charsmap and user-defined symbols that live as long as the views into them.
class Rules {
 public:
  Rules(const std::map<std::string, std::string>& charsmap,
        const std::vector<std::string>& symbols) {
    if (!charsmap.empty()) {
      const std::string blob = sp_test::MakeCharsmap(charsmap);
      uint32_t trie_bytes;
      std::memcpy(&trie_bytes, blob.data(), 4);
      units_.resize(trie_bytes / 4);
      std::memcpy(units_.data(), blob.data() + 4, trie_bytes);
      pool_.assign(blob.begin() + 4 + trie_bytes, blob.end());
    }
    normalizer.charsmap = Charsmap(units_, pool_);
    if (!symbols.empty()) {
      BuildSymbols(symbols);
      normalizer.user_defined = trie::View(trie_);
      normalizer.max_symbol_bytes = 16;
    }
  }
  Rules(const Rules&) = delete;

  SpNormalizer normalizer;

 private:
  // Each node has a base of its own, 257 units apart.
  void BuildSymbols(const std::vector<std::string>& symbols) {
    std::map<std::string, uint32_t> nodes{{"", 0}};
    for (const std::string& s : symbols) {
      for (size_t n = 1; n <= s.size(); ++n) {
        nodes.try_emplace(s.substr(0, n), static_cast<uint32_t>(nodes.size()));
      }
    }
    trie_.assign((nodes.size() + 1) * 257 + 1,
                 trie::MakeUnit(trie::kEmptyLabel, 0, trie::kNoValue));
    for (const auto& [prefix, node] : nodes) {
      uint32_t value = trie::kNoValue;
      for (size_t i = 0; i < symbols.size(); ++i) {
        if (symbols[i] == prefix) value = static_cast<uint32_t>(i);
      }
      uint32_t position = 0, label = trie::kEmptyLabel;
      if (!prefix.empty()) {
        label = static_cast<unsigned char>(prefix.back()) + 1u;
        position = 1 + nodes[prefix.substr(0, prefix.size() - 1)] * 257 + label;
      }
      trie_[position] = trie::MakeUnit(label, 1 + node * 257, value);
    }
  }

  std::vector<uint32_t> units_;
  std::vector<char> pool_;
  std::vector<trie::Unit> trie_;
};

struct Output {
  std::string text;
  std::vector<uint32_t> origin;  // one more than text has bytes
};

Output Normalize(const Rules& rules, std::string_view input) {
  const auto capacity = static_cast<uint32_t>(input.size() * 16 + 16);
  Output output{std::string(capacity, '\0'), std::vector<uint32_t>(capacity)};
  SpNormalized result;
  EXPECT_TRUE(SpNormalize(rules.normalizer, input, output.text.data(), output.origin.data(),
                          capacity, &result));
  output.text.resize(result.size);
  output.origin.resize(result.size);
  output.origin.push_back(result.end);
  return output;
}

std::string Text(const Rules& rules, std::string_view input) {
  return Normalize(rules, input).text;
}

TEST(SpNormalize, DefaultsEscapePrefixAndSqueeze) {
  const Rules rules({}, {});
  EXPECT_EQ(Text(rules, "hello  world "), "\u2581hello\u2581world");
  EXPECT_EQ(Text(rules, ""), "");
  EXPECT_EQ(Text(rules, "   "), "");
  EXPECT_EQ(Text(rules, "a\tb"), "\u2581a\tb");  // only U+0020 without a charsmap
}

// No model file has such a symbol, but a forged image may.
TEST(SpNormalize, TakeNoSymbolThatEndsInsideACharacter) {
  for (const char* symbol : {"\xe2", "\xe2\x96", "a\xf0", "\xff", "\x96"}) {
    const Rules rules({}, {symbol});
    EXPECT_EQ(LongestSpSymbol(rules.normalizer, symbol + "\xff\x96\x81"s), 0u);
  }
  const Rules rules({}, {"\u2581", "a\u2581"});
  EXPECT_EQ(LongestSpSymbol(rules.normalizer, "\u2581\u2581"), 3u);
  EXPECT_EQ(LongestSpSymbol(rules.normalizer, "a\u2581"), 4u);
}

TEST(SpNormalize, OriginsAreThoseOfTheCharacterThatProducedTheByte) {
  const Rules rules({}, {});
  const Output output = Normalize(rules, " a \u00e9 ");
  EXPECT_EQ(output.text, "\u2581a\u2581\u00e9");
  // The dummy prefix and "a" are at 1, the space at 2, the character at 3; the text ends where the
  // stripped trailing space began.
  EXPECT_EQ(output.origin, (std::vector<uint32_t>{1, 1, 1, 1, 2, 2, 2, 3, 3, 5}));
}

TEST(SpNormalize, FlagsSwitchEachRule) {
  Rules rules({}, {});
  rules.normalizer.add_dummy_prefix = false;
  EXPECT_EQ(Text(rules, " a  b "), "a\u2581b");
  rules.normalizer.remove_extra_whitespaces = false;
  EXPECT_EQ(Text(rules, " a  b "), "\u2581a\u2581\u2581b\u2581");
  rules.normalizer.escape_whitespaces = false;
  EXPECT_EQ(Text(rules, " a  b "), " a  b ");
  rules.normalizer.add_dummy_prefix = true;
  EXPECT_EQ(Text(rules, " a  b "), "  a  b ");
  rules.normalizer.remove_extra_whitespaces = true;
  EXPECT_EQ(Text(rules, " a  b "), " a b");
}

TEST(SpNormalize, SuffixModePutsTheDummyAtTheEnd) {
  Rules rules({{"\x01", ""}}, {});
  rules.normalizer.treat_whitespace_as_suffix = true;
  EXPECT_EQ(Text(rules, " a b "), "a\u2581b\u2581");
  const Output output = Normalize(rules, "ab ");
  EXPECT_EQ(output.origin, (std::vector<uint32_t>{0, 1, 2, 2, 2, 2}));
  EXPECT_EQ(Text(rules, "\x01"), "\u2581");  // not empty, although every character vanished
  EXPECT_EQ(Text(rules, "  "), "");
  rules.normalizer.add_dummy_prefix = false;
  EXPECT_EQ(Text(rules, " a b "), "a\u2581b");
}

TEST(SpNormalize, TheLongestKeyWins) {
  const Rules rules({{"a", "1"}, {"ab", "2"}, {"abcd", "4"}}, {});
  EXPECT_EQ(Text(rules, "aababcabcd"),
            "\u258112"
            "2c4");
}

TEST(SpNormalize, MoreNestedKeysThanTheReferenceKeepsResults) {
  // kMaxTrieResultsSize is 32: beyond it SentencePiece has no defined answer, and the longest key
  // is the only sensible one.
  std::map<std::string, std::string> nested;
  for (size_t n = 1; n <= 40; ++n) nested[std::string(n, 'a')] = std::to_string(n) + ";";
  const Rules rules(nested, {});
  EXPECT_EQ(Text(rules, std::string(32, 'a')), "\u258132;");
  EXPECT_EQ(Text(rules, std::string(43, 'a')), "\u258140;3;");
}

TEST(SpNormalize, UserDefinedSymbolsComeFirstAndAreCopied) {
  const Rules rules({{"a", "1"}, {"aaaa", "4"}}, {"aa", "aa b", " "});
  EXPECT_EQ(Text(rules, "aaaa"),
            "\u2581"
            "aaaa");
  EXPECT_EQ(Text(rules, "a aa bx"),
            "\u2581"
            "1\u2581"
            "aa\u2581"
            "bx");
  EXPECT_EQ(Text(rules, "aa c"),
            "\u2581"
            "aa\u2581"
            "c");
}

TEST(SpNormalize, SpacesInsideReplacements) {
  const Rules rules({{"1", "  "}, {"2", " x"}, {"3", "x "}, {"4", "x  y"}, {"5", ""}}, {});
  EXPECT_EQ(Text(rules, "1a"),
            "\u2581"
            "a");  // leading run dropped by the second rule
  EXPECT_EQ(Text(rules, "a1b"),
            "\u2581"
            "a\u2581\u2581"
            "b");  // not collapsed inside one key
  EXPECT_EQ(Text(rules, "a 2"),
            "\u2581"
            "a\u2581x");
  EXPECT_EQ(Text(rules, "3 a"),
            "\u2581"
            "x\u2581"
            "a");
  EXPECT_EQ(Text(rules, "4"),
            "\u2581"
            "x\u2581\u2581y");
  // A character that vanishes does not end a run of spaces.
  EXPECT_EQ(Text(rules, "a 5 b"),
            "\u2581"
            "a\u2581"
            "b");
  EXPECT_EQ(Text(rules, " 5 a"),
            "\u2581"
            "a");
  EXPECT_EQ(Text(rules, "5"), "");
}

TEST(SpNormalize, TrailingSymbolsAreStrippedEvenWhenTyped) {
  const Rules rules({}, {});
  EXPECT_EQ(Text(rules, "a\u2581\u2581"),
            "\u2581"
            "a");
  EXPECT_EQ(Text(rules, "\u2581"), "");
}

TEST(SpNormalize, IllFormedBytes) {
  const Rules rules({{"\ufffd", " "}}, {});
  EXPECT_EQ(Text(rules, "\xff"), "\u2581\ufffd");
  EXPECT_EQ(Text(rules, "a\xe2\x96z"),
            "\u2581"
            "a\ufffd\ufffdz");  // one per byte
  EXPECT_EQ(Text(rules, "\xed\xa0\x80"), "\u2581\ufffd\ufffd\ufffd");
  EXPECT_EQ(Text(rules,
                 "a\ufffd"
                 "b"),
            "\u2581"
            "a\u2581"
            "b");  // a real one goes through the map
  EXPECT_EQ(Text(rules, "a\0b"s),
            "\u2581"
            "a\0b"s);
}

TEST(SpNormalize, RefusesToPassTheCapacity) {
  const Rules rules({{"x", "0123456789"}}, {});
  for (const std::string& input : {"ab cd"s, "x"s, "\xff\xff"s, "a b "s}) {
    std::string full;
    for (uint32_t capacity = 0; capacity < 64; ++capacity) {
      std::vector<char> out(capacity + 8, '\x7f');
      SpNormalized result;
      if (SpNormalize(rules.normalizer, input, out.data(), nullptr, capacity, &result)) {
        if (full.empty()) full.assign(out.data(), result.size);
        EXPECT_EQ(std::string_view(out.data(), result.size), full);
        EXPECT_LE(result.size, capacity);
      } else {
        EXPECT_TRUE(full.empty()) << "fitted into less";
      }
      for (size_t i = capacity; i < out.size(); ++i) ASSERT_EQ(out[i], '\x7f');
    }
    EXPECT_FALSE(full.empty());
  }
}

}  // namespace
}  // namespace rankfeed::normalize
