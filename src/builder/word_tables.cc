// SPDX-License-Identifier: MIT
// builder/word_tables.cc: which pipelines may run word by word, and the tables for it.
//
// Three forms of pipeline are eligible; each splits normalized text at spaces and drops empty words,
// so that encoding the words of raw text one after the other gives the ids of the text. They are the
// published forms of XLM-R files (A, B and C below) and their relatives:
//
//   B  [Precompiled]                              WhitespaceSplit, Metaspace(always, split)
//   A  [Precompiled], Strip(right), Replace( {2,}) Metaspace(always, split)
//   C  [Precompiled], Replace( {2,})               Metaspace(always, split)
//
// In A and C runs of spaces become one separator, and a leading one becomes the word's own U+2581. C
// keeps a space at the end, which is then a word of one U+2581 (kTrailingSpaceIsWord).
//
// A raw byte separates words when it is ASCII and normalizes to one space on its own. Precompiled
// works on grapheme clusters (tokenizers 0.23.2 normalizers/precompiled.rs): clusters shorter than 6
// bytes are replaced as a whole when a key is a prefix of them. A word that begins with a mark could
// share a cluster with the separator before it, so it sends its text down the plain path; inside a
// word, a mark after a character that begins some key sends the word through the normalizer; other
// characters normalize on their own.
#include "builder/word_tables.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "simd/kernels.h"
#include "text/charsmap.h"
#include "text/utf8.h"
#include "unigram/viterbi.h"
#include "words/word_key.h"

namespace rankfeed::builder {
namespace {

constexpr char32_t kSpaceMark = 0x2581;
constexpr std::string_view kSpaceMarkBytes = "\xe2\x96\x81";
constexpr uint32_t kMaxMapped = 7;  // longer replacements are rare and go through the normalizer

enum class Form { kWhitespaceSplit, kStripped, kTrailing };

bool Is(const image::Step& step, image::Op op) { return step.op == static_cast<uint32_t>(op); }

struct Pipeline {
  Form form;
  bool precompiled;
};

std::optional<Pipeline> Classify(const Model& model) {
  if (!model.huggingface() || model.has(image::kByteFallback) ||
      model.config->unk_id == image::kNoId || !model.added_normalized.empty()) {
    return std::nullopt;
  }
  // Two unknown characters must never beat a piece that spells them, so that no fused unknown is in
  // the vocabulary: unk_score is min_score - 10.
  if (model.config->unk_score >= 10 || model.config->code_count <= kMaxMapped) return std::nullopt;

  auto steps = model.normalizer;
  Pipeline pipeline{};
  if (!steps.empty() && Is(steps[0], image::Op::kPrecompiled)) {
    pipeline.precompiled = true;
    steps = steps.subspan(1);
  }
  bool strip = false, collapse = false;
  if (!steps.empty() && Is(steps[0], image::Op::kStrip)) {
    if (steps[0].arg0 != 0 || steps[0].arg1 == 0) return std::nullopt;  // right only
    strip = true;
    steps = steps.subspan(1);
  }
  if (!steps.empty() && Is(steps[0], image::Op::kReplaceRun)) {
    const std::string_view b = model.text(steps[0].b);
    if (model.text(steps[0].a) != " " || steps[0].arg0 != 2 || (b != " " && b != kSpaceMarkBytes)) {
      return std::nullopt;
    }
    collapse = true;
    steps = steps.subspan(1);
  }
  if (!steps.empty()) return std::nullopt;

  auto splits = model.pre_tokenizer;
  bool whitespace_split = false;
  if (!splits.empty() && Is(splits[0], image::Op::kWhitespaceSplit)) {
    whitespace_split = true;
    splits = splits.subspan(1);
  }
  if (splits.size() != 1 || !Is(splits[0], image::Op::kMetaspace) ||
      model.text(splits[0].a) != kSpaceMarkBytes || splits[0].arg0 != image::kPrependAlways ||
      splits[0].arg1 == 0) {
    return std::nullopt;
  }
  if (whitespace_split) {
    if (strip || collapse) return std::nullopt;  // harmless together, but not seen in any file
    pipeline.form = Form::kWhitespaceSplit;
  } else {
    if (!collapse) return std::nullopt;  // every further space would be a word
    pipeline.form = strip ? Form::kStripped : Form::kTrailing;
  }
  return pipeline;
}

// Whether some key of the charsmap is longer than prefix and begins with it, or equals it. Units
// were checked when the image was opened.
bool SomeKeyBegins(const Model& model, std::string_view prefix, bool proper) {
  const auto units = model.charsmap_units;
  if (units.empty()) return false;
  const auto offset = [](uint32_t u) { return static_cast<size_t>(u >> 10) << ((u & 0x200) >> 6); };
  size_t node = offset(units[0]);
  uint32_t unit = 0;
  for (const char c : prefix) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (node >= units.size()) return false;
    unit = units[node];
    if ((unit & 0x800000ffu) != byte) return false;
    node ^= offset(unit);
  }
  if (!proper && (unit & 0x100) != 0) return true;
  for (uint32_t byte = 1; byte < 256; ++byte) {
    const size_t child = node ^ byte;
    if (child < units.size() && (units[child] & 0x800000ffu) == byte) return true;
  }
  return false;
}

class Tables {
 public:
  Tables(const Model& model, Pipeline pipeline)
      : model_(model),
        pipeline_(pipeline),
        charsmap_(model.charsmap_units, model.charsmap_pool) {}

  bool FindSeparators() {
    bool is_separator[128] = {};
    for (uint32_t b = 1; b < 128; ++b) {
      const char byte = static_cast<char>(b);
      const std::string_view c(&byte, 1);
      const std::string_view normal = Normalized(c);
      const bool unmapped_space = normal == c && WhiteSpace(b) &&
                                  pipeline_.form == Form::kWhitespaceSplit;
      is_separator[b] = normal == " " || unmapped_space;
      if (is_separator[b]) {
        if (pipeline_.precompiled && SomeKeyBegins(model_, c, /*proper=*/true)) return false;
        separators_.Add(static_cast<uint8_t>(b));
      }
    }
    // CR LF is one cluster and becomes what CR becomes.
    return is_separator['\r'] == is_separator['\n'];
  }

  bool ClassifyCharacters() {
    info_.assign(0x110000, 0);
    mapped_.clear();
    for (char32_t cp = 0; cp < 0x110000; ++cp) {
      if (cp >= 0xd800 && cp < 0xe000) continue;
      char bytes[4];
      const std::string_view c(bytes, utf8::Encode(cp, bytes));
      uint32_t info = pipeline_.precompiled ? ClusterFlags(cp, c) : 0;
      // A cluster may join a Prepend character with a separator after it.
      if (pipeline_.precompiled && GraphemeOf(cp) == image::kGraphemePrepend) {
        if (SomeKeyBegins(model_, c, false)) return false;
        info |= image::kWordSlow;
      }
      info_[cp] = info | Meaning(cp, c);
    }
    return true;
  }

  void FillWordTable() {
    std::vector<uint32_t> values;  // most likely first, so that a full bucket drops the rarest
    for (uint32_t v = 0; v < model_.value_ids.size(); ++v) values.push_back(v);
    std::stable_sort(values.begin(), values.end(), [&](uint32_t a, uint32_t b) {
      return model_.scores[a] > model_.scores[b];
    });
    std::vector<std::pair<std::string_view, uint32_t>> words;
    for (const uint32_t v : values) {
      const std::string_view piece = model_.text(model_.id_pieces[model_.value_ids[v]]);
      if (!piece.starts_with(kSpaceMarkBytes)) continue;
      const std::string_view word = piece.substr(kSpaceMarkBytes.size());
      if (Plain(word) && WinsAlone(piece, v)) words.push_back({word, model_.value_ids[v]});
    }
    table_bits_ = static_cast<uint32_t>(
        std::countr_zero(std::bit_ceil(std::max<size_t>(1, words.size() / 2))));
    table_.assign(size_t{2} << table_bits_, image::WordEntry{});
    for (const auto& [word, id] : words) {
      const auto key = words::WordKey::Make(word.data(), static_cast<uint32_t>(word.size()), 0);
      image::WordEntry* bucket =
          &table_[2 * (key.Hash() & ((uint64_t{1} << table_bits_) - 1))];
      image::WordEntry* entry = bucket[0].size == 0 ? bucket : bucket[1].size == 0 ? bucket + 1 : nullptr;
      if (entry == nullptr) continue;
      entry->id = id;
      entry->size = static_cast<uint8_t>(word.size());
      std::memcpy(entry->key, key.part, sizeof(entry->key));
    }
  }

  std::vector<SectionData> Sections() const {
    image::WordConfig config{};
    config.rules = pipeline_.form == Form::kTrailing ? uint32_t{image::kTrailingSpaceIsWord} : 0;
    config.table_bits = table_bits_;
    config.space_code = model_.codes[kSpaceMark];
    std::memcpy(config.separators, separators_.low, sizeof(config.separators));

    std::vector<uint16_t> blocks;
    std::vector<uint32_t> chars;
    std::map<std::vector<uint32_t>, uint16_t> known;
    for (size_t block = 0; block < image::kCodePointBlocks; ++block) {
      const std::vector<uint32_t> content(info_.begin() + static_cast<ptrdiff_t>(block * 256),
                                          info_.begin() + static_cast<ptrdiff_t>(block * 256 + 256));
      const auto [it, added] = known.try_emplace(content, static_cast<uint16_t>(known.size()));
      if (added) chars.insert(chars.end(), content.begin(), content.end());
      blocks.push_back(it->second);
    }
    const auto section = [](image::SectionId id, const auto* data, size_t count) {
      return SectionData{id, static_cast<uint32_t>(sizeof(*data)),
                         std::string(reinterpret_cast<const char*>(data), count * sizeof(*data))};
    };
    return {section(image::SectionId::kWordConfig, &config, 1),
            section(image::SectionId::kWordTable, table_.data(), table_.size()),
            section(image::SectionId::kWordCharBlocks, blocks.data(), blocks.size()),
            section(image::SectionId::kWordChars, chars.data(), chars.size()),
            section(image::SectionId::kWordMapped, mapped_.data(), mapped_.size())};
  }

 private:
  bool WhiteSpace(char32_t cp) const { return (model_.props[cp] & image::kWhiteSpace) != 0; }
  uint32_t GraphemeOf(char32_t cp) const { return model_.props[cp] & image::kGraphemeMask; }

  // One character through the charsmap, on its own.
  std::string_view Normalized(std::string_view c) const {
    if (!pipeline_.precompiled) return c;
    const CharsmapMatch match = charsmap_.Shortest(c);
    return match ? match.replacement : c;
  }

  uint32_t ClusterFlags(char32_t cp, std::string_view c) const {
    uint32_t info = SomeKeyBegins(model_, c, false) ? uint32_t{image::kWordKeyStart} : 0;
    switch (GraphemeOf(cp)) {
      case image::kGraphemeExtend: case image::kGraphemeZwj: case image::kGraphemeSpacingMark:
      case image::kGraphemeLinker: case image::kGraphemeZwnj:
        info |= image::kWordExtend;
    }
    return info;
  }

  uint32_t Meaning(char32_t cp, std::string_view c) {
    const std::string_view normal = Normalized(c);
    if (normal == c) {
      if (cp == kSpaceMark) return image::kWordBail;
      // Splits words, or is stripped from the end of the text: leave it to the plain path.
      if (WhiteSpace(cp) && pipeline_.form != Form::kTrailing) return image::kWordBail;
      return model_.codes[cp];
    }
    std::vector<uint16_t> list = {0};
    for (size_t at = 0; at < normal.size();) {
      const utf8::Decoded out = utf8::Decode(normal, at);
      at += out.size;
      if (out.code_point == ' ') return image::kWordSlow;
      if (out.code_point == kSpaceMark || WhiteSpace(out.code_point)) return image::kWordBail;
      list.push_back(model_.codes[out.code_point]);
    }
    list[0] = static_cast<uint16_t>(list.size() - 1);
    if (list[0] > kMaxMapped) return image::kWordSlow;
    const auto [it, added] = lists_.try_emplace(list, static_cast<uint32_t>(mapped_.size()));
    if (added) {
      if (mapped_.size() + list.size() > image::kWordCodeMask) {
        lists_.erase(it);
        return image::kWordSlow;
      }
      mapped_.insert(mapped_.end(), list.begin(), list.end());
    }
    return image::kWordMappedChar | it->second;
  }

  // A raw word that reaches the model as it is.
  bool Plain(std::string_view word) const {
    if (word.empty() || word.size() > sizeof(image::WordEntry::key)) return false;
    for (size_t at = 0; at < word.size();) {
      const utf8::Decoded c = utf8::Decode(word, at);
      const uint32_t info = info_[c.code_point];
      if (!c.valid || c.code_point == 0 ||
          (info & (image::kWordMappedChar | image::kWordSlow | image::kWordBail)) != 0 ||
          (c.code_point < 0x80 && separators_.Has(static_cast<uint8_t>(c.code_point)))) {
        return false;
      }
      // Marks depend on what is before them; those words go through the cache.
      if ((info & image::kWordExtend) != 0) return false;
      at += c.size;
    }
    return true;
  }

  bool WinsAlone(std::string_view piece, uint32_t value) const {
    double best[64];
    uint32_t link[64], values[64];
    if (piece.size() >= 64) return false;
    unigram::BestPathHuggingFace(model_, piece, {best, link, values});
    return link[0] == piece.size() && values[piece.size()] == value;
  }

  const Model& model_;
  const Pipeline pipeline_;
  const Charsmap charsmap_;
  simd::ByteSet separators_;
  std::vector<uint32_t> info_;
  std::vector<uint16_t> mapped_;
  std::map<std::vector<uint16_t>, uint32_t> lists_;
  uint32_t table_bits_ = 0;
  std::vector<image::WordEntry> table_;
};

}  // namespace

std::vector<SectionData> BuildWordTables(const Model& model) {
  const std::optional<Pipeline> pipeline = Classify(model);
  if (!pipeline || model.codes[kSpaceMark] == 0) return {};
  Tables tables(model, *pipeline);
  if (!tables.FindSeparators() || !tables.ClassifyCharacters()) return {};
  tables.FillWordTable();
  return tables.Sections();
}

}  // namespace rankfeed::builder
