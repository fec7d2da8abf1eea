// SPDX-License-Identifier: MIT
// What the headers call shareable between threads, shared: a model and its image, a
// rankfeed_loaded, a corpus store while a writer commits to its file, a corpus of shards with its
// manifest, batches' cancel flags, a recorder; with a real vocabulary, so that the kernels, tables and
// dispatch of a service are used. Nothing is used before the threads are, so that first uses race too.
// Built with -fsanitize=thread this shows that shared objects are only read; in any build results
// equal those of one thread.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "contract/contract_models.h"
#include "rankfeed/corpus.h"
#include "rankfeed/corpus_manifest.h"
#include "rankfeed/corpus_writer.h"
#include "rankfeed/recorder.h"
#include "rankfeed/rerank.h"

namespace rankfeed::contract {
namespace {

constexpr size_t kThreads = 8, kRounds = 5;

// Sentences of several scripts, long enough for the search and short enough to go together.
std::vector<std::string> Sentences() {
  const std::string parts[] = {"The giant panda lives in bamboo forests. ",
                               "Où est la bibliothèque ? ",
                               "今天天气很好，我们去公园。",
                               "यह एक परीक्षण वाक्य है। ",
                               "Wo ist der Bahnhof? ",
                               "اللغة العربية جميلة. ",
                               "unbelievably antidisestablishmentarian ",
                               "1,234.5 % "};
  std::vector<std::string> texts;
  for (size_t i = 0; i < 24; ++i) {
    std::string text;
    for (size_t k = 0; k <= i % 7; ++k) text += parts[(i * 3 + k * 5) % std::size(parts)];
    texts.push_back(text);
  }
  return texts;
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "rankfeed-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// All that one thread found out.
struct Found {
  std::vector<Columns> alone;
  std::vector<int32_t> together;
  std::vector<std::string> decoded;
  std::vector<int32_t> pieces, rows;
  std::vector<rankfeed_status> statuses;
  bool operator==(const Found&) const = default;
};

class Shared : public testing::Test {
 protected:
  void SetUp() override {
    const char* source = std::getenv("RANKFEED_SOURCE_DIR");
    ASSERT_NE(source, nullptr);
    ASSERT_EQ(rankfeed_load((std::string(source) + "/data/default.model").c_str(), nullptr,
                            &loaded_, nullptr),
              RANKFEED_OK);
    // Documents of two ids each; no encoder is made for them.
    ASSERT_EQ(rankfeed_corpus_writer_open(store_.c_str(), model(), nullptr, &writer_, nullptr),
              RANKFEED_OK);
    Put(writer_, 0, 40);
    rankfeed_corpus_options options{};
    options.struct_size = sizeof(options);
    storage_ = Allocate(rankfeed_corpus_mem_req().size);
    ASSERT_EQ(
        rankfeed_corpus_open_file(store_.c_str(), model(), &options, storage_.get(),
                                  rankfeed_corpus_mem_req().size, &mapping_, &corpus_, nullptr),
        RANKFEED_OK);
    LoadShards();
    ASSERT_EQ(rankfeed_recorder_open((folder_ / "trace.jsonl").c_str(), nullptr, &recorder_),
              RANKFEED_OK);
  }
  void TearDown() override {
    EXPECT_EQ(rankfeed_recorder_close(recorder_), RANKFEED_OK);
    rankfeed_image_unmap(&mapping_);
    rankfeed_loaded_corpus_free(shards_);
    rankfeed_corpus_writer_close(writer_);
    rankfeed_loaded_free(loaded_);
  }
  const rankfeed_model* model() const { return rankfeed_loaded_model(loaded_); }

  void Put(rankfeed_corpus_writer* writer, int32_t from, int32_t to) {
    for (int32_t i = from; i < to; ++i) {
      const int32_t ids[] = {100 + i, 200 + i};
      rankfeed_source document{};
      document.ids = ids;
      document.id_count = 2;
      EXPECT_EQ(
          rankfeed_corpus_writer_put(writer, Text("d" + std::to_string(i)), &document, nullptr),
          RANKFEED_OK);
    }
    EXPECT_EQ(rankfeed_corpus_writer_commit(writer, nullptr), RANKFEED_OK);
  }
  void LoadShards();

  Found Work(const uint32_t* cancel) const;
  void Encode(Found* found) const;
  void Corpus(Found* found) const;
  void Shards(Found* found) const;
  void Rerank(const uint32_t* cancel, Found* found) const;

  const std::vector<std::string> texts_ = Sentences();
  Folder folder_;
  const std::string store_ = folder_ / "store.rfc";
  rankfeed_loaded* loaded_ = nullptr;
  rankfeed_corpus_writer* writer_ = nullptr;
  Block storage_;
  rankfeed_mapping mapping_{};
  rankfeed_corpus* corpus_ = nullptr;
  rankfeed_loaded_corpus* shards_ = nullptr;
  rankfeed_recorder* recorder_ = nullptr;
};

// Two stores of ten documents each, and their manifest.
void Shared::LoadShards() {
  rankfeed_model_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(rankfeed_model_get_info(model(), &info), RANKFEED_OK);
  std::string hash;
  for (const uint8_t byte : info.config_hash) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    hash += digits;
  }
  std::string manifest = R"({"format": "rankfeed-corpus-manifest", "version": 1, "config_hash": ")" +
                         hash + R"(", "routing": "probe", "documents": 20, "tokens": 40, "shards": [)";
  for (int32_t i = 0; i < 2; ++i) {
    const std::string name = "shard" + std::to_string(i) + ".rfc", path = folder_ / name.c_str();
    rankfeed_corpus_writer* writer = nullptr;
    ASSERT_EQ(rankfeed_corpus_writer_open(path.c_str(), model(), nullptr, &writer, nullptr),
              RANKFEED_OK);
    Put(writer, 10 * i, 10 * i + 10);
    rankfeed_corpus_writer_close(writer);
    manifest += (i > 0 ? ", " : "") + std::string(R"({"file": ")") + name + R"(", "bytes": )" +
                std::to_string(std::filesystem::file_size(path)) +
                R"(, "documents": 10, "tokens": 20, "sha256": ")" + std::string(64, '0') + "\"}";
  }
  const std::string path = folder_ / "manifest.json";
  std::ofstream(path) << manifest << "]}";
  rankfeed_builder_error error{};
  error.struct_size = sizeof(error);
  ASSERT_EQ(rankfeed_corpus_load(path.c_str(), model(), nullptr, &shards_, &error), RANKFEED_OK)
      << error.message;
}

void Shared::Encode(Found* found) const {
  // A model of this thread's over the shared image, beside the shared model.
  size_t size = 0;
  const void* image = rankfeed_loaded_image(loaded_, &size);
  const Block storage = Allocate(rankfeed_model_mem_req().size);
  rankfeed_model* own = nullptr;
  found->statuses.push_back(rankfeed_model_open(image, size, 0, storage.get(),
                                                rankfeed_model_mem_req().size, &own, nullptr));
  for (const rankfeed_model* with : {model(), static_cast<const rankfeed_model*>(own)}) {
    OwnedEncoder offsets(with, Limits(4096, true, 4096)), fast(with, Limits(4096, false, 1 << 16));
    std::vector<rankfeed_text> views;
    for (const std::string& text : texts_) {
      found->alone.push_back(
          contract::Encode(offsets.get(), text, RANKFEED_OFFSETS_CODE_POINTS, true));
      views.push_back(Text(text));
    }
    std::vector<int32_t> ids(texts_.size() * 4096);
    std::vector<uint32_t> cu_seqlens(texts_.size() + 1);
    rankfeed_encodings io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(ids.size());
    io.input_ids = ids.data();
    io.cu_seqlens = cu_seqlens.data();
    found->statuses.push_back(
        rankfeed_encode_batch(fast.get(), views.data(), views.size(), nullptr, &io));
    found->together.insert(found->together.end(), ids.begin(), ids.begin() + io.count);
    for (const Columns& columns : found->alone) {
      std::string text(8192, '\0');
      size_t bytes = 0;
      found->statuses.push_back(rankfeed_decode(fast.get(), columns.ids.data(), columns.ids.size(),
                                                0, text.data(), text.size(), &bytes));
      found->decoded.push_back(text.substr(0, bytes));
    }
    for (uint32_t id = 0; id < 400; id += 7) {
      const char* data = nullptr;
      size_t bytes = 0;
      found->statuses.push_back(rankfeed_model_id_to_piece(with, id, &data, &bytes));
      found->pieces.push_back(rankfeed_model_piece_to_id(with, data, bytes));
    }
  }
}

void Shared::Corpus(Found* found) const {
  std::vector<std::string> names;
  std::vector<rankfeed_text> ids;
  for (int32_t i = 0; i < 60; ++i) names.push_back("d" + std::to_string(i));
  for (const std::string& name : names) ids.push_back(Text(name));
  std::vector<rankfeed_source> sources(ids.size());
  std::vector<rankfeed_status> statuses(ids.size());
  found->statuses.push_back(
      rankfeed_corpus_find_all(corpus_, ids.data(), ids.size(), sources.data(), statuses.data()));
  found->statuses.insert(found->statuses.end(), statuses.begin(), statuses.end());
  found->statuses.push_back(rankfeed_corpus_verify(corpus_, nullptr));
  rankfeed_corpus_info info{};
  info.struct_size = sizeof(info);
  found->statuses.push_back(rankfeed_corpus_get_info(corpus_, &info));
  for (uint64_t i = 0; i < info.positions; ++i) {
    rankfeed_text id;
    rankfeed_source source{};
    found->statuses.push_back(rankfeed_corpus_get(corpus_, i, &id, &source));
    found->pieces.insert(found->pieces.end(), source.ids, source.ids + source.id_count);
  }
}

void Shared::Shards(Found* found) const {
  const rankfeed_corpus* corpus = rankfeed_loaded_corpus_get(shards_);
  for (int32_t i = 0; i < 24; ++i) {
    const std::string name = "d" + std::to_string(i);
    rankfeed_source source{};
    found->statuses.push_back(rankfeed_corpus_find(corpus, Text(name), &source));
    found->pieces.insert(found->pieces.end(), source.ids, source.ids + source.id_count);
  }
  found->statuses.push_back(rankfeed_corpus_verify(corpus, nullptr));
  for (uint32_t i = 0; i < 3; ++i) {
    rankfeed_corpus_shard shard{};
    shard.struct_size = sizeof(shard);
    found->statuses.push_back(rankfeed_loaded_corpus_shard(shards_, i, &shard));
    if (i < rankfeed_loaded_corpus_shard_count(shards_)) found->decoded.push_back(shard.path);
  }
}

// Texts and documents of the store, in rows.
void Shared::Rerank(const uint32_t* cancel, Found* found) const {
  rankfeed_pair_template pair_template{};
  pair_template.struct_size = sizeof(pair_template);
  pair_template.middle.text = {" Document: ", 11};
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  options.layout = RANKFEED_PACKED;
  options.template_kind = RANKFEED_TEMPLATE_CUSTOM;
  options.pair_template = &pair_template;
  rankfeed_rerank_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_documents = static_cast<uint32_t>(texts_.size() + 1);
  limits.max_text_bytes = 4096;
  limits.max_tokens = 100000;
  limits.workers = 1;
  OwnedEncoder encoder(model(), Limits(4096, false));
  rankfeed_encoder* const encoders[] = {encoder.get()};
  rankfeed_mem_req need{};
  ASSERT_EQ(rankfeed_reranker_mem_req(model(), &limits, &options, &need), RANKFEED_OK);
  const Block scratch = Allocate(need.size, need.alignment), arena = Allocate(1 << 20, 256);
  rankfeed_reranker* reranker = nullptr;
  ASSERT_EQ(rankfeed_reranker_init(model(), &limits, &options, encoders, scratch.get(), need.size,
                                   &reranker),
            RANKFEED_OK);
  std::vector<rankfeed_source> sources(texts_.size() + 1);
  for (size_t i = 0; i < texts_.size(); ++i) sources[i].text = Text(texts_[i]);
  ASSERT_EQ(rankfeed_corpus_find(corpus_, {"d7", 2}, &sources.back()), RANKFEED_OK);
  std::vector<rankfeed_status> status(sources.size());
  rankfeed_control control{};
  control.struct_size = sizeof(control);
  control.cancel = cancel;
  rankfeed_request request{};
  request.struct_size = sizeof(request);
  request.document_count = static_cast<uint32_t>(sources.size());
  request.query.text = Text(texts_[3]);
  request.documents = sources.data();
  request.document_status = status.data();
  for (const bool controlled : {true, false}) {
    request.control = controlled ? &control : nullptr;
    rankfeed_batch batch{};
    batch.struct_size = sizeof(batch);
    batch.arena = arena.get();
    batch.arena_capacity = 1 << 20;
    const rankfeed_status answer = rankfeed_encode_pairs(reranker, &request, &batch);
    if (controlled) {  // another thread may have been faster
      EXPECT_TRUE(answer == RANKFEED_OK || answer == RANKFEED_E_CANCELLED);
      continue;
    }
    found->statuses.push_back(answer);
    const auto* ids = static_cast<const int32_t*>(batch.input_ids.data);
    found->rows.insert(found->rows.end(), ids, ids + batch.tokens);
  }
}

Found Shared::Work(const uint32_t* cancel) const {
  Found found;
  Encode(&found);
  Corpus(&found);
  Shards(&found);
  Rerank(cancel, &found);
  const std::string query = texts_[1];
  const rankfeed_text candidates[] = {Text(texts_[2]), Text(texts_[5])};
  found.statuses.push_back(rankfeed_recorder_add(recorder_, 0, Text(query), candidates, 2));
  return found;
}

TEST_F(Shared, ByManyThreadsAtOnce) {
  std::vector<Found> found(kThreads);
  std::atomic<size_t> ready{0};
  std::atomic<uint32_t> differences{0};
  // A plain integer to the library; any thread may set it.
  alignas(std::atomic_ref<uint32_t>::required_alignment) uint32_t cancel = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      found[t] = Work(&cancel);
      for (size_t round = 1; round < kRounds; ++round) {
        std::atomic_ref(cancel).store(static_cast<uint32_t>((t + round) % 2),
                                      std::memory_order_relaxed);
        differences += Work(&cancel) != found[t];
      }
    });
  }
  for (int32_t i = 40; i < 52; ++i) Put(writer_, i, i + 1);  // readers keep the store as it was
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differences, 0u);
  EXPECT_EQ(rankfeed_recorder_count(recorder_), kThreads * kRounds);
  cancel = 0;
  const Found alone = Work(&cancel);
  ASSERT_FALSE(alone.rows.empty());
  for (const Found& one : found) EXPECT_TRUE(one == alone);
}

}  // namespace
}  // namespace rankfeed::contract
