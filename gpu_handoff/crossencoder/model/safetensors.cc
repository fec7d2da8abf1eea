// SPDX-License-Identifier: MIT
// crossencoder/model/safetensors.cc: see safetensors.h. Nothing of the file is trusted: every
// number is checked before it is used, sums and products against overflow.
#include "crossencoder/model/safetensors.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

#include "crossencoder/model/float16.h"
#include "crossencoder/model/model_error.h"

namespace rankfeed::handoff {
namespace {

namespace dom = simdjson::dom;

// The format's own reader stops at 100 MB (MAX_HEADER_SIZE). A tensor's entry is about 120 bytes,
// so this is room for half a million tensors; a hostile file costs no more than this to parse.
constexpr uint64_t kMaxHeader = 64u << 20;
constexpr size_t kMaxRank = 8;

struct TypeRow {
  std::string_view name;
  uint32_t bytes;
  TensorType type;
};
// The types of the format whose elements are whole bytes.
constexpr TypeRow kTypes[] = {{"F32", 4, TensorType::kF32},      {"F16", 2, TensorType::kF16},
                              {"BF16", 2, TensorType::kBf16},    {"F64", 8, TensorType::kF64},
                              {"I64", 8, TensorType::kOther},    {"U64", 8, TensorType::kOther},
                              {"I32", 4, TensorType::kOther},    {"U32", 4, TensorType::kOther},
                              {"I16", 2, TensorType::kOther},    {"U16", 2, TensorType::kOther},
                              {"I8", 1, TensorType::kOther},     {"U8", 1, TensorType::kOther},
                              {"BOOL", 1, TensorType::kOther},   {"F8_E5M2", 1, TensorType::kOther},
                              {"F8_E4M3", 1, TensorType::kOther}};

class HeaderReader {
 public:
  explicit HeaderReader(const std::string& name) : name_(name) {}

  [[noreturn]] void Refuse(const std::string& why) const {
    throw ModelError(RANKFEED_E_PARSE, name_ + ": " + why);
  }
  [[noreturn]] void Refuse(std::string_view tensor, const std::string& why) const {
    // A hostile name must not fill the message.
    Refuse("tensor \"" + std::string(tensor.substr(0, 120)) + "\" " + why);
  }

  StoredTensor Tensor(std::string_view name, dom::element entry,
                      std::span<const std::byte> data) const {
    dom::object object;
    if (entry.get(object) != simdjson::SUCCESS) Refuse(name, "is not described by an object");
    StoredTensor tensor;
    std::string_view type;
    if (object["dtype"].get(type) != simdjson::SUCCESS) Refuse(name, "has no dtype");
    const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const TypeRow& r) { return r.name == type; });
    if (row == std::end(kTypes))
      Refuse(name, "has the unknown dtype " + std::string(type.substr(0, 40)));
    tensor.type = row->type;
    tensor.type_name = type;

    dom::array shape;
    if (object["shape"].get(shape) != simdjson::SUCCESS) Refuse(name, "has no shape");
    if (shape.size() > kMaxRank) Refuse(name, "has more than 8 dimensions");
    for (const dom::element size : shape) {
      uint64_t value = 0;
      if (size.get(value) != simdjson::SUCCESS)
        Refuse(name, "has a shape that is not whole numbers");
      if (value != 0 && tensor.elements > UINT64_MAX / value)
        Refuse(name, "has a shape that overflows");
      tensor.elements *= value;
      tensor.shape.push_back(value);
    }
    if (tensor.elements > UINT64_MAX / row->bytes) Refuse(name, "has a shape that overflows");

    dom::array offsets;
    uint64_t begin = 0, end = 0;
    if (object["data_offsets"].get(offsets) != simdjson::SUCCESS || offsets.size() != 2 ||
        offsets.at(0).get(begin) != simdjson::SUCCESS ||
        offsets.at(1).get(end) != simdjson::SUCCESS) {
      Refuse(name, "has no data_offsets [begin, end]");
    }
    if (begin > end || end > data.size()) {
      Refuse(name, "lies at " + std::to_string(begin) + " to " + std::to_string(end) + " of " +
                       std::to_string(data.size()) + " bytes of data");
    }
    if (end - begin != tensor.elements * row->bytes) {
      Refuse(name, "has " + std::to_string(end - begin) + " bytes, its shape and dtype need " +
                       std::to_string(tensor.elements * row->bytes));
    }
    if (object.size() != 3) Refuse(name, "has fields besides dtype, shape and data_offsets");
    tensor.data = data.subspan(begin, end - begin);
    return tensor;
  }

 private:
  const std::string& name_;
};

}  // namespace

void RefuseOtherKind(std::span<const std::byte> file, const std::string& name) {
  struct Row {
    std::string_view begin;
    const char* what;
  };
  constexpr Row kRows[] = {
      {"version https://git-lfs", "a git-lfs pointer, not the file; `git lfs pull` fetches it"},
      {"<", "an HTML or XML page, not the file"},
      {"\x1f\x8b", "a gzip archive; unpack it"},
      {"PK\x03\x04", "a zip archive, as a PyTorch file is"},
      {"GGUF", "a GGUF file"},
      {"\x28\xb5\x2f\xfd", "a zstd archive; unpack it"},
      {"\xff\xfe", "UTF-16; it must be UTF-8"},
      {"\xfe\xff", "UTF-16; it must be UTF-8"}};
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  for (const Row& row : kRows) {
    if (text.starts_with(row.begin)) throw ModelError(RANKFEED_E_PARSE, name + ": is " + row.what);
  }
}

void Safetensors::Add(std::span<const std::byte> file, const std::string& name) {
  const HeaderReader reader(name);
  if (file.size() < 8) RefuseOtherKind(file, name);
  if (file.size() < 8) reader.Refuse("shorter than the 8 bytes that hold the header's length");
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | std::to_integer<uint64_t>(file[static_cast<size_t>(i)]);
  // A length may look like one of those by chance, a length with '{' after it may not.
  if (length > file.size() - 8 || length == 0 || file[8] != std::byte{'{'})
    RefuseOtherKind(file, name);
  const std::string_view first(reinterpret_cast<const char*>(file.data()), 8);
  if (length > file.size() - 8 &&
      std::all_of(first.begin(), first.end(), [](char c) { return c >= ' ' && c <= '~'; })) {
    reader.Refuse("is text that begins with '" + std::string(first) + "'");
  }
  if (length > file.size() - 8) {
    reader.Refuse("header of " + std::to_string(length) + " bytes in a file of " +
                  std::to_string(file.size()));
  }
  if (length > kMaxHeader) {
    throw ModelError(RANKFEED_E_LIMIT, name + ": header of " + std::to_string(length) +
                                           " bytes; at most 64 MiB are read");
  }
  const auto* text = reinterpret_cast<const char*>(file.data() + 8);
  if (length == 0 || text[0] != '{') reader.Refuse("the header does not begin with '{'");
  const std::span<const std::byte> data = file.subspan(8 + length);

  dom::parser parser;
  dom::element root;
  if (const auto error = parser.parse(text, length).get(root)) {
    reader.Refuse(std::string("header is not JSON: ") + simdjson::error_message(error));
  }
  dom::object object;
  if (root.get(object) != simdjson::SUCCESS) reader.Refuse("header is not an object");
  std::map<std::string, StoredTensor, std::less<>> tensors;
  bool metadata = false;
  for (const dom::key_value_pair field : object) {
    if (field.key == "__metadata__") {
      dom::object strings;
      if (metadata || field.value.get(strings) != simdjson::SUCCESS) {
        reader.Refuse("__metadata__ stands twice or is not an object");
      }
      metadata = true;
      continue;
    }
    if (!tensors.emplace(field.key, reader.Tensor(field.key, field.value, data)).second) {
      reader.Refuse(field.key, "stands twice");
    }
  }

  // Together the file's tensors must cover the data exactly.
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto& [key, tensor] : tensors) {
    const auto begin = static_cast<uint64_t>(tensor.data.data() - data.data());
    if (!tensor.data.empty()) ranges.emplace_back(begin, begin + tensor.data.size());
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t at = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin < at)
      reader.Refuse("two tensors overlap at byte " + std::to_string(begin) + " of the data");
    if (begin > at)
      reader.Refuse("bytes " + std::to_string(at) + " to " + std::to_string(begin) +
                    " belong to no tensor");
    at = end;
  }
  if (at != data.size()) {
    reader.Refuse(std::to_string(data.size() - at) + " bytes after the last tensor");
  }
  tensors_.merge(tensors);
  if (!tensors.empty()) reader.Refuse(tensors.begin()->first, "is in another file too");
}

void Safetensors::Merge(const Safetensors& other, const std::string& prefix) {
  for (const auto& [name, tensor] : other.tensors_) tensors_.emplace(prefix + name, tensor);
}

Safetensors Safetensors::Without(std::string_view prefix) const {
  Safetensors cut(name_);
  for (const auto& [name, tensor] : tensors_)
    cut.tensors_.emplace(name.substr(prefix.size()), tensor);
  return cut;
}

namespace {

// An exponent of ones is that of infinities and of what is no number.
template <class Bits>
bool AllFinite(const std::byte* in, uint64_t elements, Bits exponent) {
  bool finite = true;
  for (uint64_t i = 0; i < elements; ++i) {
    Bits bits;
    std::memcpy(&bits, in + sizeof(bits) * i, sizeof(bits));
    finite &= (bits & exponent) != exponent;
  }
  return finite;
}

}  // namespace

bool AllFinite(const StoredTensor& tensor) {
  const std::byte* in = tensor.data.data();
  if (tensor.type == TensorType::kF32) return AllFinite<uint32_t>(in, tensor.elements, 0x7f800000u);
  if (tensor.type == TensorType::kF64)
    return AllFinite<uint64_t>(in, tensor.elements, 0x7ff0000000000000u);
  return AllFinite<uint16_t>(in, tensor.elements,
                             tensor.type == TensorType::kF16 ? 0x7c00 : 0x7f80);
}

void CopyToFloat(const StoredTensor& tensor, float* out) {
  const std::byte* in = tensor.data.data();
  if (tensor.type == TensorType::kF32) {
    if (!tensor.data.empty()) std::memcpy(out, in, tensor.data.size());
    return;
  }
  if (tensor.type == TensorType::kF64) {
    for (uint64_t i = 0; i < tensor.elements; ++i) {
      double value;
      std::memcpy(&value, in + 8 * i, sizeof(value));
      out[i] = static_cast<float>(value);
    }
    return;
  }
  for (uint64_t i = 0; i < tensor.elements; ++i) {
    uint16_t bits;
    std::memcpy(&bits, in + 2 * i, sizeof(bits));
    out[i] = tensor.type == TensorType::kF16 ? FloatOfF16(bits) : FloatOfBf16(bits);
  }
}

}  // namespace rankfeed::handoff
