// SPDX-License-Identifier: MIT
// Tests of src/corpus/verify.cc and of what an open without it survives: every byte flipped, every
// length, and random damage under checksums that are made right again.
#include <random>

#include "corpus/reader.h"
#include "corpus_files.h"
#include "support/sanitizers.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rankfeed::corpus_test {
namespace {

using corpus_builder::Writer;

// A store of two levels with replaced, removed and empty documents, and dead bytes.
std::vector<uint8_t> SmallStore(Contents* contents, bool with_offsets = false) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  const auto put = [&](Writer* writer, const std::string& id, const Ids& ids) {
    std::vector<uint32_t> begin, end;
    for (uint32_t i = 0; i < ids.size() && with_offsets; ++i) {
      begin.push_back(2 * i);
      end.push_back(2 * i + 2);
    }
    writer->Put(id, ids, begin, end);
    (*contents)[id] = ids;
  };
  auto writer = Writer::Create(path, TestHeader(with_offsets));
  for (int i = 0; i < 20; ++i) put(&writer, "id" + std::to_string(i), SomeIds(i, i % 5));
  writer.Commit();
  put(&writer, "id3", SomeIds(77, 6));
  put(&writer, "id21", {});
  writer.Remove("id4");
  contents->erase("id4");
  writer.Commit();
  return ReadFile(path);
}

// Everything a reader can ask, for a store that may be damaged: nothing may crash, and what is
// answered must lie inside the store (AddressSanitizer sees reads outside).
void UseAll(const rankfeed_corpus* corpus) {
  const rankfeed_corpus_info info = Info(corpus);
  uint64_t sum = 0;
  const auto read = [&](const rankfeed_source& source) {
    for (uint32_t i = 0; i < source.id_count; ++i) {
      sum += static_cast<uint32_t>(source.ids[i]);
      if (source.offset_begin != nullptr) sum += source.offset_begin[i] + source.offset_end[i];
    }
  };
  // A damaged count can be anything; the positions are bounded by the file.
  for (uint64_t i = 0; i < info.positions; ++i) {
    rankfeed_text id;
    rankfeed_source source;
    if (rankfeed_corpus_get(corpus, i, &id, &source) != RANKFEED_OK) continue;
    for (size_t k = 0; k < id.size; ++k) sum += static_cast<unsigned char>(id.data[k]);
    read(source);
  }
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("id" + std::to_string(i));
  std::vector<rankfeed_text> ids;
  for (const std::string& name : names) ids.push_back({name.data(), name.size()});
  std::vector<rankfeed_source> sources(ids.size());
  (void)rankfeed_corpus_find_all(corpus, ids.data(), ids.size(), sources.data(), nullptr);
  for (const rankfeed_source& source : sources) read(source);
  static volatile uint64_t sink;
  sink = sum;
  (void)sink;
}

TEST(CorpusVerify, EveryFlippedByteIsRefusedOrChangesNothing) {
  for (const bool with_offsets : {false, true}) {
    Contents contents;
    const std::vector<uint8_t> bytes = SmallStore(&contents, with_offsets);
    {
      OpenedBytes sound(bytes);
      ASSERT_EQ(sound.status(), RANKFEED_OK);
      ASSERT_EQ(Dump(sound.get()), contents);
    }
    size_t refused = 0, harmless = 0;
    for (size_t at = 0; at < bytes.size(); ++at) {
      // The page tails hold nothing: a sample of them is enough.
      const bool empty = at < corpus::kDataOffset && at % 4096 >= sizeof(corpus::Commit);
      if (empty && at % 97 != 0) continue;
      std::vector<uint8_t> damaged = bytes;
      damaged[at] ^= static_cast<uint8_t>(1u << at % 8);
      OpenedBytes opened(damaged);
      if (opened.status() == RANKFEED_OK) {
        ASSERT_EQ(Dump(opened.get()), contents) << "byte " << at;
        ++harmless;
      } else {
        ASSERT_EQ(opened.get(), nullptr);
        ++refused;
        OpenedBytes trusted(damaged, RANKFEED_CORPUS_TRUSTED);
        if (trusted.status() == RANKFEED_OK) UseAll(trusted.get());
      }
    }
    // Refused: header, live records, levels. Harmless: one copy of the commit, dead records and
    // levels, empty bytes.
    EXPECT_GT(refused, 1000u);
    EXPECT_GT(harmless, 2 * sizeof(corpus::Commit));
  }
}

TEST(CorpusVerify, EveryShorterFileIsRefused) {
  Contents contents;
  const std::vector<uint8_t> bytes = SmallStore(&contents);
  for (size_t size = 0; size < bytes.size(); size += size < corpus::kDataOffset ? 61 : 1) {
    OpenedBytes opened(bytes.data(), size, 0);
    ASSERT_NE(opened.status(), RANKFEED_OK) << size;
    OpenedBytes trusted(bytes.data(), size, RANKFEED_CORPUS_TRUSTED);
    ASSERT_NE(trusted.status(), RANKFEED_OK) << size;  // both commits name bytes that are gone
  }
  std::vector<uint8_t> longer = bytes;
  longer.resize(bytes.size() + 4096, 0x5a);  // a mapping rounded up, an append under way
  OpenedBytes opened(longer);
  ASSERT_EQ(opened.status(), RANKFEED_OK);
  EXPECT_EQ(Dump(opened.get()), contents);
}

// Makes the checksums of header, commits, levels and records right for what the bytes are now.
void Reseal(std::vector<uint8_t>* bytes, bool records) {
  uint8_t* data = bytes->data();
  const uint64_t size = bytes->size();
  auto* header = reinterpret_cast<corpus::Header*>(data);
  header->checksum = XXH3_64bits(header, offsetof(corpus::Header, checksum));
  for (const uint64_t offset : corpus::kCommitOffset) {
    auto* commit = reinterpret_cast<corpus::Commit*>(data + offset);
    for (corpus::Level& level : commit->levels) {
      const uint64_t block =
          level.count <= corpus::kMaxEntries ? corpus::LevelBytes(level.count) : size;
      if (level.count == 0 || level.offset < corpus::kDataOffset || level.offset > size ||
          block > size - level.offset)
        continue;
      for (uint32_t i = 0; records && i < level.count; ++i) {
        corpus::Entry entry;
        std::memcpy(&entry, data + level.offset + i * sizeof(entry), sizeof(entry));
        if (entry.offset < corpus::kDataOffset || entry.offset > size ||
            size - entry.offset < sizeof(corpus::Record)) {
          continue;
        }
        corpus::Record record;
        std::memcpy(&record, data + entry.offset, sizeof(record));
        const uint64_t length = corpus::RecordBytes(record.id_bytes, record.token_count,
                                                    (header->flags & corpus::kHasOffsets) != 0);
        if (length > size - entry.offset) continue;
        record.checksum = XXH3_64bits(data + entry.offset + 8, length - 8);
        std::memcpy(data + entry.offset, &record, sizeof(record));
      }
      level.checksum = XXH3_64bits(data + level.offset, block);
    }
    commit->checksum =
        XXH3_64bits_withSeed(commit, offsetof(corpus::Commit, checksum), header->checksum);
  }
}

// The content of a forged store may be another one, but it must be sound: ids in the vocabulary,
// every document found by its id (Dump checks), and no access outside.
TEST(CorpusVerify, ForgedStoresAreRefusedOrSound) {
  Contents contents;
  const std::vector<uint8_t> bytes = SmallStore(&contents);
  std::mt19937_64 random(5);
  size_t refused = 0, sound = 0;
  const size_t rounds = Scaled(20000) * (kSanitized ? 4 : 1);
  for (size_t round = 0; round < rounds; ++round) {
    std::vector<uint8_t> forged = bytes;
    const size_t changes = 1 + random() % 3;
    for (size_t i = 0; i < changes; ++i) {
      size_t at = random() % (forged.size() - corpus::kDataOffset + 600);
      at = at < 600 ? (at < 64 ? at : corpus::kCommitOffset[at % 2] + at % 440)
                    : at - 600 + corpus::kDataOffset;
      switch (random() % 4) {
        case 0:
          forged[at] ^= static_cast<uint8_t>(1u << random() % 8);
          break;
        case 1:
          forged[at] = static_cast<uint8_t>(random());
          break;
        case 2:
          forged[at] = 0xff;
          break;
        default:  // a word of somewhere else: offsets, counts and hashes that are plausible
          at &= ~size_t{7};
          std::memcpy(&forged[at], &bytes[random() % (bytes.size() / 8) * 8], 8);
      }
    }
    Reseal(&forged, random() % 2 == 0);
    OpenedBytes opened(forged);
    if (opened.status() == RANKFEED_OK) {
      ++sound;
      for (const auto& [id, ids] : Dump(opened.get())) {
        for (const int32_t token : ids)
          ASSERT_LT(static_cast<uint32_t>(token), Info(opened.get()).id_count);
      }
    } else {
      ++refused;
    }
    OpenedBytes trusted(forged, RANKFEED_CORPUS_TRUSTED);
    if (trusted.status() == RANKFEED_OK) UseAll(trusted.get());
  }
  EXPECT_GT(refused, rounds / 4);
  EXPECT_GT(sound, rounds / 100);
}

// Single rules, each broken alone under right checksums.
TEST(CorpusVerify, NamesTheRuleThatIsBroken) {
  Contents contents;
  const std::vector<uint8_t> bytes = SmallStore(&contents);
  corpus::Commit commit;
  std::memcpy(&commit, &bytes[corpus::kCommitOffset[0]], sizeof(commit));
  ASSERT_EQ(commit.level_count, 2u);
  const auto entry_at = [&](uint32_t level, uint32_t i) {
    return commit.levels[level].offset + i * sizeof(corpus::Entry);
  };
  corpus::Entry entry;
  std::memcpy(&entry, &bytes[entry_at(0, 1)], sizeof(entry));  // "id1": one token
  const uint64_t ids_at = entry.offset + corpus::IdsAt(3);
  const auto status_with = [&](auto change) {
    std::vector<uint8_t> forged = bytes;
    change(forged);
    Reseal(&forged, true);
    OpenedBytes opened(forged);
    return opened.status();
  };
  using Bytes = std::vector<uint8_t>;
  const auto store32 = [](Bytes& b, uint64_t at, uint32_t value) {
    std::memcpy(&b[at], &value, 4);
  };
  const auto store64 = [](Bytes& b, uint64_t at, uint64_t value) {
    std::memcpy(&b[at], &value, 8);
  };
  EXPECT_EQ(status_with([](Bytes&) {}), RANKFEED_OK);
  EXPECT_EQ(status_with([&](Bytes& b) { store32(b, ids_at, kIdCount - 1); }), RANKFEED_OK);
  // An id outside the vocabulary, above and below.
  EXPECT_EQ(status_with([&](Bytes& b) { store32(b, ids_at, kIdCount); }),
            RANKFEED_E_IMAGE_STRUCTURE);
  EXPECT_EQ(status_with([&](Bytes& b) { store32(b, ids_at, 0xffffffff); }),
            RANKFEED_E_IMAGE_STRUCTURE);
  // Padding after the document id.
  EXPECT_EQ(status_with([&](Bytes& b) { b[ids_at - 1] = 1; }), RANKFEED_E_IMAGE_STRUCTURE);
  // A document id that its hash does not belong to.
  EXPECT_EQ(status_with([&](Bytes& b) { b[entry.offset + sizeof(corpus::Record)] = 'x'; }),
            RANKFEED_E_IMAGE_STRUCTURE);
  // An entry at the record of another one; two entries at one record.
  EXPECT_EQ(status_with([&](Bytes& b) { store64(b, entry_at(0, 0) + 8, entry.offset); }),
            RANKFEED_E_IMAGE_STRUCTURE);
  // An entry without a slot.
  EXPECT_EQ(status_with([&](Bytes& b) {
              const uint64_t slots = commit.levels[0].offset + 20 * sizeof(corpus::Entry);
              for (uint64_t i = 0; i < corpus::SlotCount(20); ++i) {
                corpus::Slot slot;
                std::memcpy(&slot, &b[slots + 8 * i], 8);
                if (slot != 0) return store64(b, slots + 8 * i, 0);
              }
            }),
            RANKFEED_E_IMAGE_STRUCTURE);
  const auto in_commits = [&](Bytes& b, size_t field, auto change) {
    for (const uint64_t offset : corpus::kCommitOffset) {
      uint64_t value;
      std::memcpy(&value, &b[offset + field], 8);
      store64(b, offset + field, change(value));
    }
  };
  // Sums that are not those of the documents.
  for (const size_t field : {offsetof(corpus::Commit, documents), offsetof(corpus::Commit, tokens),
                             offsetof(corpus::Commit, live_bytes)}) {
    EXPECT_EQ(
        status_with([&](Bytes& b) { in_commits(b, field, [](uint64_t v) { return v + 1; }); }),
        RANKFEED_E_IMAGE_STRUCTURE);
  }
  // A level that is not aligned, one outside the file, too many levels.
  const size_t level_offset = offsetof(corpus::Commit, levels);
  EXPECT_EQ(
      status_with([&](Bytes& b) { in_commits(b, level_offset, [](uint64_t v) { return v + 8; }); }),
      RANKFEED_E_IMAGE_STRUCTURE);
  EXPECT_EQ(status_with([&](Bytes& b) {
              in_commits(b, level_offset, [](uint64_t) { return ~uint64_t{63}; });
            }),
            RANKFEED_E_IMAGE_STRUCTURE);
  EXPECT_EQ(status_with([&](Bytes& b) {
              in_commits(b, offsetof(corpus::Commit, level_count), [](uint64_t) { return 17; });
            }),
            RANKFEED_E_IMAGE_STRUCTURE);
}

}  // namespace
}  // namespace rankfeed::corpus_test
