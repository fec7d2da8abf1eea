// SPDX-License-Identifier: MIT
// tests/reference/sp_random_models.h: small vocabularies drawn from a seed, with every piece type,
// every normalizer flag, ties, nested user-defined symbols and awkward charsmap rules.
#pragma once

#include <random>
#include <set>
#include <string>
#include <vector>

#include "reference/sp_model_proto.h"

namespace rankfeed::sp_test {

// Rules that meet every branch of the normalizer: keys nested in keys, white space, nothing, spaces
// inside and around, growth.
inline std::map<std::string, std::string> AwkwardRules() {
  return {{"A", "a"},
          {"AB", "b"},
          {"ABA", " "},
          {"\t", " "},
          {"\u3000", " "},
          {"\u2581", " "},
          {"\u00a0", "  "},
          {"\x01", ""},
          {"\u200b", ""},
          {"\x02", " a"},
          {"\x03", "a "},
          {"\x04", " a b "},
          {"\x05", "a  b"},
          {"\ufdfa", "aba bab aba bab"},
          {"e\u0301", "\u00e9"},
          {"e\u0301\u0323", "\u1eb9\u0301"},
          {"\uff76\uff9e", "\u30ac"},
          {"\uff76", "\u30ab"},
          {"  ", "o"},
          {"oo", "o\u2581"},
          {"\ufffd", " "}};
}

struct RandomModelOptions {
  std::string charsmap;  // used by a third of the models when not empty
};

inline ModelProto RandomModel(std::mt19937_64& random, const RandomModelOptions& options = {}) {
  const auto chance = [&](unsigned one_in) { return random() % one_in == 0; };
  static const std::vector<std::string> kLetters = {
      "a", "b",      "o",      "a",      "b",          "\u2581", "\u2581", "e",
      "A", "\u00e9", "\u4e2d", "\u30ac", "\U0001f600", "\u0301", " ",      "\uff76"};
  const size_t letters = 2 + random() % (kLetters.size() - 1);

  ModelProto model;
  // The unknown piece is not always first, and its name not always <unk>.
  if (chance(4)) {
    model.Add("<s>", 0, kControl);
    model.Add("<?>", 0, kUnknown);
    model.unk_piece = "<?>";
    if (chance(2)) model.Add("</s>", 0, kControl);
    if (chance(2)) model.unk_surface = "\u2049\u2581";
  } else {
    model.AddSpecials();
  }
  if (chance(4)) model.AddBytes(chance(2) ? -1.0f : 0.0f);

  const unsigned score_kind = random() % 4;
  const auto score = [&]() -> float {
    const double unit = static_cast<double>(random() % 100000) / 100000;
    switch (score_kind) {
      case 0:
        return -1.0f * static_cast<float>(random() % 3);  // mostly ties
      case 1:
        return -0.5f * static_cast<float>(1 + random() % 8);
      case 2:
        return static_cast<float>(unit * 4 - 2);  // positive ones too
      default:
        return static_cast<float>(-12 * unit);
    }
  };
  std::set<std::string> taken;
  const size_t count = 1 + random() % 40;
  for (size_t i = 0; i < count; ++i) {
    std::string text;
    const size_t length = 1 + random() % 5;
    for (size_t k = 0; k < length; ++k) text += kLetters[random() % letters];
    if (!taken.insert(text).second) continue;
    const unsigned kind = random() % 10;
    model.Add(text, score(), kind == 0 ? kUserDefined : kind == 1 ? kUnused : kNormal);
  }
  // At least one piece that a text can match; models without any are refused.
  if (taken.insert("o").second) model.Add("o", score());
  // Letters on their own, so that not everything is unknown.
  for (size_t i = 0; i < letters; ++i) {
    if (!chance(3) && taken.insert(kLetters[i]).second) model.Add(kLetters[i], score());
  }
  if (chance(3)) {
    for (const char* text : {"<sep>", "a b", "  x", "\u2581\u2581a", "\uff76", "A"}) {
      if (chance(2) && taken.insert(text).second) model.Add(text, score(), kUserDefined);
    }
  }
  // Spelled like reserved pieces.
  if (chance(6) && taken.insert("<s>").second) model.Add("<s>", score());
  if (chance(6) && taken.insert("<0x41>").second) model.Add("<0x41>", score(), kUserDefined);

  const auto flag = [&]() -> std::optional<bool> {
    if (chance(2)) return std::nullopt;
    return chance(2);
  };
  model.normalizer = {{}, flag(), flag(), flag()};
  switch (random() % 3) {
    case 0:
      model.normalizer.charsmap = MakeCharsmap(AwkwardRules());
      break;
    case 1:
      model.normalizer.charsmap = options.charsmap;
      break;
    default:
      break;
  }
  model.treat_whitespace_as_suffix = chance(4);
  if (chance(4)) {
    model.denormalizer = NormalizerProto{{}, flag(), flag(), flag()};
    if (!chance(3)) {
      model.denormalizer->charsmap = MakeCharsmap({{"a", "A"}, {" b", "B "}, {"o", ""}});
    }
  }
  return model;
}

}  // namespace rankfeed::sp_test
