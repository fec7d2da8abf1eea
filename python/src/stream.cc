// SPDX-License-Identifier: MIT
// python/src/stream.cc: a text that comes in pieces, for Tokenizer.encode_stream.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "inputs.h"
#include "memory.h"
#include "model.h"

namespace rankfeed::python {
namespace {

using Array = nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>;

Array Own(std::unique_ptr<std::vector<int32_t>> ids) {
  const size_t size = ids->size();
  int32_t* const data = ids->data();
  const nb::capsule owner(ids.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<int32_t>*>(p); });
  return Array(data, {size}, owner);
}

void CheckError(const Error& error) {
  if (error) throw StatusError(error.status, error.message);
}

// One text, of one thread at a time. The model must outlive it.
class Stream {
 public:
  Stream(Model& model, uint32_t flags, uint32_t window_bytes) : model_(model) {
    const uint32_t most = rankfeed_max_text_bytes(model.get());
    auto encoder = Encoder::Create(model.get(), std::min(window_bytes, most), false,
                                   Encoder::kDefaultCacheBytes, model.max_stretch_bytes());
    if (!encoder) throw StatusError(encoder.error().status, encoder.error().message);
    encoder_.emplace(std::move(*encoder));
    rankfeed_encode_options options{};
    options.struct_size = sizeof(options);
    options.flags = flags;
    CheckError(encoder_->EncodeBegin(options, window_bytes));
  }

  Array Feed(nb::handle piece) {
    Inputs inputs = model_.NewInputs();
    inputs.Add(piece, "piece", /*ids=*/false);
    const rankfeed_text text = inputs.texts()[0];
    return Call([&](std::vector<int32_t>* ids) {
      return encoder_->EncodeFeed({text.data, text.size}, ids);
    });
  }
  Array End() {
    return Call([&](std::vector<int32_t>* ids) { return encoder_->EncodeEnd(ids); });
  }

 private:
  template <class F>
  Array Call(F call) {
    auto ids = std::make_unique<std::vector<int32_t>>();
    {
      const nb::gil_scoped_release release;
      CheckError(call(ids.get()));
    }
    return Own(std::move(ids));
  }

  Model& model_;
  std::optional<Encoder> encoder_;
};

}  // namespace

void BindStream(nb::module_& module) {
  nb::class_<Stream>(module, "Stream", "A text that comes in pieces; see Tokenizer.encode_stream.")
      .def(nb::init<Model&, uint32_t, uint32_t>(), nb::arg("model"), nb::arg("flags"),
           nb::arg("window_bytes"), nb::keep_alive<1, 2>())
      .def("feed", &Stream::Feed, nb::arg("piece"), "Ids that are settled by the next piece.")
      .def("end", &Stream::End, "The last ids.");
}

}  // namespace rankfeed::python
