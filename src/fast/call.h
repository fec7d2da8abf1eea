// SPDX-License-Identifier: MIT
// fast/call.h: one call of an engine: the texts it encodes, where their tokens go, and how far it
// is.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/token_sink.h"
#include "image/model.h"
#include "rankfeed/encode.h"
#include "stretch/added_tokens.h"
#include "reference/scratch.h"

namespace rankfeed::fast {

inline std::string_view View(const rankfeed_text& text) {
  return {text.data, text.size};
}

// The texts to encode, one after the other.
struct Texts {
  std::span<const rankfeed_text> texts;
  std::span<const uint32_t> before, after;      // ids put around every text
  uint32_t* ends = nullptr;                     // nullable; by text: sink.count after it
  const AddedTokens* added = nullptr;  // null: texts hold none
  bool refuse_special = false;  // a stretch with a special token among its pieces leaves
  // Nullable; of a text that is a part of one. Only where the score of a stretch goes on to its
  // end.
  reference::CarriedScore* score = nullptr;
};

class Call {
 public:
  // Begins. What is passed must stay; roads: [RANKFEED_REASON_COUNT].
  void Start(const Texts& texts, uint32_t flags, TokenSink* sink, rankfeed_road_counts* roads) {
    *this = Call();
    texts_ = &texts;
    flags_ = flags;
    sink_ = sink;
    roads_ = roads;
    last_left_ = texts.texts.size();
    text_begin_ = stretch_begin_ = sink->count;
  }

  const Texts& texts() const { return *texts_; }
  uint32_t flags() const { return flags_; }  // as reference::EncodeHuggingFaceStretch takes them
  TokenSink& sink() const { return *sink_; }
  size_t done() const { return done_; }                // texts, to their end
  uint32_t text_begin() const { return text_begin_; }  // of the next one, in the sink
  uint32_t stretch_begin() const { return stretch_begin_; }
  // Texts and bytes that took the general path.
  uint64_t left_texts() const { return left_texts_; }
  uint64_t left_bytes() const { return left_bytes_; }

  void BeginText() {
    text_begin_ = sink_->count;
    for (const uint32_t id : texts_->before) sink_->Push(id, 0, 0);
  }
  void BeginStretch() { stretch_begin_ = sink_->count; }
  void DropStretch() { sink_->count = stretch_begin_; }
  void EndText() {
    for (const uint32_t id : texts_->after) sink_->Push(id, 0, 0);
    if (texts_->ends != nullptr) texts_->ends[done_] = sink_->count;
    ++done_;
    text_begin_ = sink_->count;
  }
  // An added token, in bytes of the text. False if the call refuses it.
  bool AddToken(const image::AddedToken& token, uint32_t begin, uint32_t end) {
    if (texts_->added->refuse_special && (token.flags & image::kSpecial) != 0) return false;
    sink_->Push(token.id, begin, end);
    return true;
  }

  // The text that is being encoded, and where bytes of it begin.
  std::string_view text() const { return View(texts_->texts[done_]); }
  uint32_t OffsetOf(std::string_view bytes) const {
    return static_cast<uint32_t>(bytes.data() - text().data());
  }

  // Counts bytes of the text that took the general path.
  void CountLeft(std::string_view bytes, rankfeed_reason reason) {
    const bool first = last_left_ != done_;
    last_left_ = done_;
    roads_[reason].texts += first;
    roads_[reason].bytes += bytes.size();
    left_texts_ += first;
    left_bytes_ += bytes.size();
  }

  // Whether a special token other than that one is among the pieces of the stretch. Without any on
  // the best path, the best path without them is the same.
  bool HoldsSpecial(const Model& model, uint32_t except) const {
    for (uint32_t i = stretch_begin_; i < sink_->count; ++i) {
      if (i >= sink_->capacity) return true;  // there are no ids to look at
      const auto id = static_cast<uint32_t>(sink_->ids[i]);
      if (id != except && (model.id_flags[id] & image::kIdSpecial) != 0) return true;
    }
    return false;
  }

 private:
  const Texts* texts_ = nullptr;
  TokenSink* sink_ = nullptr;
  rankfeed_road_counts* roads_ = nullptr;
  uint32_t flags_ = 0;
  size_t done_ = 0, last_left_ = 0;  // texts; the one of which something left last
  uint64_t left_texts_ = 0, left_bytes_ = 0;
  uint32_t text_begin_ = 0, stretch_begin_ = 0;  // in the sink
};

}  // namespace rankfeed::fast
