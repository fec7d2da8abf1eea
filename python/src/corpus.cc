// SPDX-License-Identifier: MIT
// python/src/corpus.cc: stores of documents tokenized before. Ids that a store hands out are arrays
// over its bytes.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "model.h"
#include "rankfeed/builder.hpp"
#include "rankfeed/corpus.h"
#include "rankfeed/corpus_writer.h"
#include "template.h"

namespace rankfeed::python {
namespace {

// A store, or the stores of a manifest.
class Corpus {
 public:
  // flags: RANKFEED_CORPUS_*.
  Corpus(const std::string& path, const Model* model, uint32_t flags, uint32_t encode_flags,
         const RowTemplateObject* row)
      : corpus_(Take(LoadedCorpus::Load(path, model != nullptr ? model->get() : nullptr, flags,
                                        encode_flags, row != nullptr ? row->get() : nullptr))),
        info_(corpus_.info()) {}
  Corpus(const Corpus&) = delete;

  const rankfeed_corpus_info& info() const { return info_; }
  const rankfeed_corpus* get() const { return corpus_.get(); }
  uint32_t shard_count() const { return corpus_.shard_count(); }

 private:
  LoadedCorpus corpus_;
  rankfeed_corpus_info info_;
};

// The ids of a source, over the store's bytes, which `owner` keeps.
nb::object IdsOf(const rankfeed_source& source, nb::handle owner) {
  nb::ndarray<nb::numpy, const int32_t, nb::ndim<1>> array(source.ids, {source.id_count}, owner);
  return nb::cast(std::move(array), nb::rv_policy::reference);
}

nb::object Find(nb::handle self, nb::handle id) {
  const Corpus& corpus = *nb::inst_ptr<Corpus>(self);
  rankfeed_source source;
  const rankfeed_status status = rankfeed_corpus_find(corpus.get(), TextOf(id), &source);
  if (status == RANKFEED_E_NOT_FOUND) return nb::none();
  Check(status, "document");
  return IdsOf(source, self);
}

nb::list FindAll(nb::handle self, const nb::list& ids) {
  const Corpus& corpus = *nb::inst_ptr<Corpus>(self);
  std::vector<rankfeed_text> texts;
  for (nb::handle id : ids) texts.push_back(TextOf(id));
  std::vector<rankfeed_source> sources(texts.size());
  std::vector<rankfeed_status> status(texts.size());
  if (!texts.empty()) {
    const nb::gil_scoped_release release;
    (void)rankfeed_corpus_find_all(corpus.get(), texts.data(), texts.size(), sources.data(), status.data());
  }
  nb::list out;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (status[i] == RANKFEED_E_NOT_FOUND || texts[i].size == 0) {
      out.append(nb::none());
      continue;
    }
    Check(status[i], "document " + std::to_string(i));
    out.append(IdsOf(sources[i], self));
  }
  return out;
}

nb::list Keys(const Corpus& corpus) {
  nb::list out;
  for (uint64_t i = 0; i < corpus.info().positions; ++i) {
    rankfeed_text id;
    const rankfeed_status status = rankfeed_corpus_get(corpus.get(), i, &id, nullptr);
    if (status == RANKFEED_E_NOT_FOUND) continue;
    Check(status, "document");
    out.append(nb::steal(PyUnicode_DecodeUTF8(id.data, static_cast<Py_ssize_t>(id.size), "surrogateescape")));
  }
  return out;
}

class Writer {
 public:
  // row (nullable): the template whose document parts are stored.
  Writer(const std::string& path, Model* model, bool append, uint32_t encode_flags, const RowTemplateObject* row)
      : model_(model), template_(row) {
    rankfeed_corpus_writer_options options{};
    options.struct_size = sizeof(options);
    options.mode = append ? RANKFEED_CORPUS_APPEND : RANKFEED_CORPUS_CREATE;
    options.encode_flags = encode_flags;
    options.row_template = row != nullptr ? row->get() : nullptr;
    flags_ = encode_flags;
    rankfeed_builder_error error = NoError();
    Done(rankfeed_corpus_writer_open(path.c_str(), model->get(), &options, &writer_, &error), error);
  }
  ~Writer() { Close(); }
  Writer(const Writer&) = delete;

  // Texts are tokenized in parallel, then put in order.
  void PutAll(nb::handle ids, nb::handle documents) {
    Inputs names = model_->NewInputs(), inputs = model_->NewInputs();
    names.AddAll(ids, "ids", /*ids=*/false);
    inputs.AddAll(documents, "documents", /*ids=*/true);
    if (names.size() != inputs.size()) {
      throw StatusError(RANKFEED_E_ARGUMENT, "ids has " + std::to_string(names.size()) + " items and documents " +
                                                 std::to_string(inputs.size()) + "; they must have as many");
    }
    Open();
    const nb::gil_scoped_release release;
    std::string joined;  // what texts are read from, with a template
    const Tokenized tokens =
        model_->TokenizeAll(template_ == nullptr ? inputs.texts() : template_->DocumentTexts(inputs.texts(), &joined),
                            flags_, false);
    static constexpr int32_t kNone[1] = {};
    for (size_t i = 0; i < names.size(); ++i) {
      rankfeed_source source = inputs.source(i);
      if (inputs.text_of(i) >= 0) {
        const Tokens& t = tokens[static_cast<size_t>(inputs.text_of(i))];
        source.ids = t.ids.empty() ? kNone : t.ids.data();
        source.id_count = static_cast<uint32_t>(t.ids.size());
      }
      rankfeed_builder_error error = NoError();
      Done(rankfeed_corpus_writer_put(writer_, names.texts()[i], &source, &error), error);
    }
  }
  void Remove(nb::handle id) {
    Open();
    rankfeed_builder_error error = NoError();
    Done(rankfeed_corpus_writer_remove(writer_, TextOf(id), &error), error);
  }
  void Commit() {
    Open();
    const nb::gil_scoped_release release;
    rankfeed_builder_error error = NoError();
    Done(rankfeed_corpus_writer_commit(writer_, &error), error);
  }
  void Close() {
    rankfeed_corpus_writer_close(writer_);
    writer_ = nullptr;
  }

  static rankfeed_builder_error NoError() {
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    return error;
  }
  static void Done(rankfeed_status status, const rankfeed_builder_error& error) {
    if (status != RANKFEED_OK) {
      throw StatusError(status, error.message[0] != 0 ? error.message : rankfeed_status_message(status));
    }
  }

 private:
  void Open() const {
    if (writer_ == nullptr) throw StatusError(RANKFEED_E_STATE, "the writer is closed");
  }
  Model* model_;
  const RowTemplateObject* template_;
  uint32_t flags_ = 0;
  rankfeed_corpus_writer* writer_ = nullptr;
};

void Merge(const std::vector<std::string>& sources, const std::string& path) {
  std::vector<const char*> names;
  for (const std::string& source : sources) names.push_back(source.c_str());
  rankfeed_builder_error error = Writer::NoError();
  Writer::Done(rankfeed_corpus_merge(names.data(), names.size(), path.c_str(), &error), error);
}

// Of each id the shard that a set by hash looks for it in.
nb::list ShardsOf(const nb::list& ids, uint32_t shard_count) {
  nb::list out;
  for (nb::handle id : ids) out.append(rankfeed_corpus_shard_of(TextOf(id), shard_count));
  return out;
}

void Compact(const std::string& path) {
  rankfeed_builder_error error = Writer::NoError();
  Writer::Done(rankfeed_corpus_compact(path.c_str(), &error), error);
}

}  // namespace

void BindCorpus(nb::module_& module) {
  nb::class_<Corpus>(module, "Corpus", "A store of token ids; see rankfeed.Corpus.")
      .def(
          "__init__",
          [](Corpus* self, const std::string& path, const Model* model, bool trusted,
             uint32_t encode_flags, bool map_file, const RowTemplateObject* row) {
            const nb::gil_scoped_release release;
            const uint32_t flags = (trusted ? uint32_t{RANKFEED_CORPUS_TRUSTED} : 0u) |
                                   (map_file ? uint32_t{RANKFEED_CORPUS_MAP_FILE} : 0u);
            new (self) Corpus(path, model, flags, encode_flags, row);
          },
          nb::arg("path"), nb::arg("model").none() = nb::none(), nb::arg("trusted") = false,
          nb::arg("encode_flags") = 0, nb::arg("map_file") = false, nb::arg("template").none() = nb::none())
      .def("__len__", [](const Corpus& c) { return c.info().documents; })
      .def_prop_ro("tokens", [](const Corpus& c) { return c.info().tokens; })
      .def_prop_ro("file_bytes", [](const Corpus& c) { return c.info().file_bytes; })
      .def_prop_ro("shard_count", &Corpus::shard_count)
      .def_prop_ro("sequence", [](const Corpus& c) { return c.info().sequence; })
      .def("find", &Find, nb::arg("id"),
           nb::sig("def find(self, id: str | bytes) -> NDArray[numpy.int32] | None"),
           "The ids of a document, over the store's bytes; None when there is none.")
      .def("find_all", &FindAll, nb::arg("ids"),
           nb::sig("def find_all(self, ids: list[str | bytes]) -> list[NDArray[numpy.int32] | None]"))
      .def("keys", &Keys, nb::sig("def keys(self) -> list[str]"));
  nb::class_<Writer>(module, "CorpusWriter", "Makes and changes a store; see rankfeed.CorpusWriter.")
      .def(nb::init<const std::string&, Model*, bool, uint32_t, const RowTemplateObject*>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 6>(), nb::arg("path"), nb::arg("model"), nb::arg("append") = false, nb::arg("encode_flags") = 0,
           nb::arg("template").none() = nb::none())
      .def("put_all", &Writer::PutAll, nb::lock_self(), nb::arg("ids").none(), nb::arg("documents").none())
      .def("remove", &Writer::Remove, nb::lock_self(), nb::arg("id"), nb::sig("def remove(self, id: str | bytes) -> None"))
      .def("commit", &Writer::Commit, nb::lock_self())
      .def("close", &Writer::Close, nb::lock_self());
  module.def("merge_corpus", &Merge, nb::arg("sources"), nb::arg("path"),
             nb::call_guard<nb::gil_scoped_release>());
  module.def("shards_of", &ShardsOf, nb::arg("ids"), nb::arg("shard_count"),
             nb::sig("def shards_of(ids: list[str | bytes], shard_count: int) -> list[int]"),
             "Of each id the shard of a manifest with routing by hash that it belongs into.");
  module.def("compact_corpus", &Compact, nb::arg("path"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace rankfeed::python
