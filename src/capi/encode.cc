// SPDX-License-Identifier: MIT
// capi/encode.cc: argument checks around encoding and decoding.
#include "rankfeed/encode.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "base/layout.h"
#include "encode/encoder.h"
#include "encode/text_encoder.h"
#include "platform/scratch_pages.h"
#include "reference/hf_decode.h"
#include "reference/sp_decode.h"

namespace {

using rankfeed::Layout;
using rankfeed::Model;
using rankfeed::TokenSink;

bool Open(const rankfeed_model* model) {
  return model != nullptr && model->magic == rankfeed::kModelMagic;
}
bool Open(const rankfeed_encoder* encoder) {
  return encoder != nullptr && encoder->magic == rankfeed::kEncoderMagic;
}

// At most one of them; without any offsets are bytes.
constexpr uint32_t kUnits = RANKFEED_OFFSETS_CODE_POINTS | RANKFEED_OFFSETS_UTF16;

// Options that exist and mean something here: a bit that this library does not know may be one of a
// newer header whose caller relies on it.
rankfeed_status CheckOptions(const rankfeed_encode_options* options, const Model& model,
                             uint32_t flags) {
  if (options == nullptr) return RANKFEED_OK;
  if (options->struct_size != sizeof(*options)) return RANKFEED_E_STRUCT_SIZE;
  if ((options->flags & ~flags) != 0) return RANKFEED_E_ARGUMENT;
  if ((options->flags & kUnits) == kUnits) return RANKFEED_E_ARGUMENT;
  bool ended = false;
  for (const uint8_t extra : options->sp_extra) {
    ended |= extra == 0;
    if (extra > RANKFEED_SP_UNK || (extra != 0 && (ended || model.huggingface()))) {
      return RANKFEED_E_ARGUMENT;
    }
  }
  return RANKFEED_OK;
}
constexpr uint32_t kIdFlags = RANKFEED_ADD_SPECIAL_TOKENS | RANKFEED_SPLIT_SPECIAL_TOKENS |
                              RANKFEED_ERROR_ON_SPECIAL | RANKFEED_ESCAPE_SPECIAL;
constexpr uint32_t kEncodeFlags = kIdFlags | kUnits;

// The size of programs compiled before batches had offsets.
constexpr size_t kEncodingsWithoutOffsets = offsetof(rankfeed_encodings, offset_begin);

// The size of programs compiled before limits had max_stretch_bytes.
constexpr size_t kLimitsWithoutStretch = offsetof(rankfeed_limits, max_stretch_bytes);

// Nothing past the caller's struct_size is read.
rankfeed_status LoadLimits(const rankfeed_model* model, const rankfeed_limits* given,
                           rankfeed_limits* limits, rankfeed::reference::Scratch::Sizes* sizes) {
  if (!Open(model) || given == nullptr) return RANKFEED_E_ARGUMENT;
  if (given->struct_size != sizeof(*given) && given->struct_size != kLimitsWithoutStretch) {
    return RANKFEED_E_STRUCT_SIZE;
  }
  *limits = {};
  std::memcpy(limits, given, given->struct_size);
  if (limits->with_offsets > 1) return RANKFEED_E_ARGUMENT;
  return rankfeed::ArraySizes(*model, *limits, sizes) ? RANKFEED_OK : RANKFEED_E_LIMIT;
}

constexpr rankfeed_encode_options kNoOptions = {sizeof(kNoOptions), 0, {}};

}  // namespace

rankfeed_status rankfeed_encoder_mem_req(const rankfeed_model* model, const rankfeed_limits* limits,
                                         rankfeed_mem_req* out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  rankfeed_limits given;
  rankfeed::reference::Scratch::Sizes sizes;
  if (const rankfeed_status status = LoadLimits(model, limits, &given, &sizes)) return status;
  Layout layout(nullptr);
  rankfeed::encode::Scratch scratch;
  rankfeed_encoder::Carve(layout, *model, sizes, given.cache_bytes, &scratch);
  if (!layout.ok()) return RANKFEED_E_LIMIT;
  *out = {layout.size(), Layout::kAlignment};
  return RANKFEED_OK;
}

rankfeed_status rankfeed_encoder_init(const rankfeed_model* model, const rankfeed_limits* limits,
                                      void* memory, size_t memory_size, rankfeed_encoder** out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  rankfeed_mem_req need;
  if (const rankfeed_status status = rankfeed_encoder_mem_req(model, limits, &need)) return status;
  if (memory == nullptr) return RANKFEED_E_ARGUMENT;
  if (reinterpret_cast<uintptr_t>(memory) % need.alignment != 0) return RANKFEED_E_ALIGNMENT;
  if (memory_size < need.size) return RANKFEED_E_WORKSPACE_SIZE;

  rankfeed_limits given;
  rankfeed::reference::Scratch::Sizes sizes;
  LoadLimits(model, limits, &given, &sizes);  // succeeded above
  Layout layout(memory);
  rankfeed::encode::Scratch scratch;
  rankfeed_encoder* place =
      rankfeed_encoder::Carve(layout, *model, sizes, given.cache_bytes, &scratch);
  // Before the cache is set, which touches it.
  char* const fast = scratch.general.working_end();
  char* const end = static_cast<char*>(memory) + need.size;
  rankfeed::platform::WishForHugePages(fast, static_cast<size_t>(end - fast));
  *out = new (place) rankfeed_encoder(*model, given, scratch);
  (*out)->scratch_end = end;
  return RANKFEED_OK;
}

uint32_t rankfeed_max_text_bytes(const rankfeed_model* model) {
  if (!Open(model)) return 0;
  uint32_t low = 0, high = 0x7fffffff;  // texts of low bytes fit, those of high do not
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    rankfeed::reference::Scratch::Sizes sizes;
    (rankfeed::ArraySizes(*model, {0, middle, 0, 0, 0}, &sizes) ? low : high) = middle;
  }
  return low;
}

rankfeed_status rankfeed_encoder_warm(rankfeed_encoder* encoder) {
  if (!Open(encoder)) return RANKFEED_E_ARGUMENT;
  const int error = rankfeed::platform::PopulatePages(encoder->fast_begin(), encoder->fast_size());
  return error == 0 ? RANKFEED_OK : RANKFEED_E_IO;
}

rankfeed_status rankfeed_encoder_trim(rankfeed_encoder* encoder, size_t* dropped) {
  if (dropped != nullptr) *dropped = 0;
  if (!Open(encoder)) return RANKFEED_E_ARGUMENT;
  size_t bytes = 0;
  char* const begin = encoder->general.working_begin();
  const size_t size = static_cast<size_t>(encoder->general.working_end() - begin);
  if (rankfeed::platform::DropPages(begin, size, &bytes) != 0) return RANKFEED_E_IO;
  if (dropped != nullptr) *dropped = bytes;
  return RANKFEED_OK;
}

rankfeed_status rankfeed_encode(rankfeed_encoder* encoder, rankfeed_text text,
                                const rankfeed_encode_options* options, rankfeed_encoding* io) {
  if (!Open(encoder) || io == nullptr || (text.data == nullptr && text.size != 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  if (io->struct_size != sizeof(rankfeed_encoding)) return RANKFEED_E_STRUCT_SIZE;
  if (const rankfeed_status status = CheckOptions(options, *encoder->model, kEncodeFlags)) {
    return status;
  }
  const bool offsets = io->offset_begin != nullptr || io->offset_end != nullptr;
  if ((io->input_ids == nullptr && io->capacity != 0) ||
      (offsets && encoder->limits.with_offsets == 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  return rankfeed::encode::TextEncoder(*encoder, options != nullptr ? *options : kNoOptions)
      .EncodeText(text, io);
}

rankfeed_status rankfeed_encode_batch(rankfeed_encoder* encoder, const rankfeed_text* texts,
                                      size_t text_count, const rankfeed_encode_options* options,
                                      rankfeed_encodings* io) {
  if (!Open(encoder) || io == nullptr || (texts == nullptr && text_count != 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  if (io->struct_size != sizeof(rankfeed_encodings) &&
      io->struct_size != kEncodingsWithoutOffsets) {
    return RANKFEED_E_STRUCT_SIZE;
  }
  // Nothing past the caller's struct_size is read or written.
  rankfeed_encodings out = {};
  std::memcpy(&out, io, io->struct_size);
  const bool offsets = out.offset_begin != nullptr || out.offset_end != nullptr;
  if (const rankfeed_status status =
          CheckOptions(options, *encoder->model, offsets ? kEncodeFlags : kIdFlags)) {
    return status;
  }
  if ((io->input_ids == nullptr && io->capacity != 0) || io->cu_seqlens == nullptr ||
      (offsets && encoder->limits.with_offsets == 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  const rankfeed_status status =
      rankfeed::encode::TextEncoder(*encoder, options != nullptr ? *options : kNoOptions)
          .EncodeTexts({texts, text_count}, &out);
  io->count = out.count;
  io->text_count = out.text_count;
  return status;
}

namespace {

// The columns of a call, checked.
rankfeed_status OpenIo(const rankfeed_encoder* encoder, rankfeed_stream_io* io, TokenSink* sink) {
  if (!Open(encoder) || io == nullptr) return RANKFEED_E_ARGUMENT;
  if (io->struct_size != sizeof(rankfeed_stream_io)) return RANKFEED_E_STRUCT_SIZE;
  io->count = io->needed = 0;
  io->consumed = 0;
  if (!encoder->stream.open() || (io->input_ids == nullptr && io->capacity != 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  *sink = {io->input_ids, nullptr, nullptr, io->capacity, 0};
  return RANKFEED_OK;
}

}  // namespace

rankfeed_status rankfeed_encode_begin(rankfeed_encoder* encoder,
                                      const rankfeed_encode_options* options, char* window,
                                      uint32_t window_bytes) {
  if (!Open(encoder) || window == nullptr || window_bytes == 0) return RANKFEED_E_ARGUMENT;
  if (const rankfeed_status status = CheckOptions(options, *encoder->model, kIdFlags)) {
    return status;
  }
  return encoder->stream.Begin(*encoder, options != nullptr ? *options : kNoOptions, window,
                               window_bytes);
}

const char* rankfeed_encode_begin_obstacle(const rankfeed_encoder* encoder,
                                           const rankfeed_encode_options* options) {
  if (!Open(encoder) || CheckOptions(options, *encoder->model, kIdFlags) != RANKFEED_OK) {
    return nullptr;
  }
  return rankfeed::encode::Stream::Obstacle(*encoder, options != nullptr ? *options : kNoOptions);
}

rankfeed_status rankfeed_encode_feed(rankfeed_encoder* encoder, rankfeed_text piece,
                                     rankfeed_stream_io* io) {
  TokenSink sink;
  if (const rankfeed_status status = OpenIo(encoder, io, &sink)) return status;
  if (piece.data == nullptr && piece.size != 0) return RANKFEED_E_ARGUMENT;
  const rankfeed_status status = encoder->stream.Feed(*encoder, {piece.data, piece.size}, sink,
                                                      &io->consumed, &io->needed);
  io->count = sink.count;
  return status;
}

rankfeed_status rankfeed_encode_end(rankfeed_encoder* encoder, rankfeed_stream_io* io) {
  TokenSink sink;
  if (const rankfeed_status status = OpenIo(encoder, io, &sink)) return status;
  const rankfeed_status status = encoder->stream.End(*encoder, sink, &io->needed);
  io->count = sink.count;
  return status;
}

rankfeed_status rankfeed_find_special(rankfeed_encoder* encoder, rankfeed_text text,
                                      rankfeed_special_match* out) {
  if (!Open(encoder) || out == nullptr || (text.data == nullptr && text.size != 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  if (out->struct_size != sizeof(rankfeed_special_match)) return RANKFEED_E_STRUCT_SIZE;
  out->id = 0;
  out->byte_begin = out->byte_end = 0;
  if (text.size > encoder->limits.max_text_bytes) return RANKFEED_E_LIMIT;
  if (!encoder->model->huggingface()) return RANKFEED_E_NOT_FOUND;
  TokenSink sink;
  rankfeed::SpecialPlace place{};
  const rankfeed_status status = rankfeed::reference::EncodeHuggingFace(
      *encoder->model, encoder->general, {text.data, text.size}, RANKFEED_ERROR_ON_SPECIAL, sink,
      &place);
  if (status == RANKFEED_OK) return RANKFEED_E_NOT_FOUND;
  if (status != RANKFEED_E_SPECIAL_IN_TEXT) return status;
  out->id = place.id;
  out->byte_begin = place.begin;
  out->byte_end = place.end;
  return RANKFEED_OK;
}

uint32_t rankfeed_token_bound(const rankfeed_model* model, size_t text_bytes) {
  return Open(model) ? rankfeed::encode::TokenBound(*model, text_bytes) : 0xffffffffu;
}

rankfeed_status rankfeed_decode(rankfeed_encoder* encoder, const int32_t* input_ids, size_t count,
                                uint32_t flags, char* out, size_t capacity, size_t* size) {
  if (!Open(encoder) || size == nullptr || (input_ids == nullptr && count != 0) ||
      (out == nullptr && capacity != 0) || (flags & ~uint32_t{RANKFEED_SKIP_SPECIAL_TOKENS}) != 0) {
    return RANKFEED_E_ARGUMENT;
  }
  *size = 0;
  if (count > encoder->limits.max_text_bytes) return RANKFEED_E_LIMIT;
  const Model& model = *encoder->model;
  const std::span<const int32_t> ids(input_ids, count);
  if (model.huggingface()) {
    return rankfeed::reference::DecodeHuggingFace(model, encoder->general, ids,
                                                (flags & RANKFEED_SKIP_SPECIAL_TOKENS) != 0, out,
                                                capacity, size);
  }
  return rankfeed::reference::DecodeSentencePiece(model, encoder->general, ids, out, capacity, size);
}

const char* rankfeed_reason_name(uint32_t reason) {
  static constexpr const char* kNames[RANKFEED_REASON_COUNT] = {
      "fast road", "pipeline", "options", "invalid utf-8", "character",
      "context",   "length",   "unknown", "capacity",      "added token"};
  return reason < RANKFEED_REASON_COUNT ? kNames[reason] : nullptr;
}

rankfeed_status rankfeed_encoder_roads(const rankfeed_encoder* encoder, rankfeed_road_counts* out,
                                       size_t count) {
  if (!Open(encoder) || (out == nullptr && count != 0) || count > RANKFEED_REASON_COUNT) {
    return RANKFEED_E_ARGUMENT;
  }
  std::copy_n(encoder->roads, count, out);
  return RANKFEED_OK;
}

rankfeed_status rankfeed_isa(uint32_t i, const char** out, int32_t* runs) {
  using namespace rankfeed::fast;
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  const bool exists = i < kIsaCount;
  *out = exists ? IsaName(Isa{static_cast<uint8_t>(i)}) : nullptr;
  if (runs != nullptr) *runs = exists && KernelsOf(Isa{static_cast<uint8_t>(i)}) != nullptr ? 1 : 0;
  return RANKFEED_OK;
}

rankfeed_status rankfeed_force_isa(const char* name) {
  using namespace rankfeed::fast;
  if (name == nullptr) {
    ForgetForcedIsa();
    return RANKFEED_OK;
  }
  for (uint8_t i = 0; i < kIsaCount; ++i) {
    if (std::strcmp(IsaName(Isa{i}), name) == 0) {
      return ForceIsa(Isa{i}) ? RANKFEED_OK : RANKFEED_E_UNSUPPORTED;
    }
  }
  return RANKFEED_E_ARGUMENT;
}

const char* rankfeed_encoder_isa(const rankfeed_encoder* encoder) {
  return Open(encoder) ? rankfeed::fast::IsaName(encoder->isa) : nullptr;
}
