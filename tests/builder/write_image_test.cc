// SPDX-License-Identifier: MIT
#include "builder/write_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "builder/base/code_points.h"
#include "builder/builder_test_util.h"
#include "builder/byte_level.h"
#include "builder/fast/piece_neighbours.h"
#include "builder/hf_file.h"
#include "reference/sp_model_proto.h"

namespace rankfeed::builder {
namespace {

using builder_test::Added;
using builder_test::Compiled;
using builder_test::FailsWith;
using builder_test::HfFile;
using sp_test::ModelProto;

// Id of a piece by walking the trie of the image, or kNoValue.
uint32_t Find(const Model& m, std::string_view piece) {
  trie::Unit unit = m.pieces.root();
  for (size_t at = 0; at < piece.size();) {
    uint32_t cp;
    if (!NextCodePoint(piece, &at, &cp)) return trie::kNoValue;
    if (!m.pieces.Step(unit, m.codes[cp])) return trie::kNoValue;
  }
  return trie::Value(unit);
}

void CheckTrie(const Compiled& compiled) {
  const Model& m = compiled.view();
  std::set<std::string> pieces;
  for (const uint32_t id : builder::PieceIds(m)) {
    const std::string piece = compiled.piece(id);
    ASSERT_TRUE(pieces.insert(piece).second) << piece;
    ASSERT_EQ(Find(m, piece), id) << piece;
  }
  ASSERT_EQ(pieces.size(), compiled.info().piece_count);
  EXPECT_EQ(Find(m, "not a piece at all"), trie::kNoValue);
}

TEST(WriteImage, EveryPieceIsFound) {
  ModelProto model;
  model.AddSpecials();
  std::mt19937 random(4);
  std::set<std::string> seen;
  while (seen.size() < 3000) {
    std::string piece;
    for (uint32_t n = 1 + random() % 5; n > 0; --n) {
      const uint32_t plane[] = {0x61, 0x400, 0x4e00, 0x1f600, 0x10fff0};
      AppendUtf8(plane[random() % 5] + random() % 15, &piece);
    }
    if (seen.insert(piece).second) model.Add(piece, -static_cast<float>(random() % 1000) / 64);
  }
  const Compiled compiled(Serialize(model));
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  CheckTrie(compiled);
}

TEST(WriteImage, SameBytesEveryTime) {
  HfFile file;
  file.added_tokens = "[" + Added(0, "<s>") + "," + Added(9, "X", "00010") + "]";
  file.normalizer = R"({"type":"NFKC"})";
  const Compiled a(file.Text()), b(file.Text());
  ASSERT_EQ(a.status, RANKFEED_OK) << a.message();
  EXPECT_EQ(a.bytes(), b.bytes());
}

TEST(WriteImage, ConfigHashCoversSourceParityAndPreset) {
  const std::string model = [] {
    ModelProto m;
    m.AddSpecials();
    m.Add("a", -1);
    return Serialize(m);
  }();
  std::set<std::string> hashes;
  const auto add = [&](std::string_view bytes, const char* preset) {
    const Compiled compiled(bytes, preset);
    ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
    const rankfeed_model_info info = compiled.info();
    EXPECT_TRUE(hashes.emplace(reinterpret_cast<const char*>(info.config_hash), 16).second);
  };
  add(model, nullptr);
  add(model, "xlm-roberta");
  add(model, "camembert");
  std::string other = model;
  protozero::pbf_writer(other).add_string(100, "comment");  // same pieces, other file
  add(other, nullptr);
  const ConfigHash a = HashConfig("x", 0, ""), b = HashConfig("x", 1, ""),
                   c = HashConfig("", 0, "x");
  EXPECT_NE(std::memcmp(&a, &b, sizeof a), 0);
  EXPECT_NE(std::memcmp(&a, &c, sizeof a), 0);
}

// The stores of such a vocabulary from before parts of splits had keys hold ids of parts that are others. Off the fast
// road, and without ignore_merges, they never did.
TEST(WriteImage, GivesVocabulariesWhosePartsHaveKeysAnotherHash) {
  const auto file = [](const char* add_prefix_space, const char* ignore_merges) {
    return R"({"pre_tokenizer":)" + builder_test::ByteLevelSplit("true", add_prefix_space) + R"(,"model":)" +
           builder_test::ByteLevelModel("", "", std::string(R"("ignore_merges":)") + ignore_merges + ",") + "}";
  };
  const auto differs = [&](const std::string& source) {
    const Compiled compiled(source);
    EXPECT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
    const ConfigHash before = HashConfig(source, RANKFEED_PARITY_HUGGINGFACE, "");
    return std::memcmp(compiled.info().config_hash, &before, sizeof before) != 0;
  };
  EXPECT_TRUE(differs(file("false", "true")));
  EXPECT_FALSE(differs(file("false", "false")));
  EXPECT_FALSE(differs(file("true", "true")));
}

TEST(WriteImage, LayoutOfTheFile) {
  const Compiled compiled(HfFile().Text());
  image::Header header;
  std::memcpy(&header, compiled.image.data, sizeof header);
  EXPECT_EQ(header.image_size, compiled.image.size);
  EXPECT_EQ(header.image_size % image::kSectionAlignment, 0u);
  uint64_t end = sizeof header + header.section_count * sizeof(image::Section);
  uint32_t last = 0;
  for (uint32_t i = 0; i < header.section_count; ++i) {
    image::Section section;
    std::memcpy(&section,
                static_cast<const char*>(compiled.image.data) + sizeof header + i * sizeof section,
                sizeof section);
    EXPECT_GT(section.id, last);
    EXPECT_EQ(section.offset % image::kSectionAlignment, 0u);
    EXPECT_GE(section.offset, end);
    EXPECT_EQ(section.size % section.element_size, 0u);
    // Gaps are zero, so equal models give equal files.
    for (uint64_t at = end; at < section.offset; ++at) {
      EXPECT_EQ(static_cast<const char*>(compiled.image.data)[at], 0);
    }
    end = section.offset + section.size;
    last = section.id;
  }
  EXPECT_LE(end, header.image_size);
}

// Two tokens that are one text after normalization: the wheel keeps the last special token unless
// there is an ordinary one.
TEST(WriteImage, EqualNormalizedTokens) {
  const auto winner = [](const std::string& tokens) {
    HfFile file;
    file.normalizer = R"({"type":"Lowercase"})";
    file.added_tokens = tokens;
    const Compiled compiled(file.Text());
    EXPECT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
    const trie::View view = compiled.view().added_normalized;
    trie::Unit unit = view.root();
    if (!view.Step(unit, 'x' + 1u) || !view.Step(unit, 'y' + 1u)) return std::string("none");
    return compiled.piece(compiled.view().added_tokens[trie::Value(unit)].id);
  };
  EXPECT_EQ(winner("[" + Added(7, "XY", "00011") + "," + Added(8, "xy", "00011") + "]"), "xy");
  EXPECT_EQ(winner("[" + Added(7, "xy", "00011") + "," + Added(8, "XY", "00011") + "]"), "XY");
  EXPECT_EQ(winner("[" + Added(7, "XY", "00010") + "," + Added(8, "xy", "00011") + "]"), "XY");
}

TEST(WriteImage, NormalizedContents) {
  HfFile file;
  file.normalizer =
      R"({"type":"Sequence","normalizers":[{"type":"Lowercase"},{"type":"Replace","pattern":{"String":"q"},"content":""}]})";
  file.added_tokens =
      "[" + Added(7, "Ab", "00011") + "," + Added(8, "Cd") + "]";
  const Compiled compiled(file.Text());
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  const Model& m = compiled.view();
  EXPECT_EQ(m.text(m.added_tokens[0].content), "Ab");
  EXPECT_EQ(m.text(m.added_tokens[0].normalized), "ab");
  EXPECT_EQ(m.text(m.added_tokens[1].normalized), "");
  trie::Unit unit = m.added_normalized.root();
  EXPECT_TRUE(m.added_normalized.Step(unit, 'a' + 1u));
  unit = m.added_normalized.root();
  EXPECT_FALSE(m.added_normalized.Step(unit, 'A' + 1u));
}

TEST(WriteImage, TooManyCharacters) {
  ModelProto model;
  model.AddSpecials();
  std::string piece;
  uint32_t cp = 0x20, count = 0;
  for (; count < 65534; ++cp) {
    if (cp >= 0xd800 && cp < 0xe000) continue;
    AppendUtf8(cp, &piece);
    if (++count % 100 == 0) {
      model.Add(piece, -1);
      piece.clear();
    }
  }
  if (!piece.empty()) model.Add(piece, -1);
  EXPECT_EQ(Compiled(Serialize(model)).status, RANKFEED_OK);
  piece.clear();
  AppendUtf8(cp, &piece);
  model.Add(piece, -1);
  EXPECT_TRUE(FailsWith(Compiled(Serialize(model)), RANKFEED_E_LIMIT,
                        "the pieces use 65535 distinct characters; 65534 is the most"));
}

TEST(WriteImage, SharedModelsRoundTrip) {
  RANKFEED_SHARED_FILE(model, "xlmr.model");
  const Compiled compiled(model);
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  CheckTrie(compiled);
  EXPECT_EQ(compiled.info().piece_count, 249997u);
}

}  // namespace
}  // namespace rankfeed::builder
