// SPDX-License-Identifier: MIT
#include "builder/files/read_spm.h"

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "builder/builder_test_util.h"
#include "builder/fast/piece_neighbours.h"
#include "normalize/charsmap.h"
#include "reference/sp_model_proto.h"
#include "support/sanitizers.h"

namespace rankfeed::builder {
namespace {

using builder_test::Compiled;
using builder_test::FailsWith;
using sp_test::ModelProto;

ModelProto Small() {
  ModelProto model;
  model.AddSpecials();
  model.Add("\xe2\x96\x81", -2);
  model.Add("a", -3);
  model.Add("\xe2\x96\x81\x61", -2.5);
  return model;
}

// The rule of the linked library.
constexpr int32_t kOlder = RANKFEED_PARITY_SENTENCEPIECE_0_2_1;

// Whether libsentencepiece 0.1.97 loads it.
bool OracleAccepts(const std::string& bytes) {
  sentencepiece::SentencePieceProcessor processor;
  return processor.LoadFromSerializedProto(bytes).ok();
}

struct Refusal {
  const char* name;
  void (*change)(ModelProto&);
  rankfeed_status status;
  const char* message;
  bool oracle_accepts;
};

TEST(ReadSpm, Refusals) {
  const Refusal kCases[] = {
      {"no pieces", [](ModelProto& m) { m.pieces.clear(); }, RANKFEED_E_PARSE, "has no pieces",
       false},
      {"only specials", [](ModelProto& m) { m.pieces.resize(3); }, RANKFEED_E_PARSE,
       "has no NORMAL pieces", false},
      {"no unknown", [](ModelProto& m) { m.pieces[0].kind = sp_test::kControl; }, RANKFEED_E_PARSE,
       "has no UNKNOWN piece", false},
      {"two unknowns", [](ModelProto& m) { m.pieces[2].kind = sp_test::kUnknown; },
       RANKFEED_E_PARSE, "piece 2 is a second UNKNOWN piece; the first is 0", false},
      {"empty piece", [](ModelProto& m) { m.pieces[4].text.clear(); }, RANKFEED_E_PARSE,
       "piece 4 is empty", false},
      {"user-defined score overflows",  // found by fuzz/spm_model: the image did not open
       [](ModelProto& m) {
         m.Add("big", 3e38f);
         m.Add("AAA", 0, sp_test::kUserDefined);
       },
       RANKFEED_E_UNSUPPORTED, "piece 7 is user-defined and its score", true},
      {"duplicate", [](ModelProto& m) { m.Add("a", -9); }, RANKFEED_E_PARSE,
       "piece 6 \"a\" is already defined as piece 4", false},
      {"duplicate unused", [](ModelProto& m) { m.Add("a", -9, sp_test::kUnused); },
       RANKFEED_E_PARSE, "piece 6 \"a\" is already defined as piece 4", false},
      {"duplicate control", [](ModelProto& m) { m.Add("<s>", 0, sp_test::kControl); },
       RANKFEED_E_PARSE, "piece 6 \"<s>\" is already defined as piece 1", false},
      {"NUL", [](ModelProto& m) { m.Add(std::string("a\0b", 3), -9); }, RANKFEED_E_PARSE,
       "piece 6 holds a NUL", true},
      {"bad UTF-8", [](ModelProto& m) { m.Add("\xc3", -9); }, RANKFEED_E_PARSE,
       "piece 6 is not valid UTF-8", true},
      {"NaN", [](ModelProto& m) { m.pieces[4].score = std::numeric_limits<float>::quiet_NaN(); },
       RANKFEED_E_PARSE, "piece 4 has a score that is not finite", true},
      {"infinite",
       [](ModelProto& m) { m.pieces[4].score = -std::numeric_limits<float>::infinity(); },
       RANKFEED_E_PARSE, "piece 4 has a score that is not finite", true},
      {"byte piece without fallback", [](ModelProto& m) { m.Add("<0x41>", 0, sp_test::kByte); },
       RANKFEED_E_PARSE, "piece 6 is a BYTE piece although byte_fallback is false", false},
      {"wrong byte piece",
       [](ModelProto& m) {
         m.AddBytes();
         m.Add("<0x4a>", 0, sp_test::kByte);
       },
       RANKFEED_E_PARSE, "\"<0x4a>\" is not a byte piece", false},
      {"missing byte piece",
       [](ModelProto& m) {
         m.AddBytes();
         m.pieces.pop_back();
       },
       RANKFEED_E_PARSE, "the piece of byte 255 is missing", false},
      {"BPE with UNUSED",
       [](ModelProto& m) {
         m.model_type = 2;
         m.Add("ab", -9, sp_test::kUnused);
       },
       RANKFEED_E_UNSUPPORTED, "is UNUSED, which is not supported with BPE", true},
      {"BPE with a letter as CONTROL",
       [](ModelProto& m) {
         m.model_type = 2;
         m.Add("\u00e9", 0, sp_test::kControl);
       },
       RANKFEED_E_UNSUPPORTED, "is a CONTROL or UNKNOWN piece of one character", true},
      {"BPE with a text of two types",
       [](ModelProto& m) {
         m.model_type = 2;
         m.Add("</s>", -9);
       },
       RANKFEED_E_UNSUPPORTED, "\"</s>\" is also a piece of another type", true},
      {"BPE of a character without a piece",
       [](ModelProto& m) {
         m.model_type = 2;
         m.Add("a\u4e16", -9);
       },
       RANKFEED_E_UNSUPPORTED, "merges the character \"\u4e16\", which is no piece", true},
      {"BPE with a suffix",
       [](ModelProto& m) {
         m.model_type = 2;
         m.treat_whitespace_as_suffix = true;
       },
       RANKFEED_E_UNSUPPORTED, "model_type BPE with treat_whitespace_as_suffix is not supported", true},
      {"WORD", [](ModelProto& m) { m.model_type = 3; }, RANKFEED_E_UNSUPPORTED,
       "model_type WORD is not supported", true},
      {"CHAR", [](ModelProto& m) { m.model_type = 4; }, RANKFEED_E_UNSUPPORTED,
       "model_type CHAR is not supported", true},
      {"other type", [](ModelProto& m) { m.model_type = 9; }, RANKFEED_E_UNSUPPORTED,
       "model_type 9 is not supported", true},
      {"unknown piece type", [](ModelProto& m) { m.pieces[4].kind = sp_test::PieceKind(7); },
       RANKFEED_E_UNSUPPORTED, "piece 4 has type 7", true},
      {"broken charsmap", [](ModelProto& m) { m.normalizer.charsmap = "abc"; }, RANKFEED_E_PARSE,
       "normalizer_spec.precompiled_charsmap is broken", false},
      {"broken denormalizer",
       [](ModelProto& m) {
         m.denormalizer.emplace();
         m.denormalizer->charsmap = "abcdefgh";
       },
       RANKFEED_E_PARSE, "denormalizer_spec.precompiled_charsmap is broken", true},
  };
  for (const Refusal& c : kCases) {
    ModelProto model = Small();
    c.change(model);
    const std::string bytes = Serialize(model);
    const Compiled compiled(bytes, nullptr, kOlder);
    EXPECT_TRUE(FailsWith(compiled, c.status, c.message)) << c.name;
    // libsentencepiece builds its trie from NUL-terminated keys and may throw.
    if (std::string_view(c.name) == "NUL") continue;
    EXPECT_EQ(OracleAccepts(bytes), c.oracle_accepts) << c.name;
  }
}

// What libsentencepiece takes is taken.
TEST(ReadSpm, Accepted) {
  struct Case {
    const char* name;
    void (*change)(ModelProto&);
  };
  const Case kCases[] = {
      {"plain", [](ModelProto&) {}},
      {"normal piece spelled like a control one", [](ModelProto& m) { m.Add("<s>", -5); }},
      {"unused", [](ModelProto& m) { m.Add("b", -5, sp_test::kUnused); }},
      {"byte fallback", [](ModelProto& m) { m.AddBytes(); }},
      {"byte piece twice as normal",
       [](ModelProto& m) {
         m.AddBytes();
         m.Add("<0x41>", -4);
       }},
      {"only user-defined",
       [](ModelProto& m) {
         m.pieces.resize(3);
         m.Add("x", 0, sp_test::kUserDefined);
       }},
      {"type written", [](ModelProto& m) { m.model_type = 1; }},
      {"names",
       [](ModelProto& m) {
         m.bos_piece = "";
         m.eos_piece = "<s>";
       }},
  };
  for (const Case& c : kCases) {
    ModelProto model = Small();
    c.change(model);
    const std::string bytes = Serialize(model);
    EXPECT_TRUE(OracleAccepts(bytes)) << c.name;
    EXPECT_EQ(Compiled(bytes).status, RANKFEED_OK) << c.name << ": " << Compiled(bytes).message();
  }
}

TEST(ReadSpm, PiecesOfTheTrieAndScores) {
  ModelProto model = Small();
  model.Add("user", -77, sp_test::kUserDefined);
  model.Add("gone", -1, sp_test::kUnused);
  model.AddBytes();
  const Compiled compiled(Serialize(model), nullptr, kOlder);
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  const Model& m = compiled.view();
  const std::vector<uint32_t> ids = builder::PieceIds(m);
  ASSERT_EQ(ids.size(), 4u);  // three normal, one user-defined
  ASSERT_EQ(compiled.info().piece_count, 4u);
  std::map<std::string, double> scores;
  for (const uint32_t id : ids) scores[compiled.piece(id)] = m.scores[id];
  const std::map<std::string, double> want = {
      {"\xe2\x96\x81", -2.0},
      {"a", -3.0},
      {"\xe2\x96\x81\x61", -2.5},
      // 4 bytes times the smallest positive float, then minus 0.1 in double
      {"user", static_cast<double>(4 * FLT_MIN) - 0.1}};
  EXPECT_EQ(scores, want);
  EXPECT_EQ(m.config->unk_score, -13.0);
  EXPECT_EQ(m.config->unk_id, 0u);
  EXPECT_EQ(m.config->bos_id, 1u);
  EXPECT_EQ(m.config->eos_id, 2u);
  EXPECT_EQ(m.config->pad_id, image::kNoId);
  ASSERT_EQ(m.byte_ids.size(), 256u);
  EXPECT_EQ(compiled.piece(m.byte_ids[0x4a]), "<0x4A>");
  EXPECT_EQ(m.config->max_piece_chars, 4u);
  EXPECT_EQ(m.config->max_piece_bytes, 4u);
}

// Scores above zero raise the bonus of user-defined symbols, and floats stay floats.
TEST(ReadSpm, FloatArithmetic) {
  ModelProto model = Small();
  model.pieces[4].score = 0.3f;
  model.pieces[5].score = -7.7f;
  model.Add("\xc3\xa4xyz", 0, sp_test::kUserDefined);
  const Compiled compiled(Serialize(model), nullptr, kOlder);
  ASSERT_EQ(compiled.status, RANKFEED_OK);
  const Model& m = compiled.view();
  const float product = 5.0f * 0.3f;
  EXPECT_EQ(m.scores[6], static_cast<double>(product) - 0.1);
  EXPECT_EQ(m.scores[4], static_cast<double>(0.3f));
  EXPECT_EQ(m.config->unk_score, static_cast<double>(-7.7f - 10.0f));
}

TEST(ReadSpm, FlagsAndDefaults) {
  constexpr uint32_t kAll = image::kAddDummyPrefix | image::kRemoveExtraWhitespaces |
                            image::kEscapeWhitespaces | image::kDenormAddDummyPrefix |
                            image::kDenormRemoveExtraWhitespaces | image::kDenormEscapeWhitespaces;
  ModelProto model = Small();
  {
    const Compiled compiled(Serialize(model));
    EXPECT_EQ(compiled.view().config->flags, kAll);
    EXPECT_EQ(compiled.view().text(compiled.view().config->unk_surface), " \xe2\x81\x87 ");
    EXPECT_EQ(compiled.view().text(compiled.view().config->unk_piece), "<unk>");
  }
  model.normalizer = {"", false, false, false};
  model.denormalizer = {"", false, false, false};
  model.treat_whitespace_as_suffix = true;
  model.AddBytes();
  model.unk_surface = "?";
  model.unk_piece = "<UNK>";
  const Compiled compiled(Serialize(model));
  EXPECT_EQ(compiled.view().config->flags,
            uint32_t{image::kTreatWhitespaceAsSuffix | image::kByteFallback});
  EXPECT_EQ(compiled.view().text(compiled.view().config->unk_surface), "?");
  EXPECT_EQ(compiled.view().text(compiled.view().config->unk_piece), "<UNK>");
}

// Found by fuzz/spm_model under AddressSanitizer: a flag without a value at the end of the file was read
// one byte past it. And a flag is all of its varint, not the first byte.
TEST(ReadSpm, FlagsAreWholeVarints) {
  struct Flag {
    uint32_t message;  // of the model
    std::string tag;
    uint32_t flag;
  };
  const Flag kFlags[] = {{3, "\x18", image::kAddDummyPrefix},
                         {3, "\x20", image::kRemoveExtraWhitespaces},
                         {3, "\x28", image::kEscapeWhitespaces},
                         {2, "\xc0\x01", image::kTreatWhitespaceAsSuffix},
                         {2, "\x98\x02", image::kByteFallback}};
  const auto with = [&](const Flag& flag, std::string_view value, bool set) {
    ModelProto model = Small();
    if (set && flag.flag == image::kByteFallback) model.AddBytes();
    std::string bytes = Serialize(model);
    protozero::pbf_writer(bytes).add_message(flag.message, flag.tag + std::string(value));
    return bytes;
  };
  for (const Flag& flag : kFlags) {
    for (const auto& [value, set] : {std::pair(std::string("\0", 1), false),
                                     {std::string("\x80\0", 2), false},
                                     {std::string("\x80\x01", 2), true},
                                     {std::string("\x80\x80\x80\x80\x10", 5), true}}) {
      const std::string bytes = with(flag, value, set);
      const Compiled compiled(bytes);
      EXPECT_TRUE(OracleAccepts(bytes));
      ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
      EXPECT_EQ((compiled.view().config->flags & flag.flag) != 0, set) << flag.flag;
    }
    for (const char* value : {"", "\x80"}) {
      const std::string bytes = with(flag, value, false);
      const std::unique_ptr<char[]> exact(new char[bytes.size()]);
      bytes.copy(exact.get(), bytes.size());
      EXPECT_TRUE(FailsWith(Compiled(std::string_view(exact.get(), bytes.size())), RANKFEED_E_PARSE, "cut short"));
      EXPECT_FALSE(OracleAccepts(bytes));
    }
  }
}

TEST(ReadSpm, CharsmapsAreCarried) {
  ModelProto model = Small();
  model.normalizer.charsmap = sp_test::MakeCharsmap({{"A", "a"}});
  model.denormalizer.emplace();
  model.denormalizer->charsmap = sp_test::MakeCharsmap({{"a", "A"}});
  const Compiled compiled(Serialize(model));
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  const Model& m = compiled.view();
  EXPECT_EQ(Charsmap(m.charsmap_units, m.charsmap_pool).Longest("A").replacement, "a");
  EXPECT_EQ(Charsmap(m.denorm_units, m.denorm_pool).Longest("a").replacement, "A");
}

// Fields this version does not know, at every level, and singular messages in two parts.
TEST(ReadSpm, UnknownFieldsAreSkippedAndMessagesMerge) {
  std::string bytes = Serialize(Small());
  {
    protozero::pbf_writer out(bytes);
    out.add_string(200, "extension");
    out.add_fixed64(201, 1);
    out.add_double(202, 1.5);
    out.add_uint64(203, 7);
    protozero::pbf_writer trainer(out, 2);
    trainer.add_string(44, "!");
    trainer.add_string(999, "future");
  }
  {
    protozero::pbf_writer out(bytes);
    protozero::pbf_writer piece(out, 1);
    piece.add_string(1, "first");
    piece.add_string(1, "late");  // the last value counts
    piece.add_float(2, -4);
    piece.add_uint64(77, 1);
  }
  const Compiled compiled(bytes);
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  EXPECT_EQ(compiled.piece(6), "late");
  EXPECT_EQ(compiled.view().text(compiled.view().config->unk_surface), "!");
}

TEST(ReadSpm, SpecialIdsByName) {
  ModelProto model = Small();
  model.Add("<pad>", 0, sp_test::kControl);
  model.Add("<cls>", 0, sp_test::kControl);
  model.Add("<sep>", 0, sp_test::kControl);
  model.Add("<mask>", 0, sp_test::kUserDefined);
  const Compiled compiled(Serialize(model));
  const rankfeed_model_info info = compiled.info();
  EXPECT_EQ(info.pad_id, 6);
  EXPECT_EQ(info.cls_id, 7);
  EXPECT_EQ(info.sep_id, 8);
  EXPECT_EQ(info.mask_id, 9);
  EXPECT_EQ(info.position_offset, 0u);
}

// A piece that is spelled like a reserved one is found second. It has the reserved one's type up to
// 0.2.1, its own from 0.2.2 on.
TEST(ReadSpm, SpelledLikeReserved) {
  ModelProto model = Small();
  model.Add("<s>", -5);
  for (const auto& [parity, type] : {std::pair{kOlder, 3}, {RANKFEED_PARITY_SENTENCEPIECE, 1}}) {
    const Compiled compiled(Serialize(model), nullptr, parity);
    EXPECT_EQ(rankfeed_model_piece_to_id(compiled.model, "<s>", 3), 1);
    EXPECT_EQ(compiled.view().id_flags[6] & image::kIdTypeMask, type);
  }
}

// What loads from 0.2.2 on, as the wheel 0.2.3 does it; the linked library is older.
TEST(ReadSpm, RulesOfNewerReleases) {
  const std::string nul(1, '\0');
  ModelProto bytes = Small();
  bytes.Add(nul, -1);
  EXPECT_TRUE(FailsWith(Compiled(Serialize(bytes)), RANKFEED_E_PARSE, "piece 6 holds a NUL"));
  bytes.AddBytes();  // now the piece is unused
  EXPECT_EQ(Compiled(Serialize(bytes)).status, RANKFEED_OK);
  EXPECT_TRUE(FailsWith(Compiled(Serialize(bytes), nullptr, kOlder), RANKFEED_E_PARSE,
                        "piece 6 holds a NUL"));

  ModelProto unused = Small();
  unused.Add(nul, -1, sp_test::kUnused);
  EXPECT_EQ(Compiled(Serialize(unused)).status, RANKFEED_OK);

  for (const size_t size : {7999u, 8000u}) {
    ModelProto longest = Small();
    longest.Add(std::string(size, 'z'), -1);
    const Compiled newest(Serialize(longest));
    if (size == 7999) {
      EXPECT_EQ(newest.status, RANKFEED_OK) << newest.message();
    } else {
      EXPECT_TRUE(FailsWith(newest, RANKFEED_E_PARSE, "piece 6 has 8000 bytes"));
    }
    EXPECT_EQ(Compiled(Serialize(longest), nullptr, kOlder).status, RANKFEED_OK);
  }

  ModelProto no_unknown = Small();
  no_unknown.pieces.erase(no_unknown.pieces.begin());
  no_unknown.AddBytes();
  const Compiled without(Serialize(no_unknown));
  ASSERT_EQ(without.status, RANKFEED_OK) << without.message();
  EXPECT_EQ(without.view().config->unk_id, image::kNoId);
  EXPECT_TRUE(FailsWith(Compiled(Serialize(no_unknown), nullptr, kOlder), RANKFEED_E_PARSE,
                        "has no UNKNOWN piece"));
}

TEST(ReadSpm, UserDefinedScoresOfNewerReleases) {
  ModelProto model = Small();
  model.Add("abc", -7, sp_test::kUserDefined);
  model.Add("x", -7, sp_test::kUserDefined);
  const Compiled compiled(Serialize(model));
  ASSERT_EQ(compiled.status, RANKFEED_OK);
  std::vector<double> scores;
  for (const uint32_t id : {6u, 7u}) scores.push_back(compiled.view().scores[id]);
  EXPECT_EQ(scores, (std::vector<double>{static_cast<float>(0.1 * 2), 0}));
}

TEST(ReadSpm, EveryPrefixIsRefusedOrComplete) {
  const std::string bytes = Serialize(Small());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    const Compiled compiled(cut);
    // A cut between two messages is a valid file to protobuf.
    if (compiled.status == RANKFEED_OK) {
      EXPECT_TRUE(OracleAccepts(cut)) << size;
      continue;
    }
    EXPECT_EQ(compiled.status, RANKFEED_E_PARSE) << size;
    EXPECT_NE(compiled.message(), "");
    EXPECT_LE(compiled.error.byte_offset, size);
  }
}

TEST(ReadSpm, LimitsAreToldWhereTheyArePassed) {
  for (const size_t size : {7999, 8193}) {
    ModelProto model;
    model.AddSpecials();
    model.Add("a", -1);
    model.Add(std::string(size, 'x'), -2);
    const builder_test::Compiled compiled(Serialize(model));
    if (size <= 8192) {
      EXPECT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
      continue;
    }
    EXPECT_TRUE(builder_test::FailsWith(compiled, RANKFEED_E_LIMIT,
                                        "has 8193 bytes; the limit of a piece is 8192"));
    EXPECT_NE(compiled.message().find(": byte "), std::string::npos) << compiled.message();
  }
  ModelProto model;
  model.AddSpecials();
  model.Add("a", -1);
  model.unk_surface = std::string(8193, 'x');
  EXPECT_TRUE(builder_test::FailsWith(builder_test::Compiled(Serialize(model)), RANKFEED_E_LIMIT,
                                      "has 8193 bytes; the limit of unk_surface is 8192"));
}

TEST(ReadSpm, CutMessageSaysWhere) {
  std::string bytes = Serialize(Small());
  const Compiled compiled(std::string_view(bytes).substr(0, 5));
  EXPECT_TRUE(FailsWith(compiled, RANKFEED_E_PARSE, "not a SentencePiece model, or cut short"));
  EXPECT_TRUE(FailsWith(compiled, RANKFEED_E_PARSE, "byte 0"));
}

TEST(ReadSpm, RandomDamageAgreesWithTheOracleOrIsRefused) {
  const std::string good = Serialize(Small());
  std::mt19937 random(11);
  int accepted = 0;
  const int rounds = kSanitized ? 60 : SweepsAll() ? 2000 : 600;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = good;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    const Compiled compiled(bytes);
    accepted += compiled.status == RANKFEED_OK;
  }
  EXPECT_GT(accepted, 0);
}

TEST(ReadSpm, SharedModels) {
  RANKFEED_SHARED_FILE(xlnet, "models/xlnet.model");
  const Compiled compiled(xlnet);
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  sentencepiece::SentencePieceProcessor oracle;
  ASSERT_TRUE(oracle.LoadFromSerializedProto(xlnet).ok());
  ASSERT_EQ(compiled.info().id_count, static_cast<uint32_t>(oracle.GetPieceSize()));
  for (int id = 0; id < oracle.GetPieceSize(); ++id) {
    const std::string& piece = oracle.IdToPiece(id);
    ASSERT_EQ(compiled.piece(static_cast<uint32_t>(id)), piece);
    ASSERT_EQ(rankfeed_model_piece_to_id(compiled.model, piece.data(), piece.size()),
              oracle.PieceToId(piece));
  }
  const Model& m = compiled.view();
  for (const uint32_t id : builder::PieceIds(m)) {
    const uint8_t type = m.id_flags[id] & image::kIdTypeMask;
    if (type != static_cast<uint8_t>(image::PieceType::kNormal)) continue;
    ASSERT_EQ(m.scores[id], static_cast<double>(oracle.GetScore(static_cast<int>(id))));
  }
}

// Every two parts of a piece are a merge, and the greater score goes first.
TEST(ReadSpm, MergesOfBpe) {
  ModelProto m;
  m.model_type = 2;
  m.AddSpecials();
  for (const char* letter : {"a", "b", "c"}) m.Add(letter, -100);
  m.Add("ab", -2), m.Add("bc", -1), m.Add("abc", -2), m.Add("ac", 0, sp_test::kUserDefined);
  const ModelSpec spec = ReadSentencePiece(sp_test::Serialize(m), "test", RANKFEED_PARITY_SENTENCEPIECE);
  std::vector<std::array<uint32_t, 4>> merges;
  for (const MergeSpec& merge : spec.merges) merges.push_back({merge.left, merge.right, merge.product, merge.rank});
  EXPECT_EQ(merges, (std::vector<std::array<uint32_t, 4>>{{4, 5, 7, 0}, {3, 4, 6, 1}, {3, 7, 8, 1}, {6, 5, 8, 1}}));
}

}  // namespace
}  // namespace rankfeed::builder
