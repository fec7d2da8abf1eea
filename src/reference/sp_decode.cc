// SPDX-License-Identifier: MIT
// reference/sp_decode.cc: see sp_decode.h. Mirrors Decode, DecodeSentencePiece, ProcessBytePieces
// and ApplyExtraOptions of sentencepiece_processor.cc, 0.1.97, and DecodeOptimized of 0.2.3.
#include "reference/sp_decode.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/utf8.h"
#include "normalize/sp_normalize.h"

namespace rankfeed::reference {
namespace {

constexpr std::string_view kSpaceSymbol = "\xe2\x96\x81";      // U+2581
constexpr std::string_view kReplacementChar = "\xef\xbf\xbd";  // U+FFFD

// Writes while there is room and keeps counting afterwards.
class TextSink {
 public:
  TextSink(char* out, size_t capacity) : out_(out), capacity_(capacity) {}

  void Append(std::string_view text) {
    if (size_ < capacity_ && !text.empty()) {
      std::memcpy(out_ + size_, text.data(), std::min(text.size(), capacity_ - size_));
    }
    size_ += text.size();
  }

  size_t size() const { return size_; }
  bool overflown() const { return size_ > capacity_; }

 private:
  char* out_;
  size_t capacity_, size_ = 0;
};

// The byte that "<0xHH>" names, -1 if piece is none (PieceToByte: upper-case hexadecimal only).
int ByteOf(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  const int high = digit(piece[3]), low = digit(piece[4]);
  return high < 0 || low < 0 ? -1 : high << 4 | low;
}

// Joins byte pieces to characters. Four pending bytes decide any character, so a run of any length
// needs no more state than that.
class ByteRun {
 public:
  explicit ByteRun(TextSink& sink) : sink_(sink) {}

  void Push(int byte) {
    pending_[count_++] = static_cast<char>(byte);
    if (count_ == sizeof(pending_)) TakeOne();
  }
  void Flush() {
    while (count_ > 0) TakeOne();
  }

 private:
  void TakeOne() {
    const std::string_view pending(pending_, count_);
    const utf8::Decoded c = utf8::Decode(pending, 0);
    const uint32_t taken = c.valid ? c.size : 1;  // one U+FFFD per bad byte
    sink_.Append(c.valid ? pending.substr(0, taken) : kReplacementChar);
    count_ -= taken;
    std::memmove(pending_, pending_ + taken, count_);
  }

  TextSink& sink_;
  char pending_[4];
  size_t count_ = 0;
};

void AppendWithSpaces(std::string_view piece, TextSink& sink) {
  while (!piece.empty()) {
    const size_t at = std::min(piece.find(kSpaceSymbol), piece.size());
    sink.Append(piece.substr(0, at));
    piece.remove_prefix(at);
    if (piece.empty()) break;
    sink.Append(" ");
    piece.remove_prefix(kSpaceSymbol.size());
  }
}

void DecodePieces(const Model& model, std::span<const int32_t> ids, TextSink& sink) {
  const bool strips_front =
      model.has(image::kAddDummyPrefix) || model.has(image::kRemoveExtraWhitespaces);
  ByteRun bytes(sink);
  bool at_front = true;     // is_bos_ws: a leading space symbol may still be taken off
  bool took_space = false;  // bos_ws_seen, of the latest piece that is not a byte
  for (const int32_t id : ids) {
    const uint8_t flags = model.id_flags[static_cast<uint32_t>(id)];
    const auto type = static_cast<image::PieceType>(flags & image::kIdTypeMask);
    std::string_view piece = model.piece(static_cast<uint32_t>(id));
    if (type == image::PieceType::kByte) {
      if (const int byte = ByteOf(piece); byte >= 0) {
        bytes.Push(byte);
        continue;
      }
    }
    bytes.Flush();
    if (took_space || sink.size() > 0) at_front = false;
    took_space = false;
    if (type == image::PieceType::kControl) continue;
    const bool unknown = type == image::PieceType::kUnknown;
    // From 0.2.2 on the unknown piece's own symbol counts as taken, though its surface is written.
    if (at_front && strips_front && piece.starts_with(kSpaceSymbol) &&
        !(unknown && model.sentencepiece_0_2_1())) {
      piece.remove_prefix(kSpaceSymbol.size());
      // When extra white space is removed, every piece at the front loses its symbol; else only
      // the first one, the dummy prefix.
      took_space = !model.has(image::kRemoveExtraWhitespaces);
    }
    if (unknown) {
      sink.Append(model.text(model.config->unk_surface));
    } else {
      AppendWithSpaces(piece, sink);
    }
  }
  bytes.Flush();
}

// denormalizer_spec, without PrefixMatcher and trainer_spec (SentencePieceProcessor::Load).
normalize::SpNormalizer DenormalizerOf(const Model& model) {
  return {.charsmap = Charsmap(model.denorm_units, model.denorm_pool),
          .user_defined = {},
          .max_symbol_bytes = 0,
          .add_dummy_prefix = model.has(image::kDenormAddDummyPrefix),
          .remove_extra_whitespaces = model.has(image::kDenormRemoveExtraWhitespaces),
          .escape_whitespaces = model.has(image::kDenormEscapeWhitespaces),
          .treat_whitespace_as_suffix = false};
}

}  // namespace

rankfeed_status DecodeSentencePiece(const Model& model, Scratch& scratch,
                                    std::span<const int32_t> ids, char* out, size_t capacity,
                                    size_t* size) {
  *size = 0;
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<uint32_t>(id) >= model.config->id_count) return RANKFEED_E_ID_RANGE;
  }
  TextSink sink(out, capacity);
  if (model.denorm_units.empty()) {
    DecodePieces(model, ids, sink);
  } else {
    TextSink plain(scratch.text[0], scratch.run_capacity);
    DecodePieces(model, ids, plain);
    normalize::SpNormalized denormalized;
    if (plain.overflown() ||
        !normalize::SpNormalize(DenormalizerOf(model), {scratch.text[0], plain.size()},
                                scratch.text[1], nullptr, scratch.run_capacity, &denormalized)) {
      return RANKFEED_E_LIMIT;
    }
    sink.Append({scratch.text[1], denormalized.size});
  }
  *size = sink.size();
  return sink.overflown() ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK;
}

}  // namespace rankfeed::reference
