// SPDX-License-Identifier: MIT
// encode/text_encoder.cc: template, batch and roads of a call, see text_encoder.h.
#include "encode/text_encoder.h"

#include <algorithm>

#include "encode/offset_units.h"
#include "reference/sp_encode.h"

namespace rankfeed::encode {

using fast::View;

namespace {

constexpr uint64_t kMaxTokens = 0xffffffff;  // of a batch of texts

bool IsSpecial(const image::TemplateItem& item) {
  return item.kind == static_cast<uint32_t>(image::TemplateKind::kSpecial);
}

// Fills the columns beside the ids.
void Mark(const rankfeed_encoding* io, uint32_t from, uint32_t to, uint8_t special,
          uint32_t type_id) {
  if (io == nullptr) return;
  to = std::min(to, io->capacity);
  if (from >= to) return;
  if (io->special_tokens_mask != nullptr) {
    std::fill(io->special_tokens_mask + from, io->special_tokens_mask + to, special);
  }
  if (io->token_type_ids != nullptr) {
    std::fill(io->token_type_ids + from, io->token_type_ids + to, type_id);
  }
}

}  // namespace

uint32_t TokenBound(const Model& model, uint64_t text_bytes) {
  uint32_t bound;
  if (!NormalizedBound(model, text_bytes, &bound)) return 0xffffffffu;
  // Every token covers at least one normalized byte (byte fallback: exactly one) or comes from the
  // template, whose count nobody has verified when the image was opened as trusted.
  const uint64_t tokens = uint64_t{bound} + model.config->template_specials_single;
  return static_cast<uint32_t>(std::min<uint64_t>(tokens, 0xffffffffu));
}

TextEncoder::TextEncoder(rankfeed_encoder& encoder, const rankfeed_encode_options& options)
    : model_(*encoder.model), encoder_(encoder), flags_(options.flags) {
  if (!model_.huggingface()) frame_status_ = frame_.Apply(model_, options.sp_extra);
}

// Texts on the fast road, with what is around them. first, last: of a text that is a part of one.
rankfeed_status TextEncoder::EncodeAround(fast::Texts texts, bool first, bool last,
                                          TokenSink& sink, size_t* done) const {
  const Around& around = encoder_.around;
  if (specials() && first) texts.before = {around.before, around.before_count};
  if (specials() && last) texts.after = {around.after, around.after_count};
  return Route(texts, sink, done);
}

rankfeed_status TextEncoder::EncodePart(rankfeed_text part, bool first, bool last,
                                        reference::CarriedScore* score, TokenSink& sink) const {
  size_t done;
  return EncodeAround({.texts = {&part, 1}, .score = encoder_.cuts.carries_score() ? score : nullptr}, first, last, sink,
                      &done);
}

rankfeed_status TextEncoder::EncodeText(rankfeed_text text, rankfeed_encoding* io) const {
  io->count = 0;
  if (text.size > encoder_.limits.max_text_bytes) return RANKFEED_E_LIMIT;
  TokenSink sink{io->input_ids, io->offset_begin, io->offset_end, io->capacity, 0};
  uint32_t text_from = 0, text_to = 0;
  if (io->token_type_ids == nullptr && AroundIsAll() && frame_status_ == RANKFEED_OK &&
      Blocked(sink) == RANKFEED_REASON_NONE) {
    size_t done;
    const rankfeed_status status = EncodeAround({.texts = {&text, 1}}, true, true, sink, &done);
    if (status != RANKFEED_OK) return status;
    text_from = specials() ? encoder_.around.before_count : 0;
    text_to = sink.count - (specials() ? encoder_.around.after_count : 0);
    if (io->special_tokens_mask != nullptr) {
      Mark(io, 0, text_from, 1, 0);
      Mark(io, text_from, text_to, 0, 0);
      Mark(io, text_to, sink.count, 1, 0);
    }
  } else if (const rankfeed_status status =
                 EncodeTemplate(View(text), sink, io, &text_from, &text_to)) {
    return status;
  }
  io->count = sink.count;
  ToUnits(View(text), sink, text_from, text_to);
  return sink.count > io->capacity ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK;
}

// The offsets of tokens [from, to), in the units that the call asks for.
void TextEncoder::ToUnits(std::string_view text, const TokenSink& sink, uint32_t from,
                          uint32_t to) const {
  if (!HasUnits() || (sink.begin == nullptr && sink.end == nullptr)) return;
  to = std::min(to, sink.capacity);
  from = std::min(from, to);
  OffsetUnits units(text, (flags_ & RANKFEED_OFFSETS_UTF16) != 0, model_.huggingface());
  units.Convert(sink.begin != nullptr ? sink.begin + from : nullptr,
                sink.end != nullptr ? sink.end + from : nullptr, to - from);
}

// One text through the template. io (nullable): columns beside those of sink. [*text_from,
// *text_to): tokens whose offsets are in the text.
rankfeed_status TextEncoder::EncodeTemplate(std::string_view text, TokenSink& sink,
                                            const rankfeed_encoding* io, uint32_t* text_from,
                                            uint32_t* text_to) const {
  *text_from = *text_to = sink.count;
  if (model_.template_single.empty()) {
    if (const rankfeed_status status = EncodeSequence(text, sink)) return status;
    *text_to = sink.count;
    Mark(io, *text_from, *text_to, 0, 0);
  }
  // The template without special tokens still gives the text its type
  // (processors/template.rs apply_template, tokenizers 0.23.2).
  for (const image::TemplateItem& item : model_.template_single) {
    const uint32_t from = sink.count;
    const bool special = IsSpecial(item);
    if (special) {
      if (!specials()) continue;
      sink.Push(item.id, 0, 0);
    } else {
      if (const rankfeed_status status = EncodeSequence(text, sink)) return status;
      *text_from = from;
      *text_to = sink.count;
    }
    Mark(io, from, sink.count, special ? 1 : 0, item.type_id);
  }
  return RANKFEED_OK;
}

// One text without the template.
rankfeed_status TextEncoder::EncodeSequence(std::string_view text, TokenSink& sink) const {
  if (frame_status_ != RANKFEED_OK) return frame_status_;
  const rankfeed_text one{text.data(), text.size()};
  const rankfeed_reason blocked = Blocked(sink);
  if (blocked != RANKFEED_REASON_NONE) {
    Count(blocked, 1, text.size());
    return General(text, sink);
  }
  size_t done;
  const auto add = [&](uint32_t id) {
    const uint32_t at = reference::SpFrame::PlaceOf(model_, id, text.size());
    sink.Push(id, at, at);
  };
  for (size_t i = frame_.before_count; i > 0; --i) add(frame_.before[i - 1]);
  fast::Texts all{.texts = {&one, 1}};
  const rankfeed_status status = Route(all, sink, &done);
  for (size_t i = 0; i < frame_.after_count; ++i) add(frame_.after[i]);
  return status;
}

rankfeed_status TextEncoder::EncodeTexts(std::span<const rankfeed_text> texts,
                                         rankfeed_encodings* io) const {
  TokenSink sink{io->input_ids, io->offset_begin, io->offset_end, io->capacity, 0};
  const bool together = Blocked(sink) == RANKFEED_REASON_NONE && AroundIsAll();
  rankfeed_status status = texts.empty() ? RANKFEED_OK : frame_status_;
  size_t i = 0;
  io->cu_seqlens[0] = 0;
  while (i < texts.size() && status == RANKFEED_OK) {
    const size_t count = Admit(texts.subspan(i), sink.count, &status);
    if (count == 0) break;
    status = RANKFEED_OK;
    const std::span<const rankfeed_text> admitted = texts.subspan(i, count);
    size_t done = 0;
    uint32_t* const bounds = io->cu_seqlens + i;
    if (together) {
      status = EncodeAround({.texts = admitted, .ends = bounds + 1}, true, true, sink, &done);
      const uint32_t before = specials() ? encoder_.around.before_count : 0;
      const uint32_t after = specials() ? encoder_.around.after_count : 0;
      for (size_t k = 0; HasUnits() && k < done; ++k) {
        ToUnits(View(admitted[k]), sink, bounds[k] + before, bounds[k + 1] - after);
      }
    } else {
      status = EncodeOneByOne(admitted, sink, bounds + 1, &done);
    }
    i += done;
  }
  io->text_count = i;
  io->count = sink.count;
  // Before another error: the texts before the one with that have to be complete.
  return sink.count > io->capacity ? RANKFEED_E_OUTPUT_SIZE : status;
}

rankfeed_status TextEncoder::EncodeOneByOne(std::span<const rankfeed_text> texts, TokenSink& sink,
                                            uint32_t* ends, size_t* done) const {
  for (*done = 0; *done < texts.size(); ++*done) {
    const uint32_t begin = sink.count;
    uint32_t text_from, text_to;
    const rankfeed_status status =
        EncodeTemplate(View(texts[*done]), sink, nullptr, &text_from, &text_to);
    if (status != RANKFEED_OK) {
      sink.count = begin;
      return status;
    }
    ToUnits(View(texts[*done]), sink, text_from, text_to);
    ends[*done] = sink.count;
  }
  return RANKFEED_OK;
}

// Returns how many of the texts from the first on may be encoded after token_count tokens; if none,
// *status says why. 32 bits count the tokens: no text may have more than are left.
size_t TextEncoder::Admit(std::span<const rankfeed_text> texts, uint64_t token_count,
                          rankfeed_status* status) const {
  size_t admitted = 0;
  for (const rankfeed_text& text : texts) {
    if (text.data == nullptr && text.size != 0) {
      *status = RANKFEED_E_ARGUMENT;
      break;
    }
    *status = RANKFEED_E_LIMIT;
    if (text.size > encoder_.limits.max_text_bytes) break;
    token_count += TokenBound(model_, text.size);
    if (token_count > kMaxTokens) break;
    ++admitted;
  }
  return admitted;
}

// Says why texts of this call do not even begin on the fast road.
rankfeed_reason TextEncoder::Blocked(const TokenSink& sink) const {
  if (!encoder_.has_fast_road()) return RANKFEED_REASON_PIPELINE;
  const bool offsets = sink.begin != nullptr || sink.end != nullptr;
  const bool unknown_offsets = offsets && !encoder_.fast_offsets;
  return unknown_offsets || frame_.reversed ? RANKFEED_REASON_OPTIONS : RANKFEED_REASON_NONE;
}

// Texts that begin on the fast road. *done: those encoded to their end; the sink ends with them.
rankfeed_status TextEncoder::Route(fast::Texts& texts, TokenSink& sink, size_t* done) const {
  if (!model_.huggingface()) return Run(texts, sink, done);
  constexpr uint32_t kSkips = RANKFEED_SPLIT_SPECIAL_TOKENS | RANKFEED_ESCAPE_SPECIAL;
  const bool skips = (flags_ & kSkips) != 0;
  const bool refuses = (flags_ & RANKFEED_ERROR_ON_SPECIAL) != 0 && !skips;
  const AddedTokens added{&model_, &encoder_.general.added, skips, refuses};
  if (!model_.added_raw.empty()) texts.added = &added;
  texts.refuse_special = refuses || (flags_ & RANKFEED_ESCAPE_SPECIAL) != 0;
  return Run(texts, sink, done);
}

rankfeed_status TextEncoder::Run(const fast::Texts& texts, TokenSink& sink, size_t* done) const {
  const fast::Call* last = nullptr;
  const rankfeed_status status = encoder_.WithEngine([&](auto& engine) {
    last = &engine.call();
    return engine.Encode(texts, flags_, &sink, encoder_.roads);
  });
  const fast::Call& call = *last;
  *done = call.done();
  if (status != RANKFEED_OK) sink.count = call.text_begin();
  uint64_t bytes = 0;
  for (const rankfeed_text& text : texts.texts.first(*done)) bytes += text.size;
  // A text that failed may have had stretches on the fast road.
  Count(RANKFEED_REASON_NONE, *done - std::min<uint64_t>(*done, call.left_texts()),
        bytes - std::min(bytes, call.left_bytes()));
  return status;
}

rankfeed_status TextEncoder::General(std::string_view text, TokenSink& sink) const {
  if (model_.huggingface()) {
    return reference::EncodeHuggingFace(model_, encoder_.general, text, flags_, sink);
  }
  return reference::EncodeSentencePiece(model_, encoder_.general, text, frame_, sink);
}

void TextEncoder::Count(rankfeed_reason road, uint64_t texts, uint64_t bytes) const {
  encoder_.roads[road].texts += texts;
  encoder_.roads[road].bytes += bytes;
}

}  // namespace rankfeed::encode
