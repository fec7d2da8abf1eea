// SPDX-License-Identifier: MIT
// Tests of src/corpus/set.cc: a set of stores answers what one store of all documents answers.
#include <algorithm>

#include "corpus/set.h"
#include "corpus_files.h"
#include "rankfeed/rerank.hpp"

namespace rankfeed::corpus_test {
namespace {

rankfeed_text Text(std::string_view s) {
  return {s.data(), s.size()};
}

std::string Id(size_t i) {
  return "doc-" + std::to_string(i);
}

Contents SomeContents(size_t count) {
  Contents contents;
  for (size_t i = 0; i < count; ++i) contents[Id(i)] = SomeIds(i, i % 7);
  return contents;
}

std::vector<Contents> Parted(const Contents& all, uint32_t shards) {
  std::vector<Contents> parts(shards);
  for (const auto& [id, ids] : all) parts[rankfeed_corpus_shard_of(Text(id), shards)][id] = ids;
  return parts;
}

// Stores of those contents, open, and a set of them.
class OpenedSet {
 public:
  explicit OpenedSet(const std::vector<Contents>& parts, uint32_t flags = 0) {
    for (size_t i = 0; i < parts.size(); ++i) {
      MakeStore(dir_ / "s.rfc", parts[i]);
      stores_.push_back(std::make_unique<OpenedBytes>(ReadFile(dir_ / "s.rfc")));
      handles.push_back(stores_.back()->get());
    }
    Open(flags);
  }
  rankfeed_status Open(uint32_t flags) {
    const auto count = static_cast<uint32_t>(handles.size());
    const rankfeed_mem_req need = rankfeed_corpus_set_mem_req(count);
    storage_ = AlignedBytes(need);
    detail.struct_size = sizeof(detail);
    status = rankfeed_corpus_set_open(handles.data(), count, flags, storage_.data(), need.size,
                                      &set, &detail);
    return status;
  }
  std::vector<const rankfeed_corpus*> handles;
  rankfeed_corpus* set = nullptr;
  rankfeed_status status = RANKFEED_OK;
  rankfeed_error_detail detail{};

 private:
  TempDir dir_;
  std::vector<std::unique_ptr<OpenedBytes>> stores_;
  AlignedBytes storage_;
};

void ExpectAnswers(const rankfeed_corpus* set, const Contents& all) {
  std::vector<std::string> names;
  for (const auto& [id, ids] : all) names.push_back(id);
  for (size_t i = 0; i < 50; ++i)
    names.insert(names.begin() + static_cast<long>(i), "none-" + Id(i));
  std::vector<rankfeed_text> texts;
  for (const std::string& name : names) texts.push_back(Text(name));
  texts.push_back({nullptr, 0});  // left as it is
  std::vector<rankfeed_source> found(texts.size());
  std::vector<rankfeed_status> statuses(texts.size());
  EXPECT_EQ(
      rankfeed_corpus_find_all(set, texts.data(), texts.size(), found.data(), statuses.data()),
      RANKFEED_E_NOT_FOUND);
  for (size_t i = 0; i < names.size(); ++i) {
    rankfeed_source one;
    const rankfeed_status status = rankfeed_corpus_find(set, texts[i], &one);
    EXPECT_EQ(status, statuses[i]);
    EXPECT_EQ(one.ids, found[i].ids);
    const auto expected = all.find(names[i]);
    ASSERT_EQ(status, expected == all.end() ? RANKFEED_E_NOT_FOUND : RANKFEED_OK) << names[i];
    if (expected == all.end()) continue;
    EXPECT_EQ(Ids(one.ids, one.ids + one.id_count), expected->second) << names[i];
  }
  EXPECT_EQ(statuses.back(), RANKFEED_OK);
  EXPECT_EQ(found.back().ids, nullptr);
}

TEST(CorpusSet, AnswersAsOneStoreOfAllDocuments) {
  const Contents all = SomeContents(1000);
  uint64_t tokens = 0;
  for (const auto& [id, ids] : all) tokens += ids.size();
  for (const uint32_t shards : {1u, 2u, 3u, 7u, 64u}) {
    for (const uint32_t flags : {0u, uint32_t{RANKFEED_CORPUS_BY_HASH}}) {
      SCOPED_TRACE(std::to_string(shards) + " shards, flags " + std::to_string(flags));
      OpenedSet opened(Parted(all, shards), flags);
      ASSERT_EQ(opened.status, RANKFEED_OK);
      ExpectAnswers(opened.set, all);
      EXPECT_EQ(Dump(opened.set), all);
      EXPECT_EQ(rankfeed_corpus_verify(opened.set, nullptr), RANKFEED_OK);
      const rankfeed_corpus_info info = Info(opened.set);
      EXPECT_EQ(info.documents, all.size());
      EXPECT_EQ(info.tokens, tokens);
      EXPECT_EQ(info.positions, all.size());
      EXPECT_EQ(info.sequence, shards);
      EXPECT_EQ(info.id_count, kIdCount);
      EXPECT_EQ(info.index_levels, flags != 0 ? 1 : shards);
      EXPECT_EQ(info.config_hash[3], 7);
      rankfeed_text id;
      EXPECT_EQ(rankfeed_corpus_get(opened.set, info.positions, &id, nullptr), RANKFEED_E_ARGUMENT);
    }
  }
}

// The rule of docs/corpus-format.md, for those who part documents without this library.
TEST(CorpusSet, RouteIsTheHashModuloTheShards) {
  for (size_t i = 0; i < 100; ++i) {
    for (const uint32_t shards : {1u, 5u, 32768u}) {
      EXPECT_EQ(rankfeed_corpus_shard_of(Text(Id(i)), shards), corpus::HashId(Id(i)) % shards);
    }
  }
  EXPECT_EQ(corpus::HashId("panda"), 0x1af63c263099afa8u);
  EXPECT_EQ(rankfeed_corpus_shard_of({nullptr, 0}, 5), 0u);
  EXPECT_EQ(rankfeed_corpus_shard_of(Text("panda"), 0), 0u);
}

TEST(CorpusSet, LaterStoreWins) {
  OpenedSet opened(
      {{{"a", {1}}, {"b", {2}}}, {{"b", {3, 3}}, {"c", {4}}}, {{"c", {5}}, {"d", {}}}});
  ASSERT_EQ(opened.status, RANKFEED_OK);
  const Contents all = {{"a", {1}}, {"b", {3, 3}}, {"c", {5}}, {"d", {}}};
  ExpectAnswers(opened.set, all);
  Contents walked;
  size_t hidden = 0;
  for (uint64_t i = 0; i < Info(opened.set).positions; ++i) {
    rankfeed_text id;
    rankfeed_source source;
    const rankfeed_status status = rankfeed_corpus_get(opened.set, i, &id, &source);
    if (status == RANKFEED_OK) {
      EXPECT_TRUE(
          walked
              .emplace(std::string(id.data, id.size), Ids(source.ids, source.ids + source.id_count))
              .second);
    } else {
      EXPECT_EQ(status, RANKFEED_E_NOT_FOUND);
      ++hidden;
    }
  }
  EXPECT_EQ(walked, all);
  EXPECT_EQ(hidden, 2u);
  EXPECT_EQ(Info(opened.set).documents, 6u);  // counted in each
}

// What a store has removed itself is not removed from the stores before it.
TEST(CorpusSet, RemovedDocumentsHideNothingOfOtherStores) {
  TempDir dir;
  MakeStore(dir / "a", {{"x", {1}}, {"y", {2}}});
  auto writer = corpus_builder::Writer::Create(dir / "b", TestHeader());
  Put(&writer, "x", {9});
  Put(&writer, "z", {8});
  writer.Commit();
  writer.Remove("x");
  writer.Commit();
  const OpenedBytes a(ReadFile(dir / "a")), b(ReadFile(dir / "b"));
  OpenedSet set({});
  set.handles = {a.get(), b.get()};
  ASSERT_EQ(set.Open(0), RANKFEED_OK);
  ExpectAnswers(set.set, {{"x", {1}}, {"y", {2}}, {"z", {8}}});
}

TEST(CorpusSet, DocumentInAWrongShardIsRefused) {
  std::vector<Contents> parts = Parted(SomeContents(100), 4);
  OpenedSet opened(parts, RANKFEED_CORPUS_BY_HASH);
  ASSERT_EQ(opened.status, RANKFEED_OK);
  std::swap(opened.handles[1], opened.handles[2]);
  EXPECT_EQ(opened.Open(RANKFEED_CORPUS_BY_HASH), RANKFEED_E_IMAGE_STRUCTURE);
  EXPECT_EQ(opened.detail.item, 1u);
  EXPECT_EQ(opened.set, nullptr);
  EXPECT_EQ(opened.Open(0), RANKFEED_OK);
  ExpectAnswers(opened.set, SomeContents(100));
  // Trusted: nothing is looked at, and the verify pass finds it.
  ASSERT_EQ(opened.Open(RANKFEED_CORPUS_BY_HASH | RANKFEED_CORPUS_TRUSTED), RANKFEED_OK);
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof(detail);
  EXPECT_EQ(rankfeed_corpus_verify(opened.set, &detail), RANKFEED_E_IMAGE_STRUCTURE);
  EXPECT_EQ(detail.item, 1u);
}

TEST(CorpusSet, VerifyNamesTheDamagedShard) {
  TempDir dir;
  MakeStore(dir / "a", SomeContents(10));
  std::vector<uint8_t> bytes = ReadFile(dir / "a");
  const OpenedBytes sound(bytes);
  bytes[corpus::kDataOffset + 20] ^= 1;
  const OpenedBytes damaged(bytes, RANKFEED_CORPUS_TRUSTED);
  OpenedSet set({});
  set.handles = {sound.get(), damaged.get()};
  ASSERT_EQ(set.Open(0), RANKFEED_OK);
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof(detail);
  EXPECT_EQ(rankfeed_corpus_verify(set.set, &detail), RANKFEED_E_IMAGE_CHECKSUM);
  EXPECT_EQ(detail.item, 1u);
}

TEST(CorpusSet, ArgumentsAreChecked) {
  OpenedSet opened({{{"a", {1}}}, {{"b", {2}}}});
  ASSERT_EQ(opened.status, RANKFEED_OK);
  const rankfeed_mem_req need = rankfeed_corpus_set_mem_req(2);
  const AlignedBytes storage(need);
  rankfeed_corpus* set = nullptr;
  const auto open = [&](const rankfeed_corpus* const* shards, uint32_t count, uint32_t flags,
                        void* at, size_t size) {
    const rankfeed_status status =
        rankfeed_corpus_set_open(shards, count, flags, at, size, &set, nullptr);
    EXPECT_EQ(set == nullptr, status != RANKFEED_OK);
    return status;
  };
  const auto* two = opened.handles.data();
  EXPECT_EQ(open(two, 2, 0, storage.data(), need.size), RANKFEED_OK);
  EXPECT_EQ(open(nullptr, 2, 0, storage.data(), need.size), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(open(two, 0, 0, storage.data(), need.size), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(open(two, RANKFEED_CORPUS_MAX_SHARDS + 1, 0, storage.data(), need.size),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(open(two, 2, RANKFEED_CORPUS_MAP_FILE, storage.data(), need.size), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(open(two, 2, 8, storage.data(), need.size), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(open(two, 2, 0, nullptr, need.size), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(open(two, 2, 0, static_cast<uint8_t*>(storage.data()) + 8, need.size),
            RANKFEED_E_ALIGNMENT);
  EXPECT_EQ(open(two, 2, 0, storage.data(), need.size - 1), RANKFEED_E_WORKSPACE_SIZE);
  const rankfeed_corpus* closed[] = {two[0], nullptr};
  EXPECT_EQ(open(closed, 2, 0, storage.data(), need.size), RANKFEED_E_ARGUMENT);
  const rankfeed_corpus* nested[] = {two[0], opened.set};
  EXPECT_EQ(open(nested, 2, 0, storage.data(), need.size), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_set_open(two, 2, 0, storage.data(), need.size, nullptr, nullptr),
            RANKFEED_E_ARGUMENT);
}

TEST(CorpusSet, OtherVocabulariesAreRefused) {
  TempDir dir;
  MakeStore(dir / "a", {{"x", {1}}});
  auto writer = corpus_builder::Writer::Create(dir / "b", TestHeader(false, 8));
  writer.Commit();
  const OpenedBytes a(ReadFile(dir / "a")), b(ReadFile(dir / "b"));
  OpenedSet set({});
  set.handles = {a.get(), a.get(), b.get()};
  EXPECT_EQ(set.Open(0), RANKFEED_E_VOCABULARY);
  EXPECT_EQ(set.detail.item, 2u);
}

TEST(CorpusSet, WrapperKeepsItsStores) {
  TempDir dir;
  const Contents all = SomeContents(40);
  const std::vector<Contents> parts = Parted(all, 3);
  std::vector<Corpus> shards;
  for (const Contents& part : parts) {
    MakeStore(dir / "s", part);
    auto opened = Corpus::Open(dir / "s", nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    shards.push_back(std::move(*opened));
  }
  auto set = Corpus::OpenSet(std::move(shards), RANKFEED_CORPUS_BY_HASH);
  ASSERT_TRUE(set) << set.error().message;
  Corpus moved = std::move(*set);
  EXPECT_EQ(moved.info().documents, 40u);
  rankfeed_source source;
  EXPECT_TRUE(moved.Find(Id(7), &source));
  EXPECT_FALSE(moved.Find("none", &source));
  EXPECT_EQ(Corpus::OpenSet({}).error().status, RANKFEED_E_ARGUMENT);
}

}  // namespace
}  // namespace rankfeed::corpus_test
