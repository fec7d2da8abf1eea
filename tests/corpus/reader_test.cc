// SPDX-License-Identifier: MIT
// Tests of src/corpus/reader.cc through rankfeed/corpus.h.
#include "corpus/reader.h"

#include "corpus_files.h"
#include "rankfeed/corpus.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rankfeed::corpus_test {
namespace {

rankfeed_text Text(std::string_view s) {
  return {s.data(), s.size()};
}

TEST(CorpusReader, FindsEveryDocumentAndNoOther) {
  TempDir dir;
  Contents contents;
  for (int i = 0; i < 3000; ++i) contents["doc-" + std::to_string(i)] = SomeIds(i, i % 40);
  MakeStore(dir / "a.rfc", contents);
  OpenedBytes opened(ReadFile(dir / "a.rfc"));
  ASSERT_EQ(opened.status(), RANKFEED_OK);
  EXPECT_EQ(Dump(opened.get()), contents);
  const rankfeed_corpus_info info = Info(opened.get());
  EXPECT_EQ(info.documents, 3000u);
  EXPECT_EQ(info.positions, 3000u);
  EXPECT_EQ(info.index_levels, 1u);
  EXPECT_EQ(info.id_count, kIdCount);
  EXPECT_EQ(info.has_offsets, 0u);
  EXPECT_LT(info.dead_bytes, 64u);  // the padding before the index
  for (int i = 3000; i < 6000; ++i) {
    rankfeed_source source;
    const std::string id = "doc-" + std::to_string(i);
    EXPECT_EQ(rankfeed_corpus_find(opened.get(), Text(id), &source), RANKFEED_E_NOT_FOUND);
    EXPECT_EQ(source.ids, nullptr);
  }
}

TEST(CorpusReader, SourcesPointIntoTheStore) {
  TempDir dir;
  MakeStore(dir / "a.rfc", {{"x", {1, 2, 3}}, {"empty", {}}});
  rankfeed_mapping mapping;
  alignas(64) uint8_t storage[1024];
  ASSERT_LE(rankfeed_corpus_mem_req().size, sizeof(storage));
  rankfeed_corpus* corpus;
  ASSERT_EQ(rankfeed_corpus_open_file((dir / "a.rfc").c_str(), nullptr, nullptr, storage,
                                      rankfeed_corpus_mem_req().size, &mapping, &corpus, nullptr),
            RANKFEED_OK);
  rankfeed_source source;
  ASSERT_EQ(rankfeed_corpus_find(corpus, Text("x"), &source), RANKFEED_OK);
  EXPECT_GE(reinterpret_cast<const char*>(source.ids), static_cast<const char*>(mapping.data));
  EXPECT_LE(reinterpret_cast<const char*>(source.ids + 3),
            static_cast<const char*>(mapping.data) + mapping.size);
  EXPECT_EQ(source.text.data, nullptr);
  EXPECT_EQ(source.offset_begin, nullptr);
  ASSERT_EQ(rankfeed_corpus_find(corpus, Text("empty"), &source), RANKFEED_OK);
  EXPECT_NE(source.ids, nullptr);  // null would mean "tokenize text"
  EXPECT_EQ(source.id_count, 0u);
  rankfeed_image_unmap(&mapping);
}

TEST(CorpusReader, FindAllLeavesRawTextsAlone) {
  TempDir dir;
  Contents contents;
  for (int i = 0; i < 200; ++i) contents[std::to_string(i)] = SomeIds(i, 5);
  MakeStore(dir / "a.rfc", contents);
  OpenedBytes opened(ReadFile(dir / "a.rfc"));
  ASSERT_EQ(opened.status(), RANKFEED_OK);
  std::vector<std::string> keys;
  for (int i = 0; i < 150; ++i) {
    keys.push_back(i % 7 == 3 ? "" : i == 100 ? "missing" : std::to_string(i));
  }
  std::vector<rankfeed_text> ids;
  for (const std::string& key : keys) ids.push_back(Text(key));
  std::vector<rankfeed_source> sources(ids.size());
  std::vector<rankfeed_status> statuses(ids.size(), -1);
  for (rankfeed_source& source : sources) source.text = Text("raw");
  EXPECT_EQ(rankfeed_corpus_find_all(opened.get(), ids.data(), ids.size(), sources.data(),
                                     statuses.data()),
            RANKFEED_E_NOT_FOUND);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].empty()) {
      EXPECT_EQ(statuses[i], RANKFEED_OK);
      EXPECT_EQ(sources[i].text.size, 3u);
      EXPECT_EQ(sources[i].ids, nullptr);
    } else if (keys[i] == "missing") {
      EXPECT_EQ(statuses[i], RANKFEED_E_NOT_FOUND);
      EXPECT_EQ(sources[i].text.size, 0u);
      EXPECT_EQ(sources[i].ids, nullptr);
    } else {
      EXPECT_EQ(statuses[i], RANKFEED_OK);
      EXPECT_EQ(Ids(sources[i].ids, sources[i].ids + sources[i].id_count), contents[keys[i]]);
    }
  }
  ids[100] = ids[0];
  EXPECT_EQ(rankfeed_corpus_find_all(opened.get(), ids.data(), ids.size(), sources.data(), nullptr),
            RANKFEED_OK);
  EXPECT_EQ(rankfeed_corpus_find_all(opened.get(), nullptr, 0, nullptr, nullptr), RANKFEED_OK);
  EXPECT_EQ(rankfeed_corpus_find_all(opened.get(), nullptr, 1, sources.data(), nullptr),
            RANKFEED_E_ARGUMENT);
}

// Two different ids of 16 bytes with one XXH3-64: for 9 to 16 bytes the hash folds the product of
// two halves, each xored with a constant of the secret, and adds the halves; where one of the
// halves is then zero, only the sum counts (xxHash 0.8.1, XXH3_len_9to16_64b).
std::pair<std::string, std::string> CollidingIds(uint64_t x) {
  uint64_t secret[8];
  std::memcpy(secret, XXH3_kSecret + 24, 32);
  const uint64_t low = secret[0] ^ secret[1], high = secret[2] ^ secret[3];
  const auto bytes = [](uint64_t a, uint64_t b) {
    std::string s(16, '\0');
    std::memcpy(s.data(), &a, 8);
    std::memcpy(s.data() + 8, &b, 8);
    return s;
  };
  return {bytes(low, high ^ x), bytes(low ^ __builtin_bswap64(x), high)};
}

TEST(CorpusReader, TellsIdsOfEqualHashApart) {
  TempDir dir;
  Contents contents;
  for (uint64_t x = 1; x < 200; ++x) {
    const auto [a, b] = CollidingIds(x * 0x9E3779B97F4A7C15u);
    ASSERT_EQ(corpus::HashId(a), corpus::HashId(b));
    ASSERT_NE(a, b);
    contents[a] = SomeIds(2 * x, 9);
    contents[b] = SomeIds(2 * x + 1, 4);
  }
  MakeStore(dir / "a.rfc", contents);
  EXPECT_EQ(DumpFile(dir / "a.rfc"), contents);
  // Replacing one of each pair must not touch the other, in the same commit or a later one.
  auto writer = corpus_builder::Writer::Append(dir / "a.rfc");
  for (uint64_t x = 1; x < 100; ++x) {
    const auto [a, b] = CollidingIds(x * 0x9E3779B97F4A7C15u);
    Put(&writer, a, {1});
    Put(&writer, b, {2});
    Put(&writer, a, {3});
    if (x % 2 == 0) writer.Remove(b);
    contents[a] = {3};
    contents[b] = {2};
    if (x % 2 == 0) contents.erase(b);
  }
  writer.Commit();
  EXPECT_EQ(DumpFile(dir / "a.rfc"), contents);
}

TEST(CorpusReader, ArgumentsAreChecked) {
  TempDir dir;
  MakeStore(dir / "a.rfc", {{"x", {1, 2, 3}}});
  std::vector<uint8_t> bytes = ReadFile(dir / "a.rfc");
  alignas(64) uint8_t aligned[64 * 1024];
  ASSERT_LT(bytes.size() + 64, sizeof(aligned));
  std::memcpy(aligned, bytes.data(), bytes.size());
  alignas(64) uint8_t storage[2048];
  const size_t need = rankfeed_corpus_mem_req().size;
  rankfeed_corpus* corpus;
  rankfeed_corpus_options options{};
  const auto open = [&](const void* data, size_t size, void* at, size_t at_size,
                        rankfeed_corpus** out) {
    return rankfeed_corpus_open(data, size, nullptr, &options, at, at_size, out, nullptr);
  };
  EXPECT_EQ(open(aligned, bytes.size(), storage, need, &corpus), RANKFEED_E_STRUCT_SIZE);
  options.struct_size = sizeof(options);
  EXPECT_EQ(open(aligned, bytes.size(), storage, need, &corpus), RANKFEED_OK);
  ASSERT_NE(corpus, nullptr);
  EXPECT_EQ(open(aligned, bytes.size(), storage, need - 1, &corpus), RANKFEED_E_WORKSPACE_SIZE);
  EXPECT_EQ(corpus, nullptr);
  EXPECT_EQ(open(aligned, bytes.size(), storage + 8, need, &corpus), RANKFEED_E_ALIGNMENT);
  EXPECT_EQ(open(aligned + 8, bytes.size(), storage, need, &corpus), RANKFEED_E_ALIGNMENT);
  EXPECT_EQ(open(aligned, bytes.size(), nullptr, need, &corpus), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(open(aligned, bytes.size(), storage, need, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(open(nullptr, 0, storage, need, &corpus), RANKFEED_E_ARGUMENT);
  options.flags = 4;
  EXPECT_EQ(open(aligned, bytes.size(), storage, need, &corpus), RANKFEED_E_ARGUMENT);
  options.flags = 0;

  rankfeed_source source;
  std::memset(storage, 0, sizeof(storage));  // was never opened
  const auto* scribbled = reinterpret_cast<const rankfeed_corpus*>(storage);
  EXPECT_EQ(rankfeed_corpus_find(scribbled, Text("x"), &source), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_find(nullptr, Text("x"), &source), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_verify(scribbled, nullptr), RANKFEED_E_ARGUMENT);
  ASSERT_EQ(open(aligned, bytes.size(), storage, need, &corpus), RANKFEED_OK);
  EXPECT_EQ(rankfeed_corpus_find(corpus, {nullptr, 1}, &source), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_find(corpus, {nullptr, 0}, &source), RANKFEED_E_NOT_FOUND);
  EXPECT_EQ(rankfeed_corpus_find(corpus, Text("x"), nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_get(corpus, 1, nullptr, &source), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_get(corpus, 0, nullptr, nullptr), RANKFEED_OK);
  rankfeed_corpus_info info{};
  EXPECT_EQ(rankfeed_corpus_get_info(corpus, &info), RANKFEED_E_STRUCT_SIZE);
  EXPECT_EQ(rankfeed_corpus_get_info(corpus, nullptr), RANKFEED_E_ARGUMENT);
}

TEST(CorpusReader, FilesThatAreNoStoreAreRefused) {
  TempDir dir;
  rankfeed_mapping mapping;
  rankfeed_corpus* corpus;
  alignas(64) uint8_t storage[2048];
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof(detail);
  const auto open = [&](const std::string& path) {
    return rankfeed_corpus_open_file(path.c_str(), nullptr, nullptr, storage, sizeof(storage),
                                     &mapping, &corpus, &detail);
  };
  EXPECT_EQ(open(dir / "absent"), RANKFEED_E_IO);
  EXPECT_EQ(detail.item, static_cast<uint32_t>(ENOENT));
  WriteFile(dir / "short", {'R', 'F', 'C'});
  EXPECT_EQ(open(dir / "short"), RANKFEED_E_IMAGE_MAGIC);
  WriteFile(dir / "other", std::vector<uint8_t>(20000, 'x'));
  EXPECT_EQ(open(dir / "other"), RANKFEED_E_IMAGE_MAGIC);
  EXPECT_EQ(mapping.data, nullptr);
  MakeStore(dir / "a.rfc", {{"x", {1}}});
  std::vector<uint8_t> bytes = ReadFile(dir / "a.rfc");
  bytes[offsetof(corpus::Header, version_major)] = 2;
  WriteFile(dir / "newer", bytes);
  EXPECT_EQ(open(dir / "newer"), RANKFEED_E_IMAGE_VERSION);
  bytes = ReadFile(dir / "a.rfc");
  bytes.resize(bytes.size() - 1);
  WriteFile(dir / "cut", bytes);
  EXPECT_EQ(open(dir / "cut"), RANKFEED_E_IMAGE_STRUCTURE);
}

}  // namespace
}  // namespace rankfeed::corpus_test
