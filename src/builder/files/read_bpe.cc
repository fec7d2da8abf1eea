// SPDX-License-Identifier: MIT
#include "builder/files/read_bpe.h"

#include <algorithm>
#include <bitset>
#include <unordered_map>

#include "base/byte_alphabet.h"
#include "base/narrow.h"
#include "builder/base/code_points.h"
#include "builder/files/vocabulary.h"

namespace rankfeed::builder {
namespace {

using IdOf = std::unordered_map<std::string_view, uint32_t>;

// Merges name pieces by id, so each has one of its own.
void CheckIds(const Json& vocab, const ModelSpec& spec) {
  std::vector<const std::string*> owner(spec.id_count, nullptr);
  for (size_t i = 0; i < spec.pieces.size(); ++i) {
    const std::string*& of = owner[spec.id_map[i]];
    if (of != nullptr) {
      vocab.Fail(RANKFEED_E_UNSUPPORTED, "gives \"" + *of + "\" and \"" + spec.pieces[i].text +
                                             "\" one id, " + std::to_string(spec.id_map[i]) +
                                             "; merges cannot tell them apart");
    }
    of = &spec.pieces[i].text;
  }
}

// One line of a list of merges: two pieces with a space between them.
class MergeReader {
 public:
  MergeReader(const Json& list, const IdOf& ids, ModelSpec* spec)
      : list_(list), ids_(ids), spec_(*spec) {}

  void Add(simdjson::dom::element item) {
    std::string_view text;
    simdjson::dom::array pair;
    if (item.get(text) == simdjson::SUCCESS) {
      if (text.starts_with("#version")) {
        ++place_;
        return;
      }
      const size_t space = text.find(' ');
      if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
        Fail(RANKFEED_E_PARSE, "must be two pieces with one space between them");
      }
      Add(text.substr(0, space), text.substr(space + 1));
    } else if (item.get(pair) == simdjson::SUCCESS && pair.size() == 2) {
      std::string_view left, right;
      if (pair.at(0).get(left) != simdjson::SUCCESS || pair.at(1).get(right) != simdjson::SUCCESS) {
        Fail(RANKFEED_E_PARSE, "must hold two strings");
      }
      Add(left, right);
    } else {
      Fail(RANKFEED_E_PARSE, "must be a string or [left, right]");
    }
  }

 private:
  void Add(std::string_view left, std::string_view right) {
    product_.assign(left);
    product_ += right;
    const auto rank = Size32(spec_.merges);
    spec_.merges.push_back({Find(left), Find(right), Find(product_), rank});
    ++place_;
  }
  uint32_t Find(std::string_view piece) {
    const auto found = ids_.find(piece);
    if (found != ids_.end()) return found->second;
    Fail(RANKFEED_E_PARSE, "names \"" + std::string(piece) + "\", which is no piece of the vocabulary");
  }
  [[noreturn]] void Fail(rankfeed_status status, const std::string& why) {
    list_.Fail(status, "[" + std::to_string(place_) + "] " + why);
  }

  const Json& list_;
  const IdOf& ids_;
  ModelSpec& spec_;
  std::string product_;
  size_t place_ = 0;
};

void RefuseText(const Json& model, const char* key) {
  const auto value = model.Find(key);
  if (value && !value->String().empty()) {
    value->Fail(RANKFEED_E_UNSUPPORTED, "is not supported; no published reranker has one");
  }
}

}  // namespace

void ReadBpe(const Json& model, const Json& settings, ModelSpec* spec) {
  if (const auto dropout = model.Find("dropout"); dropout && !dropout->IsZero()) {
    dropout->Fail(RANKFEED_E_UNSUPPORTED, "makes ids random; only null and 0 are supported");
  }
  RefuseText(model, "continuing_subword_prefix");
  RefuseText(model, "end_of_word_suffix");
  std::string unk_token;
  if (const auto unk = model.Find("unk_token")) {
    unk_token = unk->ShortString("a token");
    if (unk_token.empty()) unk->Fail(RANKFEED_E_UNSUPPORTED, "is empty; null says that there is none");
  }
  const Json vocab = model.At("vocab");
  ReadVocabulary(vocab, unk_token.empty() ? nullptr : &unk_token, spec);
  CheckIds(vocab, *spec);
  if (model.BoolOr("fuse_unk", false)) spec->flags |= image::kFuseUnk;
  if (settings.BoolOr("byte_fallback", false)) spec->flags |= image::kByteFallback;
  if (settings.BoolOr("ignore_merges", false)) spec->flags |= image::kIgnoreMerges;
  IdOf ids;
  ids.reserve(spec->pieces.size());
  for (size_t i = 0; i < spec->pieces.size(); ++i) ids[spec->pieces[i].text] = spec->id_map[i];
  const Json merges = model.At("merges");
  MergeReader reader(merges, ids, spec);
  const size_t count = merges.ArraySize();
  simdjson::dom::array::iterator item = merges.ArrayBegin();
  for (size_t i = 0; i < count; ++i, ++item) reader.Add(*item);
}

bool HasByteLevel(const ModelSpec& spec) {
  return std::any_of(spec.pre_tokenizer.begin(), spec.pre_tokenizer.end(),
                     [](const StepSpec& step) { return step.op == image::Op::kByteLevel; });
}

void FinishBpe(const Json& model, ModelSpec* spec) {
  if (HasByteLevel(*spec)) {
    spec->flags |= image::kByteLevel;
    spec->flags &= ~uint32_t{image::kByteFallback};  // every byte has a piece, so none falls back
    std::bitset<256> has;
    for (const PieceSpec& piece : spec->pieces) {
      std::vector<uint32_t> chars;
      if (piece.text.size() > 2 || !DecodeUtf8(piece.text, &chars) || chars.size() != 1) continue;
      if (const int byte = kByteAlphabet.ByteOf(chars[0]); byte >= 0) has.set(static_cast<size_t>(byte));
    }
    for (size_t byte = 0; byte < 256; ++byte) {
      if (has[byte] || byte == 0xc0 || byte == 0xc1 || byte >= 0xf5) continue;  // never in UTF-8
      std::string spelled;
      AppendUtf8(kByteAlphabet.chars[byte], &spelled);
      model.At("vocab").Fail(RANKFEED_E_UNSUPPORTED,
                             "lacks the piece \"" + spelled + "\" of byte " + std::to_string(byte) +
                                 "; with ByteLevel every byte of UTF-8 needs one");
    }
    return;
  }
  if ((spec->flags & image::kByteFallback) == 0) return;
  const auto pieces = std::count_if(
      spec->pieces.begin(), spec->pieces.end(),
      [](const PieceSpec& piece) { return ByteOfPiece(piece.text) >= 0; });
  if (pieces == 0) spec->flags &= ~uint32_t{image::kByteFallback};  // nothing can fall back
  if (pieces == 0 || pieces == 256) return;
  model.At("byte_fallback").Fail(RANKFEED_E_UNSUPPORTED,
                                 "needs the pieces <0x00> to <0xFF>; there are " +
                                     std::to_string(pieces) + " of 256");
}

}  // namespace rankfeed::builder
