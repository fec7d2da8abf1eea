// SPDX-License-Identifier: MIT
// Tests of src/corpus_builder/capi.cc without a model: arguments, every failing allocation, and
// readers in other threads while a writer commits.
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "builder/hf_file.h"
#include "corpus_files.h"
#include "rankfeed/corpus_manifest.h"
#include "rankfeed/corpus_writer.h"
#include "support/faults.h"
#include "support/sanitizers.h"

// Allocations still to come until one fails, once; 0: none does. Only those of this thread count
// that are made inside Counted.
static thread_local long allocations_left = 0;
static thread_local bool counting = false;

static void* AllocateOrNone(std::size_t size, std::size_t alignment) noexcept {
  if (counting && allocations_left > 0 && --allocations_left == 0) return nullptr;
  void* p = nullptr;
  return posix_memalign(&p, alignment, size) == 0 ? p : nullptr;
}
static void* Allocate(std::size_t size, std::size_t alignment) {
  if (void* const p = AllocateOrNone(size, alignment)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size) {
  return Allocate(size, 16);
}
void* operator new[](std::size_t size) {
  return Allocate(size, 16);
}
// For what takes memory it can do without, std::stable_sort among them.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* p = nullptr;
  return posix_memalign(&p, 16, size) == 0 ? p : nullptr;
}
void* operator new[](std::size_t size, const std::nothrow_t& none) noexcept {
  return operator new(size, none);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
// The C++ wrapper's memory, whose want it answers with a status.
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return AllocateOrNone(size, static_cast<std::size_t>(alignment));
}
// Not inlined: GCC would see free() on what operator new returned and take it for a mistake
// (-Wmismatched-new-delete).
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete[](void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace rankfeed::corpus_test {
namespace {

rankfeed_text Text(std::string_view s) {
  return {s.data(), s.size()};
}

rankfeed_source Source(const Ids& ids) {
  static constexpr int32_t kNone[1] = {};
  rankfeed_source source{};
  source.ids = ids.empty() ? kNone : ids.data();
  source.id_count = static_cast<uint32_t>(ids.size());
  return source;
}

rankfeed_corpus_writer_options Options(uint32_t mode) {
  rankfeed_corpus_writer_options options{};
  options.struct_size = sizeof(options);
  options.mode = mode;
  return options;
}

TEST(CorpusWriterApi, ArgumentsAreChecked) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  MakeStore(path, {{"x", {1}}});
  rankfeed_corpus_writer* writer = nullptr;
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  auto options = Options(RANKFEED_CORPUS_APPEND);
  const auto open = [&](const char* at) {
    error.code = RANKFEED_OK;
    const rankfeed_status status =
        rankfeed_corpus_writer_open(at, nullptr, &options, &writer, &error);
    EXPECT_EQ(error.code, status);
    return status;
  };
  EXPECT_EQ(rankfeed_corpus_writer_open(path.c_str(), nullptr, &options, nullptr, nullptr),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(open(nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(open(""), RANKFEED_E_ARGUMENT);
  options.struct_size = 4;
  EXPECT_EQ(open(path.c_str()), RANKFEED_E_STRUCT_SIZE);
  options = Options(2);
  EXPECT_EQ(open(path.c_str()), RANKFEED_E_ARGUMENT);
  options = Options(RANKFEED_CORPUS_CREATE);  // needs a model
  EXPECT_EQ(open(path.c_str()), RANKFEED_E_ARGUMENT);
  options = Options(RANKFEED_CORPUS_APPEND);
  options.encode_flags = RANKFEED_ADD_SPECIAL_TOKENS;
  EXPECT_EQ(open(path.c_str()), RANKFEED_E_ARGUMENT);
  options = Options(RANKFEED_CORPUS_APPEND);
  EXPECT_EQ(open((dir / "absent").c_str()), RANKFEED_E_IO);
  EXPECT_EQ(writer, nullptr);
  ASSERT_EQ(open(path.c_str()), RANKFEED_OK);

  const Ids two = {1, 2};
  const rankfeed_source ids = Source(two);
  rankfeed_source text{};
  text.text = Text("no model to tokenize this");
  EXPECT_EQ(rankfeed_corpus_writer_put(nullptr, Text("y"), &ids, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_writer_put(writer, {nullptr, 0}, &ids, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_writer_put(writer, Text("y"), nullptr, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_writer_put(writer, Text("y"), &text, &error), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_writer_remove(writer, Text("y"), &error), RANKFEED_E_NOT_FOUND);
  EXPECT_NE(std::string(error.message).find("no document y"), std::string::npos);
  EXPECT_EQ(rankfeed_corpus_writer_remove(nullptr, Text("y"), nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_writer_put(writer, Text("y"), &ids, nullptr), RANKFEED_OK);
  EXPECT_EQ(rankfeed_corpus_writer_commit(writer, &error), RANKFEED_OK);
  EXPECT_EQ(rankfeed_corpus_writer_commit(nullptr, nullptr), RANKFEED_E_ARGUMENT);
  rankfeed_corpus_writer_close(writer);
  rankfeed_corpus_writer_close(nullptr);
  EXPECT_EQ(rankfeed_corpus_compact(nullptr, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_merge(nullptr, 1, path.c_str(), nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_merge(nullptr, 0, path.c_str(), nullptr), RANKFEED_E_ARGUMENT);
  const char* nothing = nullptr;
  EXPECT_EQ(rankfeed_corpus_merge(&nothing, 1, path.c_str(), nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_corpus_compact(path.c_str(), nullptr), RANKFEED_OK);
  EXPECT_EQ(DumpFile(path), (Contents{{"x", {1}}, {"y", {1, 2}}}));
}

// Sizes that doubling never reaches.
TEST(CorpusWriterApi, TextsThatNothingHolds) {
  TempDir dir;
  const char* source = std::getenv("RANKFEED_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  rankfeed_loaded* loaded = nullptr;
  ASSERT_EQ(rankfeed_load((std::string(source) + "/data/default.model").c_str(), nullptr, &loaded,
                          nullptr),
            RANKFEED_OK);
  rankfeed_corpus_writer* writer = nullptr;
  const std::string path = dir / "a.rfc";
  ASSERT_EQ(rankfeed_corpus_writer_open(path.c_str(), rankfeed_loaded_model(loaded), nullptr,
                                        &writer, nullptr),
            RANKFEED_OK);
  rankfeed_source text{};
  for (const size_t size : {SIZE_MAX, SIZE_MAX / 2 + 2, size_t{1} << 32, size_t{1} << 31}) {
    text.text = {"a", size};
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    EXPECT_EQ(rankfeed_corpus_writer_put(writer, Text("x"), &text, &error), RANKFEED_E_LIMIT)
        << size;
    EXPECT_EQ(std::string(error.message),
              "a text has " + std::to_string(size) + " bytes; the limit of the vocabulary is " +
                  std::to_string(rankfeed_max_text_bytes(rankfeed_loaded_model(loaded))));
  }
  text.text = Text("a text");
  EXPECT_EQ(rankfeed_corpus_writer_put(writer, Text("x"), &text, nullptr), RANKFEED_OK);
  EXPECT_EQ(rankfeed_corpus_writer_commit(writer, nullptr), RANKFEED_OK);
  rankfeed_corpus_writer_close(writer);
  EXPECT_EQ(DumpFile(path).size(), 1u);
  rankfeed_loaded_free(loaded);
}

// Scratch does not grow with a text of this vocabulary: a stretch that cannot be cut is refused beyond
// the default of max_stretch_bytes, and the writer goes on.
TEST(CorpusWriterApi, StretchesBeyondWhatScratchHolds) {
  TempDir dir;
  builder_test::HfFile file;
  file.normalizer = R"({"type":"Replace","pattern":{"String":"g"},"content":")" +
                    std::string(4000, 'a') + "\"}";
  std::ofstream(dir / "tokenizer.json") << file.Text();
  rankfeed_loaded* loaded = nullptr;
  ASSERT_EQ(rankfeed_load((dir / "tokenizer.json").c_str(), nullptr, &loaded, nullptr), RANKFEED_OK);
  const rankfeed_model* model = rankfeed_loaded_model(loaded);
  ASSERT_EQ(rankfeed_max_text_bytes(model), 0x7ffffffeu);
  rankfeed_corpus_writer* writer = nullptr;
  ASSERT_EQ(rankfeed_corpus_writer_open((dir / "a.rfc").c_str(), model, nullptr, &writer, nullptr),
            RANKFEED_OK);
  rankfeed_source source{};
  const std::string text(700'000, 'a');
  source.text = Text(text);
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(rankfeed_corpus_writer_put(writer, Text("x"), &source, &error), RANKFEED_E_LIMIT);
  for (const char* words : {"700000 bytes", "max_stretch_bytes, 262144", "in the rankfeed_limits of an encoder whose ids are put"})
    EXPECT_NE(std::string(error.message).find(words), std::string::npos) << error.message;
  source.text.size = 200'000;
  EXPECT_EQ(rankfeed_corpus_writer_put(writer, Text("x"), &source, nullptr), RANKFEED_OK);
  EXPECT_EQ(rankfeed_corpus_writer_commit(writer, nullptr), RANKFEED_OK);
  rankfeed_corpus_writer_close(writer);
  EXPECT_EQ(DumpFile(dir / "a.rfc").size(), 1u);
  rankfeed_loaded_free(loaded);
}

template <class F>
rankfeed_status Counted(F call) {
  counting = true;
  const rankfeed_status status = call();
  counting = false;
  return status;
}

// Runs f with the k-th allocation of its Counted calls failing, for k = 1, 2, ... until none fails
// any more.
template <class F>
long ForEveryFailingAllocation(F f) {
  for (long k = 1;; ++k) {
    allocations_left = k;
    const rankfeed_status status = f(k);
    const bool all_done = allocations_left > 0;
    allocations_left = 0;
    if (all_done) {
      EXPECT_EQ(status, RANKFEED_OK);
      test::ReportFaults("allocations of the corpus writer", static_cast<uint64_t>(k - 1));
      return k;
    }
    EXPECT_TRUE(status == RANKFEED_OK || status == RANKFEED_E_NO_MEMORY)
        << k << ": " << rankfeed_status_name(status);
    if (k > 10000) return k;
  }
}

TEST(CorpusWriterApi, EveryFailingAllocationLeavesTheStoreAndTheWriterUsable) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  Contents contents;
  for (int i = 0; i < 300; ++i) contents[std::to_string(i)] = SomeIds(i, 5);
  MakeStore(path, contents);
  const auto options = Options(RANKFEED_CORPUS_APPEND);
  size_t failed_puts = 0, failed_commits = 0;
  const long allocations = ForEveryFailingAllocation([&](long k) {
    rankfeed_corpus_writer* writer = nullptr;
    const rankfeed_status status = Counted([&] {
      return rankfeed_corpus_writer_open(path.c_str(), nullptr, &options, &writer, nullptr);
    });
    if (status != RANKFEED_OK) {
      EXPECT_EQ(writer, nullptr);
      return status;
    }
    rankfeed_status first = RANKFEED_OK;
    // Each call that failed for want of memory works when tried again.
    const auto retried = [&](auto call) {
      rankfeed_status result = Counted(call);
      if (result == RANKFEED_E_NO_MEMORY) {
        if (first == RANKFEED_OK) first = result;
        result = Counted(call);
      }
      EXPECT_EQ(result, RANKFEED_OK) << k;
    };
    for (int i = 0; i < 100; ++i) {
      const std::string id = std::to_string(2 * i);
      const Ids ids = {static_cast<int32_t>(k), i};
      const rankfeed_source source = Source(ids);
      const rankfeed_status before = first;
      retried([&] { return rankfeed_corpus_writer_put(writer, Text(id), &source, nullptr); });
      failed_puts += before != first;
      contents[id] = ids;
    }
    retried([&] { return rankfeed_corpus_writer_remove(writer, Text("7"), nullptr); });
    const rankfeed_status before = first;
    retried([&] { return rankfeed_corpus_writer_commit(writer, nullptr); });
    failed_commits += before != first;
    const Ids seven = {7};
    const rankfeed_source source = Source(seven);
    retried([&] { return rankfeed_corpus_writer_put(writer, Text("7"), &source, nullptr); });
    contents["7"] = seven;
    retried([&] { return rankfeed_corpus_writer_commit(writer, nullptr); });
    rankfeed_corpus_writer_close(writer);
    EXPECT_EQ(DumpFile(path), contents) << k;
    return first;
  });
  EXPECT_GT(allocations, 10);
  EXPECT_GT(failed_puts, 0u);
  EXPECT_GT(failed_commits, 0u);
}

TEST(CorpusWriterApi, EveryFailingAllocationOfARewriteLeavesTheStores) {
  TempDir dir;
  const std::string a = dir / "a.rfc", b = dir / "b.rfc", c = dir / "c.rfc";
  Contents contents;
  for (int i = 0; i < 40; ++i) contents[std::to_string(i)] = SomeIds(i, 5);
  MakeStore(a, contents);
  MakeStore(b, {{"b", {2}}});
  ForEveryFailingAllocation([&](long k) {
    const rankfeed_status status =
        Counted([&] { return rankfeed_corpus_compact(a.c_str(), nullptr); });
    EXPECT_EQ(DumpFile(a), contents) << k;
    EXPECT_FALSE(std::filesystem::exists(a + ".tmp"));
    return status;
  });
  ForEveryFailingAllocation([&](long) {
    const char* sources[] = {a.c_str(), b.c_str()};
    return Counted([&] { return rankfeed_corpus_merge(sources, 2, c.c_str(), nullptr); });
  });
  contents["b"] = {2};
  EXPECT_EQ(DumpFile(c), contents);
}

TEST(CorpusWriterApi, EveryFailingAllocationOfALoadIsReportedAndUndone) {
  TempDir dir;
  MakeStore(dir / "a.rfc", {{"x", {1}}});
  MakeStore(dir / "b.rfc", {{"y", {2, 3}}});
  const std::string path = dir / "m.json", hash(64, '0');
  std::ofstream(path) << R"({"format":"rankfeed-corpus-manifest","version":1,"routing":"probe",)"
                      << R"("config_hash":"07070707070707070707070707070707","documents":2,"tokens":3,"shards":[)"
                      << R"({"file":"a.rfc","documents":1,"tokens":1,"sha256":")" << hash << R"(","bytes":)"
                      << std::filesystem::file_size(dir / "a.rfc")
                      << R"(},{"file":"b.rfc","documents":1,"tokens":2,"sha256":")" << hash << R"(","bytes":)"
                      << std::filesystem::file_size(dir / "b.rfc") << "}]}";
  // simdjson chooses its kernels at its first use in a process, and does not check for memory then.
  rankfeed_loaded_corpus* first = nullptr;
  ASSERT_EQ(rankfeed_corpus_load(path.c_str(), nullptr, nullptr, &first, nullptr), RANKFEED_OK);
  rankfeed_loaded_corpus_free(first);
  const long allocations = ForEveryFailingAllocation([&](long k) {
    rankfeed_loaded_corpus* loaded = nullptr;
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    const rankfeed_status status = Counted(
        [&] { return rankfeed_corpus_load(path.c_str(), nullptr, nullptr, &loaded, &error); });
    EXPECT_EQ(loaded == nullptr, status != RANKFEED_OK) << k;
    if (loaded != nullptr) {
      EXPECT_EQ(Dump(rankfeed_loaded_corpus_get(loaded)), (Contents{{"x", {1}}, {"y", {2, 3}}}));
    }
    rankfeed_loaded_corpus_free(loaded);
    return status;
  });
  EXPECT_GT(allocations, 10);
}

// Readers open the store again and again while a writer commits and compacts: each sees some
// committed state, whole, and keeps it while the file goes on changing.
TEST(CorpusWriterApi, ReadersDuringCommits) {
  TempDir dir;
  const std::string path = dir / "a.rfc";
  // State n: documents "0".."n-1"; document i was last written at the state that is its only id.
  MakeStore(path, {});
  constexpr int kStates = kSanitized ? 60 : 150;
  std::atomic<int> committed{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  std::atomic<int> opened{0};
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      rankfeed_corpus_options options{};
      options.struct_size = sizeof(options);
      if (t == 0) options.flags = RANKFEED_CORPUS_MAP_FILE;
      alignas(64) uint8_t storage[2][2048];
      rankfeed_mapping mappings[2] = {};
      rankfeed_corpus* stores[2] = {};
      rankfeed_corpus_info infos[2] = {};
      for (int round = 0; !done || round < 2; ++round) {
        const int at = round % 2;
        rankfeed_image_unmap(&mappings[at]);
        const int least = committed;
        const rankfeed_status status =
            rankfeed_corpus_open_file(path.c_str(), nullptr, &options, storage[at],
                                      sizeof(storage[at]), &mappings[at], &stores[at], nullptr);
        ASSERT_EQ(status, RANKFEED_OK) << rankfeed_status_name(status);
        ++opened;
        infos[at] = Info(stores[at]);
        ASSERT_GE(infos[at].documents, static_cast<uint64_t>(least));
        // The one from before is still what it was.
        for (int which = 0; which < 2; ++which) {
          if (stores[which] == nullptr) continue;
          const auto n = static_cast<int>(infos[which].documents);
          for (int i = 0; i < n; ++i) {
            const std::string id = std::to_string(i);
            rankfeed_source source;
            ASSERT_EQ(rankfeed_corpus_find(stores[which], Text(id), &source), RANKFEED_OK);
            ASSERT_EQ(source.id_count, 1u);
            const int last = n == 0 ? 0 : i % 10 == (n - 1) % 10 ? n : -1;
            if (last >= 0) {
              ASSERT_EQ(source.ids[0], last);
            }
          }
        }
      }
      rankfeed_image_unmap(&mappings[0]);
      rankfeed_image_unmap(&mappings[1]);
    });
  }
  const auto options = Options(RANKFEED_CORPUS_APPEND);
  for (int n = 1; n <= kStates; ++n) {
    rankfeed_corpus_writer* writer;
    ASSERT_EQ(rankfeed_corpus_writer_open(path.c_str(), nullptr, &options, &writer, nullptr),
              RANKFEED_OK);
    // Adds document n - 1, and writes again every tenth of the others.
    for (int i = n - 1; i >= 0; i -= 10) {
      const Ids ids = {n};
      const rankfeed_source source = Source(ids);
      ASSERT_EQ(rankfeed_corpus_writer_put(writer, Text(std::to_string(i)), &source, nullptr),
                RANKFEED_OK);
    }
    ASSERT_EQ(rankfeed_corpus_writer_commit(writer, nullptr), RANKFEED_OK);
    committed = n;
    rankfeed_corpus_writer_close(writer);
    if (n % 20 == 0) {
      ASSERT_EQ(rankfeed_corpus_compact(path.c_str(), nullptr), RANKFEED_OK);
    }
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(opened, 10);
}

}  // namespace
}  // namespace rankfeed::corpus_test
