// SPDX-License-Identifier: MIT
// fuzz/corpus_store.cc: corpus stores.
//   history  puts, removals, commits and compactions out of the input: the store always holds what a
//            plain map holds
//   hostile  changes to a store, with the checksums made right again or not: it is refused, or what
//            it answers lies inside it
// An execution is one commit checked, or one hostile store. Stores live in /dev/shm.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "builder/base/model_spec.h"
#include "corpus/format.h"
#include "corpus/reader.h"
#include "corpus_builder/rewrite.h"
#include "corpus_builder/writer.h"
#include "input.h"
#include "model_file.h"
#include "rankfeed/corpus.h"

#include <xxhash.h>  // of the system, not instrumented: it only seals what is tried

namespace rankfeed::fuzz {
namespace {

using Contents = std::map<std::string, std::vector<int32_t>>;
constexpr uint32_t kIdCount = 1000;

// A file of this process, removed when it ends.
class StoreFile {
 public:
  StoreFile() {
    const std::string folder = std::filesystem::is_directory("/dev/shm")
                                   ? "/dev/shm"
                                   : std::filesystem::temp_directory_path().string();
    path = folder + "/rankfeed-fuzz-" + std::to_string(getpid()) + ".rfc";
  }
  ~StoreFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    std::filesystem::remove(path + ".tmp", ignored);
  }
  std::string path;
};

const std::string& Path() {
  static const StoreFile file;
  return file.path;
}

Bytes ReadStore() {
  std::ifstream in(Path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

corpus::Header NewHeader(bool offsets) {
  const uint8_t hash[16] = {7};
  return corpus_builder::MakeHeader(0, kIdCount, hash, 0, offsets);
}

// Over a copy in a block of its own size.
class OpenStore {
 public:
  OpenStore(const Bytes& bytes, uint32_t flags)
      : data_(bytes.size(), 64), storage_(rankfeed_corpus_mem_req()) {
    if (!bytes.empty()) std::memcpy(data_.data(), bytes.data(), bytes.size());
    rankfeed_corpus_options options{};
    options.struct_size = sizeof(options);
    options.flags = flags;
    status_ = rankfeed_corpus_open(data_.data(), bytes.size(), nullptr, &options, storage_.data(),
                                   rankfeed_corpus_mem_req().size, &corpus_, nullptr);
  }
  rankfeed_status status() const { return status_; }
  const rankfeed_corpus* get() const { return corpus_; }

 private:
  Block data_, storage_;
  rankfeed_status status_;
  rankfeed_corpus* corpus_ = nullptr;
};

uint64_t ReadAll(const rankfeed_source& source) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < source.id_count; ++i) {
    sum += static_cast<uint32_t>(source.ids[i]);
    if (source.offset_begin != nullptr) sum += source.offset_begin[i] + source.offset_end[i];
  }
  return sum;
}

// Everything a reader can ask, in at most a bounded number of questions.
void UseAll(const rankfeed_corpus* corpus) {
  rankfeed_corpus_info info{};
  info.struct_size = sizeof(info);
  FUZZ_ASSERT(rankfeed_corpus_get_info(corpus, &info) == RANKFEED_OK);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < std::min<uint64_t>(info.positions, 64); ++i) {
    rankfeed_text id;
    rankfeed_source source;
    if (rankfeed_corpus_get(corpus, i, &id, &source) != RANKFEED_OK) continue;
    for (size_t k = 0; k < id.size; ++k) sum += static_cast<unsigned char>(id.data[k]);
    sum += ReadAll(source);
  }
  for (char name = 'a'; name <= 'p'; ++name) {
    rankfeed_source source;
    if (rankfeed_corpus_find(corpus, {&name, 1}, &source) == RANKFEED_OK) sum += ReadAll(source);
  }
  static volatile uint64_t sink;
  sink = sum;
  (void)sink;
}

void CheckContents(const Contents& expected) {
  const OpenStore store(ReadStore(), 0);
  FUZZ_ASSERT(store.status() == RANKFEED_OK);
  rankfeed_corpus_info info{};
  info.struct_size = sizeof(info);
  FUZZ_ASSERT(rankfeed_corpus_get_info(store.get(), &info) == RANKFEED_OK);
  FUZZ_ASSERT(info.documents == expected.size());
  for (char name = 'a'; name <= 'z'; ++name) {
    rankfeed_source source;
    const rankfeed_status status = rankfeed_corpus_find(store.get(), {&name, 1}, &source);
    const auto found = expected.find(std::string(1, name));
    FUZZ_ASSERT(status == (found == expected.end() ? RANKFEED_E_NOT_FOUND : RANKFEED_OK));
    if (found != expected.end()) {
      FUZZ_ASSERT(std::vector<int32_t>(source.ids, source.ids + source.id_count) == found->second);
    }
  }
}

void History(Input& in) {
  Contents pending;
  std::optional<corpus_builder::Writer> writer(
      corpus_builder::Writer::Create(Path(), NewHeader(false)));
  for (size_t steps = 0; steps < 64 && !in.empty(); ++steps) {
    const std::string id(1, static_cast<char>('a' + in.Below(16)));
    switch (in.Below(8)) {
      default: {
        std::vector<int32_t> ids(in.Below(20));
        for (int32_t& one : ids) one = static_cast<int32_t>(in.Below(kIdCount));
        writer->Put(id, ids, {}, {});
        pending[id] = ids;
        break;
      }
      case 5:
        try {
          writer->Remove(id);
          FUZZ_ASSERT(pending.erase(id) == 1);
        } catch (const builder::BuildError& error) {
          FUZZ_ASSERT(error.code == RANKFEED_E_NOT_FOUND && !pending.contains(id));
        }
        break;
      case 6:
      case 7: {
        writer->Commit();
        ++counters.executions;
        CheckContents(pending);
        if (in.OneIn(4)) {
          writer.reset();
          if (in.OneIn(2)) {
            corpus_builder::Compact(Path());
            CheckContents(pending);
          }
          writer.emplace(corpus_builder::Writer::Append(Path()));
        }
        break;
      }
    }
  }
  ++counters.accepted;
}

const std::vector<Bytes>& Stores() {
  static const std::vector<Bytes> stores = [] {
    std::vector<Bytes> made;
    for (const bool offsets : {false, true}) {
      {
        auto writer = corpus_builder::Writer::Create(Path(), NewHeader(offsets));
        for (int round = 0; round < 3; ++round) {
          for (char name = 'a'; name < 'a' + 12 - 4 * round; ++name) {
            std::vector<int32_t> ids(static_cast<size_t>((name + round) % 5));
            std::vector<uint32_t> at(offsets ? ids.size() : 0);
            for (size_t i = 0; i < ids.size(); ++i) ids[i] = name * 3 + round;
            for (size_t i = 0; i < at.size(); ++i) at[i] = static_cast<uint32_t>(i);
            writer.Put(std::string(1, name), ids, at, at);
          }
          if (round == 1) writer.Remove("b");
          writer.Commit();
        }
      }
      made.push_back(ReadStore());
    }
    return made;
  }();
  return stores;
}

template <class T>
void Reseal(Bytes* store, size_t at, uint64_t seed) {
  if (at + sizeof(T) > store->size()) return;
  const uint64_t sum = XXH3_64bits_withSeed(store->data() + at, offsetof(T, checksum), seed);
  std::memcpy(store->data() + at + offsetof(T, checksum), &sum, 8);
}

// From the inside out: records, levels, commits, header, each sum covering those before it.
void RepairChecksums(Bytes* store) {
  using namespace corpus;
  for (const uint64_t commit_at : kCommitOffset) {
    if (commit_at + sizeof(Commit) > store->size()) return;
    Commit commit;
    std::memcpy(&commit, store->data() + commit_at, sizeof(commit));
    for (Level& level : commit.levels) {
      if (level.count > 1000 || level.offset >= store->size()) continue;
      const uint64_t bytes = LevelBytes(level.count);
      if (bytes > store->size() - level.offset) continue;
      for (uint32_t i = 0; i < level.count; ++i) {
        Entry entry;
        std::memcpy(&entry, store->data() + level.offset + i * sizeof(Entry), sizeof(entry));
        if (entry.offset > store->size() || store->size() - entry.offset < sizeof(Record)) continue;
        Record record;
        std::memcpy(&record, store->data() + entry.offset, sizeof(record));
        Header header;
        std::memcpy(&header, store->data(), sizeof(header));
        const uint64_t size =
            RecordBytes(record.id_bytes, record.token_count, (header.flags & kHasOffsets) != 0);
        if (size > store->size() - entry.offset) continue;
        record.checksum = XXH3_64bits(store->data() + entry.offset + 8, size - 8);
        std::memcpy(store->data() + entry.offset, &record.checksum, 8);
      }
      if (level.count != 0) level.checksum = XXH3_64bits(store->data() + level.offset, bytes);
    }
    std::memcpy(store->data() + commit_at, &commit, sizeof(commit));
  }
  Reseal<Header>(store, 0, 0);
  Header header;
  std::memcpy(&header, store->data(), sizeof(header));
  for (const uint64_t commit_at : kCommitOffset) {
    Reseal<Commit>(store, commit_at, header.checksum);
  }
}

void Hostile(Input& in) {
  const Bytes& original = Stores()[in.Below(2)];
  static Bytes store;  // its memory is used again
  store.resize(original.size());
  std::memcpy(store.data(), original.data(), original.size());
  const bool repair = !in.OneIn(8);
  const uint32_t flags = in.OneIn(2) ? uint32_t{RANKFEED_CORPUS_TRUSTED} : 0;
  for (size_t n = 0; n < 8 && !in.empty(); ++n) {
    // The parts that hold something: header, commits, data; never the zeros between.
    const size_t where = in.Below(8);
    const size_t begin = where < 1 ? 0 : where < 4 ? corpus::kCommitOffset[where % 2] : corpus::kDataOffset;
    const size_t span = where < 1   ? sizeof(corpus::Header)
                        : where < 4 ? sizeof(corpus::Commit)
                                    : store.size() - std::min<size_t>(store.size(), begin);
    const size_t offset = in.U16();
    const uint8_t how = in.U8(), value = in.U8();
    if (span == 0 || begin + offset % span >= store.size()) continue;
    const size_t at = begin + offset % span;
    if (how < 128) {
      store[at] = value;
    } else if (how < 192) {
      store[at] ^= static_cast<uint8_t>(1u << value % 8);
    } else if (how < 250) {
      store[at] = static_cast<uint8_t>(store[at] + value % 5 - 2);
    } else {
      store.resize(at);
    }
  }
  if (repair) RepairChecksums(&store);
  ++counters.executions;
  LoadCost cost(store.size());
  const OpenStore opened(store, flags);
  if (opened.status() == RANKFEED_OK) (void)rankfeed_corpus_verify(opened.get(), nullptr);
  cost.Done();
  if (opened.status() != RANKFEED_OK) return;
  ++counters.accepted;
  UseAll(opened.get());
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  if (in.U8() == 255) {
    History(in);
  } else {
    Hostile(in);
  }
}

void Generate(Random& random, Bytes* input) {
  const bool history = random.OneIn(2000);
  *input = RandomBytes(random, history ? 400 : 3 + 6 * (1 + random.Below(3)));
  (*input)[0] = history ? 255 : static_cast<uint8_t>(random.Below(255));
}

const Register registered({"corpus_store", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
