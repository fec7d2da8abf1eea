// SPDX-License-Identifier: MIT
// Tests of src/corpus_builder/writer.cc: what a store holds after any sequence of changes. What it
// holds after crashes is in writer_crash_test.cc.
#include "corpus_builder/writer.h"

#include <sys/stat.h>

#include <optional>
#include <random>

#include "builder/base/model_spec.h"
#include "corpus_files.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rankfeed::corpus_test {
namespace {

using builder::BuildError;
using corpus_builder::Writer;

// The status a call throws, OK if it does not.
template <class F>
rankfeed_status StatusOf(F run) {
  try {
    run();
  } catch (const BuildError& error) {
    EXPECT_NE(error.what()[0], '\0');
    return error.code;
  }
  return RANKFEED_OK;
}

TEST(CorpusWriter, FollowsAMapThroughRandomChanges) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    TempDir dir;
    const std::string path = dir / "a.rfc";
    Contents contents;
    std::optional<Writer> writer(Writer::Create(path, TestHeader()));
    uint64_t sequence = 0;
    for (int commit = 0; commit < 40; ++commit) {
      const size_t changes = random() % (random() % 8 == 0 ? 200 : 6);
      for (size_t i = 0; i < changes; ++i) {
        const std::string id = "d" + std::to_string(random() % 300);
        if (random() % 4 == 0) {
          const rankfeed_status status = StatusOf([&] { writer->Remove(id); });
          EXPECT_EQ(status, contents.erase(id) != 0 ? RANKFEED_OK : RANKFEED_E_NOT_FOUND);
        } else {
          const Ids ids = SomeIds(random(), random() % 20);
          Put(&*writer, id, ids);
          contents[id] = ids;
        }
      }
      writer->Commit();
      if (random() % 3 == 0) {
        writer.reset();
        writer.emplace(Writer::Append(path));
      }
      OpenedBytes opened(ReadFile(path));
      ASSERT_EQ(opened.status(), RANKFEED_OK) << "commit " << commit;
      ASSERT_EQ(Dump(opened.get()), contents) << "commit " << commit;
      const rankfeed_corpus_info info = Info(opened.get());
      EXPECT_GE(info.sequence, sequence);
      sequence = info.sequence;
      EXPECT_LE(info.index_levels, 6u);  // 4^5 > 300
    }
  }
}

TEST(CorpusWriter, ManySmallCommitsKeepFewLevelsAndLittleIndex) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  MakeStore(path, {});
  auto writer = Writer::Append(path);
  constexpr int kCommits = 400;
  Contents contents;
  for (int i = 0; i < kCommits; ++i) {
    const std::string id = std::to_string(i);
    contents[id] = SomeIds(i, 3);
    Put(&writer, id, contents[id]);
    writer.Commit();
  }
  EXPECT_EQ(DumpFile(path), contents);
  OpenedBytes opened(ReadFile(path));
  const rankfeed_corpus_info info = Info(opened.get());
  EXPECT_LE(info.index_levels, 5u);  // 4^5 > 400
  // Rewriting the whole index each time would write kCommits^2 / 2 entries of 28 bytes: 2.2 MB.
  EXPECT_LT(info.file_bytes, 600'000u);
}

TEST(CorpusWriter, RecordsAreNeverRewritten) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  Contents contents;
  for (int i = 0; i < 500; ++i) contents[std::to_string(i)] = SomeIds(i, 100);
  MakeStore(path, contents);
  const std::vector<uint8_t> before = ReadFile(path);
  {
    auto writer = Writer::Append(path);
    Put(&writer, "7", {1, 2});
    writer.Remove("8");
    writer.Commit();
  }
  const std::vector<uint8_t> after = ReadFile(path);
  ASSERT_LT(after.size(), before.size() + 400);  // two records and a level of two entries
  EXPECT_TRUE(std::equal(before.begin() + corpus::kDataOffset, before.end(),
                         after.begin() + corpus::kDataOffset));
  contents["7"] = {1, 2};
  contents.erase("8");
  EXPECT_EQ(DumpFile(path), contents);
}

TEST(CorpusWriter, WhatIsNotCommittedIsDropped) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  MakeStore(path, {{"x", {1}}});
  const std::vector<uint8_t> before = ReadFile(path);
  {
    auto writer = Writer::Append(path);
    Put(&writer, "y", SomeIds(1, 1'000'000));  // more than the buffer: some of it is written
    EXPECT_GT(ReadFile(path).size(), before.size());
  }
  EXPECT_EQ(ReadFile(path), before);
  {
    auto writer = Writer::Create(path, TestHeader());
    Put(&writer, "z", {1});
    EXPECT_EQ(ReadFile(path), before);
  }
  EXPECT_EQ(ReadFile(path), before);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(CorpusWriter, TakesOverWhatAKilledWriterLeft) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  WriteFile(path + ".tmp", std::vector<uint8_t>(100'000, 0xee));
  MakeStore(path, {{"x", {1}}});
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  std::vector<uint8_t> bytes = ReadFile(path);
  const size_t size = bytes.size();
  bytes.insert(bytes.end(), 5000, 0xee);  // an append that did not come to its commit
  WriteFile(path, bytes);
  EXPECT_EQ(DumpFile(path), (Contents{{"x", {1}}}));
  auto writer = Writer::Append(path);
  EXPECT_EQ(std::filesystem::file_size(path), size);
  Put(&writer, "y", {2});
  writer.Commit();
  EXPECT_EQ(DumpFile(path), (Contents{{"x", {1}}, {"y", {2}}}));
}

TEST(CorpusWriter, OneWriterAtATime) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  {
    auto building = Writer::Create(path, TestHeader());
    EXPECT_EQ(StatusOf([&] { Writer::Create(path, TestHeader()); }), RANKFEED_E_BUSY);
    building.Commit();
    // Published, and still its.
    EXPECT_EQ(StatusOf([&] { Writer::Append(path); }), RANKFEED_E_BUSY);
    Put(&building, "x", {5});
    building.Commit();
  }
  {
    auto appending = Writer::Append(path);
    EXPECT_EQ(StatusOf([&] { Writer::Append(path); }), RANKFEED_E_BUSY);
    EXPECT_EQ(StatusOf([&] { Writer::Create(path, TestHeader()); }), RANKFEED_E_BUSY);
    EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  }
  EXPECT_EQ(DumpFile(path), (Contents{{"x", {5}}}));
  EXPECT_EQ(StatusOf([&] { Writer::Append(dir / "absent"); }), RANKFEED_E_IO);
  EXPECT_EQ(StatusOf([&] { Writer::Create(dir / "no/such/folder", TestHeader()); }), RANKFEED_E_IO);
}

TEST(CorpusWriter, OnlyFilesAreReplacedAndLinksStay) {
  TempDir dir;
  const std::string pipe = dir / "pipe", folder = dir / "folder";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  for (const std::string& path : {pipe, folder}) {
    EXPECT_EQ(StatusOf([&] { Writer::Create(path, TestHeader()); }), RANKFEED_E_IO);
    EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  MakeStore(folder + "/a.rfc", {{"x", {1}}});
  std::filesystem::create_symlink("folder/a.rfc", dir / "link");
  MakeStore(dir / "link", {{"y", {2}}});
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(DumpFile(folder + "/a.rfc"), (Contents{{"y", {2}}}));
}

TEST(CorpusWriter, BadDocumentsAreRefusedAndTheWriterGoesOn) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  auto writer = Writer::Create(path, TestHeader());
  const auto put = [&](std::string_view id, const Ids& ids) {
    return StatusOf([&] { writer.Put(id, ids, {}, {}); });
  };
  EXPECT_EQ(put("", {1}), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(put(std::string(65536, 'x'), {1}), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(put("a", {static_cast<int32_t>(kIdCount)}), RANKFEED_E_ID_RANGE);
  EXPECT_EQ(put("a", {-1}), RANKFEED_E_ID_RANGE);
  EXPECT_EQ(StatusOf([&] { writer.Remove("a"); }), RANKFEED_E_NOT_FOUND);
  const std::string longest(65535, 'x'), binary("\0\xff\n", 3);
  EXPECT_EQ(put(longest, {static_cast<int32_t>(kIdCount - 1)}), RANKFEED_OK);
  EXPECT_EQ(put(binary, {0}), RANKFEED_OK);
  EXPECT_EQ(put("gone", {0}), RANKFEED_OK);
  EXPECT_EQ(StatusOf([&] { writer.Remove("gone"); }), RANKFEED_OK);
  EXPECT_EQ(StatusOf([&] { writer.Remove("gone"); }), RANKFEED_E_NOT_FOUND);
  writer.Commit();
  EXPECT_EQ(DumpFile(path),
            (Contents{{longest, {static_cast<int32_t>(kIdCount - 1)}}, {binary, {0}}}));
}

TEST(CorpusWriter, StoresOffsetsWhenAsked) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  const Ids ids = {4, 5, 6};
  const std::vector<uint32_t> begin = {0, 1, 5}, end = {1, 4, 9};
  auto writer = Writer::Create(path, TestHeader(true));
  EXPECT_EQ(StatusOf([&] { writer.Put("x", ids, {}, {}); }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(StatusOf([&] { writer.Put("x", ids, end, begin); }), RANKFEED_E_ARGUMENT);
  writer.Put("x", ids, begin, end);
  writer.Put("empty", {}, {}, {});
  writer.Commit();
  OpenedBytes opened(ReadFile(path));
  ASSERT_EQ(opened.status(), RANKFEED_OK);
  EXPECT_EQ(Info(opened.get()).has_offsets, 1u);
  rankfeed_source source;
  ASSERT_EQ(rankfeed_corpus_find(opened.get(), {"x", 1}, &source), RANKFEED_OK);
  EXPECT_EQ(Ids(source.ids, source.ids + 3), ids);
  EXPECT_EQ(std::vector<uint32_t>(source.offset_begin, source.offset_begin + 3), begin);
  EXPECT_EQ(std::vector<uint32_t>(source.offset_end, source.offset_end + 3), end);
}

// Changes both copies of the commit, under right checksums.
template <class F>
void ForgeCommit(const std::string& path, F change) {
  std::vector<uint8_t> bytes = ReadFile(path);
  const auto& header = *reinterpret_cast<const corpus::Header*>(bytes.data());
  for (const uint64_t at : corpus::kCommitOffset) {
    auto& commit = *reinterpret_cast<corpus::Commit*>(bytes.data() + at);
    change(commit);
    commit.checksum =
        XXH3_64bits_withSeed(&commit, offsetof(corpus::Commit, checksum), header.checksum);
  }
  WriteFile(path, bytes);
}

// Numbers of a commit that adding one, or taking a document away, would carry over the edge of 64
// bits. The file stays as it was.
TEST(CorpusWriter, NumbersOfTheCommitDoNotWrap) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  MakeStore(path, {{"x", {1, 2, 3}}});
  ForgeCommit(path, [](corpus::Commit& commit) { commit.sequence = UINT64_MAX; });
  const std::vector<uint8_t> before = ReadFile(path);
  {
    Writer writer = Writer::Append(path);
    Put(&writer, "y", {4});
    EXPECT_EQ(StatusOf([&] { writer.Commit(); }), RANKFEED_E_LIMIT);
  }
  EXPECT_EQ(ReadFile(path), before);
  EXPECT_EQ(DumpFile(path), (Contents{{"x", {1, 2, 3}}}));

  using Number = uint64_t corpus::Commit::*;
  for (const Number number :
       {&corpus::Commit::documents, &corpus::Commit::tokens, &corpus::Commit::live_bytes}) {
    MakeStore(path, {{"x", {1, 2, 3}}, {"y", {4, 5}}});
    ForgeCommit(path, [&](corpus::Commit& commit) { commit.*number = 0; });
    Writer writer = Writer::Append(path);
    EXPECT_EQ(StatusOf([&] { writer.Remove("x"); }), RANKFEED_E_IMAGE_STRUCTURE);
    EXPECT_EQ(StatusOf([&] { Put(&writer, "x", {1}); }), RANKFEED_E_IMAGE_STRUCTURE);
  }
  for (const Number number :
       {&corpus::Commit::documents, &corpus::Commit::tokens, &corpus::Commit::live_bytes}) {
    MakeStore(path, {{"x", {1, 2, 3}}});
    ForgeCommit(path, [&](corpus::Commit& commit) { commit.*number = UINT64_MAX; });
    EXPECT_EQ(StatusOf([&] { Writer::Append(path); }), RANKFEED_E_IMAGE_STRUCTURE);
    OpenedBytes trusted(ReadFile(path), RANKFEED_CORPUS_TRUSTED);
    EXPECT_EQ(trusted.status(), RANKFEED_E_IMAGE_STRUCTURE);
  }
}

TEST(CorpusWriter, EmptyStoresWork) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  MakeStore(path, {});
  EXPECT_EQ(std::filesystem::file_size(path), corpus::kDataOffset);
  EXPECT_EQ(DumpFile(path), Contents{});
  {
    auto writer = Writer::Append(path);
    Put(&writer, "x", {1});
    writer.Commit();
    writer.Remove("x");
    writer.Commit();
  }
  OpenedBytes opened(ReadFile(path));
  ASSERT_EQ(opened.status(), RANKFEED_OK);
  EXPECT_EQ(Info(opened.get()).documents, 0u);
  EXPECT_EQ(Info(opened.get()).index_levels, 0u);  // nothing older: the tombstone went too
  EXPECT_EQ(Info(opened.get()).sequence, 3u);
}

}  // namespace
}  // namespace rankfeed::corpus_test
