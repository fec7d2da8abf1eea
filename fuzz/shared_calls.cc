// SPDX-License-Identifier: MIT
// fuzz/shared_calls.cc: what the headers call shareable, used by several threads at once: a model out
// of the input, made for it and unused before, the models of call_sequences.h, a ring with fewer slots
// than threads, a corpus store. Each thread has encoders of its own on both roads, a reranker whose
// workers are threads too, and a sequence of call_sequences.h with its mistakes. Every answer is the
// one that the thread alone would get; with -fsanitize=thread, nothing that is shared is written to
// without being synchronised. An execution is one call.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "call_sequences.h"
#include "rankfeed/corpus.h"
#include "rankfeed/corpus_writer.h"
#include "vocabulary.h"

namespace rankfeed::fuzz {
namespace {

constexpr uint32_t kLongText = 32 << 10;

// Documents of TheModel(): the letters from a to p but each third, as many tokens as their place.
class Store {
 public:
  Store() : storage_(rankfeed_corpus_mem_req()) {
    std::string folder = (std::filesystem::temp_directory_path() / "rankfeed-fuzz-XXXXXX").string();
    FUZZ_ASSERT(mkdtemp(folder.data()) != nullptr);
    const std::string path = folder + "/shared.rfc";
    const rankfeed_model* model = TheModel().get();
    rankfeed_corpus_writer* writer = nullptr;
    FUZZ_ASSERT(rankfeed_corpus_writer_open(path.c_str(), model, nullptr, &writer, nullptr) ==
                RANKFEED_OK);
    for (char name = 'a'; name <= 'p'; ++name) {
      if (!Has(name)) continue;
      const std::vector<int32_t> ids = Ids(name);
      rankfeed_source document{};
      document.ids = ids.data();
      document.id_count = static_cast<uint32_t>(ids.size());
      FUZZ_ASSERT(rankfeed_corpus_writer_put(writer, {&name, 1}, &document, nullptr) ==
                  RANKFEED_OK);
    }
    FUZZ_ASSERT(rankfeed_corpus_writer_commit(writer, nullptr) == RANKFEED_OK);
    rankfeed_corpus_writer_close(writer);
    rankfeed_corpus_options options{};
    options.struct_size = sizeof(options);
    FUZZ_ASSERT(rankfeed_corpus_open_file(path.c_str(), model, &options, storage_.data(),
                                          rankfeed_corpus_mem_req().size, &mapping_, &corpus_,
                                          nullptr) == RANKFEED_OK);
    std::filesystem::remove_all(folder);  // a private copy stays
  }
  ~Store() { rankfeed_image_unmap(&mapping_); }
  const rankfeed_corpus* get() const { return corpus_; }
  static bool Has(char name) { return (name - 'a') % 3 != 0; }
  static std::vector<int32_t> Ids(char name) {
    return std::vector<int32_t>(static_cast<size_t>(name - 'a'), kLetters + (name - 'a') % 8);
  }

 private:
  Block storage_;
  rankfeed_mapping mapping_{};
  rankfeed_corpus* corpus_ = nullptr;
};

const rankfeed_corpus* TheStore() {
  static const Store store;
  return store.get();
}

// What the threads share.
struct SharedObjects {
  const rankfeed_model* model;
  const Texts* texts;
  rankfeed_handoff* ring;
  std::atomic<uint32_t> waiting;  // threads that have not begun
};

class Worker {
 public:
  Worker(std::span<const uint8_t> bytes, const SharedObjects& shared)
      : in_(bytes),
        shared_(shared),
        calls_(in_, shared.ring, AtOnce),
        plain_(shared.model, kLongText, true, 0),
        offsets_(shared.model, kLongText, true, 4096),
        fast_(shared.model, kLongText, false, 4096) {
    plain_.LeaveFastRoad();
  }

  void Run() {
    while (!in_.empty()) {
      switch (in_.Below(8)) {
        case 0:
        case 1:
          Encode();
          break;
        case 2:
          AskModel();
          break;
        case 3:
          AskStore();
          break;
        default:
          calls_.Step();
      }
    }
  }

 private:
  void Encode() {
    std::string text;
    shared_.texts->Next(in_, &text);
    const ExactText exact(text);
    const Tokens plain = plain_.Encode(exact.view()), offsets = offsets_.Encode(exact.view());
    const Tokens fast = fast_.Encode(exact.view());
    calls_made.executions += 3;
    calls_made.accepted += plain.status == RANKFEED_OK ? 3 : 0;
    if (offsets != plain || fast.status != plain.status || fast.ids != plain.ids) {
      FUZZ_FAIL("text " + Escape(text) + "\n  general path     " + Show(plain) +
                "\n  fast road        " + Show(offsets) + "\n  without offsets  " + Show(fast));
    }
  }

  void AskModel() {
    rankfeed_model_info info{};
    info.struct_size = sizeof(info);
    Expect(rankfeed_model_get_info(shared_.model, &info), RANKFEED_OK);
    const uint32_t id = in_.U16() % (info.id_count + 1);
    const char* piece = nullptr;
    size_t size = 0;
    const rankfeed_status status = rankfeed_model_id_to_piece(shared_.model, id, &piece, &size);
    if (id == info.id_count) return Expect(status, RANKFEED_E_ID_RANGE);
    if (status == RANKFEED_OK) {
      const int32_t found = rankfeed_model_piece_to_id(shared_.model, piece, size);
      FUZZ_ASSERT(found >= 0 && static_cast<uint32_t>(found) < info.id_count);
    }
    FUZZ_ASSERT(rankfeed_token_bound(shared_.model, 100) >= 1);
    FUZZ_ASSERT(rankfeed_max_text_bytes(shared_.model) >= kLongText);
  }

  void AskStore() {
    const rankfeed_corpus* const corpus = TheStore();
    const char name = static_cast<char>('a' + in_.Below(16));
    rankfeed_source source{};
    if (in_.OneIn(8)) Expect(rankfeed_corpus_verify(corpus, nullptr), RANKFEED_OK);
    const rankfeed_status status = rankfeed_corpus_find(corpus, {&name, 1}, &source);
    if (!Store::Has(name)) return Expect(status, RANKFEED_E_NOT_FOUND);
    Expect(status, RANKFEED_OK);
    FUZZ_ASSERT(std::vector<int32_t>(source.ids, source.ids + source.id_count) == Store::Ids(name));
  }

  Input in_;
  const SharedObjects& shared_;
  Calls calls_;
  Encoder plain_, offsets_, fast_;
};

// What a thread does with its share of the input, from the moment that all of them are there.
void RunThread(std::span<const uint8_t> bytes, SharedObjects* shared, Counters* made) {
  --shared->waiting;
  while (shared->waiting != 0) std::this_thread::yield();
  Worker(bytes, *shared).Run();
  *made = calls_made;
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  const size_t threads = 2 + in.Below(3);
  const Ring ring(1 + static_cast<uint32_t>(in.Below(threads)));
  sp_test::ModelProto proto = DrawSpModel(in);
  if (!in.OneIn(4)) FitFastRoad(&proto);
  rankfeed_builder_error error;
  const std::unique_ptr<OpenModel> model = Compile(sp_test::Serialize(proto), &error);
  if (model == nullptr) return;
  std::vector<std::string> fragments;
  for (const auto& piece : proto.pieces) {
    if (piece.kind != sp_test::kByte && fragments.size() < 64) fragments.push_back(piece.text);
  }
  const Texts texts(fragments, false);
  SharedObjects shared{model->get(), &texts, ring.get(), {static_cast<uint32_t>(threads)}};
  const std::string_view rest = in.Take(bytes.size());
  const std::span<const uint8_t> all(reinterpret_cast<const uint8_t*>(rest.data()), rest.size());
  std::vector<Counters> made(threads);
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i) {
    const size_t begin = all.size() * i / threads, end = all.size() * (i + 1) / threads;
    running.emplace_back(RunThread, all.subspan(begin, end - begin), &shared, &made[i]);
  }
  for (std::thread& thread : running) thread.join();
  for (const Counters& one : made) {
    counters.executions += one.executions;
    counters.accepted += one.accepted;
  }
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 1000 + random.Below(8000));
}

const Register registered({"shared_calls", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
