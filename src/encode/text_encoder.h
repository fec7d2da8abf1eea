// SPDX-License-Identifier: MIT
// encode/text_encoder.h: texts to ids through the template, and which road each text takes.
//
// A call knows at once whether its texts may take the fast road (fast/engine.h): the pipeline
// must allow it, and reversed ids and the offsets of some pipelines are only known to the general
// path. On the fast road a stretch of a text may leave for a reason of its own; it is encoded by
// the general path then and there, and what was read ahead of the texts after it stays of use.
// There is one batching policy, the engine's: texts go to it as they come, as many as 32 bits can
// count the tokens of.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/token_sink.h"
#include "encode/encoder.h"
#include "image/format.h"
#include "rankfeed/encode.h"
#include "reference/sp_frame.h"

namespace rankfeed::encode {

// Upper bound for the tokens of any text of that many bytes, 0xffffffff if it is not representable.
uint32_t TokenBound(const Model& model, uint64_t text_bytes);

// Texts of one call. options have been checked (capi/encode.cc).
class TextEncoder {
 public:
  TextEncoder(rankfeed_encoder& encoder, const rankfeed_encode_options& options);

  // One text, with offsets if io has a place for them. On an error io->count is unspecified.
  rankfeed_status EncodeText(rankfeed_text text, rankfeed_encoding* io) const;

  // A part of a text that was cut as stream.h says: its ids after those in the sink. first, last:
  // of the text. score: only used where it goes on from part to part. On an error the sink is
  // unspecified.
  rankfeed_status EncodePart(rankfeed_text part, bool first, bool last,
                             reference::CarriedScore* score, TokenSink& sink) const;

  // Several texts, with offsets if io has places for them. On an error io tells how many were done.
  rankfeed_status EncodeTexts(std::span<const rankfeed_text> texts, rankfeed_encodings* io) const;

 private:
  bool HasUnits() const {  // offsets in others than bytes
    return (flags_ & (RANKFEED_OFFSETS_CODE_POINTS | RANKFEED_OFFSETS_UTF16)) != 0;
  }
  bool specials() const { return (flags_ & RANKFEED_ADD_SPECIAL_TOKENS) != 0; }
  // Whether texts are encoded with what is around them at once.
  bool AroundIsAll() const {
    return encoder_.around.all && frame_.before_count + frame_.after_count == 0;
  }
  rankfeed_status EncodeAround(fast::Texts texts, bool first, bool last, TokenSink& sink,
                               size_t* done) const;
  rankfeed_status EncodeTemplate(std::string_view text, TokenSink& sink,
                                 const rankfeed_encoding* io, uint32_t* text_from,
                                 uint32_t* text_to) const;
  void ToUnits(std::string_view text, const TokenSink& sink, uint32_t from, uint32_t to) const;
  rankfeed_status EncodeSequence(std::string_view text, TokenSink& sink) const;
  rankfeed_status EncodeOneByOne(std::span<const rankfeed_text> texts, TokenSink& sink,
                                 uint32_t* ends, size_t* done) const;
  rankfeed_status Route(fast::Texts& texts, TokenSink& sink, size_t* done) const;
  rankfeed_status Run(const fast::Texts& texts, TokenSink& sink, size_t* done) const;
  rankfeed_status General(std::string_view text, TokenSink& sink) const;
  size_t Admit(std::span<const rankfeed_text> texts, uint64_t token_count,
               rankfeed_status* status) const;
  rankfeed_reason Blocked(const TokenSink& sink) const;
  void Count(rankfeed_reason road, uint64_t texts, uint64_t bytes) const;

  const Model& model_;
  rankfeed_encoder& encoder_;
  const uint32_t flags_;
  reference::SpFrame frame_;  // of SentencePiece's extra options
  rankfeed_status frame_status_ = RANKFEED_OK;
};

}  // namespace rankfeed::encode
