// SPDX-License-Identifier: MIT
// python/src/request.cc: Request, one query against many documents as batches in arenas, which is what rerankers need.
//
// Every text is tokenized once with Model::Tokenize, then the reranker of rankfeed/rerank.h cuts and lays out the rows;
// the GIL is released for all of it.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <tuple>

#include "cutter.h"
#include "model.h"
#include "ring.h"
#include "template.h"

namespace rankfeed::python {
namespace {

struct Batch {
  std::shared_ptr<Arena> arena;
  rankfeed_batch batch{};
  std::vector<rankfeed_batch_row> rows;  // a copy: the reranker's map ends with the request
  // In rows that hold several documents these say which documents they are, and where the markers are.
  struct List {
    size_t first, count;
    std::vector<uint64_t> markers;
  };
  std::vector<List> list;
  nb::object stored;  // dict of tensors of one that was pickled; those of others are in the arena

  std::optional<Tensor> tensor(const rankfeed_tensor& t) const {
    if (t.dimensions == 0) return std::nullopt;
    Tensor out;
    out.arena = arena;
    out.byte_offset = t.byte_offset;
    out.dtype = t.type == RANKFEED_INT64    ? RANKFEED_DL_INT64
                : t.type == RANKFEED_UINT32 ? RANKFEED_DL_UINT32
                                            : RANKFEED_DL_INT32;
    out.rank = t.dimensions;
    out.shape[0] = t.shape[0];
    out.shape[1] = t.shape[1];
    return out;
  }
  nb::dict tensors() const {
    if (stored.is_valid()) return nb::borrow<nb::dict>(stored);
    nb::dict out;
    const std::pair<const char*, const rankfeed_tensor*> all[] = {
        {"input_ids", &batch.input_ids},           {"attention_mask", &batch.attention_mask},
        {"token_type_ids", &batch.token_type_ids}, {"position_ids", &batch.position_ids},
        {"lengths", &batch.lengths},               {"cu_seqlens", &batch.cu_seqlens},
        {"row_of_token", &batch.row_of_token},     {"last_tokens", &batch.last_tokens}};
    for (const auto& [name, t] : all) {
      if (auto made = tensor(*t)) out[name] = nb::cast(std::move(*made));
    }
    return out;
  }
  nb::dict device_tensors() const {
    const rankfeed_dl_tensor where = Slot().Submitted();
    nb::dict out;
    for (const auto [name, tensor] : tensors()) {
      out[name] = nb::cast(DeviceTensor{nb::cast<Tensor>(tensor), where});
    }
    return out;
  }
  // stream None: the ring's own. Returns the device's tensors.
  nb::dict Submit(nb::handle stream, const std::string& mode) const {
    SlotUse& use = Slot();
    const uint32_t flags = mode == "mapped"   ? uint32_t{RANKFEED_HANDOFF_MAPPED}
                           : mode == "choose" ? uint32_t{RANKFEED_HANDOFF_CHOOSE}
                                              : 0u;
    if (flags == 0 && mode != "copy") {
      throw nb::value_error(("mode is '" + mode + "'; it must be 'copy', 'mapped' or 'choose'").c_str());
    }
    if (flags != RANKFEED_HANDOFF_MAPPED && !use.ring().device_slots()) {
      throw StatusError(RANKFEED_E_ARGUMENT, "the ring has no device memory to copy to; Ring.open(device_slots=True)");
    }
    use.Submit(batch.arena_size, SubmitStream(use.ring(), stream), flags);
    return device_tensors();
  }

 private:
  SlotUse& Slot() const {
    if (arena == nullptr || arena->slot() == nullptr) throw StatusError(RANKFEED_E_STATE, "the batch is in no ring's slot");
    return *arena->slot();
  }
};

class Request {
 public:
  // documents: texts, or arrays of ids without special tokens, which stay alive with it.
  // byte_ranges: rows know which bytes of their texts they hold; offsets cost the fast path.
  // The names are those of the caller's arguments, for messages.
  // row (nullable): the template that texts are put into first.
  Request(Model& model, nb::handle query, nb::handle documents, const nb::dict& options, bool byte_ranges,
          const std::string& query_name, const std::string& documents_name, std::shared_ptr<RowTemplateObject> row,
          const std::string& instruction)
      : options_(OptionsOf(options)), inputs_(model.NewInputs()), template_(std::move(row)), instruction_(instruction) {
    if (template_ != nullptr) {
      options_.template_kind = RANKFEED_TEMPLATE_CUSTOM;
      options_.pair_template = template_->pair();
    }
    inputs_.AddAll(documents, documents_name.c_str(), /*ids=*/true);
    inputs_.Add(query, query_name.c_str(), /*ids=*/true);
    {
      const nb::gil_scoped_release release;
      Begin(model, byte_ranges);
    }
    inputs_.DropTexts();
  }

  // Makes the rows of a template that holds several documents in each, which are a request's documents then.
  void ListRows(Model& model) {
    const std::vector<rankfeed_text>& texts = inputs_.texts();
    if (texts.size() != inputs_.size()) {
      throw StatusError(RANKFEED_E_UNSUPPORTED, "a document is ids; this template needs texts");
    }
    std::vector<std::string_view> documents;
    for (const rankfeed_text text : texts) documents.emplace_back(text.data, text.size);
    const std::string_view query = documents.back();
    documents.pop_back();
    list_ = Take(template_->compiled().ListRows(model.get(), query, documents, instruction_, options_.encode_flags));
    for (const ListRow& row : list_) {
      rankfeed_source source{};
      source.ids = row.ids.data();
      source.id_count = static_cast<uint32_t>(row.ids.size());
      number_.push_back(static_cast<uint32_t>(sources_.size()));
      sources_.push_back(source);
    }
    static constexpr int32_t kNone[1] = {};
    query_.ids = kNone;
    all_status_.resize(sources_.size(), RANKFEED_E_STATE);
  }

  // Tokenizes what is text and begins the request. Without the GIL.
  void Begin(Model& model, bool byte_ranges) {
    if (IsList()) {
      ListRows(model);
      return Start(model);
    }
    if (template_ == nullptr) {
      tokens_ = model.Tokenize(inputs_.texts(), options_.encode_flags, byte_ranges);
    } else {
      std::string joined;  // which the texts are read from
      tokens_ = model.Tokenize(TemplateTexts(&joined), options_.encode_flags, byte_ranges);
    }
    sources_.reserve(inputs_.size());
    number_.reserve(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const int64_t text = inputs_.text_of(i);
      sources_.push_back(text >= 0 ? SourceOf(tokens_[static_cast<size_t>(text)]) : inputs_.source(i));
    }
    if (inputs_.text_of(sources_.size() - 1) >= 0) Check(tokens_.back().status, "query");
    query_ = sources_.back();
    sources_.pop_back();
    // Documents whose text failed have a status of their own and are left out of the request.
    all_status_.resize(sources_.size(), RANKFEED_E_STATE);
    for (size_t i = 0; i < sources_.size(); ++i) {
      const int64_t text = inputs_.text_of(i);
      const rankfeed_status status = text >= 0 ? tokens_[static_cast<size_t>(text)].status : RANKFEED_OK;
      if (status != RANKFEED_OK) {
        all_status_[i] = status;
        continue;
      }
      sources_[number_.size()] = sources_[i];
      number_.push_back(static_cast<uint32_t>(i));
    }
    sources_.resize(number_.size());
    Start(model);
  }

  void Start(Model& model) {
    status_.resize(sources_.size(), RANKFEED_E_STATE);
    if (sources_.empty()) return;
    cutter_.emplace(model.get(), options_, sources_.size(),
                    RowBound(options_, model.info(), query_.id_count, sources_));
    rankfeed_request request{};
    request.struct_size = sizeof(request);
    request.document_count = static_cast<uint32_t>(sources_.size());
    request.query = query_;
    request.documents = sources_.data();
    request.document_status = status_.data();
    Check(rankfeed_rerank_begin(cutter_->get(), &request), "request");
    arena_bytes_ = FirstArena();
  }

  // The next batch, or nothing when there is none left.
  std::shared_ptr<Batch> Next(const std::shared_ptr<Ring>& ring, double timeout) {
    if (!cutter_) return nullptr;
    const nb::gil_scoped_release release;
    auto out = std::make_shared<Batch>();
    out->arena = ring != nullptr ? ring->Acquire(Nanoseconds(timeout)) : Arena::Allocate(arena_bytes_);
    for (;;) {
      out->batch.struct_size = sizeof(out->batch);
      out->batch.arena = out->arena->data();
      out->batch.arena_capacity = out->arena->size();
      const rankfeed_status status = rankfeed_rerank_next(cutter_->get(), &out->batch);
      if (status == RANKFEED_E_OUTPUT_SIZE && ring == nullptr) {
        arena_bytes_ = out->batch.arena_size;
        out->arena = Arena::Allocate(arena_bytes_);
        continue;
      }
      Check(status, "batch");
      break;
    }
    if (out->batch.rows == 0) return nullptr;
    out->rows.assign(out->batch.row_map, out->batch.row_map + out->batch.rows);
    for (size_t i = 0; i < out->rows.size() && IsList(); ++i) out->list.push_back(PlaceOf(*out, i));
    for (rankfeed_batch_row& row : out->rows) {
      row.document = number_[row.document];
      if (!ranges_.empty()) ToDocument(ranges_[row.document], &row);
    }
    return out;
  }

  void PutScores(const Batch& batch, nb::ndarray<const float, nb::c_contig, nb::device::cpu> logits,
                 uint32_t activation, uint32_t label) {
    const size_t labels = logits.ndim() == 2 ? logits.shape(1) : 1;
    if (logits.ndim() == 0 || logits.ndim() > 2 || logits.shape(0) != batch.batch.rows || labels == 0 ||
        labels > std::numeric_limits<uint32_t>::max()) {
      std::string shape;
      for (size_t i = 0; i < logits.ndim(); ++i) shape += (i == 0 ? "" : ", ") + std::to_string(logits.shape(i));
      const std::string rows = std::to_string(batch.batch.rows);
      throw StatusError(RANKFEED_E_ARGUMENT, "logits has the shape [" + shape + "]; it must be [" + rows + "] or [" +
                                                 rows + ", labels]");
    }
    if (label >= labels) {
      throw StatusError(RANKFEED_E_ARGUMENT, "label is " + std::to_string(label) + "; it must be at most " +
                                                 std::to_string(labels - 1) + ", the last label of logits");
    }
    rankfeed_score_options options{};
    options.struct_size = sizeof(options);
    options.activation = activation;
    options.labels = static_cast<uint32_t>(labels);
    options.label = label;
    const rankfeed_status status = rankfeed_rerank_put_scores(Reranker(), &batch.batch, logits.data(), &options);
    for (size_t i = 0; status == RANKFEED_E_ARGUMENT && i < logits.size(); ++i) {
      if (std::isfinite(logits.data()[i])) continue;
      const float logit = logits.data()[i];
      const char* const name = std::isnan(logit) ? "nan" : logit < 0 ? "-inf" : "inf";
      throw StatusError(status, "logits[" + std::to_string(i / labels) +
                                    (logits.ndim() == 2 ? ", " + std::to_string(i % labels) : std::string()) +
                                    "] is " + name + "; it must be a finite number");
    }
    Check(status, "scores");
  }

  std::vector<std::pair<uint32_t, float>> Rank(uint32_t top_n, uint32_t aggregation, uint32_t ties) {
    if (sources_.empty()) return {};
    rankfeed_rank_options options{};
    options.struct_size = sizeof(options);
    options.aggregation = aggregation;
    options.ties = ties;
    options.top_n = top_n;
    std::vector<rankfeed_ranked> ranked(sources_.size());
    uint32_t count = 0;
    const rankfeed_status status = rankfeed_rerank_rank(
        Reranker(), &options, ranked.data(), static_cast<uint32_t>(ranked.size()), &count);
    if (status == RANKFEED_E_STATE) {
      throw StatusError(status, "rank() needs scores of every row: take all batches, and put_scores for each");
    }
    Check(status, "rank");
    std::vector<std::pair<uint32_t, float>> out;
    for (uint32_t i = 0; i < count; ++i) out.emplace_back(number_[ranked[i].index], ranked[i].score);
    return out;
  }

  std::vector<std::string> Statuses() const {
    std::vector<std::string> out;
    std::vector<rankfeed_status> all = all_status_;
    for (size_t i = 0; i < status_.size(); ++i) all[number_[i]] = status_[i];
    for (const rankfeed_status status : all) out.emplace_back(rankfeed_status_name(status));
    return out;
  }
  bool complete() const {
    return number_.size() == all_status_.size() &&
           std::all_of(status_.begin(), status_.end(), [](rankfeed_status s) { return s == RANKFEED_OK; });
  }
  uint64_t tokens() const {
    uint64_t n = query_.id_count;
    for (const rankfeed_source& source : sources_) n += source.id_count;
    return n;
  }

 private:
  bool IsList() const { return template_ != nullptr && template_->list(); }
  // Where row i of a batch has its documents, and its markers: in its padded row, or among packed tokens.
  Batch::List PlaceOf(const Batch& batch, size_t i) const {
    const ListRow& row = list_[batch.rows[i].document];
    Batch::List out{row.first, row.count, {}};
    uint64_t begin = 0;
    if (options_.layout == RANKFEED_PACKED) {
      begin = static_cast<uint64_t>(static_cast<const int32_t*>(batch.batch.cu_seqlens.data)[i]);
    } else if (options_.padding_side == RANKFEED_LEFT) {
      begin = batch.batch.row_length - row.ids.size();
    }
    for (const uint32_t marker : row.markers) out.markers.push_back(begin + marker);
    return out;
  }
  // The texts of all inputs as the template has them, the last one the query's. Their bytes are in *joined.
  std::vector<rankfeed_text> TemplateTexts(std::string* joined) {
    const std::vector<rankfeed_text>& given = inputs_.texts();
    const size_t count = inputs_.size();
    const int64_t query_at = inputs_.text_of(count - 1);
    const rankfeed_text query = query_at >= 0 ? given[static_cast<size_t>(query_at)] : rankfeed_text{};
    const bool needs_query = template_->info().query_is_joined != 0;
    if (needs_query && query_at < 0) {
      throw StatusError(RANKFEED_E_UNSUPPORTED, "the query is ids; this template needs its text, which it joins to each document");
    }
    std::vector<size_t> ends;
    ranges_.resize(count);
    for (size_t i = 0; i + 1 < count; ++i) {
      const int64_t text = inputs_.text_of(i);
      if (text < 0) {
        if (needs_query) {
          throw StatusError(RANKFEED_E_UNSUPPORTED, "document " + std::to_string(i) +
                            " is ids; this template needs its text, because no place is known where it may be cut from the query");
        }
        continue;
      }
      const rankfeed_text document = given[static_cast<size_t>(text)];
      ranges_[i] = {static_cast<uint32_t>(template_->AddDocumentText(query, instruction_, document, joined)),
                    static_cast<uint32_t>(document.size)};
      ends.push_back(joined->size());
    }
    if (query_at >= 0) {
      *joined += template_->QueryText(query, instruction_);
      ends.push_back(joined->size());
    }
    std::vector<rankfeed_text> texts;
    size_t begin = 0;
    for (const size_t end : ends) {
      texts.push_back({joined->data() + begin, end - begin});
      begin = end;
    }
    return texts;
  }
  // Where a document is in the text that it was tokenized in.
  struct Place {
    uint32_t begin, size;
  };
  static void ToDocument(Place place, rankfeed_batch_row* row) {
    for (uint32_t* byte : {&row->byte_begin, &row->byte_end}) {
      *byte = std::min(*byte - std::min(*byte, place.begin), place.size);
    }
  }
  // About what the first batch takes, so that it need not be laid out twice: all rows, as wide as the widest can be.
  size_t FirstArena() const {
    size_t widest = 0;
    for (const rankfeed_source& source : sources_) widest = std::max<size_t>(widest, source.id_count);
    widest += query_.id_count + 16 + (template_ != nullptr ? template_->info().prefix_tokens +
                                          template_->info().middle_tokens + template_->info().suffix_tokens : 0);
    if (options_.max_length != 0) widest = std::min<size_t>(widest, options_.max_length);
    const size_t rows = options_.max_rows_per_batch != 0 ? std::min<size_t>(sources_.size(), options_.max_rows_per_batch)
                                                         : sources_.size();
    const size_t row = widest * sizeof(int64_t) * (1 + static_cast<size_t>(std::popcount(options_.tensors))) + 64;
    return std::clamp<size_t>(rows * row, 64 << 10, 4 << 20);
  }
  // Negative, endless and longer than 64 bits of nanoseconds: no limit.
  static uint64_t Nanoseconds(double seconds) {
    if (seconds != seconds) throw StatusError(RANKFEED_E_ARGUMENT, "timeout is not a number");
    return seconds < 0 || seconds >= 1e10 ? UINT64_MAX : static_cast<uint64_t>(seconds * 1e9);
  }
  rankfeed_reranker* Reranker() const {
    if (!cutter_) throw StatusError(RANKFEED_E_STATE, "the request has no documents");
    return cutter_->get();
  }
  rankfeed_rerank_options options_;
  Tokenized tokens_;
  Inputs inputs_;
  std::shared_ptr<RowTemplateObject> template_;
  std::string instruction_;
  std::vector<Place> ranges_;  // of the caller's documents, with a template
  std::vector<ListRow> list_;  // rows of several documents
  std::vector<rankfeed_source> sources_;
  rankfeed_source query_{};
  std::vector<uint32_t> number_;              // of the caller's documents, per source
  std::vector<rankfeed_status> status_;       // per source
  std::vector<rankfeed_status> all_status_;   // per document of the caller
  std::optional<Cutter> cutter_;
  size_t arena_bytes_ = 64 << 10;
};

nb::tuple RowMapOf(const rankfeed_batch_row& r) {
  return nb::make_tuple(r.document, r.chunk, r.token_begin, r.token_end, r.byte_begin, r.byte_end, r.query_tokens,
                        r.length);
}

// What Python sees of a batch that was pickled. Its request is not known: it takes no scores.
std::shared_ptr<Batch> RestoredBatch(const nb::list& row_map, uint64_t tokens, uint32_t max_seqlen, uint32_t row_length,
                                     const nb::dict& tensors) {
  auto out = std::make_shared<Batch>();
  for (nb::handle row : row_map) {
    const auto at = [&](size_t i) { return nb::cast<uint32_t>(row[i]); };
    out->rows.push_back({at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)});
  }
  out->batch.rows = static_cast<uint32_t>(out->rows.size());
  out->batch.tokens = tokens;
  out->batch.max_seqlen = max_seqlen;
  out->batch.row_length = row_length;
  out->stored = tensors;
  return out;
}

// Per row: document, chunk, token_begin, token_end, byte_begin, byte_end, query_tokens, length.
nb::list RowMap(const Batch& batch) {
  nb::list out;
  for (const rankfeed_batch_row& r : batch.rows) out.append(RowMapOf(r));
  return out;
}

}  // namespace

void BindRequest(nb::module_& module) {
  nb::class_<Batch>(module, "Batch", "Rows of a request as tensors in one arena.")
      .def("__len__", [](const Batch& b) { return b.rows.size(); })
      .def_prop_ro("rows", [](const Batch& b) { return b.rows.size(); })
      .def_prop_ro("tokens", [](const Batch& b) { return b.batch.tokens; })
      .def_prop_ro("max_seqlen", [](const Batch& b) { return b.batch.max_seqlen; })
      .def_prop_ro("row_length", [](const Batch& b) { return b.batch.row_length; })
      .def_prop_ro("tensors", &Batch::tensors, nb::sig("def tensors(self) -> dict[str, Tensor]"))
      .def("__reduce__",
           [](const Batch& b) {
             return nb::make_tuple(nb::module_::import_("rankfeed._pickling").attr("batch"),
                                   nb::make_tuple(RowMap(b), b.batch.tokens, b.batch.max_seqlen, b.batch.row_length,
                                                  b.tensors()));
           },
           nb::sig("def __reduce__(self) -> tuple[object, ...]"))
      .def("record_stream", [](const Batch& b, nb::handle stream) { RecordStream(b.arena, stream); },
           nb::arg("stream").none(), nb::sig("def record_stream(self, stream: object) -> None"),
           "Work that reads the batch's memory is or will be queued on this stream (an int, or a stream of torch or CuPy; "
           "None and 0: the default stream): its slot is filled again only after what the stream has to do when the last "
           "tensor is gone. Name every such stream, up to four; where none is named, the default stream counts. A stream "
           "lives until then.")
      .def("submit", &Batch::Submit, nb::arg("stream").none() = nb::none(), nb::arg("mode") = "copy",
           nb::sig("def submit(self, stream: object = None, mode: typing.Literal['copy', 'mapped', 'choose'] = 'copy') -> "
                   "dict[str, DeviceTensor]"),
           "Queues the batch's copy to the device's memory, on the ring's own stream or the one given, and returns at once "
           "with the tensors there; once for a batch, whose memory is not written any more. mode 'mapped': the device reads "
           "page-locked memory in place, 'choose': up to the ring's mapped_limit.")
      .def_prop_ro("device_tensors", &Batch::device_tensors, nb::sig("def device_tensors(self) -> dict[str, DeviceTensor]"),
                   "Those of a batch that was submitted.")
      .def_prop_ro("list_rows",
                   [](const Batch& b) {
                     std::vector<std::tuple<size_t, size_t, std::vector<uint64_t>>> rows;
                     for (const Batch::List& row : b.list) rows.emplace_back(row.first, row.count, row.markers);
                     return rows;
                   },
                   nb::sig("def list_rows(self) -> list[tuple[int, int, list[int]]]"),
                   "Of rows that hold several documents: the first of them, how many there are, and the places of the "
                   "row's markers, in the padded row or among packed tokens.")
      .def_prop_ro("row_map", &RowMap,
                   nb::sig("def row_map(self) -> list[tuple[int, int, int, int, int, int, int, int]]"),
                   "Per row: document, chunk, token_begin, token_end, byte_begin, byte_end, "
                   "query_tokens, length.");

  module.def("restored_batch", &RestoredBatch, nb::arg("row_map"), nb::arg("tokens"), nb::arg("max_seqlen"),
             nb::arg("row_length"), nb::arg("tensors"), "A batch that was pickled.",
             nb::sig("def restored_batch(row_map: list[tuple[int, ...]], tokens: int, max_seqlen: int, row_length: int, "
                     "tensors: dict[str, Tensor]) -> Batch"));
  module.def("options_problem",
             [](const Model& model, const nb::dict& dict,
                const std::shared_ptr<RowTemplateObject>& row) -> std::optional<std::pair<std::string, std::string>> {
               rankfeed_rerank_options options = OptionsOf(dict);
               if (row != nullptr) {
                 options.template_kind = RANKFEED_TEMPLATE_CUSTOM;
                 options.pair_template = row->pair();
               }
               const char* field = nullptr;
               const char* const rule = rankfeed_rerank_options_problem(model.get(), &options, &field);
               if (rule == nullptr) return std::nullopt;
               return std::pair<std::string, std::string>(field, rule);
             },
             nb::arg("model"), nb::arg("options"), nb::arg("template").none() = nb::none(), "The option that a Request refuses, and why; None: it takes them all.",
             nb::sig("def options_problem(model: Model, options: dict[str, int], template: RowTemplate | None = None) -> tuple[str, str] | None"));
  // Where there is no GIL, a request is locked as the GIL would lock it: not while next() tokenizes or waits.
  nb::class_<Request>(module, "Request", "One query against many documents; see rankfeed.Request.")
      .def(nb::init<Model&, nb::handle, nb::handle, const nb::dict&, bool, const std::string&, const std::string&,
                    std::shared_ptr<RowTemplateObject>, const std::string&>(), nb::keep_alive<1, 2>(),
           nb::arg("model"), nb::arg("query").none(), nb::arg("documents").none(), nb::arg("options"), nb::arg("byte_ranges") = false, nb::arg("query_name") = "query", nb::arg("documents_name") = "docs",
           nb::arg("template").none() = nb::none(), nb::arg("instruction") = "",
           nb::sig("def __init__(self, model: Model, query: object, documents: object, options: dict[str, int], "
                   "byte_ranges: bool = False, query_name: str = 'query', documents_name: str = 'docs', template: RowTemplate | None = "
                   "None, instruction: str = '') -> None"))
      .def("next", &Request::Next, nb::lock_self(), nb::arg("ring").none() = nb::none(), nb::arg("timeout") = -1.0,
           nb::sig("def next(self, ring: Ring | None = None, timeout: float = -1.0) -> Batch | None"))
      .def("put_scores", &Request::PutScores, nb::lock_self(), nb::arg("batch"), nb::arg("logits"), nb::arg("activation") = 0,
           nb::arg("label") = 0)
      .def("rank", &Request::Rank, nb::lock_self(), nb::arg("top_n") = 0, nb::arg("aggregation") = 0, nb::arg("ties") = 0)
      .def_prop_ro("statuses", &Request::Statuses, nb::lock_self())
      .def_prop_ro("complete", &Request::complete, nb::lock_self(), "Whether every document has its rows.")
      .def_prop_ro("tokens", &Request::tokens);
}

}  // namespace rankfeed::python
