// SPDX-License-Identifier: MIT
// tests/corpus/corpus_files.h: stores to test with, in a folder of their own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "corpus/reader.h"
#include "corpus_builder/writer.h"
#include "rankfeed/corpus.h"

namespace rankfeed::corpus_test {

using Ids = std::vector<int32_t>;
using Contents = std::map<std::string, Ids>;

inline constexpr uint32_t kIdCount = 250002;

inline corpus::Header TestHeader(bool with_offsets = false, uint8_t vocabulary = 7) {
  uint8_t hash[16];
  std::memset(hash, vocabulary, sizeof(hash));
  return corpus_builder::MakeHeader(0, kIdCount, hash, 0, with_offsets);
}

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "rankfeed-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::vector<uint8_t> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void WriteFile(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.good());
}

// Ids that depend on seed alone; n of them.
inline Ids SomeIds(uint64_t seed, size_t n) {
  Ids ids(n);
  for (int32_t& id : ids) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    id = static_cast<int32_t>((seed >> 33) % kIdCount);
  }
  return ids;
}

inline void Put(corpus_builder::Writer* writer, const std::string& id, const Ids& ids) {
  writer->Put(id, ids, {}, {});
}

// A store made by one commit.
inline void MakeStore(const std::string& path, const Contents& contents) {
  auto writer = corpus_builder::Writer::Create(path, TestHeader());
  for (const auto& [id, ids] : contents) Put(&writer, id, ids);
  writer.Commit();
}

// A store opened over a copy of bytes in a block of exactly that size, 64-byte aligned, so that
// AddressSanitizer sees every access outside.
class OpenedBytes {
 public:
  explicit OpenedBytes(const std::vector<uint8_t>& bytes, uint32_t flags = 0)
      : OpenedBytes(bytes.data(), bytes.size(), flags) {}
  OpenedBytes(const uint8_t* bytes, size_t size, uint32_t flags) {
    // operator new returns blocks of exactly the size asked for; aligned_alloc wants multiples.
    data_ = static_cast<uint8_t*>(::operator new (size, std::align_val_t{64}));
    if (size != 0) std::memcpy(data_, bytes, size);
    rankfeed_corpus_options options{};
    options.struct_size = sizeof(options);
    options.flags = flags;
    detail_.struct_size = sizeof(detail_);
    status_ = rankfeed_corpus_open(data_, size, nullptr, &options, storage_, sizeof(storage_),
                                   &corpus_, &detail_);
  }
  OpenedBytes(const OpenedBytes&) = delete;
  ~OpenedBytes() { ::operator delete (data_, std::align_val_t{64}); }

  rankfeed_status status() const { return status_; }
  const rankfeed_error_detail& detail() const { return detail_; }
  const rankfeed_corpus* get() const { return corpus_; }

 private:
  uint8_t* data_;
  alignas(64) uint8_t storage_[sizeof(rankfeed_corpus)];
  rankfeed_status status_;
  rankfeed_error_detail detail_{};
  rankfeed_corpus* corpus_ = nullptr;
};

inline rankfeed_corpus_info Info(const rankfeed_corpus* corpus) {
  rankfeed_corpus_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(rankfeed_corpus_get_info(corpus, &info), RANKFEED_OK);
  return info;
}

// All documents, by walking the positions; each is also looked up by its id.
inline Contents Dump(const rankfeed_corpus* corpus) {
  Contents contents;
  const rankfeed_corpus_info info = Info(corpus);
  for (uint64_t i = 0; i < info.positions; ++i) {
    rankfeed_text id;
    rankfeed_source source, found;
    const rankfeed_status status = rankfeed_corpus_get(corpus, i, &id, &source);
    if (status == RANKFEED_E_NOT_FOUND) continue;
    EXPECT_EQ(status, RANKFEED_OK);
    if (status != RANKFEED_OK) continue;
    const std::string key(id.data, id.size);
    EXPECT_FALSE(contents.contains(key));
    contents[key] = Ids(source.ids, source.ids + source.id_count);
    EXPECT_EQ(rankfeed_corpus_find(corpus, id, &found), RANKFEED_OK) << key;
    EXPECT_EQ(found.ids, source.ids) << key;
  }
  EXPECT_EQ(contents.size(), info.documents);
  return contents;
}

// The verified contents of a file; fails the test if it does not open.
inline Contents DumpFile(const std::string& path) {
  OpenedBytes opened(ReadFile(path));
  EXPECT_EQ(opened.status(), RANKFEED_OK)
      << rankfeed_status_name(opened.status()) << " at " << opened.detail().byte_offset;
  return opened.status() == RANKFEED_OK ? Dump(opened.get()) : Contents{};
}

}  // namespace rankfeed::corpus_test
