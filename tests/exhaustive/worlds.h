// SPDX-License-Identifier: MIT
// tests/exhaustive/worlds.h: every string over a small alphabet, and vocabularies listed by rule
// rather than drawn at random, so that a failure names the smallest world that shows it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rankfeed::exhaustive {

struct Alphabet {
  std::string name;
  std::vector<std::string> letters;
  size_t length;  // all strings of up to this many letters
};

// The second has a space (white space rules) and characters of two and four bytes; the third has
// the space and its symbol, which the normalizers treat differently.
inline const std::vector<Alphabet>& Alphabets() {
  static const std::vector<Alphabet> alphabets = {
      {"abc", {"a", "b", "c"}, 8},
      {"mixed", {"a", "\u00e9", " ", "\U0001f600"}, 6},
      {"symbol", {"a", "b", "\u2581", " "}, 6},
  };
  return alphabets;
}

// All sequences of 0 .. length of the letters, shortest first.
inline std::vector<std::string> Sequences(const std::vector<std::string>& letters, size_t length) {
  std::vector<std::string> all = {""};
  for (size_t begin = 0, round = 0; round < length; ++round) {
    const size_t end = all.size();
    for (; begin < end; ++begin) {
      for (const std::string& letter : letters) all.push_back(all[begin] + letter);
    }
  }
  return all;
}

inline std::vector<std::string> AllStrings(const Alphabet& alphabet) {
  return Sequences(alphabet.letters, alphabet.length);
}

// All words of 1 .. length letters, with the space spelled U+2581 as the models see it.
inline std::vector<std::string> Words(const Alphabet& alphabet, size_t length) {
  std::vector<std::string> letters;
  for (const std::string& letter : alphabet.letters) {
    const std::string spelled = letter == " " ? "\u2581" : letter;
    if (std::find(letters.begin(), letters.end(), spelled) == letters.end()) {
      letters.push_back(spelled);
    }
  }
  std::vector<std::string> words = Sequences(letters, length);
  words.erase(words.begin());  // the empty one
  return words;
}

enum class Kind { kNormal, kUserDefined, kUnused };

struct Piece {
  std::string text;
  float score;
  Kind kind;
};

struct Vocabulary {
  std::string name;
  std::vector<Piece> pieces;  // distinct, without specials
  bool byte_fallback = false;
};

inline size_t Characters(const std::string& word) {
  return static_cast<size_t>(std::count_if(word.begin(), word.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

// The rules: which words are pieces, what they score, what kind they are.
inline std::vector<Vocabulary> Vocabularies(const Alphabet& alphabet) {
  const std::vector<std::string> words = Words(alphabet, 3);
  std::vector<Vocabulary> all;
  const auto add = [&](const std::string& name, auto&& score, auto&& kept, auto&& kind,
                       bool byte_fallback = false) {
    Vocabulary vocabulary{name, {}, byte_fallback};
    bool matches = false;
    for (size_t i = 0; i < words.size(); ++i) {
      if (!kept(i)) continue;
      vocabulary.pieces.push_back({words[i], score(i), kind(i)});
      matches |= kind(i) != Kind::kUnused;
    }
    if (matches) all.push_back(std::move(vocabulary));
  };
  const auto always = [](size_t) { return true; };
  const auto normal = [](size_t) { return Kind::kNormal; };
  const auto chars = [&](size_t i) { return static_cast<float>(Characters(words[i])); };
  const auto by_length = [&](size_t i) { return -chars(i); };
  const auto holds = [&](size_t i, size_t letter) {
    return words[i].find(alphabet.letters[letter]) != std::string::npos;
  };

  // Every segmentation ties exactly; ties but for rounding; shorter or longer pieces are better.
  add("tie by length", by_length, always, normal);
  add(
      "tie but for rounding", [&](size_t i) { return -0.1f * chars(i); }, always, normal);
  add(
      "all zero", [](size_t) { return 0.0f; }, always, normal);
  add(
      "all equal", [](size_t) { return -1.5f; }, always, normal);
  add(
      "short first", [&](size_t i) { return -chars(i) * chars(i); }, always, normal);
  add(
      "positive", [&](size_t i) { return 0.25f * chars(i); }, always, normal);
  // Unknown characters: a letter in no piece, letters only inside longer pieces, and an unknown
  // score that competes with the pieces'.
  add(
      "first letter unknown", by_length, [&](size_t i) { return !holds(i, 0); }, normal);
  add(
      "letters unknown, pairs known", by_length, [&](size_t i) { return chars(i) > 1; }, normal);
  add(
      "one piece only", [](size_t) { return -1.0f; }, [](size_t i) { return i == 1; }, normal);
  add(
      "unknown as good as pieces", [&](size_t i) { return i == 0 ? 8.0f : -12.0f * chars(i); },
      [&](size_t i) { return i == 0 || chars(i) > 1; }, normal);
  // Piece types; user-defined scores follow the largest positive score and the length in bytes.
  for (const size_t modulus : {2u, 3u, 5u}) {
    const std::string every = " every " + std::to_string(modulus);
    const auto some = [=](Kind kind) {
      return [=](size_t i) { return i % modulus == 1 ? kind : Kind::kNormal; };
    };
    add("unused" + every, by_length, always, some(Kind::kUnused));
    add("user-defined" + every, by_length, always, some(Kind::kUserDefined));
    add(
        "user-defined, positive" + every, [&](size_t i) { return 0.3f * chars(i); }, always,
        some(Kind::kUserDefined));
  }
  add(
      "byte fallback", by_length, [&](size_t i) { return !holds(i, 1); }, normal, true);
  // Subsets of the first words, all of one score: the simplest worlds.
  for (uint32_t subset = 1; subset < 512; subset += 6) {
    add(
        "subset " + std::to_string(subset), [](size_t) { return -1.0f; },
        [=](size_t i) { return i < 9 && (subset >> i & 1) != 0; }, normal);
  }
  // Presence, kind and score by a hash; scores on a coarse grid, so that sums meet.
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    const auto hash = [=](size_t i) {
      uint32_t h = static_cast<uint32_t>(i + 1) * 2654435761u ^ seed * 40503u;
      h ^= h >> 15;
      h *= 2246822519u;
      return h >> 13;
    };
    add(
        "hash " + std::to_string(seed),
        [=](size_t i) { return -0.3f * static_cast<float>(1 + hash(i) % 7); },
        [=](size_t i) { return hash(i + 100) % 3 != 0; },
        [=](size_t i) {
          return hash(i + 200) % 9 == 0   ? Kind::kUnused
                 : hash(i + 300) % 9 == 0 ? Kind::kUserDefined
                                          : Kind::kNormal;
        },
        seed % 6 == 0);
  }
  return all;
}

}  // namespace rankfeed::exhaustive
