// SPDX-License-Identifier: MIT
// tests/reference/sp_engine.h: the SentencePiece runtime and libsentencepiece behind one interface.
#pragma once

#include <sentencepiece_processor.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/layout.h"
#include "base/token_sink.h"
#include "encode/encoder.h"
#include "reference/scratch.h"
#include "reference/sp_decode.h"
#include "reference/sp_encode.h"
#include "support/compiled.h"

namespace rankfeed::sp_test {

using test::Escape;
using test::Show;
using Tokens = test::Encoding;

// The reference: libsentencepiece 0.1.97, linked. The engine beside it has its rule.
class Oracle {
 public:
  explicit Oracle(const std::string& model) {
    const auto status = processor_.LoadFromSerializedProto(model);
    if (!status.ok()) throw std::runtime_error("libsentencepiece: " + status.ToString());
  }

  // extra: "bos:eos:reverse:unk" in any order; empty for none.
  bool SetExtra(const std::string& extra) { return processor_.SetEncodeExtraOptions(extra).ok(); }

  Tokens Encode(std::string_view text) const {
    const auto result = processor_.EncodeAsImmutableProto({text.data(), text.size()});
    Tokens tokens;
    for (size_t i = 0; i < result.pieces_size(); ++i) {
      const auto piece = result.pieces(static_cast<int>(i));
      tokens.ids.push_back(static_cast<int32_t>(piece.id()));
      tokens.begin.push_back(piece.begin());
      tokens.end.push_back(piece.end());
    }
    return tokens;
  }

  bool Decode(const std::vector<int32_t>& ids, std::string* text) const {
    return processor_.Decode(std::vector<int>(ids.begin(), ids.end()), text).ok();
  }

  const sentencepiece::SentencePieceProcessor& processor() const { return processor_; }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

class Engine {
 public:
  explicit Engine(const std::string& model_bytes) : compiled_(model_bytes, RANKFEED_PARITY_SENTENCEPIECE_0_2_1) {}

  const rankfeed_model& model() const { return *compiled_.get(); }

  // Scratch for exactly text_bytes, filled with garbage, grown as needed.
  reference::Scratch& Prepare(size_t text_bytes) {
    uint32_t capacity;
    if (!NormalizedBound(model(), text_bytes, &capacity)) throw std::runtime_error("bound");
    if (capacity > capacity_) {
      Layout measure(nullptr);
      scratch_.Carve(measure, model(), {capacity, capacity, capacity, capacity, true});
      memory_ = test::Allocate({measure.size(), Layout::kAlignment});
      std::memset(memory_.get(), 0xa5, measure.size());
      Layout carve(memory_.get());
      scratch_.Carve(carve, model(), {capacity, capacity, capacity, capacity, true});
      scratch_.added.Prepare(model());
      capacity_ = capacity;
    }
    bound_ = capacity;
    // Texts get no more room than their own size grants.
    scratch_.text_capacity = scratch_.run_capacity = capacity;
    return scratch_;
  }

  rankfeed_status Encode(std::string_view text, const std::vector<uint8_t>& extra, Tokens* tokens) {
    uint8_t options[8] = {};
    for (size_t i = 0; i < extra.size() && i < 8; ++i) options[i] = extra[i];
    reference::Scratch& scratch = Prepare(text.size());
    const size_t room = bound_ + extra.size();
    tokens->ids.resize(room);
    tokens->begin.resize(room);
    tokens->end.resize(room);
    TokenSink sink{tokens->ids.data(), tokens->begin.data(), tokens->end.data(),
                   static_cast<uint32_t>(room), 0};
    reference::SpFrame frame;
    rankfeed_status status = frame.Apply(model(), options);
    if (status == RANKFEED_OK) {
      status = reference::EncodeSentencePiece(model(), scratch, text, frame, sink);
    }
    const size_t count = status == RANKFEED_OK ? sink.count : 0;
    if (count > room) throw std::runtime_error("more tokens than the bound allows");
    tokens->ids.resize(count);
    tokens->begin.resize(count);
    tokens->end.resize(count);
    return status;
  }

  Tokens Encode(std::string_view text) {
    Tokens tokens;
    if (const rankfeed_status status = Encode(text, {}, &tokens)) {
      throw std::runtime_error(std::string("encode: ") + rankfeed_status_name(status));
    }
    return tokens;
  }

  // Without offset columns: the other path through the encoder.
  std::vector<int32_t> EncodeIds(std::string_view text) {
    reference::Scratch& scratch = Prepare(text.size());
    std::vector<int32_t> ids(bound_);
    TokenSink sink{ids.data(), nullptr, nullptr, static_cast<uint32_t>(ids.size()), 0};
    if (const rankfeed_status status =
            reference::EncodeSentencePiece(model(), scratch, text, {}, sink)) {
      throw std::runtime_error(std::string("encode: ") + rankfeed_status_name(status));
    }
    ids.resize(sink.count);
    return ids;
  }

  rankfeed_status Decode(const std::vector<int32_t>& ids, std::string* text) {
    // Only a denormalizer needs scratch.
    reference::Scratch& scratch = Prepare(model().denorm_units.empty() ? 0 : 64 + ids.size() * 64);
    size_t size = 0;
    rankfeed_status status = reference::DecodeSentencePiece(model(), scratch, ids, nullptr, 0, &size);
    if (status != RANKFEED_OK && status != RANKFEED_E_OUTPUT_SIZE) return status;
    text->assign(size, '\x7f');
    size_t again = 0;
    status = reference::DecodeSentencePiece(model(), scratch, ids, text->data(), size, &again);
    if (again != size) throw std::runtime_error("decode needs another size than it reported");
    return status;
  }

 private:
  const test::Compiled compiled_;
  test::Memory memory_;
  uint32_t capacity_ = 0, bound_ = 0;
  reference::Scratch scratch_;
};

}  // namespace rankfeed::sp_test
