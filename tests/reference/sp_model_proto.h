// SPDX-License-Identifier: MIT
// tests/reference/sp_model_proto.h: SentencePiece model files written field by field, so that tests
// can have any combination of piece types and normalizer flags without a trainer.
//
// Field numbers: sentencepiece_model.proto, 0.1.97.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rankfeed::sp_test {

enum PieceKind : int {  // hostile files have others
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct PieceProto {
  std::string text;
  float score = 0;
  PieceKind kind = kNormal;
};

struct NormalizerProto {
  std::string charsmap;
  // nullopt: the field is absent and the reader's default (true) applies
  std::optional<bool> add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
};

struct ModelProto {
  std::vector<PieceProto> pieces;
  NormalizerProto normalizer;
  std::optional<NormalizerProto> denormalizer;
  bool byte_fallback = false, treat_whitespace_as_suffix = false;
  std::optional<int> model_type;  // absent: UNIGRAM
  std::optional<std::string> unk_surface, unk_piece, bos_piece, eos_piece, pad_piece;

  void Add(std::string text, float score, PieceKind kind = kNormal) {
    pieces.push_back({std::move(text), score, kind});
  }
  // <unk>, <s>, </s> as the trainer puts them.
  void AddSpecials() {
    Add("<unk>", 0, kUnknown);
    Add("<s>", 0, kControl);
    Add("</s>", 0, kControl);
  }
  void AddBytes(float score = 0) {
    static constexpr char kHex[] = "0123456789ABCDEF";
    for (int b = 0; b < 256; ++b) {
      Add(std::string("<0x") + kHex[b >> 4] + kHex[b & 15] + ">", score, kByte);
    }
    byte_fallback = true;
  }
};

inline std::string SerializeNormalizer(const NormalizerProto& normalizer) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_string(1, "generated");
  if (!normalizer.charsmap.empty()) out.add_bytes(2, normalizer.charsmap);
  if (normalizer.add_dummy_prefix) out.add_bool(3, *normalizer.add_dummy_prefix);
  if (normalizer.remove_extra_whitespaces) out.add_bool(4, *normalizer.remove_extra_whitespaces);
  if (normalizer.escape_whitespaces) out.add_bool(5, *normalizer.escape_whitespaces);
  return bytes;
}

inline std::string Serialize(const ModelProto& model) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  for (const PieceProto& piece : model.pieces) {
    protozero::pbf_writer item(out, 1);
    item.add_bytes(1, piece.text);
    item.add_float(2, piece.score);
    if (piece.kind != kNormal) item.add_enum(3, piece.kind);
  }
  {
    protozero::pbf_writer trainer(out, 2);
    if (model.model_type) trainer.add_enum(3, *model.model_type);
    if (model.treat_whitespace_as_suffix) trainer.add_bool(24, true);
    if (model.byte_fallback) trainer.add_bool(35, true);
    if (model.unk_surface) trainer.add_bytes(44, *model.unk_surface);
    if (model.unk_piece) trainer.add_bytes(45, *model.unk_piece);
    if (model.bos_piece) trainer.add_bytes(46, *model.bos_piece);
    if (model.eos_piece) trainer.add_bytes(47, *model.eos_piece);
    if (model.pad_piece) trainer.add_bytes(48, *model.pad_piece);
  }
  out.add_message(3, SerializeNormalizer(model.normalizer));
  if (model.denormalizer) out.add_message(5, SerializeNormalizer(*model.denormalizer));
  return bytes;
}

// normalizer_spec.precompiled_charsmap of a model file.
inline std::string CharsmapOf(const std::string& model) {
  protozero::pbf_reader reader(model);
  while (reader.next(3)) {
    protozero::pbf_reader normalizer = reader.get_message();
    while (normalizer.next(2)) return normalizer.get_bytes();
  }
  return {};
}

// A precompiled charsmap: u32 size of the trie, Darts-clone units, NUL-separated replacements. Each
// node takes the first free place that fits, so that a few rules need one block of 256 units. Keys
// must not be empty nor hold NUL.
inline std::string MakeCharsmap(const std::map<std::string, std::string>& rules) {
  struct Node {
    std::map<unsigned char, uint32_t> children;  // node indices
    std::optional<uint32_t> value;
  };
  std::vector<Node> nodes(1);
  std::string pool;
  for (const auto& [key, replacement] : rules) {
    uint32_t at = 0;
    for (const char c : key) {
      const auto byte = static_cast<unsigned char>(c);
      if (!nodes[at].children.contains(byte)) {
        nodes[at].children[byte] = static_cast<uint32_t>(nodes.size());
        nodes.emplace_back();
      }
      at = nodes[at].children[byte];
    }
    nodes[at].value = static_cast<uint32_t>(pool.size());
    pool += replacement;
    pool += '\0';
  }
  // A node's children are at base ^ label, its value at base itself. Bases differ, so that no byte
  // leads from one node to a child of another; the place of a value is taken also where there is
  // none, by a unit that is no byte's child. Unit 0 is the root.
  std::vector<uint32_t> units(256, 0), base(nodes.size());
  std::vector<bool> taken(256);
  taken[0] = true;
  uint32_t first_free = 1;
  for (size_t n = 0; n < nodes.size(); ++n) {
    while (first_free < units.size() && taken[first_free]) ++first_free;
    for (uint32_t b = first_free;; ++b) {
      if ((b | 0xff) >= units.size()) units.resize(units.size() + 256), taken.resize(units.size());
      bool fits = !taken[b];
      for (const auto& [label, child] : nodes[n].children) fits = fits && !taken[b ^ label];
      if (!fits) continue;
      base[n] = b;
      taken[b] = true;
      for (const auto& [label, child] : nodes[n].children) taken[b ^ label] = true;
      break;
    }
  }
  const auto unit = [&](uint32_t position, uint32_t label, size_t node) {
    const uint32_t offset = position ^ base[node];  // below 2^21: larger ones have another form
    return offset << 10 | label | (nodes[node].value ? 0x100u : 0u);
  };
  units[0] = unit(0, 0, 0);
  for (size_t n = 0; n < nodes.size(); ++n) {
    units[base[n]] = 0x80000000u | nodes[n].value.value_or(0);
    for (const auto& [label, child] : nodes[n].children) {
      units[base[n] ^ label] = unit(base[n] ^ label, label, child);
    }
  }
  std::string blob;
  const auto put = [&](uint32_t v) {
    for (int i = 0; i < 4; ++i) blob += static_cast<char>(v >> (8 * i) & 0xff);
  };
  put(static_cast<uint32_t>(units.size() * 4));
  for (const uint32_t u : units) put(u);
  return blob + pool;
}

}  // namespace rankfeed::sp_test
