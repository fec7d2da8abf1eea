// SPDX-License-Identifier: MIT
// python/src/rows.cc: encode_rows, any list of texts or pairs as ragged rows, with offsets if asked
// for: what encode_batch and transformers' callable need.
//
// Every text is tokenized once with Model::Tokenize. A row copies none of that: it says which
// tokens of its texts it holds, and a column of it is put together from runs (special tokens, first
// text, special tokens, second text, special tokens) when it is asked for. What is cut is decided
// by the reranker of rankfeed/rerank.h; the GIL is released for that.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "cutter.h"
#include "encodings.h"
#include "memory.h"
#include "model.h"

namespace rankfeed::python {
namespace {

enum class Column {
  kInputIds,
  kTokenTypeIds,
  kAttentionMask,
  kSpecialTokensMask,
  kSequence,
  kOffsets,
  kBegins,
  kEnds
};

// Tokens of a row that come from one place.
struct Run {
  size_t count;
  const int32_t* ids;
  const uint32_t *begin, *end;  // null: no offsets, which count as 0
  int32_t type;
  int8_t sequence;  // 0 and 1: of the first and second text; -1: added by the template
};

class Rows {
 public:
  // The texts' tokens: `queries` different first texts of pairs, then one document of each sample.
  // query_of: which first text each sample has; empty for single texts. windows_keep_types: in the
  // windows of a text after its first one its tokens have type 0, of second texts 1, whatever the
  // template says, as tokenizers' TemplateProcessing does (processors/template.rs, apply_template).
  Rows(const Model::Template& parts, bool with_offsets, bool windows_keep_types, Tokenized tokens,
       size_t queries, std::vector<uint32_t> query_of)
      : parts_(parts),
        with_offsets_(with_offsets),
        windows_keep_types_(windows_keep_types),
        queries_(queries),
        tokens_(std::move(tokens)),
        query_of_(std::move(query_of)) {}

  struct Row {
    uint32_t sample, chunk;
    uint32_t query_begin, query_tokens;  // of the first text of a pair
    uint32_t token_begin, tokens;        // of the document
  };
  void Add(const Row& row) { rows_.push_back(row); }

  size_t count() const { return rows_.size(); }
  bool with_offsets() const { return with_offsets_; }
  const Row& row(size_t i) const { return rows_[i]; }
  size_t samples() const { return tokens_.size() - queries_; }
  bool pairs() const { return !query_of_.empty(); }
  uint32_t query_of(size_t sample) const { return query_of_[sample]; }
  const Tokens& query(size_t sample) const { return tokens_[query_of_[sample]]; }
  const Tokens& document(size_t sample) const { return tokens_[queries_ + sample]; }
  size_t length(size_t i) const {
    size_t n = rows_[i].query_tokens + rows_[i].tokens;
    for (const auto& part : parts_.specials) n += part.size();
    return n;
  }
  size_t longest() const {
    size_t n = 0;
    for (size_t i = 0; i < count(); ++i) n = std::max(n, length(i));
    return n;
  }

  // Calls use(run) for the runs of row i, in order.
  template <class Use>
  void ForRuns(size_t i, const Use& use) const {
    const auto specials = [&](size_t part) {
      for (const auto& special : parts_.specials[part])
        use(Run{1, &special.id, nullptr, nullptr, special.type, -1});
    };
    const auto text = [&](const Tokens& tokens, size_t from, size_t n, int32_t type,
                          int8_t sequence) {
      const bool offsets = !tokens.begin.empty();
      use(Run{n, tokens.ids.data() + from, offsets ? tokens.begin.data() + from : nullptr,
              offsets ? tokens.end.data() + from : nullptr, type, sequence});
    };
    const Row& row = rows_[i];
    const size_t texts = pairs() ? 2 : 1;
    const int8_t sequence = pairs() ? 1 : 0;
    const int32_t type = row.chunk != 0 && windows_keep_types_ ? sequence : parts_.document_type;
    for (size_t k = 0; k < texts; ++k) {
      specials(k);
      if (pairs() && (k == 0) != parts_.document_first) {
        text(query(row.sample), row.query_begin, row.query_tokens, parts_.query_type, 0);
      } else {
        text(document(row.sample), row.token_begin, row.tokens, type, sequence);
      }
    }
    specials(texts);
  }

 private:
  Model::Template parts_;
  bool with_offsets_, windows_keep_types_;
  size_t queries_;
  Tokenized tokens_;
  std::vector<uint32_t> query_of_;
  std::vector<Row> rows_;
};

Column ColumnOf(const Rows& rows, std::string_view name) {
  if (name == "input_ids") return Column::kInputIds;
  if (name == "token_type_ids") return Column::kTokenTypeIds;
  if (name == "attention_mask") return Column::kAttentionMask;
  if (name == "special_tokens_mask") return Column::kSpecialTokensMask;
  if (name == "sequence") return Column::kSequence;
  if (name == "offset_mapping" && rows.with_offsets()) return Column::kOffsets;
  if (name == "offset_begin" && rows.with_offsets()) return Column::kBegins;
  if (name == "offset_end" && rows.with_offsets()) return Column::kEnds;
  throw StatusError(RANKFEED_E_ARGUMENT, "no column " + std::string(name));
}

// ---- which tokens each row holds ---------------------------------------------------------------

// Whether nothing in these options can cut a row, or refuse one.
bool CutsNothing(const rankfeed_rerank_options& o) {
  return o.max_length == 0 && o.max_query_tokens == 0 && o.max_tokens_per_doc == 0 &&
         o.stride == 0 && o.overflow == RANKFEED_OVERFLOW_DROP;
}

void AddWhole(Rows* out) {
  for (size_t i = 0; i < out->samples(); ++i) {
    const size_t query_tokens = out->pairs() ? out->query(i).ids.size() : 0;
    out->Add({static_cast<uint32_t>(i), 0, 0, static_cast<uint32_t>(query_tokens), 0,
              static_cast<uint32_t>(out->document(i).ids.size())});
  }
}

// The rows of one request; samples begin at `first`.
void CutGroup(rankfeed_reranker* reranker, const rankfeed_rerank_options& options,
              std::span<const rankfeed_source> documents, size_t first,
              std::shared_ptr<Arena>* arena, Rows* out) {
  std::vector<rankfeed_status> status(documents.size());
  rankfeed_request request{};
  request.struct_size = sizeof(request);
  request.document_count = static_cast<uint32_t>(documents.size());
  if (out->pairs()) request.query = SourceOf(out->query(first));
  request.documents = documents.data();
  request.document_status = status.data();
  rankfeed_batch batch{};
  batch.struct_size = sizeof(batch);
  rankfeed_status result;
  for (;;) {
    batch.arena = (*arena)->data();
    batch.arena_capacity = (*arena)->size();
    result = rankfeed_encode_pairs(reranker, &request, &batch);
    if (result != RANKFEED_E_OUTPUT_SIZE) break;
    *arena = Arena::Allocate(batch.arena_size + batch.arena_size / 2);
  }
  for (size_t i = 0; i < status.size(); ++i) {
    if (status[i] != RANKFEED_OK) Check(status[i], "document " + std::to_string(first + i));
  }
  Check(result, "pairs");
  for (uint32_t r = 0; r < batch.rows; ++r) {
    const rankfeed_batch_row& row = batch.row_map[r];
    const bool tail = options.truncation_side == RANKFEED_LEFT && out->pairs();
    const auto query_tokens = tail ? static_cast<uint32_t>(out->query(first).ids.size()) : 0;
    out->Add({static_cast<uint32_t>(first + row.document), row.chunk,
              tail ? query_tokens - row.query_tokens : 0, row.query_tokens, row.token_begin,
              row.token_end - row.token_begin});
  }
}

// Refuses a stride that is not below what is left of a text that was cut, as tokenizers does, also
// without windows (tokenizer/encoding.rs, truncate).
void CheckStride(uint32_t stride, const Rows& rows) {
  const auto check = [&](const Tokens& text, uint32_t kept) {
    if (kept == 0 || kept == text.ids.size() || kept > stride) return;
    throw StatusError(RANKFEED_E_ARGUMENT, "stride is " + std::to_string(stride) +
                                               "; it must be below the " + std::to_string(kept) +
                                               " tokens that truncation leaves of a text");
  };
  for (size_t i = 0; i < rows.count(); ++i) {
    const Rows::Row& row = rows.row(i);
    if (rows.pairs()) check(rows.query(row.sample), row.query_tokens);
    check(rows.document(row.sample), row.tokens);
  }
}

void Cut(const Model& model, const rankfeed_rerank_options& options, Rows* out) {
  std::vector<rankfeed_source> sources;
  for (size_t i = 0; i < out->samples(); ++i) sources.push_back(SourceOf(out->document(i)));
  std::shared_ptr<Arena> arena = Arena::Allocate(64 << 10);
  std::optional<Cutter> cutter;
  size_t documents_limit = 0, rows_limit = 0;
  for (size_t begin = 0; begin < sources.size();) {
    size_t end = begin + 1;
    while (end < sources.size() && (!out->pairs() || out->query_of(end) == out->query_of(begin)))
      ++end;
    const std::span<const rankfeed_source> group(sources.data() + begin, end - begin);
    const size_t rows =
        RowBound(options, model.info(), out->pairs() ? out->query(begin).ids.size() : 0, group);
    if (!cutter || group.size() > documents_limit || rows > rows_limit) {
      documents_limit = std::max(documents_limit, group.size());
      rows_limit = std::max(rows_limit, rows);
      cutter.emplace(model.get(), options, documents_limit, rows_limit);
    }
    CutGroup(cutter->get(), options, group, begin, &arena, out);
    begin = end;
  }
  if (options.stride != 0 && options.overflow == RANKFEED_OVERFLOW_DROP)
    CheckStride(options.stride, *out);
}

// The rows of texts or pairs; a single str or bytes counts as one text. The names are those of the
// caller's arguments, for messages. unit: RANKFEED_OFFSETS_* or 0, bytes.
std::shared_ptr<Rows> EncodeRows(Model& model, nb::handle first, nb::handle second,
                                 const nb::dict& dict, bool with_offsets, uint32_t unit,
                                 const std::string& first_name, const std::string& second_name,
                                 bool windows_keep_types) {
  rankfeed_rerank_options options = OptionsOf(dict);
  options.layout = RANKFEED_PACKED;
  options.padding_side = RANKFEED_RIGHT;
  options.tensors = 0;
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
    throw StatusError(RANKFEED_E_ARGUMENT,
                      first_name + " has " + std::to_string(n) + " texts and " + second_name + " " +
                          std::to_string(seconds.size()) + "; they must have as many");
  }
  if (n > std::numeric_limits<uint32_t>::max())
    throw StatusError(RANKFEED_E_LIMIT,
                      first_name + " has " + std::to_string(n) + " texts; 32 bits count them");
  // All texts, equal queries once.
  std::vector<rankfeed_text> texts;
  std::vector<uint32_t> query_of(pair ? n : 0);
  if (pair) {
    std::unordered_map<std::string_view, uint32_t> seen;
    for (size_t i = 0; i < n; ++i) {
      const rankfeed_text text = firsts.texts()[i];
      const auto [at, added] =
          seen.try_emplace({text.data, text.size}, static_cast<uint32_t>(texts.size()));
      if (added) texts.push_back(text);
      query_of[i] = at->second;
    }
  }
  const size_t queries = texts.size();
  const std::vector<rankfeed_text>& documents = (pair ? seconds : firsts).texts();
  texts.insert(texts.end(), documents.begin(), documents.end());

  const nb::gil_scoped_release release;
  const uint32_t flags = options.encode_flags | (with_offsets ? unit : 0u);
  auto out =
      std::make_shared<Rows>(model.TemplateOf(pair, options.no_special_tokens == 0), with_offsets, windows_keep_types,
                             n != 0 ? model.TokenizeAll(texts, flags, with_offsets) : Tokenized(),
                             queries, std::move(query_of));
  if (CutsNothing(options)) {
    AddWhole(out.get());
  } else if (n != 0) {
    Cut(model, options, out.get());
  }
  return out;
}

// ---- columns as lists and tensors --------------------------------------------------------------

// An int for an id, a new reference.
PyObject* NewInt(int32_t id) {
  PyObject* const number = PyLong_FromLong(id);
  if (number == nullptr) throw nb::python_error();
  return number;
}

#ifndef Py_GIL_DISABLED
// Ints of ids, kept for the life of the process, because making them is what lists of ids would
// cost: 17,000 took as long as tokenizing their text. Null where none was asked for yet. With the
// GIL.
constexpr uint32_t kMostKept = 1 << 20;
std::vector<PyObject*> kept_ints;

// Up to 3.11 every reference is counted in 64 bits. So many are taken of a kept int at once that those
// which lists are given, and give back one by one, need no counting: at a billion a second they last
// for a century. Later versions count to 2^32 or not at all.
#if PY_VERSION_HEX < 0x030C0000 && !defined(Py_LIMITED_API) && !defined(Py_REF_DEBUG)
constexpr bool kTakenAtOnce = true;
void TakeAtOnce(PyObject* number) {
  Py_SET_REFCNT(number, PY_SSIZE_T_MAX / 2);
}
#else
constexpr bool kTakenAtOnce = false;
void TakeAtOnce(PyObject*) {}
#endif

PyObject* Keep(int32_t id) {
  const auto at = static_cast<uint32_t>(id);
  if (at >= kMostKept) return NewInt(id);
  if (at >= kept_ints.size()) kept_ints.resize(std::bit_ceil(size_t{at} + 1));
  PyObject* const number = NewInt(id);
  kept_ints[at] = number;
  TakeAtOnce(number);
  if (!kTakenAtOnce) Py_INCREF(number);
  return number;
}
#endif

// Puts the ids of a run at `at` and after. With the GIL.
void PutIds(PyObject* list, Py_ssize_t at, const Run& run) {
  const int32_t* const ids = run.ids;
  const size_t count = run.count;
#ifdef Py_GIL_DISABLED
  for (size_t k = 0; k < count; ++k, ++at) NB_LIST_SET_ITEM(list, at, NewInt(ids[k]));
#else
  std::span<PyObject*> kept = kept_ints;  // of its own: what is stored might be the vector's fields
  for (size_t k = 0; k < count; ++k, ++at) {
    const auto id = static_cast<uint32_t>(ids[k]);
    PyObject* number = id < kept.size() ? kept[id] : nullptr;
    if (number != nullptr) [[likely]] {
      if (!kTakenAtOnce) Py_INCREF(number);
    } else {
      number = Keep(ids[k]);
      kept = kept_ints;
    }
    NB_LIST_SET_ITEM(list, at, number);
  }
#endif
}

// n times the same object.
void PutSame(PyObject* list, Py_ssize_t at, size_t n, const nb::object& item) {
  for (size_t k = 0; k < n; ++k)
    NB_LIST_SET_ITEM(list, at + static_cast<Py_ssize_t>(k), item.inc_ref().ptr());
}

void PutOffsets(PyObject* list, Py_ssize_t at, const Run& run) {
  for (size_t k = 0; k < run.count; ++k) {
    nb::object pair =
        run.begin != nullptr ? nb::make_tuple(run.begin[k], run.end[k]) : nb::make_tuple(0, 0);
    NB_LIST_SET_ITEM(list, at + static_cast<Py_ssize_t>(k), pair.release().ptr());
  }
}

// The value that all tokens of a run have in a column of such.
int64_t ValueOf(const Run& run, Column column) {
  switch (column) {
    case Column::kTokenTypeIds:
      return run.type;
    case Column::kSpecialTokensMask:
      return run.sequence < 0;
    case Column::kSequence:
      return run.sequence;
    default:
      return 1;  // attention_mask
  }
}

nb::list NewList(size_t n) {
  nb::list out = nb::steal<nb::list>(
      PyList_New(static_cast<Py_ssize_t>(n)));  // nb::list(object) would copy it
  if (!out.is_valid()) throw nb::python_error();
  return out;
}

// A column of row i, with `gap` fillers before or after it.
nb::list ListOf(const Rows& rows, Column column, size_t i, size_t gap, bool left,
                const nb::object& filler) {
  const size_t count = rows.length(i);
  nb::list out = NewList(count + gap);
  auto at = static_cast<Py_ssize_t>(left ? gap : 0);
  PutSame(out.ptr(), left ? 0 : static_cast<Py_ssize_t>(count), gap, filler);
  rows.ForRuns(i, [&](const Run& run) {
    if (column == Column::kInputIds)
      PutIds(out.ptr(), at, run);
    else if (column == Column::kOffsets)
      PutOffsets(out.ptr(), at, run);
    else
      PutSame(out.ptr(), at, run.count, nb::int_(ValueOf(run, column)));
    at += static_cast<Py_ssize_t>(run.count);
  });
  return out;
}

// A column that a list can hold.
Column ListColumn(const Rows& rows, std::string_view name) {
  const Column column = ColumnOf(rows, name);
  if (column < Column::kBegins) return column;
  throw StatusError(RANKFEED_E_ARGUMENT, "no column " + std::string(name));
}

// Column `name` of row i as a list of int, or of pairs of offsets.
nb::list RowList(const Rows& rows, const std::string& name, size_t i) {
  if (i >= rows.count()) throw nb::index_error();
  return ListOf(rows, ListColumn(rows, name), i, 0, false, nb::object());
}

nb::list RowIds(const Rows& rows, size_t i) {
  if (i >= rows.count()) throw nb::index_error();
  return ListOf(rows, Column::kInputIds, i, 0, false, nb::object());
}

// The same of all rows; those shorter than `length` filled with `pad`.
nb::list RowLists(const Rows& rows, const std::string& name, size_t length, int64_t pad,
                  bool left) {
  const Column column = ListColumn(rows, name);
  const nb::object number = nb::int_(pad);
  const nb::object filler =
      column == Column::kOffsets ? nb::object(nb::make_tuple(number, number)) : number;
  nb::list out = NewList(rows.count());
  for (size_t r = 0; r < rows.count(); ++r) {
    const size_t count = rows.length(r);
    nb::list row = ListOf(rows, column, r, length > count ? length - count : 0, left, filler);
    NB_LIST_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(r), row.release().ptr());
  }
  return out;
}

// Writes a column of row i.
template <class To>
void Write(const Rows& rows, Column column, size_t i, To* to) {
  rows.ForRuns(i, [&](const Run& run) {
    const uint32_t* const offsets = column == Column::kBegins ? run.begin : run.end;
    if (column == Column::kInputIds)
      std::copy_n(run.ids, run.count, to);
    else if (column < Column::kOffsets)
      std::fill_n(to, run.count, static_cast<To>(ValueOf(run, column)));
    else if (offsets == nullptr)
      std::fill_n(to, run.count, To{0});
    else
      std::transform(offsets, offsets + run.count, to,
                     [](uint32_t n) { return static_cast<To>(n); });
    to += run.count;
  });
}

// Column `name` of all rows as [rows, length], int64 or int32; shorter rows filled with `pad`.
Tensor Padded(const Rows& rows, const std::string& name, size_t length, int64_t pad, bool left,
              bool wide) {
  const Column column = ColumnOf(rows, name);
  if (column == Column::kOffsets) throw StatusError(RANKFEED_E_ARGUMENT, "no column " + name);
  if (length < rows.longest()) throw StatusError(RANKFEED_E_ARGUMENT, "a row is longer than that");
  Tensor out;
  out.dtype = wide ? RANKFEED_DL_INT64 : RANKFEED_DL_INT32;
  out.rank = 2;
  out.shape[0] = static_cast<int64_t>(rows.count());
  out.shape[1] = static_cast<int64_t>(length);
  const nb::gil_scoped_release release;
  out.arena = Arena::Allocate(out.bytes());
  const auto fill = [&]<class To>(To* to) {
    for (size_t r = 0; r < rows.count(); ++r, to += length) {
      const size_t count = rows.length(r), gap = left ? length - count : 0;
      std::fill_n(to, gap, static_cast<To>(pad));
      Write(rows, column, r, to + gap);
      if (!left) std::fill_n(to + count, length - count, static_cast<To>(pad));
    }
  };
  if (wide) {
    fill(static_cast<int64_t*>(out.arena->data()));
  } else {
    fill(static_cast<int32_t*>(out.arena->data()));
  }
  return out;
}

// value(i) of each row.
template <class Value>
auto OfRows(const Rows& rows, const Value& value) {
  std::vector<decltype(value(size_t{0}))> out;
  out.reserve(rows.count());
  for (size_t i = 0; i < rows.count(); ++i) out.push_back(value(i));
  return out;
}

}  // namespace

PyObject* IdsOfRow(PyObject* rows, size_t row) noexcept {
  try {
    return RowIds(*nb::inst_ptr<Rows>(rows), row).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

void BindRows(nb::module_& module) {
  nb::class_<Rows>(module, "Rows", "Ragged rows of encode_rows.")
      .def("__len__", &Rows::count)
      .def_prop_ro("longest", &Rows::longest)
      .def_prop_ro(
          "samples",
          [](const Rows& r) { return OfRows(r, [&](size_t i) { return r.row(i).sample; }); })
      .def_prop_ro(
          "chunks",
          [](const Rows& r) { return OfRows(r, [&](size_t i) { return r.row(i).chunk; }); })
      .def_prop_ro("lengths",
                   [](const Rows& r) { return OfRows(r, [&](size_t i) { return r.length(i); }); })
      .def(
          "length",
          [](const Rows& r, size_t i) {
            if (i >= r.count()) throw nb::index_error();
            return r.length(i);
          },
          nb::arg("row"))
      .def("ids", &RowIds, nb::arg("row"), nb::sig("def ids(self, row: int) -> list[int]"))
      .def("column", &RowList, nb::arg("name"), nb::arg("row"),
           nb::sig("def column(self, name: str, row: int) -> list[typing.Any]"))
      .def("lists", &RowLists, nb::arg("name"), nb::arg("length"), nb::arg("pad"), nb::arg("left"),
           nb::sig(
               "def lists(self, name: str, length: int, pad: int, left: bool) -> list[typing.Any]"))
      .def("padded", &Padded, nb::arg("name"), nb::arg("length"), nb::arg("pad"), nb::arg("left"),
           nb::arg("wide") = true);
  module.def(
      "encode_rows", &EncodeRows, nb::arg("model"), nb::arg("first").none(),
      nb::arg("second").none(), nb::arg("options"), nb::arg("with_offsets") = false,
      nb::arg("unit") = uint32_t{RANKFEED_OFFSETS_CODE_POINTS}, nb::arg("first_name") = "first",
      nb::arg("second_name") = "second", nb::arg("windows_keep_types") = false,
      nb::sig(
          "def encode_rows(model: Model, first: object, second: object, options: dict[str, int], "
          "with_offsets: "
          "bool = False, unit: int = 2, first_name: str = 'first', second_name: str = 'second', windows_keep_types: bool = False) -> "
          "Rows"));
}

}  // namespace rankfeed::python
