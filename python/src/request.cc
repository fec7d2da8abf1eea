// SPDX-License-Identifier: MIT
// python/src/request.cc: pairs. Two ways in: encode_rows, any list of texts or pairs as ragged rows
// with offsets (what transformers' callable needs), and Request, one query against many documents as
// batches in arenas (what rerankers need).
//
// Both tokenize every text once with Model::Tokenize, then let the reranker of rankfeed/rerank.h cut
// and lay out the rows; the GIL is released for all of it.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "model.h"
#include "ring.h"

namespace rankfeed::python {
namespace {

constexpr int32_t kNoIds[1] = {};

rankfeed_source SourceOf(const Tokens& tokens) {
  rankfeed_source source{};
  source.ids = tokens.ids.empty() ? kNoIds : tokens.ids.data();
  source.id_count = static_cast<uint32_t>(tokens.ids.size());
  if (!tokens.begin.empty()) {
    source.offset_begin = tokens.begin.data();
    source.offset_end = tokens.end.data();
  }
  return source;
}

// A reranker over ids for requests of up to `documents` documents with `rows` rows.
class Cutter {
 public:
  Cutter(const rankfeed_model* model, const rankfeed_rerank_options& options, size_t documents,
         size_t rows) {
    constexpr size_t kMost = std::numeric_limits<uint32_t>::max();
    if (documents > kMost || rows > kMost) throw StatusError(RANKFEED_E_LIMIT, "too many rows");
    rankfeed_rerank_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_documents = static_cast<uint32_t>(documents);
    limits.max_rows = static_cast<uint32_t>(rows);
    rankfeed_mem_req need;
    Check(rankfeed_reranker_mem_req(model, &limits, &options, &need), "options");
    scratch_ = AlignedBytes(need);
    Check(rankfeed_reranker_init(model, &limits, &options, nullptr, scratch_.data(), scratch_.size(),
                                 &reranker_),
          "options");
  }
  rankfeed_reranker* get() const { return reranker_; }

 private:
  AlignedBytes scratch_;
  rankfeed_reranker* reranker_ = nullptr;
};

// Rows that documents of these sizes can become: exact without windows, an upper bound with them.
size_t RowBound(const rankfeed_rerank_options& o, const rankfeed_model_info& info, size_t query_tokens,
                std::span<const rankfeed_source> documents) {
  if (o.overflow == RANKFEED_OVERFLOW_DROP) return documents.size();
  const size_t specials = o.no_special_tokens != 0                          ? 0
                          : o.template_kind == RANKFEED_TEMPLATE_SINGLE ? info.specials_single
                                                                          : info.specials_pair;
  const size_t taken = specials + query_tokens + o.stride;
  const size_t step = o.max_length > taken ? o.max_length - taken : 1;
  size_t rows = 0;
  for (const rankfeed_source& d : documents) {
    size_t windows = d.id_count / step + 1;
    if (o.overflow == RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST) windows = 2 * windows + 2;
    if (o.max_chunks_per_doc != 0) windows = std::min<size_t>(windows, o.max_chunks_per_doc);
    rows += windows;
  }
  return rows;
}

void CheckDocuments(const std::vector<rankfeed_status>& status, size_t first) {
  for (size_t i = 0; i < status.size(); ++i) {
    if (status[i] != RANKFEED_OK) Check(status[i], "document " + std::to_string(first + i));
  }
}

// ---- ragged rows -----------------------------------------------------------------------------

struct Rows {
  std::vector<size_t> starts{0};
  std::vector<int32_t> ids, types;
  bool with_offsets = false;
  std::vector<uint32_t> begin, end;  // empty unless asked for
  std::vector<uint8_t> special;
  std::vector<int8_t> sequence;  // 0 and 1: of the first and second text; -1: added by the template
  std::vector<uint32_t> sample, chunk;

  size_t count() const { return sample.size(); }
  size_t longest() const {
    size_t n = 0;
    for (size_t i = 0; i < count(); ++i) n = std::max(n, starts[i + 1] - starts[i]);
    return n;
  }

  void Reserve(size_t tokens, size_t rows) {
    ids.reserve(tokens);
    types.reserve(tokens);
    special.reserve(tokens);
    sequence.reserve(tokens);
    if (with_offsets) {
      begin.reserve(tokens);
      end.reserve(tokens);
    }
    starts.reserve(rows + 1);
    sample.reserve(rows);
    chunk.reserve(rows);
  }

  // The texts' part of a row, and the template's around it.
  void Add(const rankfeed_batch_row& row, const Model::Template& parts, const Tokens* query,
           const Tokens& document, const int32_t* row_ids, const int32_t* row_types, bool left,
           uint32_t sample_index) {
    const size_t at = ids.size();
    ids.insert(ids.end(), row_ids, row_ids + row.length);
    types.insert(types.end(), row_types, row_types + row.length);
    special.resize(ids.size(), 1);
    sequence.resize(ids.size(), -1);
    if (with_offsets) {
      begin.resize(ids.size());
      end.resize(ids.size());
    }
    const auto text = [&](size_t to, const Tokens& tokens, size_t from, size_t n, int8_t number) {
      std::fill_n(special.begin() + static_cast<ptrdiff_t>(to), n, uint8_t{0});
      std::fill_n(sequence.begin() + static_cast<ptrdiff_t>(to), n, number);
      if (!with_offsets || tokens.begin.empty()) return;
      std::copy_n(tokens.begin.begin() + static_cast<ptrdiff_t>(from), n,
                  begin.begin() + static_cast<ptrdiff_t>(to));
      std::copy_n(tokens.end.begin() + static_cast<ptrdiff_t>(from), n,
                  end.begin() + static_cast<ptrdiff_t>(to));
    };
    size_t to = at + parts.prefix;
    const size_t document_tokens = row.token_end - row.token_begin;
    if (query != nullptr) {
      const size_t n = row.query_tokens;
      text(to, *query, left ? query->ids.size() - n : 0, n, 0);
      to += n + parts.middle;
    }
    text(to, document, row.token_begin, document_tokens, query != nullptr ? 1 : 0);
    starts.push_back(ids.size());
    sample.push_back(sample_index);
    chunk.push_back(row.chunk);
  }
};

// Runs one request and hands its rows on, from one packed batch.
template <class Use>
void RunPacked(rankfeed_reranker* reranker, const rankfeed_source& query,
               std::span<const rankfeed_source> documents, size_t first, std::shared_ptr<Arena>* arena,
               const Use& use) {
  std::vector<rankfeed_status> status(documents.size());
  rankfeed_request request{};
  request.struct_size = sizeof(request);
  request.document_count = static_cast<uint32_t>(documents.size());
  request.query = query;
  request.documents = documents.data();
  request.document_status = status.data();
  rankfeed_batch batch{};
  batch.struct_size = sizeof(batch);
  for (;;) {
    batch.arena = (*arena)->data();
    batch.arena_capacity = (*arena)->size();
    const rankfeed_status result = rankfeed_encode_pairs(reranker, &request, &batch);
    if (result == RANKFEED_E_OUTPUT_SIZE) {
      *arena = Arena::Allocate(batch.arena_size + batch.arena_size / 2);
      continue;
    }
    CheckDocuments(status, first);
    Check(result, "pairs");
    break;
  }
  const auto* ids = static_cast<const int32_t*>(batch.input_ids.data);
  const auto* types = static_cast<const int32_t*>(batch.token_type_ids.data);
  size_t at = 0;
  for (uint32_t r = 0; r < batch.rows; ++r) {
    use(batch.row_map[r], ids + at, types + at);
    at += batch.row_map[r].length;
  }
}

// The rows of texts or pairs; a single str or bytes counts as one text. The names are those of the caller's arguments,
// for messages. unit: RANKFEED_OFFSETS_* or 0, bytes.
std::shared_ptr<Rows> EncodeRows(Model& model, nb::handle first, nb::handle second, const nb::dict& dict,
                                 bool with_offsets, uint32_t unit, const std::string& first_name,
                                 const std::string& second_name) {
  rankfeed_rerank_options options = OptionsOf(dict);
  options.layout = RANKFEED_PACKED;
  options.padding_side = RANKFEED_RIGHT;
  options.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS;
  const bool pair = !second.is_none();
  options.template_kind = pair ? RANKFEED_TEMPLATE_PAIR : RANKFEED_TEMPLATE_SINGLE;
  Inputs firsts = model.NewInputs(), seconds = model.NewInputs();
  const auto read = [](Inputs& to, nb::handle from, const std::string& name) {
    if (PyUnicode_Check(from.ptr()) || PyBytes_Check(from.ptr()) || nb::hasattr(from, "as_py")) {
      to.Add(from, name.c_str(), /*ids=*/false);
    } else {
      to.AddAll(from, name.c_str(), /*ids=*/false);
    }
  };
  read(firsts, first, first_name);
  if (pair) read(seconds, second, second_name);
  const size_t n = firsts.size();
  if (pair && seconds.size() != n) {
    throw StatusError(RANKFEED_E_ARGUMENT, first_name + " has " + std::to_string(n) + " texts and " + second_name + " " +
                                               std::to_string(seconds.size()) + "; they must have as many");
  }
  // All texts, equal queries once.
  std::vector<rankfeed_text> texts;
  std::vector<uint32_t> query_of(pair ? n : 0);
  std::unordered_map<std::string_view, uint32_t> seen;
  if (pair) {
    for (size_t i = 0; i < n; ++i) {
      const rankfeed_text text = firsts.texts()[i];
      const auto [at, added] = seen.try_emplace({text.data, text.size}, static_cast<uint32_t>(texts.size()));
      if (added) texts.push_back(text);
      query_of[i] = at->second;
    }
  }
  const size_t queries = texts.size();
  const std::vector<rankfeed_text>& documents = (pair ? seconds : firsts).texts();
  texts.insert(texts.end(), documents.begin(), documents.end());

  auto out = std::make_shared<Rows>();
  out->with_offsets = with_offsets;
  if (n == 0) return out;
  const nb::gil_scoped_release release;
  const uint32_t flags = options.encode_flags | (with_offsets ? unit : 0u);
  const Tokenized tokens = model.TokenizeAll(texts, flags, with_offsets);
  std::vector<rankfeed_source> sources;
  for (size_t i = queries; i < tokens.size(); ++i) sources.push_back(SourceOf(tokens[i]));
  const Model::Template parts = model.TemplateOf(pair, options.no_special_tokens == 0);
  const bool left = options.truncation_side == RANKFEED_LEFT;
  size_t total = n * (parts.prefix + parts.middle + parts.suffix);
  for (size_t i = queries; i < tokens.size(); ++i) total += tokens[i].ids.size();
  for (const uint32_t query : query_of) total += tokens[query].ids.size();
  // A hint: windows take more, and a long query cut with each of many documents less.
  out->Reserve(std::min(total, options.max_length != 0 ? n * size_t{options.max_length} : total), n);

  std::shared_ptr<Arena> arena = Arena::Allocate(1 << 20);
  std::optional<Cutter> cutter;
  size_t documents_limit = 0, rows_limit = 0;
  for (size_t begin = 0; begin < n;) {
    size_t end = begin + 1;
    while (end < n && (!pair || query_of[end] == query_of[begin])) ++end;
    const std::span<const rankfeed_source> group(sources.data() + begin, end - begin);
    const Tokens* query = pair ? &tokens[query_of[begin]] : nullptr;
    const size_t rows = RowBound(options, model.info(), query != nullptr ? query->ids.size() : 0, group);
    if (!cutter || group.size() > documents_limit || rows > rows_limit) {
      documents_limit = std::max(documents_limit, group.size());
      rows_limit = std::max(rows_limit, rows);
      cutter.emplace(model.get(), options, documents_limit, rows_limit);
    }
    RunPacked(cutter->get(), query != nullptr ? SourceOf(*query) : rankfeed_source{}, group, begin,
              &arena, [&](const rankfeed_batch_row& row, const int32_t* ids, const int32_t* types) {
                out->Add(row, parts, query, tokens[queries + begin + row.document], ids, types, left,
                         static_cast<uint32_t>(begin + row.document));
              });
    begin = end;
  }
  return out;
}

// A list of n items, each made by item(i), a new reference.
template <class Item>
nb::list ListOf(size_t n, const Item& item) {
  nb::list out = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(n)));  // nb::list(object) would copy it
  if (!out.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < n; ++i) {
    PyObject* const made = item(i);
    if (made == nullptr) throw nb::python_error();
    NB_LIST_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), made);
  }
  return out;
}

// An int for an id, a new reference. Those of ids are kept for the life of the process, because making them is what lists
// of ids would cost: 17,000 took as long as tokenizing their text. With the GIL.
PyObject* IntOf(int64_t id) {
#ifndef Py_GIL_DISABLED
  constexpr int64_t kMost = int64_t{1} << 20;
  static std::vector<PyObject*> kept;
  if (id >= 0 && id < kMost) {
    if (static_cast<size_t>(id) >= kept.size()) {
      kept.resize(std::min(std::bit_ceil(static_cast<size_t>(id) + 1), static_cast<size_t>(kMost)));
    }
    PyObject*& number = kept[static_cast<size_t>(id)];
    if (number == nullptr) number = PyLong_FromLongLong(id);
    Py_XINCREF(number);
    return number;
  }
#endif
  return PyLong_FromLongLong(id);
}

// Calls use(item): item(k) is token k of column `name` as a new reference.
template <class Use>
auto WithColumn(const Rows& rows, const std::string& name, const Use& use) {
  const auto numbers = [&](const auto& column) {
    return use([&](size_t k) { return IntOf(column[k]); });
  };
  if (name == "input_ids") return numbers(rows.ids);
  if (name == "token_type_ids") return numbers(rows.types);
  if (name == "special_tokens_mask") return numbers(rows.special);
  if (name == "sequence") return numbers(rows.sequence);
  if (name == "attention_mask") {
    const nb::int_ one(1);
    return use([&](size_t) { return one.inc_ref().ptr(); });
  }
  if (name == "offset_mapping" && rows.with_offsets) {
    return use([&](size_t k) { return nb::make_tuple(rows.begin[k], rows.end[k]).release().ptr(); });
  }
  throw StatusError(RANKFEED_E_ARGUMENT, "no column " + name);
}

// Column `name` of row i as a list of int, or of pairs of offsets.
nb::list RowList(const Rows& rows, const std::string& name, size_t i) {
  if (i >= rows.count()) throw nb::index_error();
  const size_t a = rows.starts[i];
  return WithColumn(rows, name, [&](const auto& item) {
    return ListOf(rows.starts[i + 1] - a, [&](size_t k) { return item(a + k); });
  });
}

// The same of all rows; those shorter than `length` filled with `pad`.
nb::list RowLists(const Rows& rows, const std::string& name, size_t length, int64_t pad, bool left) {
  const nb::object number = nb::int_(pad);
  const nb::object filler = name == "offset_mapping" ? nb::object(nb::make_tuple(number, number)) : number;
  return WithColumn(rows, name, [&](const auto& item) {
    return ListOf(rows.count(), [&](size_t r) {
      const size_t count = rows.starts[r + 1] - rows.starts[r], all = std::max(count, length);
      const size_t gap = left ? all - count : 0;
      return ListOf(all, [&](size_t k) {
               return k < gap || k >= gap + count ? filler.inc_ref().ptr() : item(rows.starts[r] + k - gap);
             }).release().ptr();
    });
  });
}

// Column `name` of all rows as [rows, length], int64 or int32; shorter rows filled with `pad`.
Tensor Padded(const Rows& rows, const std::string& name, size_t length, int64_t pad, bool left, bool wide) {
  const size_t n = rows.count();
  if (length < rows.longest()) throw StatusError(RANKFEED_E_ARGUMENT, "a row is longer than that");
  Tensor out;
  out.dtype = wide ? RANKFEED_DL_INT64 : RANKFEED_DL_INT32;
  out.rank = 2;
  out.shape[0] = static_cast<int64_t>(n);
  out.shape[1] = static_cast<int64_t>(length);
  const nb::gil_scoped_release release;
  out.arena = Arena::Allocate(out.bytes());
  const auto fill = [&]<class To, class From>(To* to, const From& value) {
    for (size_t r = 0; r < n; ++r, to += length) {
      const size_t count = rows.starts[r + 1] - rows.starts[r], gap = left ? length - count : 0;
      std::fill_n(to, gap, static_cast<To>(pad));
      for (size_t k = 0; k < count; ++k) to[gap + k] = static_cast<To>(value(rows.starts[r] + k));
      if (!left) std::fill_n(to + count, length - count, static_cast<To>(pad));
    }
  };
  const auto column = [&](const auto& value) {
    if (wide) {
      fill(static_cast<int64_t*>(out.arena->data()), value);
    } else {
      fill(static_cast<int32_t*>(out.arena->data()), value);
    }
  };
  if (name == "input_ids") column([&](size_t k) { return rows.ids[k]; });
  else if (name == "token_type_ids") column([&](size_t k) { return rows.types[k]; });
  else if (name == "special_tokens_mask") column([&](size_t k) { return rows.special[k]; });
  else if (name == "attention_mask") column([](size_t) { return 1; });
  else if (name == "offset_begin" && rows.with_offsets) column([&](size_t k) { return rows.begin[k]; });
  else if (name == "offset_end" && rows.with_offsets) column([&](size_t k) { return rows.end[k]; });
  else throw StatusError(RANKFEED_E_ARGUMENT, "no column " + name);
  return out;
}

// ---- one query, many documents ---------------------------------------------------------------

struct Batch {
  std::shared_ptr<Arena> arena;
  rankfeed_batch batch{};
  std::vector<rankfeed_batch_row> rows;  // a copy: the reranker's map ends with the request
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
        {"row_of_token", &batch.row_of_token}};
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
  Request(Model& model, nb::handle query, nb::handle documents, const nb::dict& options, bool byte_ranges,
          const std::string& query_name, const std::string& documents_name)
      : options_(OptionsOf(options)), inputs_(model.NewInputs()) {
    inputs_.AddAll(documents, documents_name.c_str(), /*ids=*/true);
    inputs_.Add(query, query_name.c_str(), /*ids=*/true);
    {
      const nb::gil_scoped_release release;
      Begin(model, byte_ranges);
    }
    inputs_.DropTexts();
  }

  // Tokenizes what is text and begins the request. Without the GIL.
  void Begin(Model& model, bool byte_ranges) {
    tokens_ = model.Tokenize(inputs_.texts(), options_.encode_flags, byte_ranges);
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
    for (rankfeed_batch_row& row : out->rows) row.document = number_[row.document];
    return out;
  }

  void PutScores(const Batch& batch, nb::ndarray<const float, nb::c_contig, nb::device::cpu> logits,
                 uint32_t activation, uint32_t label) {
    if (logits.ndim() == 0 || logits.ndim() > 2 || logits.shape(0) != batch.batch.rows) {
      throw StatusError(RANKFEED_E_ARGUMENT, "scores need the shape [rows] or [rows, labels]");
    }
    if (logits.ndim() == 2 && (logits.shape(1) == 0 || logits.shape(1) > std::numeric_limits<uint32_t>::max())) {
      throw StatusError(RANKFEED_E_ARGUMENT, "logits has " + std::to_string(logits.shape(1)) + " labels per row");
    }
    rankfeed_score_options options{};
    options.struct_size = sizeof(options);
    options.activation = activation;
    options.labels = logits.ndim() == 2 ? static_cast<uint32_t>(logits.shape(1)) : 1;
    options.label = label;
    Check(rankfeed_rerank_put_scores(Reranker(), &batch.batch, logits.data(), &options), "scores");
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
    Check(rankfeed_rerank_rank(Reranker(), &options, ranked.data(), static_cast<uint32_t>(ranked.size()),
                               &count),
          "rank");
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
  nb::class_<Rows>(module, "Rows", "Ragged rows of encode_rows.")
      .def("__len__", &Rows::count)
      .def_prop_ro("longest", &Rows::longest)
      .def_prop_ro("samples", [](const Rows& r) { return r.sample; })
      .def_prop_ro("chunks", [](const Rows& r) { return r.chunk; })
      .def_prop_ro("lengths",
                   [](const Rows& r) {
                     std::vector<size_t> out;
                     for (size_t i = 0; i < r.count(); ++i) out.push_back(r.starts[i + 1] - r.starts[i]);
                     return out;
                   })
      .def("length",
           [](const Rows& r, size_t i) {
             if (i >= r.count()) throw nb::index_error();
             return r.starts[i + 1] - r.starts[i];
           },
           nb::arg("row"))
      .def("column", &RowList, nb::arg("name"), nb::arg("row"),
           nb::sig("def column(self, name: str, row: int) -> list[typing.Any]"))
      .def("lists", &RowLists, nb::arg("name"), nb::arg("length"), nb::arg("pad"), nb::arg("left"),
           nb::sig("def lists(self, name: str, length: int, pad: int, left: bool) -> list[typing.Any]"))
      .def("padded", &Padded, nb::arg("name"), nb::arg("length"), nb::arg("pad"), nb::arg("left"),
           nb::arg("wide") = true);
  module.def("encode_rows", &EncodeRows, nb::arg("model"), nb::arg("first").none(), nb::arg("second").none(),
             nb::arg("options"), nb::arg("with_offsets") = false,
             nb::arg("unit") = uint32_t{RANKFEED_OFFSETS_CODE_POINTS},
             nb::arg("first_name") = "first", nb::arg("second_name") = "second",
             nb::sig("def encode_rows(model: Model, first: object, second: object, options: dict[str, int], with_offsets: "
                     "bool = False, unit: int = 2, first_name: str = 'first', second_name: str = 'second') -> "
                     "Rows"));

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
           "None and 0: the default stream): its slot is filled again only behind what the stream has to do when the last "
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
      .def_prop_ro("row_map", &RowMap,
                   nb::sig("def row_map(self) -> list[tuple[int, int, int, int, int, int, int, int]]"),
                   "Per row: document, chunk, token_begin, token_end, byte_begin, byte_end, "
                   "query_tokens, length.");

  module.def("restored_batch", &RestoredBatch, nb::arg("row_map"), nb::arg("tokens"), nb::arg("max_seqlen"),
             nb::arg("row_length"), nb::arg("tensors"), "A batch that was pickled.",
             nb::sig("def restored_batch(row_map: list[tuple[int, ...]], tokens: int, max_seqlen: int, row_length: int, "
                     "tensors: dict[str, Tensor]) -> Batch"));
  // Where there is no GIL, a request is locked as the GIL would lock it: not while next() tokenizes or waits.
  nb::class_<Request>(module, "Request", "One query against many documents; see rankfeed.Request.")
      .def(nb::init<Model&, nb::handle, nb::handle, const nb::dict&, bool, const std::string&, const std::string&>(), nb::keep_alive<1, 2>(),
           nb::arg("model"), nb::arg("query").none(), nb::arg("documents").none(), nb::arg("options"), nb::arg("byte_ranges") = false, nb::arg("query_name") = "query", nb::arg("documents_name") = "docs",
           nb::sig("def __init__(self, model: Model, query: object, documents: object, options: dict[str, int], "
                   "byte_ranges: bool = False, query_name: str = 'query', documents_name: str = 'docs') -> None"))
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
