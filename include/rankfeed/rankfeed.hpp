// SPDX-License-Identifier: MIT
// rankfeed/rankfeed.hpp: header-only C++20 wrapper over the C API of the runtime library. Owns
// memory with RAII and returns Result<T> or Error; throws nothing: memory that cannot be had is
// RANKFEED_E_NO_MEMORY. For model files (not images) see rankfeed/builder.hpp.
//
// Model: immutable, share freely. Encoder: one thread at a time.
#ifndef RANKFEED_RANKFEED_HPP_
#define RANKFEED_RANKFEED_HPP_

#if __cplusplus < 202002L && !defined(_MSVC_LANG)
#error "rankfeed's C++ headers need C++20: -std=c++20, or link CMake's targets, which ask for it"
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rankfeed/encode.h"
#include "rankfeed/model.h"
#include "rankfeed/status.h"
#include "rankfeed/version.h"

namespace rankfeed {
inline namespace v1 {

// A status with words. Contextually true when something failed.
struct Error {
  rankfeed_status status = RANKFEED_OK;
  std::string message;
  explicit operator bool() const { return status != RANKFEED_OK; }
  static Error From(rankfeed_status status, std::string_view what = {}) {
    Error error{status, std::string(what)};
    if (!what.empty()) error.message += ": ";
    error.message += rankfeed_status_message(status);
    return error;
  }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::move(error)) {}  // NOLINT
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

namespace detail {

// f's result, or NO_MEMORY where it runs out of memory. The message needs none: it fits into a
// std::string itself.
template <class F>
auto OrNoMemory(const F& f) -> decltype(f()) {
#if defined(__cpp_exceptions)
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return Error{RANKFEED_E_NO_MEMORY, "out of memory"};
  }
#else
  return f();
#endif
}

// An error of that status, or none for OK; where there is no memory for words, without them.
inline Error InWords(rankfeed_status status, std::string_view what) {
  Error error{status, {}};
  if (status != RANKFEED_OK) {
    (void)OrNoMemory([&] {
      error = Error::From(status, what);
      return Error{};
    });
  }
  return error;
}

// LIMIT: what there is, and what there may be.
inline Error OverLimit(const char* before, uint64_t count, const char* between, uint64_t limit) {
  return OrNoMemory([&] {
    return Error{RANKFEED_E_LIMIT,
                 before + std::to_string(count) + between + std::to_string(limit)};
  });
}

// Says of a text, after its name, why it is LIMIT, and which value of max_stretch_bytes is enough: the bytes that the
// text may become, or its own if those are more. max_stretch_bytes: the value, 0 for 256 KiB, and its name.
inline std::string StretchTooLong(const rankfeed_model* model, size_t text_bytes, uint32_t max_stretch_bytes,
                                  const std::string& name = "max_stretch_bytes") {
  const size_t most = rankfeed_max_text_bytes(model), bound = rankfeed_token_bound(model, text_bytes);
  const std::string has = "has " + std::to_string(text_bytes) + " bytes";
  if (text_bytes > most) return has + "; the limit of the vocabulary is " + std::to_string(most);
  const std::string why = has + ", with a stretch that cannot be cut and is longer than " + name + ", " +
                          std::to_string(max_stretch_bytes != 0 ? max_stretch_bytes : 256 << 10) +
                          ", or than twice that when normalized";
  if (bound == UINT32_MAX) return why + "; or it may become more tokens than 32 bits count";
  return why + "; " + name + " " + std::to_string(bound > text_bytes ? bound : text_bytes) + " is enough";
}

}  // namespace detail

// Uninitialised bytes with the alignment a rankfeed_mem_req asks for; none, with data() null, where
// there is no memory.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(rankfeed_mem_req req)
      : data_(::operator new(req.size, std::align_val_t(req.alignment), std::nothrow)), req_(req) {}
  AlignedBytes(AlignedBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), req_(other.req_) {}
  AlignedBytes& operator=(AlignedBytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(req_, other.req_);
    return *this;
  }
  ~AlignedBytes() {
    if (data_ != nullptr) ::operator delete(data_, std::align_val_t(req_.alignment));
  }
  void* data() const { return data_; }
  size_t size() const { return data_ != nullptr ? req_.size : 0; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void* data_ = nullptr;
  rankfeed_mem_req req_{0, 64};
};

// Pages that the bytes of an image lie on while they are used, from the largest.
enum class Pages : uint32_t {
  kAuto = RANKFEED_PAGES_AUTO,                // the largest there are
  kHugetlb = RANKFEED_PAGES_HUGETLB,          // preallocated 2 MiB pages, or an error
  kTransparent = RANKFEED_PAGES_TRANSPARENT,  // transparent huge pages, else base pages
  kBase = RANKFEED_PAGES_BASE,                // base pages only
  kFile = RANKFEED_PAGES_FILE  // the file itself, shared between processes: only for files that
                               // nobody else changes, see rankfeed_image_map_file
};

// An image file in memory and the model over it.
class Model {
 public:
  static Result<Model> Open(const char* image_path, Pages pages = Pages::kAuto) {
    Model model;
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof(detail);
    model.placement_.struct_size = sizeof(model.placement_);
    rankfeed_status status = rankfeed_image_open(image_path, static_cast<uint32_t>(pages),
                                                 &model.mapping_, &model.placement_, &detail);
    if (status == RANKFEED_OK) {
      model.storage_ = AlignedBytes(rankfeed_model_mem_req());
      if (!model.storage_) status = RANKFEED_E_NO_MEMORY;
    }
    if (status == RANKFEED_OK) {
      status =
          rankfeed_model_open(model.mapping_.data, model.mapping_.size, 0, model.storage_.data(),
                              model.storage_.size(), &model.model_, &detail);
    }
    if (status != RANKFEED_OK) {
      return detail::OrNoMemory([&] { return Error::From(status, image_path); });
    }
    return model;
  }
  Model(Model&& other) noexcept
      : mapping_(std::exchange(other.mapping_, {})),
        placement_(other.placement_),
        storage_(std::move(other.storage_)),
        model_(std::exchange(other.model_, nullptr)) {}
  Model& operator=(Model&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(placement_, other.placement_);
    std::swap(storage_, other.storage_);
    std::swap(model_, other.model_);
    return *this;
  }
  ~Model() { rankfeed_image_unmap(&mapping_); }
  const rankfeed_model* get() const { return model_; }
  // Returns which pages the image got, and why not larger ones.
  const rankfeed_placement& placement() const { return placement_; }

 private:
  Model() = default;
  rankfeed_mapping mapping_{};
  rankfeed_placement placement_{};
  AlignedBytes storage_;
  rankfeed_model* model_ = nullptr;
};

inline rankfeed_model_info Info(const rankfeed_model* model) {
  rankfeed_model_info info{};
  info.struct_size = sizeof(info);
  (void)rankfeed_model_get_info(model, &info);
  return info;
}

// Counts by rankfeed_reason; RANKFEED_REASON_NONE: on the fast road.
using RoadCounts = std::array<rankfeed_road_counts, RANKFEED_REASON_COUNT>;
inline void Add(const RoadCounts& counts, RoadCounts* sum) {
  for (size_t i = 0; i < counts.size(); ++i) {
    (*sum)[i].texts += counts[i].texts;
    (*sum)[i].bytes += counts[i].bytes;
  }
}
// The elements added since.
inline RoadCounts Since(const RoadCounts& before, RoadCounts counts) {
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i].texts -= before[i].texts;
    counts[i].bytes -= before[i].bytes;
  }
  return counts;
}

// The columns of one encoded text.
struct Encoding {
  std::vector<int32_t> input_ids;
  std::vector<uint32_t> offset_begin, offset_end;  // filled when the encoder has offsets
  std::vector<uint8_t> special_tokens_mask;
};

// The columns of several encoded texts: text i has [cu_seqlens[i], cu_seqlens[i + 1]) of each.
struct Encodings {
  std::vector<int32_t> input_ids;
  std::vector<uint32_t> cu_seqlens;
  std::vector<uint32_t> offset_begin, offset_end;  // filled when the encoder has offsets
};

// The policy for special tokens typed into texts, see rankfeed/encode.h.
enum class SpecialsInText : uint32_t {
  kParse = RANKFEED_SPECIALS_PARSE,
  kEscape = RANKFEED_SPECIALS_ESCAPE,
  kError = RANKFEED_SPECIALS_ERROR
};
inline void SetSpecialsInText(SpecialsInText mode, uint32_t* encode_flags) {
  *encode_flags &= ~uint32_t{RANKFEED_SPECIALS_ESCAPE | RANKFEED_SPECIALS_ERROR};
  *encode_flags |= static_cast<uint32_t>(mode);
}

// One thread's encoder with its scratch. Texts longer than max_text_bytes are refused, and those
// with a stretch that cannot be cut and is longer than max_stretch_bytes (0: 256 KiB).
class Encoder {
 public:
  static constexpr uint32_t kDefaultCacheBytes = 4 << 20;  // up to 131,072 words
  static Result<Encoder> Create(const rankfeed_model* model, uint32_t max_text_bytes,
                                bool with_offsets = false,
                                uint32_t cache_bytes = kDefaultCacheBytes,
                                uint32_t max_stretch_bytes = 0) {
    Encoder encoder;
    rankfeed_limits limits{sizeof(rankfeed_limits), max_text_bytes, with_offsets ? 1u : 0u,
                           cache_bytes, max_stretch_bytes};
    rankfeed_mem_req req;
    rankfeed_status status = rankfeed_encoder_mem_req(model, &limits, &req);
    if (status == RANKFEED_E_LIMIT) {
      return detail::OverLimit("encoder: max_text_bytes is ", max_text_bytes,
                               " bytes; the limit of the vocabulary is ",
                               rankfeed_max_text_bytes(model));
    }
    if (status == RANKFEED_OK) {
      encoder.scratch_ = AlignedBytes(req);
      if (!encoder.scratch_) return NoScratch(max_text_bytes, req.size);
      status = rankfeed_encoder_init(model, &limits, encoder.scratch_.data(), req.size,
                                     &encoder.encoder_);
    }
    if (status != RANKFEED_OK) {
      return detail::OrNoMemory([&] { return Error::From(status, "encoder"); });
    }
    encoder.model_ = model;
    encoder.max_text_bytes_ = max_text_bytes;
    encoder.max_stretch_bytes_ = max_stretch_bytes;
    encoder.with_offsets_ = with_offsets;
    return encoder;
  }

  // Replaces the content of *out. The vectors grow to what the text needs and keep their capacity.
  Error Encode(std::string_view text, const rankfeed_encode_options& options, Encoding* out) {
    return detail::OrNoMemory([&] { return EncodeInto(text, options, out); });
  }

  // Several texts at once: text i has input_ids[cu_seqlens[i], cu_seqlens[i + 1]). Replaces the
  // content of both; after an error they hold the texts before the one it is about, which is number
  // cu_seqlens->size() - 1. Short texts take less time together than one by one.
  Error EncodeBatch(std::span<const std::string_view> texts, const rankfeed_encode_options& options,
                    std::vector<int32_t>* input_ids, std::vector<uint32_t>* cu_seqlens) {
    return detail::OrNoMemory(
        [&] { return EncodeTexts(texts, options, input_ids, cu_seqlens, nullptr, nullptr); });
  }
  // The same with offsets, each in its own text, where the encoder has them.
  Error EncodeBatch(std::span<const std::string_view> texts, const rankfeed_encode_options& options,
                    Encodings* out) {
    return detail::OrNoMemory([&] {
      return EncodeTexts(texts, options, &out->input_ids, &out->cu_seqlens,
                         with_offsets_ ? &out->offset_begin : nullptr,
                         with_offsets_ ? &out->offset_end : nullptr);
    });
  }

  // A text that comes in pieces, cut anywhere: EncodeBegin, EncodeFeed for each piece, EncodeEnd,
  // see rankfeed_encode_begin. The last two append the ids that are settled to *input_ids, also
  // before an error; together they are those of Encode. A window of window_bytes is allocated.
  Error EncodeBegin(const rankfeed_encode_options& options, uint32_t window_bytes = 1 << 16) {
    return detail::OrNoMemory([&] {
      window_.resize(window_bytes);
      const rankfeed_status status =
          rankfeed_encode_begin(encoder_, &options, window_.data(), window_bytes);
      const char* const obstacle = rankfeed_encode_begin_obstacle(encoder_, &options);
      if (status != RANKFEED_E_UNSUPPORTED || obstacle == nullptr) {
        return detail::InWords(status, "encoder");
      }
      return Error{status, std::string("encoder: texts cannot come in pieces: ") + obstacle};
    });
  }
  Error EncodeFeed(std::string_view piece, std::vector<int32_t>* input_ids) {
    return detail::OrNoMemory([&] { return FeedInto(piece, input_ids); });
  }
  Error EncodeEnd(std::vector<int32_t>* input_ids) {
    return detail::OrNoMemory([&] {
      return Append(input_ids, 0, [&](rankfeed_stream_io* io) {
        return rankfeed_encode_end(encoder_, io);
      });
    });
  }

  // Before the first text, where that one must not wait for memory; see rankfeed_encoder_warm.
  Error Warm() { return detail::InWords(rankfeed_encoder_warm(encoder_), "encoder"); }
  // Hands pages of the scratch back that texts have touched, see rankfeed_encoder_trim, and the
  // memory that the longest text's tokens were copied from. Returns the bytes of those pages; 0
  // where the system refuses.
  size_t Trim() {
    room_ = Room();
    size_t dropped = 0;
    (void)rankfeed_encoder_trim(encoder_, &dropped);
    return dropped;
  }

  // Returns what Encode and EncodeBatch have encoded so far, each text once.
  RoadCounts Roads() const { return Since(repeated_, AllRoads()); }

  // The instruction set it runs, see rankfeed_isa.
  const char* Isa() const { return rankfeed_encoder_isa(encoder_); }

  // The first special token written in the text, if any.
  std::optional<rankfeed_special_match> FindSpecial(std::string_view text) {
    rankfeed_special_match match{};
    match.struct_size = sizeof(match);
    if (rankfeed_find_special(encoder_, {text.data(), text.size()}, &match) != RANKFEED_OK) {
      return std::nullopt;
    }
    return match;
  }

  Error Decode(std::span<const int32_t> input_ids, bool skip_special_tokens, std::string* out) {
    return detail::OrNoMemory([&] { return DecodeInto(input_ids, skip_special_tokens, out); });
  }

  rankfeed_encoder* get() const { return encoder_; }

 private:
  Encoder() = default;

  static Error NoScratch(uint32_t max_text_bytes, size_t bytes) {
    return detail::OrNoMemory([&] {
      return Error{RANKFEED_E_NO_MEMORY, "encoder: no memory for the " + std::to_string(bytes) +
                                             " bytes of scratch that max_text_bytes " +
                                             std::to_string(max_text_bytes) + " needs"};
    });
  }
  Error FromText(rankfeed_status status, std::string_view text) {
    if (status == RANKFEED_OK) return Error{};
    if (status == RANKFEED_E_SPECIAL_IN_TEXT) return SpecialError(text);
    if (status == RANKFEED_E_LIMIT && text.size() > max_text_bytes_) {
      return detail::OverLimit("encoder: the text has ", text.size(), " bytes; max_text_bytes is ",
                               max_text_bytes_);
    }
    if (status == RANKFEED_E_LIMIT) {
      return detail::OrNoMemory([&] {
        return Error{status, "encoder: the text " +
                               detail::StretchTooLong(model_, text.size(), max_stretch_bytes_)};
      });
    }
    return Error::From(status);
  }

  // Returns the counts with what was encoded again because its ids did not fit.
  RoadCounts AllRoads() const {
    RoadCounts counts{};
    (void)rankfeed_encoder_roads(encoder_, counts.data(), counts.size());
    return counts;
  }
  void Repeat(const RoadCounts& before) { Add(Since(before, AllRoads()), &repeated_); }

  // Columns of a call before they are copied to vectors: those would be written with zeros first,
  // as many as there may be tokens. Its memory is touched where there are some.
  struct Room {
    AlignedBytes bytes;
    size_t capacity = 0;  // tokens
    int32_t* input_ids = nullptr;
    uint32_t *offset_begin = nullptr, *offset_end = nullptr;  // null without offsets
    uint8_t* special_tokens_mask = nullptr;
  };
  // Whether there is memory for so many tokens, 32 bits at most.
  bool MakeRoom(size_t tokens) {
    tokens = std::min<size_t>(tokens, UINT32_MAX);
    if (tokens <= room_.capacity) return true;
    const size_t columns = with_offsets_ ? 3 : 1;
    Room room{AlignedBytes({tokens * (columns * sizeof(int32_t) + 1), 64}), tokens};
    if (!room.bytes) return false;
    room.input_ids = static_cast<int32_t*>(room.bytes.data());
    auto* const offsets = static_cast<uint32_t*>(room.bytes.data()) + tokens;
    if (with_offsets_) room.offset_begin = offsets, room.offset_end = offsets + tokens;
    room.special_tokens_mask =
        static_cast<uint8_t*>(room.bytes.data()) + tokens * columns * sizeof(int32_t);
    room_ = std::move(room);
    return true;
  }
  // Copies `count` tokens of a column of the room, if there is one.
  template <class T>
  static void Take(const T* column, size_t count, std::vector<T>* out) {
    out->assign(column, column + (column != nullptr ? count : 0));
  }

  Error EncodeInto(std::string_view text, const rankfeed_encode_options& options, Encoding* out) {
    const RoadCounts before = AllRoads();
    for (size_t capacity = Likely(text.size());;) {
      if (!MakeRoom(capacity)) return Error{RANKFEED_E_NO_MEMORY, "out of memory"};
      rankfeed_encoding io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(room_.capacity);
      io.input_ids = room_.input_ids;
      io.special_tokens_mask = room_.special_tokens_mask;
      io.offset_begin = room_.offset_begin;
      io.offset_end = room_.offset_end;
      const rankfeed_status status =
          rankfeed_encode(encoder_, {text.data(), text.size()}, &options, &io);
      if (status == RANKFEED_E_OUTPUT_SIZE) {
        Repeat(before);
        capacity = io.count;
        continue;
      }
      const size_t count = status == RANKFEED_OK ? io.count : 0;
      Take(room_.input_ids, count, &out->input_ids);
      Take(room_.special_tokens_mask, count, &out->special_tokens_mask);
      Take(room_.offset_begin, count, &out->offset_begin);
      Take(room_.offset_end, count, &out->offset_end);
      return FromText(status, text);
    }
  }

  // begin, end: null together.
  Error EncodeTexts(std::span<const std::string_view> texts, const rankfeed_encode_options& options,
                    std::vector<int32_t>* input_ids, std::vector<uint32_t>* cu_seqlens,
                    std::vector<uint32_t>* begin, std::vector<uint32_t>* end) {
    std::vector<rankfeed_text> views;
    views.reserve(texts.size());
    size_t bytes = 0;
    for (const std::string_view text : texts) {
      views.push_back({text.data(), text.size()});
      bytes += text.size();
    }
    cu_seqlens->resize(texts.size() + 1);
    const RoadCounts before = AllRoads();
    for (size_t capacity = Likely(bytes);;) {
      if (!MakeRoom(capacity)) return Error{RANKFEED_E_NO_MEMORY, "out of memory"};
      rankfeed_encodings io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(room_.capacity);
      io.input_ids = room_.input_ids;
      io.offset_begin = begin != nullptr ? room_.offset_begin : nullptr;
      io.offset_end = begin != nullptr ? room_.offset_end : nullptr;
      io.cu_seqlens = cu_seqlens->data();
      const rankfeed_status status =
          rankfeed_encode_batch(encoder_, views.data(), views.size(), &options, &io);
      if (io.count > room_.capacity) {
        Repeat(before);
        capacity = io.count;
        continue;
      }
      Take(room_.input_ids, io.count, input_ids);
      if (begin != nullptr) Take(room_.offset_begin, io.count, begin);
      if (end != nullptr) Take(room_.offset_end, io.count, end);
      cu_seqlens->resize(io.text_count + 1);
      return status == RANKFEED_OK ? Error{} : FromText(status, texts[io.text_count]);
    }
  }

  Error FeedInto(std::string_view piece, std::vector<int32_t>* input_ids) {
    return Append(input_ids, piece.size() / 4, [&](rankfeed_stream_io* io) {
      const rankfeed_status status =
          rankfeed_encode_feed(encoder_, {piece.data(), piece.size()}, io);
      piece.remove_prefix(io->consumed);
      return status;
    });
  }

  // Calls until the ids fit, of which there are likely so many.
  template <class Call>
  Error Append(std::vector<int32_t>* input_ids, size_t likely, Call call) {
    for (size_t room = std::min<size_t>(likely, 1 << 20) + 64;;) {
      const size_t size = input_ids->size();
      input_ids->resize(size + room);
      rankfeed_stream_io io{};
      io.struct_size = sizeof(io);
      io.capacity = static_cast<uint32_t>(room);
      io.input_ids = input_ids->data() + size;
      const rankfeed_status status = call(&io);
      input_ids->resize(size + io.count);
      if (status == RANKFEED_E_LIMIT) {
        return Error{status, "encoder: the text has no place to cut within the " +
                                 std::to_string(window_.size()) + " bytes of its window"};
      }
      if (status != RANKFEED_E_OUTPUT_SIZE) return detail::InWords(status, "encoder");
      room = std::max<size_t>(room, io.needed);
    }
  }

  Error DecodeInto(std::span<const int32_t> input_ids, bool skip_special_tokens, std::string* out) {
    const uint32_t flags = skip_special_tokens ? RANKFEED_SKIP_SPECIAL_TOKENS : 0;
    for (size_t capacity = out->capacity() | 256;;) {
      out->resize(capacity);
      size_t size = 0;
      const rankfeed_status status = rankfeed_decode(encoder_, input_ids.data(), input_ids.size(),
                                                     flags, out->data(), capacity, &size);
      if (status == RANKFEED_E_OUTPUT_SIZE) {
        capacity = size;
        continue;
      }
      out->resize(status == RANKFEED_OK ? size : 0);
      if (status == RANKFEED_E_LIMIT && input_ids.size() > max_text_bytes_) {
        return detail::OverLimit("encoder: there are ", input_ids.size(),
                                 " ids; max_text_bytes is ", max_text_bytes_);
      }
      return status == RANKFEED_OK ? Error{} : Error::From(status);
    }
  }

  // Tokens to make room for: one for each byte, which only texts that the normalizer makes longer
  // outgrow. They are encoded again.
  static size_t Likely(size_t bytes) { return bytes + 64; }
  Error SpecialError(std::string_view text) {
    Error error = Error::From(RANKFEED_E_SPECIAL_IN_TEXT);
    if (const auto match = FindSpecial(text)) {
      error.message += " (id " + std::to_string(match->id) + ", bytes " +
                       std::to_string(match->byte_begin) + " to " +
                       std::to_string(match->byte_end) + ")";
    }
    return error;
  }
  AlignedBytes scratch_;
  const rankfeed_model* model_ = nullptr;
  rankfeed_encoder* encoder_ = nullptr;
  Room room_;
  std::vector<char> window_;  // of a text that comes in pieces
  uint32_t max_text_bytes_ = 0, max_stretch_bytes_ = 0;
  bool with_offsets_ = false;
  RoadCounts repeated_{};  // tries whose ids did not fit
};

}  // namespace v1
}  // namespace rankfeed

#endif  // RANKFEED_RANKFEED_HPP_
