// SPDX-License-Identifier: MIT
// image/model.h: an opened image: typed spans over its sections. Immutable, share freely.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/utf8.h"
#include "image/char_info.h"
#include "image/format.h"
#include "image/merges.h"
#include "rankfeed/model.h"
#include "trie/double_array.h"

namespace rankfeed {

// Two-stage table over code points: blocks[cp >> 8] selects 256 entries.
template <class T>
struct CodePointTable {
  const uint16_t* blocks = nullptr;  // 0x1100 entries, each verified to be a block of data
  const T* data = nullptr;
  size_t size = 0;  // entries of data
  bool present() const { return data != nullptr; }
  T operator[](uint32_t cp) const {
    return data[static_cast<uint32_t>(blocks[cp >> 8]) << 8 | (cp & 0xff)];
  }
};

// Tables of the fast road (fast/). config is a copy, and empty where the pipeline does not allow
// that road: then nothing else is there either.
struct SegmentTables {
  std::optional<image::SegmentConfig> config;
  std::span<const image::SegmentEntry> entries;  // buckets of segments that are one token
  CodePointTable<image::CharInfo> char_info;
  std::span<const uint16_t> expansions;
  std::span<const uint16_t> direct_codes;
  std::span<const uint64_t> spanned_pairs;
  std::span<const image::SpanEntry> spans;  // short spans and their ids
  // The automaton of the pieces.
  std::span<const image::AutomatonState> states;  // of the units of Model::pieces
  std::span<const uint32_t> fails;
  std::span<const uint64_t> edges;
  std::span<const image::SearchStart> starts;
  std::span<const uint8_t> id_codes;  // by id
};

struct Model {
  uint64_t magic;  // kModelMagic while open: catches storage that was never opened
  const unsigned char* image;
  uint64_t image_size;
  const image::Header* header;
  // Copies: buffers are sized and loops bounded by these, whatever is written to a mapped file
  // later.
  std::optional<image::Config> config;  // always there once opened

  trie::View pieces;  // of each its id
  CodePointTable<uint16_t> codes;
  std::span<const double> scores;  // by id; of a Unigram model alone

  std::span<const char> strings;
  std::span<const uint32_t> id_pieces;  // see piece()
  std::span<const uint8_t> id_flags;
  std::span<const uint32_t> piece_index;  // see PieceToId
  std::span<const uint32_t> byte_ids;     // empty or 256

  std::span<const image::Step> normalizer, pre_tokenizer, decoder;
  std::span<const image::AddedToken> added_tokens;
  trie::View added_raw, added_normalized;  // values index added_tokens
  uint32_t max_added_bytes;                // of the longest of them, as it is looked for
  std::span<const image::TemplateItem> template_single, template_pair;

  std::span<const uint32_t> charsmap_units;
  std::span<const char> charsmap_pool;
  std::span<const uint32_t> denorm_units;
  std::span<const char> denorm_pool;
  trie::View user_defined;  // SentencePiece PrefixMatcher

  CodePointTable<uint8_t> split_classes;
  image::MergeTables merges;
  CodePointTable<image::QuietCharacter> quiet;  // of byte-level models, as
  std::span<const uint32_t> crossings;          // [CrossingAt]

  CodePointTable<uint16_t> props;
  CodePointTable<uint8_t> ccc;
  CodePointTable<uint32_t> lower, decomp, decomp_k;  // offset << 8 | length in map_pool
  std::span<const uint32_t> map_pool;
  std::span<const image::ComposePair> compose;

  // The token string of an id that there is. In bounds whatever the image says, as text().
  std::string_view piece(uint32_t id) const {
    const uint32_t begin = id_pieces[id];
    return text({begin, std::max(begin, id_pieces[id + 1]) - begin});
  }

  // Id of a token string that the reference answers, -1 if there is none: of those that the trie
  // does not tell piece_index has that one. O(bytes + log id_count).
  int32_t PieceToId(std::string_view wanted) const {
    const auto found =
        std::lower_bound(piece_index.begin(), piece_index.end(), wanted,
                         [this](uint32_t id, std::string_view key) { return piece(id) < key; });
    if (found != piece_index.end() && piece(*found) == wanted) return static_cast<int32_t>(*found);
    trie::Unit unit = pieces.root();
    for (size_t at = 0; at < wanted.size();) {
      const utf8::Decoded c = utf8::Decode(wanted, at);
      if (!c.valid || !pieces.Step(unit, codes[c.code_point])) return -1;
      at += c.size;
    }
    return trie::Value(unit) != trie::kNoValue ? static_cast<int32_t>(trie::Value(unit)) : -1;
  }

  // The id of the piece that is the character of that code alone, kNoValue if there is none. 0 is
  // no code.
  uint32_t PieceOfCode(uint32_t code) const {
    trie::Unit unit = pieces.root();
    const bool steps = code != 0 && code < config->code_count && pieces.Step(unit, code);
    return steps ? trie::Value(unit) : trie::kNoValue;
  }
  bool IsPieceCode(uint32_t code) const { return PieceOfCode(code) != trie::kNoValue; }

  SegmentTables segment;

  // In bounds whatever t is, so that a string of a mapped file that was written to has an end.
  std::string_view text(image::Text t) const {
    const size_t offset = std::min<size_t>(t.offset, strings.size());
    return {strings.data() + offset, std::min<size_t>(t.size, strings.size() - offset)};
  }
  bool is(image::ModelKind kind) const {
    return config->model_kind == static_cast<uint32_t>(kind);
  }
  bool unigram() const { return is(image::ModelKind::kUnigram); }
  bool wordpiece() const { return is(image::ModelKind::kWordPiece); }
  bool bpe() const { return is(image::ModelKind::kBpe); }
  bool huggingface() const { return config->parity == RANKFEED_PARITY_HUGGINGFACE; }
  // SentencePiece as it was up to 0.2.1.
  bool sentencepiece_0_2_1() const { return config->parity == RANKFEED_PARITY_SENTENCEPIECE_0_2_1; }
  bool has(uint32_t config_flag) const { return (config->flags & config_flag) != 0; }
};

inline constexpr uint64_t kModelMagic = 0x6c65646f6d666bULL;

}  // namespace rankfeed

// The opaque public handle is the model itself.
struct rankfeed_model : rankfeed::Model {};
