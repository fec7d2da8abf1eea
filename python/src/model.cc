// SPDX-License-Identifier: MIT
// python/src/model.cc: see model.h; binding of loading, single texts, decoding and pieces.
#include "model.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#ifndef _WIN32
#include <pthread.h>
#endif

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>


namespace rankfeed::python {
namespace {

Vocabulary LoadVocabulary(const std::string& path, int32_t parity, const std::string& preset,
                          Pages pages) {
  auto loaded = Vocabulary::Load(path, parity, preset.empty() ? nullptr : preset.c_str(), pages);
  if (!loaded) throw StatusError(loaded.error().status, loaded.error().message);
  return std::move(*loaded);
}

// Below this many bytes of text, waking threads costs more than they save (measured with
// bench_python.py: a text of 64 KiB takes under 2 ms).
constexpr size_t kParallelFrom = 64 << 10;
constexpr uint32_t kSmallestEncoder = 64 << 10;  // bytes of text

RoadCounts RoadsOf(const rankfeed_encoder* encoder) {
  RoadCounts roads{};
  (void)rankfeed_encoder_roads(encoder, roads.data(), roads.size());
  return roads;
}

}  // namespace

Model::Model(const std::string& path, int32_t parity, const std::string& preset, Pages pages)
    : vocabulary_(LoadVocabulary(path, parity, preset, pages)), info_(Info(vocabulary_.model())) {}

void Model::KeepAcrossFork() {
#ifndef _WIN32
  const auto unlock = [] { mutex_.unlock(); };
  (void)pthread_atfork([] { mutex_.lock(); }, unlock, unlock);
#endif
}

void Model::set_threads(uint32_t threads) {
  const std::lock_guard lock(mutex_);
  threads_ = threads;
  parallel_.reset();
}

void Model::set_invalid_text(uint32_t policy) {
  if (policy > static_cast<uint32_t>(InvalidText::kReplace))
    throw StatusError(RANKFEED_E_ARGUMENT, "invalid_text");
  invalid_text_ = static_cast<InvalidText>(policy);
}

const rankfeed_executor* Model::executor() {
  const std::lock_guard lock(mutex_);
  if (threads_ == 1) return nullptr;
  if (parallel_ == nullptr) {
    rankfeed_parallel* parallel = nullptr;
    Check(rankfeed_parallel_open(threads_, &parallel), "threads");
    parallel_.reset(parallel, rankfeed_parallel_close);
  }
  const rankfeed_executor* executor = rankfeed_parallel_executor(parallel_.get());
  return executor->workers > 1 ? executor : nullptr;
}

Model::Lease::Lease(Model* model, size_t longest_text, bool with_offsets, bool parallel)
    : model_(model), with_offsets_(with_offsets) {
  const uint32_t most = rankfeed_max_text_bytes(model->get());
  if (longest_text > most) {
    throw StatusError(RANKFEED_E_LIMIT, "a text has " + std::to_string(longest_text) +
                                            " bytes; the limit of the vocabulary is " +
                                            std::to_string(most));
  }
  max_text_bytes_ = std::bit_ceil(std::max(static_cast<uint32_t>(longest_text), kSmallestEncoder));
  max_text_bytes_ = std::min(max_text_bytes_, most);
  const rankfeed_executor* executor = parallel ? model->executor() : nullptr;
  const size_t count = executor != nullptr ? executor->workers : 1;
  {
    const std::lock_guard lock(model->mutex_);
    auto& idle = model->idle_;
    for (size_t i = idle.size(); i-- > 0 && encoders_.size() < count;) {
      if (idle[i].with_offsets != with_offsets || idle[i].max_text_bytes != max_text_bytes_)
        continue;
      encoders_.push_back(std::move(idle[i].encoder));
      idle.erase(idle.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  while (encoders_.size() < count) {
    auto encoder = Encoder::Create(model->get(), max_text_bytes_, with_offsets,
                                   Encoder::kDefaultCacheBytes, model->max_stretch_bytes());
    if (!encoder) throw StatusError(encoder.error().status, encoder.error().message);
    encoders_.push_back(std::move(*encoder));
  }
  for (Encoder& encoder : encoders_) {
    pointers_.push_back(encoder.get());
    Add(encoder.Roads(), &before_);
  }
}

Model::Lease::~Lease() {
  RoadCounts after{};
  for (const Encoder& encoder : encoders_) Add(encoder.Roads(), &after);
  const std::lock_guard lock(model_->mutex_);
  Add(Since(before_, after), &model_->roads_);
  for (Encoder& encoder : encoders_) {
    // Enough for every core twice over; what is beyond, or was made for giant texts, is freed.
    if (model_->idle_.size() >= 64 || max_text_bytes_ > (16u << 20)) break;
    model_->idle_.push_back({max_text_bytes_, with_offsets_, std::move(encoder)});
  }
}

RoadCounts Model::Roads() {
  const std::lock_guard lock(mutex_);
  return roads_;
}

size_t Model::Trim() {
  const std::lock_guard lock(mutex_);
  size_t dropped = 0;
  for (Idle& idle : idle_) dropped += idle.encoder.Trim();
  return dropped;
}

Tokenized::Tokenized(std::span<const rankfeed_text> texts, bool with_offsets)
    : with_offsets_(with_offsets), texts_(texts.size()) {
  size_t capacity = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    texts_[i].at = capacity;
    capacity += texts[i].size / 3 + 16;
  }
  block_ = Block(capacity, with_offsets);
}

Tokens Tokenized::TokensAt(const Block& block, size_t at, size_t count) const {
  Tokens out;
  out.ids = {block.ids.get() + at, count};
  if (with_offsets_) {
    out.begin = {block.offsets.get() + at, count};
    out.end = {block.offsets.get() + block.capacity + at, count};
  }
  return out;
}

void Tokenized::Encode(rankfeed_encoder* encoder, std::span<const rankfeed_text> texts,
                       uint32_t flags, size_t begin, size_t end, RoadCounts* repeated) {
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  std::vector<uint32_t> cu_seqlens(end - begin + 1);
  const Block* block = &block_;
  size_t at = begin < end ? texts_[begin].at : 0;
  size_t limit = end < texts_.size() ? texts_[end].at : block_.capacity;
  while (begin < end) {
    const RoadCounts before = RoadsOf(encoder);
    const Tokens room =
        TokensAt(*block, at, std::min<size_t>(limit - at, std::numeric_limits<uint32_t>::max()));
    rankfeed_encodings io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(room.ids.size());
    io.input_ids = room.ids.data();
    io.cu_seqlens = cu_seqlens.data();
    if (with_offsets_) {
      io.offset_begin = room.begin.data();
      io.offset_end = room.end.data();
    }
    const rankfeed_status status =
        rankfeed_encode_batch(encoder, texts.data() + begin, end - begin, &options, &io);
    if (status == RANKFEED_E_OUTPUT_SIZE) {
      Add(Since(before, RoadsOf(encoder)), repeated);
      texts_[begin].own = Block(io.count, with_offsets_);
      block = &texts_[begin].own;
      at = 0, limit = io.count;
      continue;
    }
    for (size_t i = 0; i < io.text_count; ++i) {
      texts_[begin + i].tokens =
          TokensAt(*block, at + cu_seqlens[i], cu_seqlens[i + 1] - cu_seqlens[i]);
    }
    at += cu_seqlens[io.text_count];
    begin += io.text_count;
    // LIMIT behind other texts may be about their number of tokens together: the text alone tells.
    if (status == RANKFEED_OK || (status == RANKFEED_E_LIMIT && io.text_count != 0)) continue;
    texts_[begin++].tokens.status = status;
  }
}

Tokenized Model::Tokenize(std::span<const rankfeed_text> texts, uint32_t flags, bool with_offsets) {
  size_t longest = 0, total = 0;
  for (const rankfeed_text& text : texts) {
    longest = std::max(longest, text.size);
    total += text.size;
  }
  const bool parallel = texts.size() > 1 && total >= kParallelFrom;
  Lease lease(this, longest, with_offsets, parallel);
  Tokenized out(texts, with_offsets);
  std::vector<RoadCounts> repeated(lease.encoders().size());
  const auto some = [&](size_t begin, size_t end, size_t worker) {
    out.Encode(lease.encoders()[worker], texts, flags, begin, end, &repeated[worker]);
  };
  if (lease.encoders().size() == 1) {
    some(0, texts.size(), 0);
  } else {
    struct Context {
      const decltype(some)& run;
      std::atomic<bool> out_of_memory{false};
    } context{some};
    const rankfeed_executor* executor = this->executor();
    const auto task = [](void* p, size_t begin, size_t end, uint32_t worker) {
      auto* c = static_cast<Context*>(p);
      try {
        c->run(begin, end, worker);
      } catch (const std::bad_alloc&) {
        c->out_of_memory = true;
      }
    };
    Check(executor->parallel_for(executor->context, texts.size(), task, &context), "threads");
    if (context.out_of_memory) throw std::bad_alloc();
  }
  for (const RoadCounts& roads : repeated) lease.Discount(roads);
  return out;
}

Tokenized Model::TokenizeAll(std::span<const rankfeed_text> texts, uint32_t flags,
                             bool with_offsets) {
  Tokenized out = Tokenize(texts, flags, with_offsets);
  for (size_t i = 0; i < out.size(); ++i) {
    const std::string name = "text " + std::to_string(i);
    if (out[i].status == RANKFEED_E_LIMIT) {
      throw StatusError(RANKFEED_E_LIMIT,
                        name + " " + detail::StretchTooLong(get(), texts[i].size, max_stretch_bytes_));
    }
    Check(out[i].status, name);
  }
  return out;
}

const Model::Template& Model::TemplateOf(bool pair, bool add_special_tokens) {
  const std::lock_guard lock(mutex_);
  std::optional<Template>& kept = templates_[pair][add_special_tokens];
  if (!kept) kept = ReadTemplate(pair, add_special_tokens);
  return *kept;
}

Model::Template Model::ReadTemplate(bool pair, bool add_special_tokens) const {
  // One query id and one document id, which no vocabulary has, through the reranker: where they
  // come out tells the parts. Ids of sources are taken as they are (rankfeed/rerank.h).
  const int32_t query_id = -7, document_id = -9;
  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  options.template_kind = pair ? RANKFEED_TEMPLATE_PAIR : RANKFEED_TEMPLATE_SINGLE;
  options.no_special_tokens = add_special_tokens ? 0 : 1;
  options.layout = RANKFEED_PACKED;
  options.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS;
  rankfeed_rerank_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_documents = 1;
  rankfeed_mem_req need;
  Check(rankfeed_reranker_mem_req(get(), &limits, &options, &need), "template");
  const AlignedBytes scratch(need);
  rankfeed_reranker* reranker = nullptr;
  Check(rankfeed_reranker_init(get(), &limits, &options, nullptr, scratch.data(), scratch.size(),
                               &reranker),
        "template");
  rankfeed_source document{};
  document.ids = &document_id;
  document.id_count = 1;
  rankfeed_status status = RANKFEED_OK;
  rankfeed_request request{};
  request.struct_size = sizeof(request);
  request.document_count = 1;
  request.query.ids = &query_id;
  request.query.id_count = 1;
  request.documents = &document;
  request.document_status = &status;
  const std::shared_ptr<Arena> arena = Arena::Allocate(64 << 10);
  rankfeed_batch batch{};
  batch.struct_size = sizeof(batch);
  batch.arena = arena->data();
  batch.arena_capacity = arena->size();
  Check(rankfeed_encode_pairs(reranker, &request, &batch), "template");
  Check(status, "template");
  const auto* ids = static_cast<const int32_t*>(batch.input_ids.data);
  const auto* types = static_cast<const int32_t*>(batch.token_type_ids.data);
  Template out;
  size_t texts = 0;  // each once: a reranker takes no other template
  for (uint64_t i = 0; i < batch.tokens; ++i) {
    if (ids[i] == document_id) {
      out.document_first = pair && texts == 0;
      out.document_type = types[i];
      ++texts;
    } else if (ids[i] == query_id) {
      out.query_type = types[i];
      ++texts;
    } else {
      out.specials[texts].push_back({ids[i], types[i]});
    }
  }
  return out;
}

rankfeed_rerank_options OptionsOf(const nb::dict& dict) {
  rankfeed_rerank_options o;
  rankfeed_rerank_options_init(&o);
  for (const auto [key, value] : dict) {
    const std::string name = nb::cast<std::string>(key);
    const auto number = nb::cast<uint64_t>(value);
    const auto u32 = static_cast<uint32_t>(number);
    if (number > std::numeric_limits<uint32_t>::max() && name != "max_arena_bytes") {
      throw StatusError(RANKFEED_E_ARGUMENT,
                        name + " is " + std::to_string(number) + ", at most 4294967295");
    }
    // Choices: no number of one has more than 8 bits.
    const auto u8 = static_cast<uint8_t>(std::min<uint64_t>(number, 255));
    if (name == "encode_flags")
      o.encode_flags = u32;
    else if (name == "max_length")
      o.max_length = u32;
    else if (name == "max_query_tokens")
      o.max_query_tokens = u32;
    else if (name == "max_tokens_per_doc")
      o.max_tokens_per_doc = u32;
    else if (name == "stride")
      o.stride = u32;
    else if (name == "max_chunks_per_doc")
      o.max_chunks_per_doc = u32;
    else if (name == "truncation")
      o.truncation = u8;
    else if (name == "truncation_side")
      o.truncation_side = u8;
    else if (name == "overflow")
      o.overflow = u8;
    else if (name == "template_kind")
      o.template_kind = u8;
    else if (name == "no_special_tokens")
      o.no_special_tokens = u8;
    else if (name == "layout")
      o.layout = u8;
    else if (name == "id_type")
      o.id_type = u8;
    else if (name == "padding_side")
      o.padding_side = u8;
    else if (name == "tensors")
      o.tensors = u32;
    else if (name == "pad_to_length")
      o.pad_to_length = u32;
    else if (name == "pad_to_multiple_of")
      o.pad_to_multiple_of = u32;
    else if (name == "max_rows_per_batch")
      o.max_rows_per_batch = u32;
    else if (name == "max_tokens_per_batch")
      o.max_tokens_per_batch = u32;
    else if (name == "budget")
      o.budget = u8;
    else if (name == "sort")
      o.sort = u8;
    else if (name == "max_arena_bytes")
      o.max_arena_bytes = number;
    else
      throw StatusError(RANKFEED_E_ARGUMENT, "no option " + name);
  }
  return o;
}

namespace {

nb::object Piece(const Model& model, uint32_t id) {
  const char* data;
  size_t size;
  if (rankfeed_model_id_to_piece(model.get(), id, &data, &size) != RANKFEED_OK) return nb::none();
  return nb::steal(PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(size), "replace"));
}

nb::object Decode(Model& model, Ids ids, bool skip_special_tokens, bool as_bytes) {
  std::string out;
  {
    const nb::gil_scoped_release release;
    Model::Lease lease(&model, ids.size(), false, false);
    const uint32_t flags = skip_special_tokens ? RANKFEED_SKIP_SPECIAL_TOKENS : 0;
    size_t size = 8 * ids.size() + 64;
    for (rankfeed_status status = RANKFEED_E_OUTPUT_SIZE; status == RANKFEED_E_OUTPUT_SIZE;) {
      out.resize(size);
      status = rankfeed_decode(lease.encoders()[0], ids.data(), ids.size(), flags, out.data(),
                               out.size(), &size);
      if (status != RANKFEED_E_OUTPUT_SIZE) Check(status, "decode");
    }
    out.resize(size);
  }
  if (as_bytes) return nb::bytes(out.data(), out.size());
  return nb::steal(
      PyUnicode_DecodeUTF8(out.data(), static_cast<Py_ssize_t>(out.size()), "replace"));
}

}  // namespace

void BindModel(nb::module_& module) {
  Model::KeepAcrossFork();
  module.def(
      "parity_number",
      [](const std::string& name) {
        uint32_t number;
        if (rankfeed_parity_from_name(name.c_str(), &number) != RANKFEED_OK) {
          std::string names;
          for (uint32_t i = 0; const char* known = rankfeed_parity_name(i); ++i) {
            names += std::string(i == 0 ? "" : ", ") + known;
          }
          throw nb::value_error(
              ("parity must be one of " + names + ", not '" + name + "'").c_str());
        }
        return static_cast<int32_t>(number);
      },
      nb::arg("name"), "RANKFEED_PARITY_* of a name.");
  nb::class_<Model>(module, "Model", "A vocabulary; see rankfeed.Tokenizer.")
      .def(
          "__init__",
          [](Model* self, const std::string& path, int32_t parity, const std::string& preset,
             uint32_t pages) {
            const nb::gil_scoped_release release;
            new (self) Model(path, parity, preset, Pages{pages});
          },
          nb::arg("path"), nb::arg("parity") = -1, nb::arg("preset") = "", nb::arg("pages") = 0)
      .def_prop_ro(
          "pages",
          [](const Model& m) {
            const rankfeed_placement placement = m.placement();
            nb::object huge = nb::none();
            if (placement.huge_bytes != UINT64_MAX) huge = nb::int_(placement.huge_bytes);
            return nb::make_tuple(rankfeed_pages_name(placement.pages), huge);
          },
          nb::for_getter(nb::sig("def pages(self) -> tuple[str, int | None]")))
      .def("set_threads", &Model::set_threads, nb::arg("threads"),
           "Threads that a batch uses; 0: as many as the process may run on.")
      .def("set_max_stretch_bytes", &Model::set_max_stretch_bytes, nb::arg("bytes"),
           "Longest stretch of a text that cannot be cut; 0: 256 KiB.")
      .def_prop_ro("note", [](const Model& m) { return m.note(); }, nb::for_getter(nb::sig("def note(self) -> str")))
      .def_prop_ro("pad_id", [](const Model& m) { return m.info().pad_id; })
      .def_prop_ro("pad_type_id", [](const Model& m) { return m.info().pad_type_id; })
      .def("set_invalid_text", &Model::set_invalid_text, nb::arg("policy"),
           "What becomes of text that is no valid Unicode: 0: as the reference does; 1: an error; "
           "2: U+FFFD.")
      .def("trim", &Model::Trim,
           "Hands the memory that texts have touched in idle encoders back to the system; its "
           "bytes.")
      .def(
          "roads",
          [](Model& m) {
            const RoadCounts roads = m.Roads();
            nb::dict d;
            for (uint32_t i = 0; i < roads.size(); ++i) {
              d[rankfeed_reason_name(i)] = nb::make_tuple(roads[i].texts, roads[i].bytes);
            }
            return d;
          },
          "Texts and bytes encoded so far, by the reason why they left the fast road.",
          nb::sig("def roads(self) -> dict[str, tuple[int, int]]"))
      .def(
          "isa",
          [](Model& m) {
            const Model::Lease lease(&m, 0, false, false);
            return rankfeed_encoder_isa(lease.encoders()[0]);
          },
          "The instruction set that encoders run.", nb::sig("def isa(self) -> str"))
      .def(
          "info",
          [](const Model& m) {
            const rankfeed_model_info& i = m.info();
            nb::dict d;
            d["parity"] = rankfeed_parity_name(i.parity);
            d["id_count"] = i.id_count;
            d["piece_count"] = i.piece_count;
            d["unk_id"] = i.unk_id;
            d["bos_id"] = i.bos_id;
            d["eos_id"] = i.eos_id;
            d["pad_id"] = i.pad_id;
            d["cls_id"] = i.cls_id;
            d["sep_id"] = i.sep_id;
            d["mask_id"] = i.mask_id;
            d["pad_type_id"] = i.pad_type_id;
            d["specials_single"] = i.specials_single;
            d["specials_pair"] = i.specials_pair;
            d["position_offset"] = i.position_offset;
            d["has_token_type_ids"] = i.has_token_type_ids != 0;
            d["byte_fallback"] = i.byte_fallback != 0;
            d["image_size"] = i.image_size;
            d["model"] = rankfeed_model_kind(m.get());
            d["off_fast_road"] = rankfeed_model_off_fast_road(m.get());
            d["config_hash"] = nb::bytes(i.config_hash, sizeof(i.config_hash)).attr("hex")();
            return d;
          },
          nb::sig("def info(self) -> dict[str, typing.Any]"))
      .def(
          "image",
          [](const Model& m) {
            size_t size;
            const void* data = m.image(&size);
            return nb::bytes(data, size);
          },
          "The bytes of the image, a copy.")
      .def("id_to_piece", &Piece, nb::arg("id"),
           nb::sig("def id_to_piece(self, id: int) -> str | None"))
      .def(
          "piece_to_id",
          [](const Model& m, nb::handle piece) {
            const rankfeed_text text = TextOf(piece);
            return rankfeed_model_piece_to_id(m.get(), text.data, text.size);
          },
          nb::arg("piece"), nb::sig("def piece_to_id(self, piece: str | bytes) -> int"))
      .def("decode", &Decode, nb::arg("ids"), nb::arg("skip_special_tokens"),
           nb::arg("as_bytes") = false,
           nb::sig("def decode(self, ids: object, skip_special_tokens: bool, as_bytes: bool = "
                   "False) -> object"));
}

}  // namespace rankfeed::python
