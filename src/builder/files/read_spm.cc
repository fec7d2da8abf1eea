// SPDX-License-Identifier: MIT
#include "builder/files/read_spm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include <protozero/pbf_reader.hpp>

#include "base/narrow.h"
#include "base/utf8.h"
#include "builder/base/code_points.h"
#include "builder/base/limits.h"
#include "rankfeed/model.h"
#include "trie/double_array.h"

namespace rankfeed::builder {
namespace {

using image::PieceType;
using protozero::pbf_wire_type;

// Field numbers of sentencepiece_model.proto (0.1.97).
constexpr uint32_t kModelPieces = 1, kModelTrainerSpec = 2, kModelNormalizerSpec = 3,
                   kModelDenormalizerSpec = 5;
constexpr uint32_t kPiecePiece = 1, kPieceScore = 2, kPieceType = 3;
constexpr uint32_t kTrainerModelType = 3, kTrainerWhitespaceAsSuffix = 24,
                   kTrainerByteFallback = 35, kTrainerUnkSurface = 44, kTrainerUnkPiece = 45,
                   kTrainerBosPiece = 46, kTrainerEosPiece = 47, kTrainerPadPiece = 48;
constexpr uint32_t kNormalizerCharsmap = 2, kNormalizerAddDummyPrefix = 3,
                   kNormalizerRemoveExtraWhitespaces = 4, kNormalizerEscapeWhitespaces = 5;

constexpr uint64_t kModelTypeUnigram = 1, kModelTypeBpe = 2;
constexpr const char* kModelTypeNames[] = {"0", "UNIGRAM", "BPE", "WORD", "CHAR"};
constexpr uint32_t kMaxPieces = trie::kNoValue - 1;
constexpr size_t kMaxPieceBytes = 7999;  // model_interface.cc 0.2.2: below kMaxPieceSize
// Bytes of all parts that pieces of BPE are looked for in. Published ones have two million.
constexpr uint64_t kMaxMergeWork = uint64_t{1} << 28;

constexpr uint64_t Tag(uint32_t field, pbf_wire_type type) {
  return protozero::tag_and_type(field, type);
}

struct Trainer {
  uint64_t model_type = kModelTypeUnigram;
  bool whitespace_as_suffix = false, byte_fallback = false;
  std::string unk_surface = " \xe2\x81\x87 ", unk_piece = "<unk>", bos_piece = "<s>",
              eos_piece = "</s>", pad_piece = "<pad>";
};

struct Normalizer {
  std::string charsmap;
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name, uint32_t parity)
      : bytes_(bytes), name_(name), at_(bytes.data()) {
    spec_.parity = parity;
  }

  ModelSpec Run() {
    try {
      Parse();
    } catch (const protozero::exception& e) {
      const char* what = e.what();
      Fail(RANKFEED_E_PARSE, std::string("not a SentencePiece model, or cut short: ") + what);
    }
    CheckModelType();
    CheckPieces();
    if (spec_.bpe()) Merges();
    else Scores();
    FillRest();
    return std::move(spec_);
  }

 private:
  [[noreturn]] void Fail(rankfeed_status status, const std::string& why) const {
    const uint64_t offset = static_cast<uint64_t>(at_ - bytes_.data());
    throw BuildError(status, name_, ": byte ", offset, ": ", why).At(offset);
  }
  [[noreturn]] void FailPiece(size_t i, rankfeed_status status, const std::string& why) const {
    throw BuildError(status,
                     name_, ": byte ", piece_at_[i], ": piece ",
                     i, " ", why).At(piece_at_[i]);
  }
  [[noreturn]] void FailModel(rankfeed_status status, const std::string& why) const {
    throw BuildError(status, name_, ": ", why);
  }

  // Moves to the next field and remembers where it begins, for messages.
  bool Next(protozero::pbf_reader& message) {
    at_ = message.data().data();
    return message.next();
  }

  // of names the string in the message.
  std::string ShortString(protozero::pbf_reader& message, const char* of) const {
    const protozero::data_view text = message.get_view();
    if (text.size() > kMaxStringBytes) {
      Fail(RANKFEED_E_LIMIT,
           OverLimit(std::to_string(text.size()) + " bytes", of, kMaxStringBytes));
    }
    return {text.data(), text.size()};
  }

  // protozero 1.7.1 get_bool looks at one byte, also where the message has none left.
  static bool Bool(protozero::pbf_reader& message) { return message.get_uint64() != 0; }

  void Parse() {
    protozero::pbf_reader model(bytes_.data(), bytes_.size());
    while (Next(model)) {
      switch (model.tag_and_type()) {
        case Tag(kModelPieces, pbf_wire_type::length_delimited):
          Piece(model.get_message());
          break;
        case Tag(kModelTrainerSpec, pbf_wire_type::length_delimited):
          TrainerSpec(model.get_message());
          break;
        case Tag(kModelNormalizerSpec, pbf_wire_type::length_delimited):
          NormalizerSpec(model.get_message(), &normalizer_);
          break;
        case Tag(kModelDenormalizerSpec, pbf_wire_type::length_delimited):
          NormalizerSpec(model.get_message(), &denormalizer_);
          break;
        default:
          model.skip();
      }
    }
  }

  void Piece(protozero::pbf_reader message) {
    if (spec_.pieces.size() >= kMaxPieces) {
      Fail(RANKFEED_E_LIMIT, "more than " + std::to_string(kMaxPieces) + " pieces");
    }
    PieceSpec piece;
    float score = 0;
    int64_t type = static_cast<int64_t>(PieceType::kNormal);
    piece_at_.push_back(static_cast<uint64_t>(at_ - bytes_.data()));
    while (Next(message)) {
      switch (message.tag_and_type()) {
        case Tag(kPiecePiece, pbf_wire_type::length_delimited):
          piece.text = ShortString(message, "a piece");
          break;
        case Tag(kPieceScore, pbf_wire_type::fixed32):
          score = message.get_float();
          break;
        case Tag(kPieceType, pbf_wire_type::varint):
          type = message.get_enum();
          break;
        default:
          message.skip();
      }
    }
    spec_.pieces.push_back(std::move(piece));
    scores_.push_back(score);
    if (type < 1 || type > 6) {
      FailPiece(piece_at_.size() - 1, RANKFEED_E_UNSUPPORTED,
                "has type " + std::to_string(type) + ", which is not one of this format's types");
    }
    spec_.pieces.back().type = static_cast<PieceType>(type);
  }

  void TrainerSpec(protozero::pbf_reader message) {
    while (Next(message)) {
      switch (message.tag_and_type()) {
        case Tag(kTrainerModelType, pbf_wire_type::varint):
          trainer_.model_type = message.get_uint64();
          break;
        case Tag(kTrainerWhitespaceAsSuffix, pbf_wire_type::varint):
          trainer_.whitespace_as_suffix = Bool(message);
          break;
        case Tag(kTrainerByteFallback, pbf_wire_type::varint):
          trainer_.byte_fallback = Bool(message);
          break;
        case Tag(kTrainerUnkSurface, pbf_wire_type::length_delimited):
          trainer_.unk_surface = ShortString(message, "unk_surface");
          break;
        // An empty name means the default (model_interface.cc, RETURN_PIECE).
        case Tag(kTrainerUnkPiece, pbf_wire_type::length_delimited):
          Name(ShortString(message, "unk_piece"), &trainer_.unk_piece, "<unk>");
          break;
        case Tag(kTrainerBosPiece, pbf_wire_type::length_delimited):
          Name(ShortString(message, "bos_piece"), &trainer_.bos_piece, "<s>");
          break;
        case Tag(kTrainerEosPiece, pbf_wire_type::length_delimited):
          Name(ShortString(message, "eos_piece"), &trainer_.eos_piece, "</s>");
          break;
        case Tag(kTrainerPadPiece, pbf_wire_type::length_delimited):
          Name(ShortString(message, "pad_piece"), &trainer_.pad_piece, "<pad>");
          break;
        default:
          message.skip();
      }
    }
  }

  static void Name(std::string value, std::string* name, const char* otherwise) {
    *name = value.empty() ? otherwise : std::move(value);
  }

  void NormalizerSpec(protozero::pbf_reader message, Normalizer* normalizer) {
    while (Next(message)) {
      switch (message.tag_and_type()) {
        case Tag(kNormalizerCharsmap, pbf_wire_type::length_delimited):
          normalizer->charsmap = message.get_string();
          break;
        case Tag(kNormalizerAddDummyPrefix, pbf_wire_type::varint):
          normalizer->add_dummy_prefix = Bool(message);
          break;
        case Tag(kNormalizerRemoveExtraWhitespaces, pbf_wire_type::varint):
          normalizer->remove_extra_whitespaces = Bool(message);
          break;
        case Tag(kNormalizerEscapeWhitespaces, pbf_wire_type::varint):
          normalizer->escape_whitespaces = Bool(message);
          break;
        default:
          message.skip();
      }
    }
  }

  void CheckModelType() {
    if (trainer_.model_type == kModelTypeUnigram) return;
    if (trainer_.model_type == kModelTypeBpe && !trainer_.whitespace_as_suffix) {
      spec_.kind = image::ModelKind::kBpe;
      return;
    }
    const std::string name = trainer_.model_type < std::size(kModelTypeNames)
                                 ? kModelTypeNames[trainer_.model_type]
                                 : std::to_string(trainer_.model_type);
    FailModel(RANKFEED_E_UNSUPPORTED,
              "SentencePiece model_type " + name +
                  (trainer_.whitespace_as_suffix && name == "BPE"
                       ? " with treat_whitespace_as_suffix is not supported"
                       : " is not supported; UNIGRAM and BPE are"));
  }

  // From 0.2.2 on: a piece that is a NUL is as good as not there if it is unused, which byte
  // fallback makes it (sentencepiece_processor.cc Load, model_interface.cc InitializePieces).
  bool IsNullPiece(PieceSpec* piece) const {
    if (spec_.sentencepiece_0_2_1() || piece->text != std::string_view("\0", 1)) return false;
    if (trainer_.byte_fallback) piece->type = PieceType::kUnused;
    return piece->type == PieceType::kUnused;
  }

  // The conditions of ModelInterface::InitializePieces, in its order per piece.
  void CheckPieces() {
    if (spec_.pieces.empty()) FailModel(RANKFEED_E_PARSE, "the model has no pieces");
    std::unordered_map<std::string_view, size_t> normal, reserved;
    normal.reserve(spec_.pieces.size());
    std::array<bool, 256> byte_found{};
    std::vector<uint32_t> scratch;
    for (size_t i = 0; i < spec_.pieces.size(); ++i) {
      const PieceSpec& piece = spec_.pieces[i];
      if (piece.text.empty()) FailPiece(i, RANKFEED_E_PARSE, "is empty");
      if (!spec_.sentencepiece_0_2_1() && piece.text.size() > kMaxPieceBytes) {
        FailPiece(i, RANKFEED_E_PARSE,
                  "has " + std::to_string(piece.text.size()) +
                      " bytes; sentencepiece from 0.2.2 on loads " +
                      std::to_string(kMaxPieceBytes) + " at most");
      }
      if (IsNullPiece(&spec_.pieces[i])) continue;
      if (piece.text.find('\0') != std::string::npos) FailPiece(i, RANKFEED_E_PARSE, "holds a NUL");
      scratch.clear();
      if (!DecodeUtf8(piece.text, &scratch)) {
        FailPiece(i, RANKFEED_E_PARSE, "is not valid UTF-8");
      }
      const bool is_normal = piece.type == PieceType::kNormal ||
                             piece.type == PieceType::kUserDefined ||
                             piece.type == PieceType::kUnused;
      const auto [first, inserted] = (is_normal ? normal : reserved).emplace(piece.text, i);
      if (!inserted) {
        FailPiece(
            i, RANKFEED_E_PARSE,
            "\"" + piece.text + "\" is already defined as piece " + std::to_string(first->second));
      }
      if (spec_.bpe()) CheckPieceOfBpe(i, (is_normal ? reserved : normal).contains(piece.text));
      if (piece.type == PieceType::kUserDefined) spec_.user_defined.push_back(piece.text);
      if (piece.type == PieceType::kUnknown) {
        if (spec_.unk_id != image::kNoId) {
          FailPiece(i, RANKFEED_E_PARSE,
                    "is a second UNKNOWN piece; the first is " + std::to_string(spec_.unk_id));
        }
        spec_.unk_id = static_cast<uint32_t>(i);
      }
      if (piece.type == PieceType::kByte) {
        if (!trainer_.byte_fallback) {
          FailPiece(i, RANKFEED_E_PARSE, "is a BYTE piece although byte_fallback is false");
        }
        const int byte = ByteOfPiece(piece.text);
        if (byte < 0) {
          FailPiece(i, RANKFEED_E_PARSE, "\"" + piece.text + "\" is not a byte piece (<0xHH>)");
        }
        byte_found[static_cast<size_t>(byte)] = true;
      }
      if (!std::isfinite(scores_[i]))
        FailPiece(i, RANKFEED_E_PARSE, "has a score that is not finite");
    }
    // From 0.2.2 on byte pieces are enough.
    if (spec_.unk_id == image::kNoId && (spec_.sentencepiece_0_2_1() || !trainer_.byte_fallback)) {
      FailModel(RANKFEED_E_PARSE, "the model has no UNKNOWN piece");
    }
    if (trainer_.byte_fallback) {
      const auto missing = std::find(byte_found.begin(), byte_found.end(), false);
      if (missing != byte_found.end()) {
        FailModel(RANKFEED_E_PARSE, "byte_fallback is set but the piece of byte " +
                                        std::to_string(missing - byte_found.begin()) +
                                        " is missing");
      }
    }
    if (normal.empty()) FailModel(RANKFEED_E_PARSE, "the model has no NORMAL pieces");
    reserved_ = std::move(reserved);
    normal_ = std::move(normal);
  }

  // Refuses pieces that the releases treat differently, or whose fate depends on the text around;
  // no published model has them.
  void CheckPieceOfBpe(size_t i, bool twice) const {
    const PieceSpec& piece = spec_.pieces[i];
    if (twice) FailPiece(i, RANKFEED_E_UNSUPPORTED, "\"" + piece.text + "\" is also a piece of another type");
    if (piece.type == PieceType::kUnused) {
      FailPiece(i, RANKFEED_E_UNSUPPORTED, "is UNUSED, which is not supported with BPE");
    }
    const bool reserved = piece.type == PieceType::kControl || piece.type == PieceType::kUnknown;
    if (reserved && IsCharacter(piece.text)) {
      FailPiece(i, RANKFEED_E_UNSUPPORTED,
                "is a CONTROL or UNKNOWN piece of one character, which is not supported with BPE");
    }
  }

  static bool IsCharacter(std::string_view text) {
    return utf8::SizeFromLead(Byte(text[0])) == text.size();
  }

  // bpe_model.cc merges two symbols whose text is a piece, the piece of the greatest score first. So
  // every two parts of a piece that can be symbols are a merge: characters, and pieces, which merges
  // made. A symbol never begins where a user-defined piece begins, so none of these is a part or
  // made.
  void Merges() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < spec_.pieces.size(); ++i) {
      if (spec_.pieces[i].type == PieceType::kNormal) order.push_back(i);
    }
    // They compare as numbers: 0.2.2 and later tell -0.0 from 0.0.
    const auto key = [&](uint32_t i) {
      const auto bits = std::bit_cast<int32_t>(spec_.sentencepiece_0_2_1() ? scores_[i] + 0.0f : scores_[i]);
      return bits < 0 ? bits ^ std::numeric_limits<int32_t>::max() : bits;
    };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) > key(b); });
    uint64_t work = 0;
    for (size_t i = 0, rank = 0; i < order.size(); ++i) {
      if (i != 0 && key(order[i]) != key(order[i - 1])) rank = i;
      const std::string_view text = spec_.pieces[order[i]].text;
      for (size_t at = 1; at < text.size(); ++at) {
        if (utf8::IsContinuation(text[at])) continue;
        work += text.size();
        if (work > kMaxMergeWork) FailPiece(order[i], RANKFEED_E_LIMIT, "is one of too many long ones for BPE");
        const uint32_t left = Part(text.substr(0, at)), right = Part(text.substr(at));
        if (left == image::kNoId || right == image::kNoId) continue;
        for (const auto& [part, id] : {std::pair(text.substr(0, at), left), std::pair(text.substr(at), right)}) {
          if (id != kNoPiece) continue;
          FailPiece(order[i], RANKFEED_E_UNSUPPORTED,
                    "merges the character \"" + std::string(part) + "\", which is no piece");
        }
        spec_.merges.push_back({left, right, order[i], static_cast<uint32_t>(rank)});
      }
    }
  }

  // The id of a text that a symbol can have, kNoId if none can, kNoPiece of a character without one.
  static constexpr uint32_t kNoPiece = image::kNoId - 1;
  uint32_t Part(std::string_view text) const {
    const auto found = normal_.find(text);
    if (found == normal_.end()) return IsCharacter(text) ? kNoPiece : image::kNoId;
    const bool is_normal = spec_.pieces[found->second].type == PieceType::kNormal;
    return is_normal ? static_cast<uint32_t>(found->second) : image::kNoId;
  }

  void Scores() {
    // unigram_model.cc 0.2.1 Model::Model: over NORMAL pieces only; max starts at the smallest
    // positive float, so for log probabilities it stays there.
    float max_score = std::numeric_limits<float>::min();
    for (size_t i = 0; i < spec_.pieces.size(); ++i) {
      if (spec_.pieces[i].type == PieceType::kNormal) max_score = std::max(max_score, scores_[i]);
    }
    for (size_t i = 0; i < spec_.pieces.size(); ++i) {
      PieceSpec& piece = spec_.pieces[i];
      piece.score = scores_[i];
      if (piece.type != PieceType::kUserDefined) continue;
      const int bytes = static_cast<int>(piece.text.size());
      if (!spec_.sentencepiece_0_2_1()) {
        // 0.2.2 GetUserDefinedScore: a double product, returned as a float.
        piece.score = static_cast<float>(0.1 * (bytes - 1));
        continue;
      }
      // 0.2.1 EncodeOptimized: length * max_score_ - 0.1, a float product, then double.
      const float product = static_cast<float>(bytes) * max_score;
      piece.score = static_cast<double>(product) - 0.1;
      if (!std::isfinite(product)) {
        FailPiece(i, RANKFEED_E_UNSUPPORTED,
                  "is user-defined and its score, its length times the greatest score, is not "
                  "finite");
      }
    }
  }

  uint32_t Find(const std::string& piece) const {
    if (const auto it = reserved_.find(piece); it != reserved_.end()) {
      return it->second == spec_.unk_id ? image::kNoId : static_cast<uint32_t>(it->second);
    }
    const auto it = normal_.find(piece);
    return it == normal_.end() ? image::kNoId : static_cast<uint32_t>(it->second);
  }

  uint32_t FindAny(const std::string& a, const std::string& b) const {
    const uint32_t id = Find(a);
    return id != image::kNoId ? id : Find(b);
  }

  void FillRest() {
    spec_.source_name = "sentencepiece";
    spec_.unk_surface = std::move(trainer_.unk_surface);
    if (spec_.sentencepiece_0_2_1()) {
      // A C string there: what follows a NUL is lost (sentencepiece_processor.cc 0.1.97, Decode).
      spec_.unk_surface.resize(std::strlen(spec_.unk_surface.c_str()));
    }
    spec_.unk_piece = trainer_.unk_piece;
    spec_.bos_id = Find(trainer_.bos_piece);
    spec_.eos_id = Find(trainer_.eos_piece);
    spec_.pad_id = FindAny(trainer_.pad_piece, "[PAD]");
    spec_.cls_id = FindAny("<cls>", "[CLS]");
    spec_.sep_id = FindAny("<sep>", "[SEP]");
    spec_.mask_id = FindAny("<mask>", "[MASK]");
    const auto set = [&](bool on, image::ConfigFlags flag) {
      if (on) spec_.flags |= flag;
    };
    set(trainer_.byte_fallback, image::kByteFallback);
    set(trainer_.whitespace_as_suffix, image::kTreatWhitespaceAsSuffix);
    set(normalizer_.add_dummy_prefix, image::kAddDummyPrefix);
    set(normalizer_.remove_extra_whitespaces, image::kRemoveExtraWhitespaces);
    set(normalizer_.escape_whitespaces, image::kEscapeWhitespaces);
    set(denormalizer_.add_dummy_prefix, image::kDenormAddDummyPrefix);
    set(denormalizer_.remove_extra_whitespaces, image::kDenormRemoveExtraWhitespaces);
    set(denormalizer_.escape_whitespaces, image::kDenormEscapeWhitespaces);
    spec_.charsmap = std::move(normalizer_.charsmap);
    spec_.denorm_charsmap = std::move(denormalizer_.charsmap);
    spec_.id_count = Size32(spec_.pieces);
    spec_.id_map.resize(spec_.id_count);
    for (uint32_t i = 0; i < spec_.id_count; ++i) spec_.id_map[i] = i;
  }

  const std::string_view bytes_;
  const std::string& name_;
  const char* at_;  // start of the field being read
  ModelSpec spec_;
  std::vector<float> scores_;
  std::vector<uint64_t> piece_at_;
  Trainer trainer_;
  Normalizer normalizer_, denormalizer_;
  std::unordered_map<std::string_view, size_t> normal_, reserved_;
};

}  // namespace

ModelSpec ReadSentencePiece(std::string_view bytes, const std::string& source_name,
                            uint32_t parity) {
  return Reader(bytes, source_name, parity).Run();
}

}  // namespace rankfeed::builder
