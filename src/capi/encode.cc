// SPDX-License-Identifier: MIT
// capi/encode.cc: argument checks, template and offset units around the two encode pipelines.
#include "rankfeed/encode.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "base/layout.h"
#include "encode/encoder.h"
#include "general/hf_decode.h"
#include "general/hf_encode.h"
#include "general/sp_decode.h"
#include "general/sp_encode.h"
#include "base/token_sink.h"
#include "platform/drop_pages.h"
#include "base/utf8.h"

namespace {

using rankfeed::Layout;
using rankfeed::Model;
using rankfeed::Scratch;
using rankfeed::TokenSink;

constexpr uint64_t kMaxTokens = 0xffffffff;  // of a batch of texts

bool Open(const rankfeed_model* model) {
  return model != nullptr && model->magic == rankfeed::kModelMagic;
}
bool Open(const rankfeed_encoder* encoder) {
  return encoder != nullptr && encoder->magic == rankfeed::kEncoderMagic;
}

// Options that exist and mean something here: a bit that this library does not know may be one of a
// newer header whose caller relies on it.
rankfeed_status CheckOptions(const rankfeed_encode_options* options, const Model& model,
                             uint32_t flags) {
  if (options == nullptr) return RANKFEED_OK;
  if (options->struct_size != sizeof(*options)) return RANKFEED_E_STRUCT_SIZE;
  if ((options->flags & ~flags) != 0) return RANKFEED_E_ARGUMENT;
  bool ended = false;
  for (const uint8_t extra : options->sp_extra) {
    ended |= extra == 0;
    if (extra > RANKFEED_SP_UNK || (extra != 0 && (ended || model.huggingface()))) {
      return RANKFEED_E_ARGUMENT;
    }
  }
  return RANKFEED_OK;
}
constexpr uint32_t kBatchFlags = RANKFEED_ADD_SPECIAL_TOKENS | RANKFEED_SPLIT_SPECIAL_TOKENS |
                                 RANKFEED_ERROR_ON_SPECIAL | RANKFEED_ESCAPE_SPECIAL;
constexpr uint32_t kEncodeFlags = kBatchFlags | RANKFEED_OFFSETS_CODE_POINTS;

rankfeed_status CheckLimits(const rankfeed_model* model, const rankfeed_limits* limits,
                            uint32_t* capacity) {
  if (!Open(model) || limits == nullptr) return RANKFEED_E_ARGUMENT;
  if (limits->struct_size != sizeof(rankfeed_limits)) return RANKFEED_E_STRUCT_SIZE;
  if (limits->with_offsets > 1) return RANKFEED_E_ARGUMENT;
  return rankfeed::NormalizedBound(*model, limits->max_text_bytes, capacity) ? RANKFEED_OK
                                                                            : RANKFEED_E_LIMIT;
}

// One text through the template. io (nullable): columns beside those of sink. [*text_from, *text_to):
// tokens whose offsets are in the text.
class TemplateEncoder {
 public:
  TemplateEncoder(rankfeed_encoder* encoder, const rankfeed_encode_options* options)
      : model_(*encoder->model),
        scratch_(encoder->scratch),
        flags_(options != nullptr ? options->flags : 0),
        sp_extra_(options != nullptr ? options->sp_extra : kNoExtra) {}

  rankfeed_status Encode(std::string_view text, TokenSink& sink, const rankfeed_encoding* io,
                         uint32_t* text_from, uint32_t* text_to) const {
    *text_from = *text_to = sink.count;
    if (model_.template_single.empty()) {
      if (const rankfeed_status status = Model(text, sink)) return status;
      *text_to = sink.count;
      Mark(io, *text_from, *text_to, 0, 0);
    }
    // Without special tokens the template still gives the text its type
    // (processors/template.rs apply_template, tokenizers 0.23.2).
    for (const rankfeed::image::TemplateItem& item : model_.template_single) {
      const uint32_t from = sink.count;
      const bool special = IsSpecial(item);
      if (special) {
        if (!specials()) continue;
        sink.Push(item.id, 0, 0);
      } else {
        if (const rankfeed_status status = Model(text, sink)) return status;
        *text_from = from;
        *text_to = sink.count;
      }
      Mark(io, from, sink.count, special ? 1 : 0, item.type_id);
    }
    return RANKFEED_OK;
  }

  // Ids around every text, if that is all that the template and the options do. False if not.
  static constexpr size_t kMaxAround = 16;
  bool Around(uint32_t* before, size_t* before_count, uint32_t* after, size_t* after_count) const {
    *before_count = *after_count = 0;
    if (sp_extra_[0] != 0 && !model_.huggingface()) return false;
    size_t texts = model_.template_single.empty() ? 1 : 0;
    for (const rankfeed::image::TemplateItem& item : model_.template_single) {
      if (!IsSpecial(item)) {
        ++texts;
      } else if (specials()) {
        uint32_t* const ids = texts == 0 ? before : after;
        size_t* const count = texts == 0 ? before_count : after_count;
        if (*count == kMaxAround) return false;
        ids[(*count)++] = item.id;
      }
    }
    return texts == 1;
  }

  // Whether the segment engine takes texts as they are, but those that Leave() tells.
  bool Whole() const {
    if (!rankfeed::segment::Available(model_)) return false;
    constexpr uint32_t kGuarded = RANKFEED_ERROR_ON_SPECIAL | RANKFEED_ESCAPE_SPECIAL;
    return !model_.huggingface() || ((flags_ & kGuarded) == 0 && scratch_.added_first_usable);
  }
  static bool Leave(const void* self, std::string_view text) {
    const auto* const encoder = static_cast<const TemplateEncoder*>(self);
    return rankfeed::MayHoldAddedToken(encoder->model_, encoder->scratch_, text);
  }

 private:
  static constexpr uint8_t kNoExtra[8] = {};

  bool specials() const { return (flags_ & RANKFEED_ADD_SPECIAL_TOKENS) != 0; }
  static bool IsSpecial(const rankfeed::image::TemplateItem& item) {
    return item.kind == static_cast<uint32_t>(rankfeed::image::TemplateKind::kSpecial);
  }

  rankfeed_status Model(std::string_view text, TokenSink& sink) const {
    if (model_.huggingface()) {
      return rankfeed::EncodeHuggingFace(model_, scratch_, text, flags_, sink);
    }
    return rankfeed::EncodeSentencePiece(model_, scratch_, text, sp_extra_, sink);
  }

  static void Mark(const rankfeed_encoding* io, uint32_t from, uint32_t to, uint8_t special,
                   uint32_t type_id) {
    if (io == nullptr || (io->special_tokens_mask == nullptr && io->token_type_ids == nullptr)) {
      return;
    }
    for (uint32_t i = from; i < to && i < io->capacity; ++i) {
      if (io->special_tokens_mask != nullptr) io->special_tokens_mask[i] = special;
      if (io->token_type_ids != nullptr) io->token_type_ids[i] = type_id;
    }
  }

  const rankfeed::Model& model_;
  Scratch& scratch_;
  const uint32_t flags_;
  const uint8_t* const sp_extra_;
};

// Byte offsets to code points by walking from each offset to the next, in either direction: offsets
// rise from token to token (fall after SentencePiece's "reverse"), apart from short steps back where
// a normalizer reorders marks and the (0, 0) of bos and eos. O(text) plus those steps.
class CodePointCursor {
 public:
  // In SentencePiece parity each ill-formed byte is a character, as its normalizer has it; in
  // HuggingFace parity each maximal subpart.
  CodePointCursor(std::string_view text, bool huggingface)
      : text_(text), huggingface_(huggingface) {}

  void Convert(uint32_t* offsets, uint32_t count) {
    if (offsets == nullptr) return;
    byte_ = characters_ = 0;
    for (uint32_t i = 0; i < count; ++i) offsets[i] = At(offsets[i]);
  }

 private:
  // Offsets are at character boundaries, so a stretch has as many characters walked either way.
  uint32_t At(uint32_t byte) {
    if (byte < byte_) {
      characters_ -= Characters(byte, byte_);
    } else {
      characters_ += Characters(byte_, byte);
    }
    byte_ = byte;
    return characters_;
  }

  uint32_t Characters(uint32_t begin, uint32_t end) const {
    uint32_t n = 0;
    for (; begin < end; ++n) {
      const rankfeed::utf8::Decoded c = rankfeed::utf8::Decode(text_, begin);
      begin += c.valid || huggingface_ ? c.size : 1;
    }
    return n;
  }

  std::string_view text_;
  bool huggingface_;
  uint32_t byte_ = 0, characters_ = 0;
};

}  // namespace

rankfeed_status rankfeed_encoder_mem_req(const rankfeed_model* model, const rankfeed_limits* limits,
                                         rankfeed_mem_req* out) {
  uint32_t capacity;
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  if (const rankfeed_status status = CheckLimits(model, limits, &capacity)) return status;
  Layout layout(nullptr);
  Scratch scratch;
  rankfeed_encoder::Carve(layout, *model, *limits, capacity, &scratch);
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

  uint32_t capacity = 0;
  CheckLimits(model, limits, &capacity);  // succeeded above
  Layout layout(memory);
  Scratch scratch;
  rankfeed_encoder* place = rankfeed_encoder::Carve(layout, *model, *limits, capacity, &scratch);
  scratch.Prepare(*model);
  *out = new (place) rankfeed_encoder{rankfeed::kEncoderMagic, model, *limits, scratch};
  return RANKFEED_OK;
}

uint32_t rankfeed_max_text_bytes(const rankfeed_model* model) {
  if (!Open(model)) return 0;
  uint32_t low = 0, high = 0x7fffffff;  // NormalizedBound of low fits, that of high does not
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    uint32_t bound;
    (rankfeed::NormalizedBound(*model, middle, &bound) ? low : high) = middle;
  }
  return low;
}

rankfeed_status rankfeed_encoder_trim(rankfeed_encoder* encoder, size_t* dropped) {
  if (dropped != nullptr) *dropped = 0;
  if (!Open(encoder)) return RANKFEED_E_ARGUMENT;
  size_t bytes = 0;
  char* const begin = encoder->scratch.working_begin();
  const size_t size = static_cast<size_t>(encoder->scratch.working_end() - begin);
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
  io->count = 0;
  if (text.size > encoder->limits.max_text_bytes) return RANKFEED_E_LIMIT;

  const Model& model = *encoder->model;
  const uint32_t flags = options != nullptr ? options->flags : 0;
  const std::string_view bytes(text.data, text.size);
  TokenSink sink{io->input_ids, io->offset_begin, io->offset_end, io->capacity, 0};
  uint32_t text_from, text_to;
  if (const rankfeed_status status =
          TemplateEncoder(encoder, options).Encode(bytes, sink, io, &text_from, &text_to)) {
    return status;
  }
  io->count = sink.count;
  const uint32_t written = std::min(sink.count, io->capacity);
  text_from = std::min(text_from, written);
  text_to = std::min(text_to, written);
  if ((flags & RANKFEED_OFFSETS_CODE_POINTS) != 0 && offsets) {
    const auto column = [&](uint32_t* first) {
      return first != nullptr ? first + text_from : nullptr;
    };
    CodePointCursor cursor(bytes, model.huggingface());
    cursor.Convert(column(io->offset_begin), text_to - text_from);
    cursor.Convert(column(io->offset_end), text_to - text_from);
  }
  if (sink.count > io->capacity) return RANKFEED_E_OUTPUT_SIZE;
  return RANKFEED_OK;
}

rankfeed_status rankfeed_encode_batch(rankfeed_encoder* encoder, const rankfeed_text* texts,
                                      size_t text_count, const rankfeed_encode_options* options,
                                      rankfeed_encodings* io) {
  if (!Open(encoder) || io == nullptr || (texts == nullptr && text_count != 0)) {
    return RANKFEED_E_ARGUMENT;
  }
  if (io->struct_size != sizeof(rankfeed_encodings)) return RANKFEED_E_STRUCT_SIZE;
  if (const rankfeed_status status = CheckOptions(options, *encoder->model, kBatchFlags)) {
    return status;
  }
  if ((io->input_ids == nullptr && io->capacity != 0) || io->cu_seqlens == nullptr) {
    return RANKFEED_E_ARGUMENT;
  }
  io->count = 0;
  io->text_count = 0;
  io->cu_seqlens[0] = 0;

  const TemplateEncoder single(encoder, options);
  constexpr size_t kAround = TemplateEncoder::kMaxAround;
  uint32_t before[kAround], after[kAround];
  size_t before_count, after_count;
  const bool together =
      single.Whole() && single.Around(before, &before_count, after, &after_count);
  const auto leave = encoder->model->huggingface() ? TemplateEncoder::Leave : nullptr;

  TokenSink sink{io->input_ids, nullptr, nullptr, io->capacity, 0};
  constexpr size_t kTogether = 64;  // texts handed to the segment engine at once
  std::string_view views[kTogether];
  // A text that turns out not to go with the others voids what was read ahead of those after it. So
  // it is followed by one alone, and that by two ...
  size_t window = kTogether;
  rankfeed_status status = RANKFEED_OK;
  for (size_t i = 0; i < text_count && status == RANKFEED_OK;) {
    size_t count = 0;
    while (together && count < window && i + count < text_count) {
      const rankfeed_text& text = texts[i + count];
      if ((text.data == nullptr && text.size != 0) || text.size > encoder->limits.max_text_bytes) break;
      views[count++] = {text.data, text.size};
    }
    // 32 bits count the tokens: no text may have more than are left.
    uint64_t bound = sink.count;
    for (size_t k = 0; k < count; ++k) {
      bound += rankfeed_token_bound(encoder->model, views[k].size());
      if (bound > kMaxTokens) count = k;
    }
    const rankfeed::segment::Texts words{{views, count},
                                           {before, before_count},
                                           {after, after_count},
                                           io->cu_seqlens + i + 1,
                                           leave,
                                           &single,
                                           encoder->scratch.added_first};
    const size_t done =
        count == 0 ? 0
                   : rankfeed::segment::Encode(*encoder->model, encoder->scratch.words, words, sink);
    i += done;
    const bool voided = done < count && (leave == nullptr || !leave(&single, views[done]));
    window = std::min(voided ? 1 : 2 * window, kTogether);
    if (i == text_count || (done != 0 && done == count)) continue;

    const rankfeed_text& text = texts[i];
    if (text.data == nullptr && text.size != 0) {
      status = RANKFEED_E_ARGUMENT;
    } else if (text.size > encoder->limits.max_text_bytes ||
               uint64_t{sink.count} + rankfeed_token_bound(encoder->model, text.size) > kMaxTokens) {
      status = RANKFEED_E_LIMIT;
    } else {
      const uint32_t begin = sink.count;
      uint32_t text_from, text_to;
      status = single.Encode({text.data, text.size}, sink, nullptr, &text_from, &text_to);
      if (status != RANKFEED_OK) sink.count = begin;
    }
    if (status == RANKFEED_OK) io->cu_seqlens[++i] = sink.count;
    io->text_count = i;
  }
  if (status == RANKFEED_OK) io->text_count = text_count;
  io->count = sink.count;
  if (status == RANKFEED_OK && sink.count > io->capacity) return RANKFEED_E_OUTPUT_SIZE;
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
  const rankfeed_status status =
      rankfeed::EncodeHuggingFace(*encoder->model, encoder->scratch, {text.data, text.size},
                                  RANKFEED_ERROR_ON_SPECIAL, sink, &place);
  if (status == RANKFEED_OK) return RANKFEED_E_NOT_FOUND;
  if (status != RANKFEED_E_SPECIAL_IN_TEXT) return status;
  out->id = place.id;
  out->byte_begin = place.begin;
  out->byte_end = place.end;
  return RANKFEED_OK;
}

uint32_t rankfeed_token_bound(const rankfeed_model* model, size_t text_bytes) {
  uint32_t bound;
  if (!Open(model) || !rankfeed::NormalizedBound(*model, text_bytes, &bound)) return 0xffffffffu;
  // Every token covers at least one normalized byte (byte fallback: exactly one) or comes from the
  // template, whose count nobody has verified when the image was opened as trusted.
  const uint64_t tokens = uint64_t{bound} + model->config->template_specials_single;
  return static_cast<uint32_t>(std::min<uint64_t>(tokens, 0xffffffffu));
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
    return rankfeed::DecodeHuggingFace(model, encoder->scratch, ids,
                                       (flags & RANKFEED_SKIP_SPECIAL_TOKENS) != 0, out, capacity,
                                       size);
  }
  return rankfeed::DecodeSentencePiece(model, encoder->scratch, ids, out, capacity, size);
}
