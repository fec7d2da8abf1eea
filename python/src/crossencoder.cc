// SPDX-License-Identifier: MIT
// python/src/crossencoder.cc: CrossEncoder, a model's folder opened for the host, and Scoring, one call of it.
//
// A call runs on a thread of its own, so that Python's can look at signals while it waits and leave at once: the
// forward pass is told to stop before its next operation, which may take longer than somebody who pressed Ctrl-C waits.
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#ifndef _WIN32
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cutter.h"
#include "model.h"
#include "rankfeed/crossencoder.hpp"
#include "rankfeed/parallel.hpp"
#include "rankfeed/rerank.hpp"
#include "rerank/scores.h"
#include "serve/folder/pairing.h"

namespace rankfeed::python {
namespace {

class CrossEncoder {
 public:
  // threads: those that share a batch; 0: one for each processor that the process may keep busy.
  CrossEncoder(Model& vocabulary, const std::string& path, const std::string& vocabulary_file, uint32_t dtype,
               uint32_t threads)
      : vocabulary_(vocabulary), path_(path), parallel_(Take(Parallel::Open(threads))), model_(Opened(dtype)) {
    info_ = model_.info();
    // A label is chosen when one ranks; here all logits are returned.
    pairing_ = Take(folder::Pair(vocabulary.get(), info_, {vocabulary_file, path}, info_.labels > 1 ? "0" : ""));
  }

  Model& vocabulary() const { return vocabulary_; }
  const std::string& path() const { return path_; }
  const rankfeed_crossencoder_info& info() const { return info_; }

  // The options of rows with at most max_length tokens. pairing_ is pointed into.
  rankfeed_rerank_options Options(uint32_t max_length, uint32_t encode_flags, bool cut_left) const {
    rankfeed_rerank_options o = RerankOptions();
    o.max_length = std::min(max_length, info_.max_row_tokens);
    o.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
    o.truncation_side = cut_left ? RANKFEED_LEFT : RANKFEED_RIGHT;
    o.encode_flags = encode_flags;
    o.layout = RANKFEED_PACKED;
    pairing_.SetTypes(&o);
    const char* field = nullptr;
    if (const char* rule = rankfeed_rerank_options_problem(vocabulary_.get(), &o, &field); rule != nullptr) {
      throw StatusError(RANKFEED_E_ARGUMENT, std::string(field) + " is " + std::to_string(o.max_length) + "; " + rule);
    }
    return o;
  }
  bool with_types() const { return pairing_.with_types; }

  // Logits of the batch, replacing the content of *logits. False: it was cancelled.
  bool Score(const rankfeed_packed_batch& batch, const uint32_t* cancel, AlignedBytes* workspace,
             std::vector<float>* logits) const {
    const Error error = model_.Score(batch, workspace, logits, cancel);
    if (error.status == RANKFEED_E_CANCELLED) return false;
    if (error) throw StatusError(error.status, error.message);
    if (const Error bad = folder::CheckLogits(logits->data(), logits->size(), path_)) throw StatusError(bad.status, bad.message);
    return true;
  }

  nb::dict Facts() const {
    nb::dict out;
    out["labels"] = info_.labels;
    out["layers"] = info_.layers;
    out["hidden_size"] = info_.hidden_size;
    out["max_row_tokens"] = info_.max_row_tokens;
    out["parameters"] = info_.parameters;
    out["weight_bytes"] = info_.weight_bytes;
    out["dtype"] = info_.dtype == RANKFEED_DTYPE_BF16 ? "bfloat16" : "float32";
    out["products"] = std::string(info_.gemm);
    out["note"] = std::string(info_.note);
    out["threads"] = parallel_.executor()->workers;
    return out;
  }

 private:
  Crossencoder Opened(uint32_t dtype) const {
    rankfeed_crossencoder_options options{};
    options.dtype = dtype;
    const rankfeed_executor* const executor = parallel_.executor();
    options.executor = executor->workers > 1 ? executor : nullptr;
    return Take(Crossencoder::Open(path_.c_str(), options));
  }

  Model& vocabulary_;
  std::string path_;
  Parallel parallel_;
  Crossencoder model_;
  rankfeed_crossencoder_info info_{};
  folder::Pairing pairing_;
};

// Rows that wait to be scored together.
struct Rows {
  std::vector<int32_t> ids, types, ends{0};
  uint32_t longest = 0;
  size_t count() const { return ends.size() - 1; }
  void Clear() {
    ids.clear(), types.clear(), ends.assign(1, 0);
    longest = 0;
  }
};

// Logits of pairs of texts. Documents stand in the order of their queries, counts[i] of them for query i.
class Scoring {
 public:
  Scoring(std::shared_ptr<CrossEncoder> encoder, nb::handle queries, nb::handle documents, const std::vector<uint32_t>& counts,
          uint32_t max_length, uint32_t encode_flags, bool cut_left, uint64_t batch_tokens, const std::string& query_name,
          const std::string& document_name)
      : encoder_(std::move(encoder)), options_(encoder_->Options(max_length, encode_flags, cut_left)), batch_tokens_(batch_tokens),
        query_name_(query_name), document_name_(document_name), queries_(encoder_->vocabulary().NewInputs()),
        documents_(encoder_->vocabulary().NewInputs()) {
    queries_.AddAll(queries, query_name_.c_str(), /*ids=*/false);
    documents_.AddAll(documents, document_name_.c_str(), /*ids=*/false);
    CheckSizes(queries_, query_name_);
    CheckSizes(documents_, document_name_);
    size_t total = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      const uint32_t query = SameAsBefore(i) ? query_of_.back() : static_cast<uint32_t>(i);
      query_of_.insert(query_of_.end(), counts[i], query);
      total += counts[i];
    }
    if (counts.size() != queries_.size() || total != documents_.size()) {
      throw StatusError(RANKFEED_E_ARGUMENT, std::to_string(queries_.size()) + " queries and " +
                                                 std::to_string(documents_.size()) + " documents, which are not as many as counts say");
    }
    logits_.reserve(total * encoder_->info().labels);
    thread_ = std::thread([this] { Run(); });
  }

  // Ends it first. In a forked child, which has no such thread, nothing is waited for.
  ~Scoring() {
    if (!thread_.joinable()) return;
#ifndef _WIN32
    if (getpid() != process_) {
      (void)new std::thread(std::move(thread_));
      return;
    }
#endif
    Cancel();
    const nb::gil_scoped_release release;
    thread_.join();
  }
  Scoring(const Scoring&) = delete;

  void Cancel() { __atomic_store_n(&cancel_, 1u, __ATOMIC_RELAXED); }

  // Returns true once it is over, at the latest after so many seconds.
  bool Wait(double seconds) {
    const nb::gil_scoped_release release;
    std::unique_lock lock(mutex_);
    return over_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return is_over_; });
  }

  size_t done() const { return done_.load(std::memory_order_relaxed); }

  // [documents, labels]. Once it is over.
  nb::object Logits() {
    if (thread_.joinable()) {
      const nb::gil_scoped_release release;
      thread_.join();
    }
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    auto* const kept = new std::vector<float>(std::move(logits_));
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, float, nb::ndim<2>>(kept->data(), {documents_.size(), encoder_->info().labels}, owner));
  }

 private:
  void CheckSizes(const Inputs& inputs, const std::string& name) const {
    const uint32_t most = rankfeed_max_text_bytes(encoder_->vocabulary().get());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const size_t size = inputs.texts()[i].size;
      if (size <= most) continue;
      throw StatusError(RANKFEED_E_LIMIT, name + "[" + std::to_string(i) + "] has " + std::to_string(size) +
                                              " bytes; the limit of the vocabulary is " + std::to_string(most));
    }
  }
  std::string_view Query(size_t i) const { return {queries_.texts()[i].data, queries_.texts()[i].size}; }
  bool SameAsBefore(size_t i) const { return !query_of_.empty() && i < queries_.size() && Query(query_of_.back()) == Query(i); }
  bool cancelled() const { return __atomic_load_n(&cancel_, __ATOMIC_RELAXED) != 0; }

  void Run() noexcept {
    try {
      for (size_t at = 0; at < documents_.size() && !cancelled();) at = TokenizeFrom(at);
      Flush();
      if (cancelled()) throw StatusError(RANKFEED_E_CANCELLED, "the call was cancelled");
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    over_.notify_all();
  }

  // Makes the rows of some documents from `begin` on, about as many as a batch has; returns where the next begin.
  size_t TokenizeFrom(size_t begin) {
    constexpr uint64_t kBytesOfToken = 4;
    std::vector<rankfeed_text> texts;
    size_t end = begin;
    for (uint64_t bytes = 0; end < documents_.size() && (end == begin || bytes < kBytesOfToken * batch_tokens_); ++end) {
      bytes += documents_.texts()[end].size + kBytesOfToken;
      texts.push_back(documents_.texts()[end]);
    }
    const size_t count = end - begin;
    for (size_t i = begin; i < end; ++i) {
      if (i == begin || query_of_[i] != query_of_[i - 1]) texts.push_back(queries_.texts()[query_of_[i]]);
    }
    const Tokenized tokens = encoder_->vocabulary().Tokenize(texts, options_.encode_flags, /*with_offsets=*/false);
    size_t query = count;
    for (size_t i = begin; i < end && !cancelled(); ++query) {
      size_t last = i;
      while (last < end && query_of_[last] == query_of_[i]) ++last;
      CheckTokens(tokens[query].status, texts[query], query_name_, query_of_[i]);
      std::vector<rankfeed_source> sources;
      for (size_t d = i; d < last; ++d) {
        CheckTokens(tokens[d - begin].status, texts[d - begin], document_name_, d);
        sources.push_back(SourceOf(tokens[d - begin]));
      }
      AddRows(SourceOf(tokens[query]), sources);
      i = last;
    }
    return end;
  }

  void CheckTokens(rankfeed_status status, rankfeed_text text, const std::string& name, size_t i) const {
    const std::string place = name + "[" + std::to_string(i) + "]";
    if (status == RANKFEED_E_LIMIT) {
      const Model& vocabulary = encoder_->vocabulary();
      throw StatusError(status, place + " " + detail::StretchTooLong(vocabulary.get(), text.size, vocabulary.max_stretch_bytes()));
    }
    Check(status, place);
  }

  void AddRows(const rankfeed_source& query, const std::vector<rankfeed_source>& sources) {
    if (!cutter_ || cutter_documents_ < sources.size()) {
      cutter_documents_ = sources.size();
      cutter_.emplace(encoder_->vocabulary().get(), options_, cutter_documents_, cutter_documents_);
    }
    std::vector<rankfeed_status> statuses(sources.size(), RANKFEED_E_STATE);
    rankfeed_request request{};
    request.struct_size = sizeof(request);
    request.document_count = static_cast<uint32_t>(sources.size());
    request.query = query;
    request.documents = sources.data();
    request.document_status = statuses.data();
    Check(rankfeed_rerank_begin(cutter_->get(), &request), "rows");
    for (;;) {
      rankfeed_batch batch{};
      batch.struct_size = sizeof(batch);
      batch.arena = arena_.data();
      batch.arena_capacity = arena_.size();
      const rankfeed_status status = rankfeed_rerank_next(cutter_->get(), &batch);
      if (status == RANKFEED_E_OUTPUT_SIZE) {
        arena_ = AlignedBytes({batch.arena_size + batch.arena_size / 4, 256});
        if (!arena_) throw std::bad_alloc();
        continue;
      }
      Check(status, "rows");
      if (batch.rows == 0) break;
      AddBatch(Take(PackedBatchOf(batch, batch.arena, encoder_->with_types())));
    }
    for (const rankfeed_status status : statuses) Check(status, "rows");
  }

  void AddBatch(const rankfeed_packed_batch& batch) {
    for (uint32_t r = 0; r < batch.rows && !cancelled(); ++r) {
      const int32_t begin = batch.cu_seqlens[r], end = batch.cu_seqlens[r + 1];
      if (rows_.count() != 0 && rows_.ids.size() + static_cast<size_t>(end - begin) > batch_tokens_) Flush();
      rows_.ids.insert(rows_.ids.end(), batch.input_ids + begin, batch.input_ids + end);
      if (batch.token_type_ids != nullptr)
        rows_.types.insert(rows_.types.end(), batch.token_type_ids + begin, batch.token_type_ids + end);
      rows_.ends.push_back(static_cast<int32_t>(rows_.ids.size()));
      rows_.longest = std::max(rows_.longest, static_cast<uint32_t>(end - begin));
    }
  }

  void Flush() {
    if (rows_.count() == 0 || cancelled()) return;
    rankfeed_packed_batch batch{};
    batch.struct_size = sizeof(batch);
    batch.rows = static_cast<uint32_t>(rows_.count());
    batch.tokens = static_cast<uint32_t>(rows_.ids.size());
    batch.max_seqlen = rows_.longest;
    batch.input_ids = rows_.ids.data();
    batch.cu_seqlens = rows_.ends.data();
    batch.token_type_ids = encoder_->with_types() ? rows_.types.data() : nullptr;
    if (!encoder_->Score(batch, &cancel_, &workspace_, &scored_)) return;
    logits_.insert(logits_.end(), scored_.begin(), scored_.end());
    done_.fetch_add(rows_.count(), std::memory_order_relaxed);
    rows_.Clear();
  }

  std::shared_ptr<CrossEncoder> encoder_;
  const rankfeed_rerank_options options_;
  const uint64_t batch_tokens_;
  const std::string query_name_, document_name_;
  Inputs queries_, documents_;
  std::vector<uint32_t> query_of_;  // of each document; the first of equal ones that follow each other

  // Arguments and results of the thread.
  std::optional<Cutter> cutter_;
  size_t cutter_documents_ = 0;
  AlignedBytes arena_, workspace_;
  Rows rows_;
  std::vector<float> scored_, logits_;
  std::exception_ptr failure_;

  std::atomic<size_t> done_{0};
  uint32_t cancel_ = 0;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
#ifndef _WIN32
  const pid_t process_ = getpid();
#endif
  std::thread thread_;  // the last member: it uses the others
};

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Scores of all labels as rankfeed_rerank_put_scores makes them, so that every door has the same bits.
nb::object Activated(const Matrix& logits, uint32_t activation) {
  const size_t rows = logits.shape(0), labels = logits.shape(1);
  auto* const scores = new std::vector<float>(rows * labels);
  const nb::capsule owner(scores, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  for (size_t i = 0; i < scores->size(); ++i) {
    const size_t row = i / labels;
    (*scores)[i] = rerank::Activate(activation, {logits.data() + row * labels, labels}, static_cast<uint32_t>(i % labels));
  }
  return nb::cast(nb::ndarray<nb::numpy, float, nb::ndim<2>>(scores->data(), {rows, labels}, owner));
}

}  // namespace

void BindCrossEncoder(nb::module_& module) {
  nb::class_<CrossEncoder>(module, "CrossEncoder", "A model's folder opened for the host; see rankfeed.CrossEncoder.")
      .def(nb::init<Model&, const std::string&, const std::string&, uint32_t, uint32_t>(), nb::keep_alive<1, 2>(),
           nb::arg("vocabulary"), nb::arg("path"), nb::arg("vocabulary_file"), nb::arg("dtype") = 0, nb::arg("threads") = 0,
           nb::call_guard<nb::gil_scoped_release>())
      .def("info", &CrossEncoder::Facts, nb::sig("def info(self) -> dict[str, typing.Any]"));
  nb::class_<Scoring>(module, "Scoring", "One call of a CrossEncoder, on a thread of its own.")
      .def(nb::init<std::shared_ptr<CrossEncoder>, nb::handle, nb::handle, const std::vector<uint32_t>&, uint32_t, uint32_t, bool,
                    uint64_t, const std::string&, const std::string&>(),
           nb::arg("encoder"), nb::arg("queries"), nb::arg("documents"), nb::arg("counts"), nb::arg("max_length"),
           nb::arg("encode_flags"), nb::arg("cut_left"), nb::arg("batch_tokens"), nb::arg("query_name"), nb::arg("document_name"),
           nb::sig("def __init__(self, encoder: CrossEncoder, queries: object, documents: object, counts: list[int], max_length: "
                   "int, encode_flags: int, cut_left: bool, batch_tokens: int, query_name: str, document_name: str) -> None"))
      .def("wait", &Scoring::Wait, nb::arg("seconds"), "Whether it is over, at the latest after so many seconds.")
      .def("cancel", &Scoring::Cancel)
      .def_prop_ro("done", &Scoring::done, "Documents scored so far.")
      .def("logits", &Scoring::Logits, nb::sig("def logits(self) -> numpy.typing.NDArray[numpy.float32]"),
           "[documents, labels], once it is over.");
  module.def("activated", &Activated, nb::arg("logits"), nb::arg("activation"),
             nb::sig("def activated(logits: numpy.typing.NDArray[numpy.float32], activation: int) -> "
                     "numpy.typing.NDArray[numpy.float32]"),
             "Sigmoid or softmax of each row of logits.");
}

}  // namespace rankfeed::python
