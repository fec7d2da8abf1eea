// SPDX-License-Identifier: MIT
// Tests of src/corpus_builder/rewrite.cc.
#include "corpus_builder/rewrite.h"

#include "builder/base/model_spec.h"
#include "corpus_files.h"

namespace rankfeed::corpus_test {
namespace {

using builder::BuildError;
using corpus_builder::Compact;
using corpus_builder::MergeStores;
using corpus_builder::Writer;

template <class F>
rankfeed_status StatusOf(F run) {
  try {
    run();
  } catch (const BuildError& error) {
    return error.code;
  }
  return RANKFEED_OK;
}

std::vector<std::string> Order(const rankfeed_corpus* corpus) {
  std::vector<std::string> ids;
  for (uint64_t i = 0; i < Info(corpus).positions; ++i) {
    rankfeed_text id;
    if (rankfeed_corpus_get(corpus, i, &id, nullptr) == RANKFEED_OK) {
      ids.emplace_back(id.data, id.size);
    }
  }
  return ids;
}

TEST(CorpusRewrite, CompactKeepsContentAndOrderAndNothingElse) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  Contents contents;
  {
    auto writer = Writer::Create(path, TestHeader());
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 100; ++i) {
        const std::string id = std::to_string(i * (round + 1));
        contents[id] = SomeIds(1000 * round + i, 30);
        Put(&writer, id, contents[id]);
      }
      writer.Remove(std::to_string(round * 3));
      contents.erase(std::to_string(round * 3));
      writer.Commit();
    }
  }
  OpenedBytes before(ReadFile(path));
  ASSERT_EQ(before.status(), RANKFEED_OK);
  EXPECT_GT(Info(before.get()).dead_bytes, 100u * 120);
  Compact(path);
  OpenedBytes after(ReadFile(path));
  ASSERT_EQ(after.status(), RANKFEED_OK);
  EXPECT_EQ(Dump(after.get()), contents);
  EXPECT_EQ(Order(after.get()), Order(before.get()));
  EXPECT_LT(Info(after.get()).dead_bytes, 64u);
  EXPECT_EQ(Info(after.get()).index_levels, 1u);
  EXPECT_GT(Info(after.get()).sequence, Info(before.get()).sequence);
  // As if it had been made so: rebuilding gives the same bytes but for the commit's number.
  const std::vector<uint8_t> once = ReadFile(path);
  Compact(path);
  std::vector<uint8_t> twice = ReadFile(path);
  ASSERT_EQ(once.size(), twice.size());
  EXPECT_TRUE(std::equal(once.begin() + corpus::kDataOffset, once.end(),
                         twice.begin() + corpus::kDataOffset));
}

TEST(CorpusRewrite, CompactRefusesWhileAppendingAndDamage) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  MakeStore(path, {{"x", SomeIds(1, 50)}, {"y", SomeIds(2, 50)}});
  {
    auto writer = Writer::Append(path);
    EXPECT_EQ(StatusOf([&] { Compact(path); }), RANKFEED_E_BUSY);
  }
  std::vector<uint8_t> bytes = ReadFile(path);
  bytes[corpus::kDataOffset + 40] ^= 1;
  WriteFile(path, bytes);
  EXPECT_EQ(StatusOf([&] { Compact(path); }), RANKFEED_E_IMAGE_CHECKSUM);
  EXPECT_EQ(StatusOf([&] { MergeStores(std::vector{path}, dir / "b.rfc"); }),
            RANKFEED_E_IMAGE_CHECKSUM);
  EXPECT_EQ(ReadFile(path), bytes);
  EXPECT_FALSE(std::filesystem::exists(dir / "b.rfc"));
  EXPECT_EQ(StatusOf([&] { Compact(dir / "absent"); }), RANKFEED_E_IO);
}

TEST(CorpusRewrite, LaterStoresWinInAMerge) {
  TempDir dir;
  MakeStore(dir / "a.rfc", {{"x", {1}}, {"y", {2}}});
  MakeStore(dir / "b.rfc", {{"y", {3}}, {"z", {4}}});
  MergeStores(std::vector{dir / "a.rfc", dir / "b.rfc"}, dir / "c.rfc");
  EXPECT_EQ(DumpFile(dir / "c.rfc"), (Contents{{"x", {1}}, {"y", {3}}, {"z", {4}}}));
  // Also onto one of them.
  MergeStores(std::vector{dir / "b.rfc", dir / "a.rfc"}, dir / "a.rfc");
  EXPECT_EQ(DumpFile(dir / "a.rfc"), (Contents{{"x", {1}}, {"y", {2}}, {"z", {4}}}));
}

TEST(CorpusRewrite, StoresOfDifferentMakeAreNotMerged) {
  TempDir dir;
  MakeStore(dir / "a.rfc", {{"x", {1}}});
  const auto make = [&](const std::string& name, const corpus::Header& header) {
    Writer::Create(dir / name, header).Commit();
  };
  make("vocabulary.rfc", TestHeader(false, 8));
  make("offsets.rfc", TestHeader(true));
  for (const char* other : {"vocabulary.rfc", "offsets.rfc"}) {
    EXPECT_EQ(StatusOf([&] {
                MergeStores(std::vector{dir / "a.rfc", dir / other}, dir / "c.rfc");
              }),
              RANKFEED_E_VOCABULARY);
  }
  EXPECT_EQ(StatusOf([&] { MergeStores({}, dir / "c.rfc"); }), RANKFEED_E_ARGUMENT);
  EXPECT_FALSE(std::filesystem::exists(dir / "c.rfc"));
}

}  // namespace
}  // namespace rankfeed::corpus_test
