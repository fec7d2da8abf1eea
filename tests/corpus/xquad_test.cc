// SPDX-License-Identifier: MIT
// The store on the whole of XQuAD, in both parity modes: ids and offsets equal those of the
// encoder, batches of documents from the store (alone, and mixed with raw texts) are the same bytes
// as batches of texts, other vocabularies are refused, and what it costs.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "corpus_files.h"
#include "rankfeed/builder.h"
#include "rankfeed/corpus_writer.h"
#include "rankfeed/rankfeed.hpp"
#include "rankfeed/rerank.h"
#include "reference/sp_texts.h"
#include "support/sanitizers.h"

namespace rankfeed::corpus_test {
namespace {

using sp_test::ReadTexts;
using sp_test::SharedData;

constexpr size_t kPassages = 240;  // of each language, the first lines of its file

rankfeed_text Text(const std::string& s) {
  return {s.data(), s.size()};
}

struct Vocabulary {
  explicit Vocabulary(const std::string& path) {
    rankfeed_compile_options options{};
    options.struct_size = sizeof(options);
    options.parity = RANKFEED_PARITY_AUTO;
    if (path.ends_with("xlmr.model")) options.preset = "xlm-roberta";
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    if (rankfeed_load(path.c_str(), &options, &loaded, &error) != RANKFEED_OK) {
      throw std::runtime_error(error.message);
    }
    model = rankfeed_loaded_model(loaded);
  }
  ~Vocabulary() { rankfeed_loaded_free(loaded); }
  rankfeed_loaded* loaded = nullptr;
  const rankfeed_model* model;
};

struct Passage {
  std::string id, text;
};

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// What the tests of one vocabulary share, since tokenizing all of XQuAD takes longer than most of
// them: its passages, and the store of their ids.
struct Shared {
  explicit Shared(const std::string& path) : vocabulary(path) {
    for (const char* language : sp_test::kXquadLanguages) {
      const std::vector<std::string> texts =
          ReadTexts(SharedData(std::string("xquad/") + language + ".jsonl"));
      EXPECT_EQ(texts.size(), 1430u);
      for (size_t i = 0; i < kPassages; ++i) {
        passages.push_back({std::string(language) + "-" + std::to_string(i), texts.at(i)});
      }
      queries.push_back(texts.at(kPassages + 7));
    }
    Build(store_path, 0);
  }

  void Build(const std::string& store, uint32_t encode_flags) const {
    rankfeed_corpus_writer_options options{};
    options.struct_size = sizeof(options);
    options.encode_flags = encode_flags;
    options.with_offsets = 1;
    rankfeed_corpus_writer* writer;
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    ASSERT_EQ(
        rankfeed_corpus_writer_open(store.c_str(), vocabulary.model, &options, &writer, &error),
        RANKFEED_OK)
        << error.message;
    for (const Passage& passage : passages) {
      rankfeed_source source{};
      source.text = Text(passage.text);
      ASSERT_EQ(rankfeed_corpus_writer_put(writer, Text(passage.id), &source, &error), RANKFEED_OK)
          << error.message;
    }
    ASSERT_EQ(rankfeed_corpus_writer_commit(writer, &error), RANKFEED_OK) << error.message;
    rankfeed_corpus_writer_close(writer);
  }

  TempDir dir;
  const std::string store_path = dir / "xquad.rfc";
  Vocabulary vocabulary;
  std::vector<Passage> passages;
  std::vector<std::string> queries;
};

class CorpusXquad : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = SharedData(GetParam());
    if (path.empty() || SharedData("xquad/en.jsonl").empty()) {
      GTEST_SKIP() << "no " << GetParam() << " or XQuAD in RANKFEED_SHARED_DATA";
    }
    auto& shared = shared_[GetParam()];
    if (shared == nullptr) shared = std::make_unique<Shared>(path);
    vocabulary_ = &shared->vocabulary;
    store_path_ = shared->store_path;
  }

  const Shared& shared() const { return *shared_[GetParam()]; }
  const std::vector<Passage>& passages() const { return shared().passages; }

  rankfeed_status Open(const rankfeed_model* model, uint32_t encode_flags = 0) {
    rankfeed_image_unmap(&mapping_);
    rankfeed_corpus_options options{};
    options.struct_size = sizeof(options);
    options.encode_flags = encode_flags;
    return rankfeed_corpus_open_file(store_path_.c_str(), model, &options, storage_,
                                     sizeof(storage_), &mapping_, &corpus_, nullptr);
  }
  void TearDown() override { rankfeed_image_unmap(&mapping_); }
  static void TearDownTestSuite() { shared_.clear(); }

  std::string store_path_;  // that Open opens
  const Vocabulary* vocabulary_ = nullptr;
  rankfeed_mapping mapping_{};
  alignas(64) uint8_t storage_[2048];
  rankfeed_corpus* corpus_ = nullptr;

 private:
  static inline std::map<std::string, std::unique_ptr<Shared>> shared_;
};

TEST_P(CorpusXquad, HoldsWhatTheEncoderAnswers) {
  ASSERT_EQ(Open(vocabulary_->model), RANKFEED_OK);
  EXPECT_EQ(Info(corpus_).documents, 12 * kPassages);
  auto encoder = Encoder::Create(vocabulary_->model, 64 << 10, true);
  ASSERT_TRUE(encoder);
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  Encoding expected;
  uint64_t tokens = 0, bytes = 0;
  for (const Passage& passage : passages()) {
    ASSERT_FALSE(encoder->Encode(passage.text, options, &expected));
    rankfeed_source source;
    ASSERT_EQ(rankfeed_corpus_find(corpus_, Text(passage.id), &source), RANKFEED_OK);
    ASSERT_EQ(Ids(source.ids, source.ids + source.id_count), expected.input_ids) << passage.id;
    ASSERT_TRUE(std::equal(expected.offset_begin.begin(), expected.offset_begin.end(),
                           source.offset_begin));
    ASSERT_TRUE(
        std::equal(expected.offset_end.begin(), expected.offset_end.end(), source.offset_end));
    tokens += source.id_count;
    bytes += passage.text.size();
  }
  EXPECT_EQ(Info(corpus_).tokens, tokens);
  std::printf("%s: %zu passages, %llu bytes, %llu tokens\n", GetParam(), passages().size(),
              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(tokens));
}

// A reranker and the arena its batches go to.
class Batches {
 public:
  Batches(const rankfeed_model* model, const rankfeed_rerank_options& options)
      : encoder_(std::move(*Encoder::Create(model, 64 << 10, true))) {
    rankfeed_rerank_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_documents = kPassages;
    limits.max_rows = kPassages * 16;
    limits.max_text_bytes = 64 << 10;
    limits.max_tokens = 1 << 20;
    limits.workers = 1;
    limits.with_offsets = 1;
    rankfeed_mem_req need;
    EXPECT_EQ(rankfeed_reranker_mem_req(model, &limits, &options, &need), RANKFEED_OK);
    scratch_ = AlignedBytes(need);
    rankfeed_encoder* encoders[] = {encoder_.get()};
    EXPECT_EQ(rankfeed_reranker_init(model, &limits, &options, encoders, scratch_.data(),
                                     scratch_.size(), &reranker_),
              RANKFEED_OK);
  }

  // All batches of a request: their arenas and row maps, one after the other.
  std::vector<uint8_t> Run(const std::string& query,
                           const std::vector<rankfeed_source>& documents) {
    std::vector<rankfeed_status> statuses(documents.size());
    rankfeed_request request{};
    request.struct_size = sizeof(request);
    request.document_count = static_cast<uint32_t>(documents.size());
    request.query.text = Text(query);
    request.documents = documents.data();
    request.document_status = statuses.data();
    std::vector<uint8_t> all;
    EXPECT_EQ(rankfeed_rerank_begin(reranker_, &request), RANKFEED_OK);
    for (;;) {
      rankfeed_batch batch{};
      batch.struct_size = sizeof(batch);
      batch.arena = arena_.data();
      batch.arena_capacity = arena_.size();
      const rankfeed_status status = rankfeed_rerank_next(reranker_, &batch);
      EXPECT_EQ(status, RANKFEED_OK) << rankfeed_status_name(status);
      if (status != RANKFEED_OK || batch.rows == 0) break;
      const auto* arena = static_cast<const uint8_t*>(batch.arena);
      all.insert(all.end(), arena, arena + batch.arena_size);
      const auto* rows = reinterpret_cast<const uint8_t*>(batch.row_map);
      all.insert(all.end(), rows, rows + batch.rows * sizeof(rankfeed_batch_row));
    }
    for (const rankfeed_status status : statuses) EXPECT_EQ(status, RANKFEED_OK);
    return all;
  }

 private:
  Encoder encoder_;
  AlignedBytes scratch_;
  AlignedBytes arena_{{size_t{64} << 20, 256}};
  rankfeed_reranker* reranker_ = nullptr;
};

TEST_P(CorpusXquad, BatchesFromTheStoreAreThoseOfTheTexts) {
  ASSERT_EQ(Open(vocabulary_->model), RANKFEED_OK);
  rankfeed_rerank_options padded, packed, windows;
  rankfeed_rerank_options_init(&padded);
  padded.max_length = 192;
  padded.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  padded.tensors = RANKFEED_TENSOR_ATTENTION_MASK | RANKFEED_TENSOR_TOKEN_TYPE_IDS |
                   RANKFEED_TENSOR_POSITION_IDS | RANKFEED_TENSOR_LENGTHS;
  padded.sort = RANKFEED_SORT_DESCENDING;
  padded.max_tokens_per_batch = 8192;
  rankfeed_rerank_options_init(&packed);
  packed.layout = RANKFEED_PACKED;
  packed.tensors = RANKFEED_TENSOR_POSITION_IDS | RANKFEED_TENSOR_ROW_OF_TOKEN;
  rankfeed_rerank_options_init(&windows);
  windows.max_length = 128;
  windows.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
  windows.overflow = RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST;
  windows.stride = 16;
  for (const rankfeed_rerank_options& options : {padded, packed, windows}) {
    Batches batches(vocabulary_->model, options);
    for (size_t language = 0; language < shared().queries.size(); language += kSanitized ? 6 : 1) {
      const Passage* const own = &passages()[language * kPassages];
      std::vector<rankfeed_text> all_ids(kPassages), some_ids(kPassages);
      std::vector<rankfeed_source> texts(kPassages), stored(kPassages), mixed(kPassages);
      for (size_t i = 0; i < kPassages; ++i) {
        texts[i].text = mixed[i].text = Text(own[i].text);
        all_ids[i] = Text(own[i].id);
        if (i % 3 != 1) some_ids[i] = Text(own[i].id);
      }
      ASSERT_EQ(
          rankfeed_corpus_find_all(corpus_, all_ids.data(), kPassages, stored.data(), nullptr),
          RANKFEED_OK);
      ASSERT_EQ(
          rankfeed_corpus_find_all(corpus_, some_ids.data(), kPassages, mixed.data(), nullptr),
          RANKFEED_OK);
      const std::vector<uint8_t> expected = batches.Run(shared().queries[language], texts);
      ASSERT_GT(expected.size(), kPassages * 100);
      // EXPECT_TRUE: the bytes are too many to print.
      EXPECT_TRUE(batches.Run(shared().queries[language], stored) == expected) << language;
      EXPECT_TRUE(batches.Run(shared().queries[language], mixed) == expected) << language;
    }
  }
}

TEST_P(CorpusXquad, OtherVocabulariesAndOptionsAreRefused) {
  EXPECT_EQ(Open(nullptr), RANKFEED_OK);
  EXPECT_EQ(Open(vocabulary_->model), RANKFEED_OK);
  EXPECT_EQ(Open(vocabulary_->model, RANKFEED_SPLIT_SPECIAL_TOKENS), RANKFEED_E_VOCABULARY);
  EXPECT_EQ(corpus_, nullptr);
  EXPECT_EQ(mapping_.data, nullptr);
  const std::string other_path = SharedData("models/sp_en_1k.model");
  if (other_path.empty()) GTEST_SKIP() << "no sp_en_1k.model in RANKFEED_SHARED_DATA";
  const Vocabulary other(other_path);
  EXPECT_EQ(Open(other.model), RANKFEED_E_VOCABULARY);
  // Nor appended to.
  rankfeed_corpus_writer_options options{};
  options.struct_size = sizeof(options);
  options.mode = RANKFEED_CORPUS_APPEND;
  rankfeed_corpus_writer* writer = nullptr;
  EXPECT_EQ(
      rankfeed_corpus_writer_open(store_path_.c_str(), other.model, &options, &writer, nullptr),
      RANKFEED_E_VOCABULARY);
  EXPECT_EQ(writer, nullptr);
  options.encode_flags = RANKFEED_SPLIT_SPECIAL_TOKENS;
  EXPECT_EQ(rankfeed_corpus_writer_open(store_path_.c_str(), vocabulary_->model, &options, &writer,
                                        nullptr),
            RANKFEED_E_VOCABULARY);
  const TempDir dir;
  store_path_ = dir / "split.rfc";
  shared().Build(store_path_, RANKFEED_SPLIT_SPECIAL_TOKENS);
  EXPECT_EQ(Open(vocabulary_->model), RANKFEED_E_VOCABULARY);
  EXPECT_EQ(Open(vocabulary_->model, RANKFEED_SPLIT_SPECIAL_TOKENS), RANKFEED_OK);
}

// 100 passages at a time, as one request has them: the CPU time of tokenizing them against that of
// finding them, with caches as the tokenizer leaves them. What filling rows from the ids costs is
// the same after both; reading the ids once is timed too and printed.
TEST_P(CorpusXquad, FindingIsFarCheaperThanTokenizing) {
  ASSERT_EQ(Open(vocabulary_->model), RANKFEED_OK);
  auto encoder = Encoder::Create(vocabulary_->model, 64 << 10);
  ASSERT_TRUE(encoder);
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  std::vector<int32_t> ids(1 << 16);
  double tokenize = 0, find = 0, copy = 0;
  uint64_t tokens = 0, bytes = 0;
  for (int round = 0; round < 3; ++round) {  // the last one counts
    tokenize = find = copy = 0;
    tokens = bytes = 0;
    for (size_t from = 0; from + 100 <= passages().size(); from += 100) {
      std::vector<rankfeed_text> keys(100);
      std::vector<rankfeed_source> sources(100);
      for (size_t i = 0; i < 100; ++i) keys[i] = Text(passages()[from + i].id);
      double start = ThreadSeconds();
      for (size_t i = 0; i < 100; ++i) {
        rankfeed_encoding io{};
        io.struct_size = sizeof(io);
        io.capacity = static_cast<uint32_t>(ids.size());
        io.input_ids = ids.data();
        ASSERT_EQ(rankfeed_encode(encoder->get(), Text(passages()[from + i].text), &options, &io),
                  RANKFEED_OK);
        bytes += passages()[from + i].text.size();
      }
      tokenize += ThreadSeconds() - start;
      start = ThreadSeconds();
      ASSERT_EQ(rankfeed_corpus_find_all(corpus_, keys.data(), 100, sources.data(), nullptr),
                RANKFEED_OK);
      find += ThreadSeconds() - start;
      start = ThreadSeconds();
      int32_t* to = ids.data();
      for (const rankfeed_source& source : sources) {
        std::copy_n(source.ids, source.id_count, to);
        to += source.id_count;
        if (to - ids.data() > 50000) to = ids.data();
        tokens += source.id_count;
      }
      copy += ThreadSeconds() - start;
    }
  }
  const double per_100 = 1e6 * 100 / static_cast<double>(passages().size() / 100 * 100);
  std::printf(
      "%s: 100 passages: tokenize %.1f us (%.0f MB/s), find %.2f us, copy ids %.2f us "
      "(%.0f MB/s): finding costs %.0f times less, with copying %.0f times\n",
      GetParam(), tokenize * per_100, static_cast<double>(bytes) / tokenize / 1e6, find * per_100,
      copy * per_100, 4.0 * static_cast<double>(tokens) / copy / 1e6, tokenize / find,
      tokenize / (find + copy));
  if (kSanitized) GTEST_SKIP() << "no timing under sanitizers";
  EXPECT_GT(tokenize, 20 * find);
}

INSTANTIATE_TEST_SUITE_P(Models, CorpusXquad,
                         ::testing::Values("xlmr.tokenizer.json", "xlmr.model"),
                         [](const auto& param) {
                           return std::string(param.param).ends_with("json") ? "HuggingFace"
                                                                             : "SentencePiece";
                         });

}  // namespace
}  // namespace rankfeed::corpus_test
