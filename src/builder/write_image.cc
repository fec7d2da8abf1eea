// SPDX-License-Identifier: MIT
#include "builder/write_image.h"

#include <unicode/uscript.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <numeric>
#include <unordered_map>

#include "base/byte_alphabet.h"
#include "base/narrow.h"
#include "builder/base/code_points.h"
#include "builder/base/limits.h"
#include "builder/base/radix_sort.h"
#include "builder/models/bpe/bpe_tables.h"
#include "builder/models/bpe/merge_tables.h"
#include "builder/models/bpe/quiet_characters.h"
#include "builder/models/unigram/segment_tables.h"
#include "builder/models/wordpiece/word_tables.h"
#include "builder/normalize/charsmap_check.h"
#include "builder/normalize/growth.h"
#include "builder/normalize/token_normalizer.h"
#include "builder/trie/double_array_build.h"
#include "builder/unicode/unicode_tables.h"
#include "rankfeed/model.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rankfeed::builder {
namespace {

using image::PieceType;
using image::SectionId;

// Assigning {} would keep the memory.
template <class T>
void Free(std::vector<T>* elements) {
  std::vector<T>().swap(*elements);
}

std::vector<char> Chars(std::string_view text) {
  return {text.begin(), text.end()};
}

// The string pool; equal strings share one range, but for those of ids.
class Strings {
 public:
  void Reserve(size_t count) { known_.reserve(count); }
  // After all there is; returns where it begins.
  uint32_t Append(const std::string& text) {
    const image::Text at = Push(text);
    known_.try_emplace(text, at);
    return at.offset;
  }
  // text is remembered by reference, so it has to outlive the pool.
  image::Text Add(const std::string& text) {
    if (text.empty()) return {};
    const auto [it, inserted] = known_.try_emplace(text);
    if (inserted) it->second = Push(text);
    return it->second;
  }
  uint32_t size() const { return Size32(pool_); }
  const std::vector<char>& all() const { return pool_; }
  std::vector<char> Take() { return std::move(pool_); }

 private:
  image::Text Push(std::string_view text) {
    if (pool_.size() + text.size() > UINT32_MAX) {
      throw BuildError(RANKFEED_E_LIMIT, "the pieces need more than 4 GiB of text");
    }
    const image::Text at{size(), Size32(text)};
    pool_.insert(pool_.end(), text.begin(), text.end());
    return at;
  }

  std::unordered_map<std::string_view, image::Text> known_;
  std::vector<char> pool_;
};

// A power of two near the piece's probability, as an integer so that layouts do not depend on the
// platform's exp. Pieces without a log probability (HuggingFace writes 0 for specials) weigh least.
uint64_t Weight(const PieceSpec& piece) {
  if (!(piece.score < 0) || piece.type != PieceType::kNormal) return 1;
  constexpr double kLog2E = 1.4426950408889634;
  const double shift = std::clamp(40 + std::floor(piece.score * kLog2E), 0.0, 40.0);
  return uint64_t{1} << static_cast<int>(shift);
}

class Writer {
 public:
  Writer(ModelSpec spec, const std::string& source) : spec_(std::move(spec)), source_(source) {}

  ImageBytes Run(const ConfigHash& config_hash) {
    config_ = spec_;
    Charsmaps();
    Values();
    Codes();
    PieceTrie();
    Ids();
    if (spec_.bpe()) Merges();
    Steps(SectionId::kNormalizer, spec_.normalizer);
    Steps(SectionId::kPreTokenizer, spec_.pre_tokenizer);
    Steps(SectionId::kDecoder, spec_.decoder);
    if (!sentencepiece()) {
      for (SectionData& section : BuildUnicodeTables(spec_)) sections_.Add(std::move(section));
    }
    AddedTokens();
    Template(SectionId::kTemplateSingle, spec_.template_single, &config_.template_specials_single);
    Template(SectionId::kTemplatePair, spec_.template_pair, &config_.template_specials_pair);
    Config();
    sections_.Add(SectionId::kStrings, strings_.Take());
    Release();
    return sections_.Write(AddFastRoad(config_hash));
  }

 private:
  // The segment engine's tables come from running the finished model on its own pieces. Returns the hash of the image.
  ConfigHash AddFastRoad(ConfigHash hash) {
    if (config_.flags & image::kByteLevel) {
      for (SectionData& section : MakeQuietCharacters(sections_.Bind())) sections_.Put(std::move(section));
    }
    const Model model = sections_.Bind();
    auto fast_road = model.wordpiece() ? BuildWordTables(model)
                     : model.bpe()     ? BuildBpeTables(model)
                                       : BuildUnigramTables(model);
    if (const auto* off = std::get_if<OffTheFastRoad>(&fast_road)) {
      config_.fast_road_reason = static_cast<uint32_t>(off->reason);
      config_.fast_road_op = off->op;
      sections_.Put({SectionId::kConfig, std::vector<image::Config>{config_}});
    } else {
      for (SectionData& section : std::get<0>(fast_road)) sections_.Put(std::move(section));
      // Stores of such a vocabulary from before image::kPartsHaveKeys have ids of parts that are others.
      if ((config_.flags & image::kIgnoreMerges) != 0) hash.bytes[0] ^= 1;
    }
    return hash;
  }

  // Releases what only the sections written so far are made of.
  void Release() {
    strings_ = {};
    spec_ = {};
    Free(&values_);
    Free(&key_begin_);
    Free(&codes_);
  }

  bool sentencepiece() const { return spec_.sentencepiece(); }

  void Charsmaps() {
    Growth growth;
    if (!spec_.charsmap.empty()) {
      const std::string where = sentencepiece() ? "normalizer_spec.precompiled_charsmap"
                                                : "the Precompiled normalizer's charsmap";
      const CharsmapView charsmap = CheckCharsmap(spec_.charsmap, spec_.parity, where);
      sections_.Add(SectionId::kCharsmapUnits, charsmap.units);
      sections_.Add(SectionId::kCharsmapPool, Chars(charsmap.pool));
      growth = ComputeGrowth(spec_, &charsmap);
    } else {
      growth = ComputeGrowth(spec_, nullptr);
    }
    config_.growth_numerator = growth.numerator;
    config_.growth_constant = growth.constant;
    if (!spec_.denorm_charsmap.empty()) {
      const CharsmapView charsmap = CheckCharsmap(spec_.denorm_charsmap, spec_.parity,
                                                  "denormalizer_spec.precompiled_charsmap");
      sections_.Add(SectionId::kDenormUnits, charsmap.units);
      sections_.Add(SectionId::kDenormPool, Chars(charsmap.pool));
    }
  }

  // Whether a piece is a key of the trie. SentencePiece: unigram_model.cc BuildTrie and
  // EncodeOptimized, which skips unused pieces. HuggingFace: all, but an empty key is never reached
  // and of equal pieces the last one counts.
  bool InTrie(const PieceSpec& piece) const {
    if (!sentencepiece()) return !piece.text.empty();
    return piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined;
  }

  // Chooses the pieces of the trie.
  void Values() {
    std::unordered_map<std::string_view, uint32_t> last;
    last.reserve(spec_.pieces.size());
    double min_score = INFINITY;
    for (uint32_t i = 0; i < spec_.pieces.size(); ++i) {
      const PieceSpec& piece = spec_.pieces[i];
      if (InTrie(piece)) last[piece.text] = i;
      if (!sentencepiece() || piece.type == PieceType::kNormal) {
        min_score = std::min(min_score, piece.score);
      }
    }
    if (sentencepiece()) {
      // unigram_model.cc: min_score_ is a float that starts at FLT_MAX, kUnkPenalty is 10.
      const float min_float = std::isinf(min_score) ? __FLT_MAX__ : static_cast<float>(min_score);
      config_.unk_score = static_cast<double>(min_float - 10.0f);
    } else {
      config_.unk_score = min_score - 10.0;  // unigram/model.rs K_UNK_PENALTY
    }
    for (uint32_t i = 0; i < spec_.pieces.size(); ++i) {
      const auto it = last.find(spec_.pieces[i].text);
      if (it != last.end() && it->second == i) values_.push_back(i);
    }
    if (values_.empty()) {
      throw BuildError(RANKFEED_E_UNSUPPORTED, "the model has no piece that a text can match");
    }
    config_.piece_count = Size32(values_);
    if (!spec_.unigram()) return;
    std::vector<double> scores(spec_.id_count, 0);
    for (const uint32_t piece : values_) scores[spec_.id_map[piece]] = spec_.pieces[piece].score;
    sections_.Add(SectionId::kScores, std::move(scores));
  }

  // Character codes by falling weight: the children of a node then lie close together.
  void Codes() {
    key_begin_.push_back(0);
    for (const uint32_t i : values_) {
      const PieceSpec& piece = spec_.pieces[i];
      if (!DecodeUtf8(piece.text, &key_text_)) {
        throw BuildError(RANKFEED_E_PARSE, "a piece is not valid UTF-8");
      }
      const size_t chars = key_text_.size() - key_begin_.back();
      config_.max_piece_chars = std::max(config_.max_piece_chars, static_cast<uint32_t>(chars));
      config_.max_piece_bytes =
          std::max(config_.max_piece_bytes, Size32(piece.text));
      key_begin_.push_back(key_text_.size());
    }
    // Tables as long as the greatest character needs, in whole blocks: small files stay cheap.
    uint32_t greatest = 0;
    for (const uint32_t cp : key_text_) greatest = std::max(greatest, cp);
    const size_t span = (greatest / 256 + 1) * size_t{256};
    std::vector<uint64_t> weight(span, 0);
    for (size_t v = 0; v < values_.size(); ++v) {
      const uint64_t one = Weight(spec_.pieces[values_[v]]);
      for (size_t k = key_begin_[v]; k < key_begin_[v + 1]; ++k) weight[key_text_[k]] += one;
    }
    std::vector<uint32_t> characters;
    for (uint32_t cp = 0; cp < span; ++cp) {
      if (weight[cp] != 0) characters.push_back(cp);
    }
    if (characters.size() + 1 > trie::kMaxCodes) {
      throw BuildError(RANKFEED_E_LIMIT,
                       "the pieces use ", characters.size(),
                       " distinct characters; ", trie::kMaxCodes - 1,
                       " is the most");
    }
    std::stable_sort(characters.begin(), characters.end(),
                     [&](uint32_t a, uint32_t b) { return weight[a] > weight[b]; });
    config_.code_count = Size32(characters) + 1;
    codes_.assign(span, 0);
    for (size_t i = 0; i < characters.size(); ++i)
      codes_[characters[i]] = static_cast<uint16_t>(i + 1);
    // Two-stage table; block 0 is the empty one.
    std::vector<uint16_t> blocks(image::kCodePointBlocks, 0), data(256, 0);
    for (uint32_t block = 0; block < span / 256; ++block) {
      const auto* begin = codes_.data() + block * 256;
      if (std::all_of(begin, begin + 256, [](uint16_t code) { return code == 0; })) continue;
      blocks[block] = static_cast<uint16_t>(data.size() / 256);
      data.insert(data.end(), begin, begin + 256);
    }
    sections_.Add(SectionId::kCodeBlocks, std::move(blocks));
    sections_.Add(SectionId::kCodes, std::move(data));
  }

  void PieceTrie() {
    std::vector<uint16_t> codes;
    codes.reserve(key_text_.size());
    for (const uint32_t cp : key_text_) codes.push_back(codes_[cp]);
    std::vector<TrieKey> keys;
    keys.reserve(values_.size());
    for (size_t v = 0; v < values_.size(); ++v) {
      keys.push_back({std::span(codes).subspan(key_begin_[v], key_begin_[v + 1] - key_begin_[v]),
                      spec_.id_map[values_[v]], Weight(spec_.pieces[values_[v]])});
    }
    SortKeys(&keys);
    const std::vector<uint16_t> groups = ScriptGroups();
    Free(&key_text_);  // the largest array so far, and the next ones are larger
    sections_.Add(SectionId::kTrieUnits,
                  BuildDoubleArray(std::move(keys), config_.code_count, groups));
  }

  // Text is mostly of one script: what it needs of the trie lies together. By code; the characters
  // that go with every script first, then the scripts with the most pieces.
  std::vector<uint16_t> ScriptGroups() const {
    std::vector<uint16_t> script(config_.code_count, USCRIPT_COMMON);
    for (uint32_t cp = 0; cp < codes_.size(); ++cp) {
      UErrorCode error = U_ZERO_ERROR;
      if (codes_[cp] == 0) continue;
      const UScriptCode is = uscript_getScript(static_cast<UChar32>(cp), &error);
      if (U_SUCCESS(error)) script[codes_[cp]] = static_cast<uint16_t>(is);
    }
    std::vector<size_t> characters(USCRIPT_CODE_LIMIT, 0);  // of all pieces
    for (const uint32_t cp : key_text_) ++characters[script[codes_[cp]]];
    characters[USCRIPT_COMMON] = SIZE_MAX;
    std::vector<uint16_t> order(USCRIPT_CODE_LIMIT), rank(USCRIPT_CODE_LIMIT);
    std::iota(order.begin(), order.end(), uint16_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](uint16_t a, uint16_t b) { return characters[a] > characters[b]; });
    for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<uint16_t>(i);
    for (uint16_t& of : script) of = rank[of];
    return script;
  }

  // Returns the numbers of keys in the order of less. The first eight bytes of a key are one number, which
  // settles most places without comparing keys.
  template <class KeyOf, class Less>
  static std::vector<uint32_t> Order(size_t count, const KeyOf& key_of, const Less& less) {
    std::vector<uint64_t> prefix(count, 0);
    for (size_t i = 0; i < count; ++i) {
      const auto& key = key_of(i);
      using Element = std::make_unsigned_t<std::decay_t<decltype(key[0])>>;
      constexpr size_t kSize = sizeof(Element);
      for (size_t k = 0; k < 8 / kSize; ++k) {
        prefix[i] = prefix[i] << 8 * kSize | (k < key.size() ? static_cast<Element>(key[k]) : Element{0});
      }
    }
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    RadixSort(&order, [&](uint32_t i) { return prefix[i]; }, less);
    return order;
  }

  static void SortKeys(std::vector<TrieKey>* keys) {
    const auto codes = [&](size_t i) { return (*keys)[i].codes; };
    std::vector<TrieKey> sorted;
    sorted.reserve(keys->size());
    const auto less = [&](uint32_t a, uint32_t b) {
      return std::lexicographical_compare(codes(a).begin(), codes(a).end(), codes(b).begin(), codes(b).end());
    };
    for (const uint32_t i : Order(keys->size(), codes, less)) sorted.push_back((*keys)[i]);
    *keys = std::move(sorted);
  }

  // A trie over bytes (code = byte + 1) of texts[i] -> i; later texts replace equal earlier ones,
  // empty ones are left out.
  using ByteKey = std::pair<std::string_view, uint32_t>;
  std::vector<trie::Unit> ByteTrie(std::vector<ByteKey> texts) const {
    std::stable_sort(texts.begin(), texts.end(),
                     [](const ByteKey& a, const ByteKey& b) { return a.first < b.first; });
    size_t bytes = 0;
    for (const ByteKey& text : texts) bytes += text.first.size();
    std::vector<uint16_t> codes;
    codes.reserve(bytes);  // spans into it stay
    std::vector<TrieKey> keys;
    keys.reserve(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string_view text = texts[i].first;
      if (text.empty() || (i + 1 < texts.size() && texts[i + 1].first == text)) continue;
      const size_t begin = codes.size();
      for (const char c : text) {
        codes.push_back(static_cast<uint16_t>(Byte(c) + 1));
      }
      keys.push_back({std::span(codes).subspan(begin), texts[i].second, 1});
    }
    if (keys.empty()) return {};
    Free(&texts);
    return BuildDoubleArray(std::move(keys), 257);
  }

  static bool IsReserved(PieceType type) {
    return type == PieceType::kControl || type == PieceType::kUnknown || type == PieceType::kByte;
  }

  void Ids() {
    static const std::string kEmpty;
    std::vector<const std::string*> text(spec_.id_count, &kEmpty);
    std::vector<uint8_t> flags(spec_.id_count, static_cast<uint8_t>(PieceType::kNormal));
    std::vector<bool> unused(spec_.id_count, !spec_.unigram()), is_reserved(spec_.id_count, false);  // unused: no token's
    std::vector<uint32_t> byte_ids;
    if (config_.flags & (image::kByteFallback | image::kByteLevel)) byte_ids.assign(256, image::kNoId);
    std::unordered_map<std::string_view, PieceType> reserved_type;
    for (uint32_t i = 0; i < spec_.pieces.size(); ++i) {
      const PieceSpec& piece = spec_.pieces[i];
      const uint32_t id = spec_.id_map[i];
      text[id] = &piece.text;
      unused[id] = false;
      flags[id] = static_cast<uint8_t>(piece.type);
      is_reserved[id] = sentencepiece() && IsReserved(piece.type);
      if (is_reserved[id]) reserved_type.emplace(piece.text, piece.type);
      const int byte = byte_ids.empty() ? -1 : ByteOf(piece);
      if (byte >= 0) byte_ids[static_cast<size_t>(byte)] = id;  // the last of equal pieces
    }
    // Decode looks up the piece of an id again, and reserved pieces come first; from 0.2.2 on it
    // takes the id (sentencepiece_processor.cc Decode, DecodeOptimized).
    for (uint32_t i = 0; spec_.sentencepiece_0_2_1() && i < spec_.pieces.size(); ++i) {
      const auto it = reserved_type.find(spec_.pieces[i].text);
      if (it != reserved_type.end()) flags[spec_.id_map[i]] = static_cast<uint8_t>(it->second);
    }
    for (const AddedTokenSpec& token : spec_.added_tokens) {
      text[token.id] = &token.content;
      unused[token.id] = false;
      // Ids without a piece in a SentencePiece model act as control symbols.
      if (sentencepiece()) flags[token.id] = static_cast<uint8_t>(PieceType::kControl);
      flags[token.id] |= image::kIdAdded;
      if ((token.flags & image::kSpecial) != 0) flags[token.id] |= image::kIdSpecial;
    }
    std::vector<uint32_t> pieces;
    pieces.reserve(text.size() + 1);
    strings_.Reserve(text.size() + 64);
    for (uint32_t id = 0; id < spec_.id_count; ++id) {
      if (unused[id]) flags[id] = static_cast<uint8_t>(PieceType::kUnused);
      pieces.push_back(strings_.Append(*text[id]));
    }
    pieces.push_back(strings_.size());
    sections_.Add(SectionId::kIdPieces, std::move(pieces));
    sections_.Add(SectionId::kIdFlags, std::move(flags));
    sections_.Add(SectionId::kPieceIndex, PieceIndex(text, std::move(unused), is_reserved));
    sections_.Add(SectionId::kByteIds, std::move(byte_ids));
  }

  // Returns the ids that the trie does not answer, by their texts. Of equal ones the id that a look-up answers comes
  // first: HuggingFace the last, SentencePiece the reserved one, then (one of each at most) the other. left_out: of no token.
  std::vector<uint32_t> PieceIndex(const std::vector<const std::string*>& text, std::vector<bool> left_out,
                                   const std::vector<bool>& is_reserved) const {
    const auto text_of = [&](size_t id) -> const std::string& { return *text[id]; };
    std::vector<uint32_t> index = Order(spec_.id_count, text_of, [&](uint32_t a, uint32_t b) {
      const int difference = text_of(a).compare(text_of(b));
      if (difference != 0) return difference < 0;
      return is_reserved[a] != is_reserved[b] ? bool(is_reserved[a]) : a > b;
    });
    for (const uint32_t piece : values_) {
      const uint32_t id = spec_.id_map[piece];
      left_out[id] = left_out[id] || text_of(id) == spec_.pieces[piece].text;
    }
    size_t kept = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      const bool first = i == 0 || text_of(index[i]) != text_of(index[i - 1]);
      if (first && !left_out[index[i]]) index[kept++] = index[i];
    }
    index.resize(kept);
    return index;
  }

  // The byte that a piece stands for, or -1: spelled in ByteLevel's alphabet or as "<0xHH>", of
  // SentencePiece models in BYTE pieces only.
  int ByteOf(const PieceSpec& piece) const {
    if (sentencepiece() && piece.type != PieceType::kByte) return -1;
    if ((spec_.flags & image::kByteLevel) == 0) return ByteOfPiece(piece.text);
    size_t at = 0;
    uint32_t cp;
    const bool one = NextCodePoint(piece.text, &at, &cp) && at == piece.text.size();
    return one ? kByteAlphabet.ByteOf(cp) : -1;
  }

  void Steps(SectionId id, const std::vector<StepSpec>& steps) {
    std::vector<image::Step> out;
    for (const StepSpec& step : steps) {
      out.push_back({static_cast<uint32_t>(step.op), step.arg0, step.arg1, 0, strings_.Add(step.a),
                     strings_.Add(step.b)});
    }
    sections_.Add(id, std::move(out));
  }

  // Tokens that are looked for in normalized text are normalized themselves, by a model of what there is so far.
  void NormalizeTokens() {
    const auto& tokens = spec_.added_tokens;
    const bool any = std::any_of(tokens.begin(), tokens.end(), [](const AddedTokenSpec& token) { return (token.flags & image::kNormalized) != 0; });
    if (!any || spec_.normalizer.empty()) return;
    Sections so_far = sections_;
    so_far.Add(SectionId::kConfig, std::vector<image::Config>{config_});
    so_far.Add(SectionId::kStrings, strings_.all());
    normalized_ = NormalizeAddedTokens(so_far.Bind(), tokens, source_);
  }

  void AddedTokens() {
    NormalizeTokens();
    std::vector<image::AddedToken> tokens;
    std::vector<ByteKey> raw;
    // The last of two tokens that normalize to one text counts, special tokens before others;
    // tokenizers 0.23.3 takes any of them, by the order of a hash map (docs/parity.md).
    std::vector<ByteKey> by_kind[2];
    for (size_t i = 0; i < spec_.added_tokens.size(); ++i) {
      const AddedTokenSpec& token = spec_.added_tokens[i];
      const bool is_normalized = (token.flags & image::kNormalized) != 0;
      const std::string& normalized = normalized_.empty() ? token.content : normalized_[i];
      tokens.push_back({token.id, token.flags, strings_.Add(token.content),
                        is_normalized ? strings_.Add(normalized) : image::Text{}});
      const auto index = static_cast<uint32_t>(i);
      if (sentencepiece()) continue;  // only names of ids; libsentencepiece does not match them
      if (!is_normalized) {
        raw.emplace_back(token.content, index);
      } else {
        by_kind[(token.flags & image::kSpecial) == 0].emplace_back(normalized, index);
      }
    }
    sections_.Add(SectionId::kAddedTokens, std::move(tokens));
    sections_.Add(SectionId::kAddedTrieRaw, ByteTrie(std::move(raw)));
    by_kind[0].insert(by_kind[0].end(), by_kind[1].begin(), by_kind[1].end());
    sections_.Add(SectionId::kAddedTrieNormalized, ByteTrie(std::move(by_kind[0])));
    std::vector<ByteKey> user;
    for (size_t i = 0; i < spec_.user_defined.size(); ++i) {
      user.emplace_back(spec_.user_defined[i], static_cast<uint32_t>(i));
    }
    sections_.Add(SectionId::kUserDefinedTrie, ByteTrie(std::move(user)));
  }

  void Merges() {
    if (config_.id_count > image::kMaxMergeIds) {
      throw BuildError(RANKFEED_E_LIMIT,
                       "the model ", OverLimit(std::to_string(config_.id_count) + " ids", "BPE",
                       image::kMaxMergeIds));
    }
    MergeSections merges = MakeMergeSections(spec_.merges);
    sections_.Add(SectionId::kMergeFactors, std::move(merges.factors));
    sections_.Add(SectionId::kMergeSlots, std::move(merges.slots));
    sections_.Add(SectionId::kMerges, std::move(merges.merges));
    sections_.Add(SectionId::kMergeRanks, std::move(merges.ranks));
  }

  void Template(SectionId id, const std::vector<TemplateItemSpec>& items, uint32_t* specials) {
    std::vector<image::TemplateItem> out;
    for (const TemplateItemSpec& item : items) {
      out.push_back({static_cast<uint32_t>(item.kind), item.id, item.type_id, 0});
      *specials += item.kind == image::TemplateKind::kSpecial;
    }
    sections_.Add(id, std::move(out));
  }

  void Config() {
    config_.model_kind = static_cast<uint32_t>(spec_.kind);
    config_.continuing_prefix = strings_.Add(spec_.continuing_prefix);
    config_.unk_surface = strings_.Add(spec_.unk_surface);
    config_.unk_piece = strings_.Add(spec_.unk_piece);
    config_.source_name = strings_.Add(spec_.source_name);
    config_.family = strings_.Add(spec_.family);
    sections_.Add(SectionId::kConfig, std::vector<image::Config>{config_});
  }

  ModelSpec spec_;
  const std::string& source_;
  std::vector<std::string> normalized_;  // of each added token, or empty: as it is written
  image::Config config_{};
  Sections sections_;
  Strings strings_;
  std::vector<uint32_t> values_;    // piece of each value
  std::vector<uint32_t> key_text_;  // code points of the values' pieces, one after the other
  std::vector<size_t> key_begin_;
  std::vector<uint16_t> codes_;  // by code point
};

}  // namespace

ConfigHash HashConfig(std::string_view source, uint32_t parity, std::string_view preset) {
  XXH3_state_t* state = XXH3_createState();
  if (state == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state);
  const uint32_t version = image::kVersionMajor;
  const uint64_t sizes[2] = {source.size(), preset.size()};
  XXH3_128bits_update(state, &version, sizeof version);
  XXH3_128bits_update(state, &parity, sizeof parity);
  XXH3_128bits_update(state, sizes, sizeof sizes);
  XXH3_128bits_update(state, preset.data(), preset.size());
  XXH3_128bits_update(state, source.data(), source.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
  XXH3_freeState(state);
  ConfigHash hash;
  static_assert(sizeof canonical == sizeof hash);
  std::memcpy(&hash, &canonical, sizeof hash);
  return hash;
}

ImageBytes WriteImage(ModelSpec spec, const ConfigHash& config_hash, const std::string& source) {
  return Writer(std::move(spec), source).Run(config_hash);
}

}  // namespace rankfeed::builder
