// SPDX-License-Identifier: MIT
// words/word_engine.cc: see word_engine.h.
#include "words/word_engine.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "text/precompiled.h"
#include "text/utf8.h"

namespace rankfeed::words {
namespace {

constexpr uint32_t kUnset = 0xffffffffu;

class Engine {
 public:
  Engine(const Model& model, WordScratch& scratch, std::string_view text, TokenSink& sink)
      : model_(model),
        scratch_(scratch),
        config_(*model.word_config),
        units_(model.pieces.units().data()),
        table_mask_((uint32_t{1} << config_.table_bits) - 1),
        text_(text),
        sink_(sink) {
    std::memcpy(separators_.low, config_.separators, sizeof(separators_.low));
  }

  bool Run() {
    size_t word = 0;  // where the current word begins
    for (size_t block = 0; block < text_.size(); block += WordScratch::kBlockBytes) {
      const size_t size = std::min<size_t>(WordScratch::kBlockBytes, text_.size() - block);
      scratch_.kernels->match_mask(text_.data() + block, size, separators_, scratch_.masks);
      for (size_t i = 0; i * 64 < size; ++i) {
        for (uint64_t mask = scratch_.masks[i]; mask != 0; mask &= mask - 1) {
          const size_t at = block + i * 64 + static_cast<size_t>(std::countr_zero(mask));
          if (at >= block + size) break;
          if (at > word && !Word(word, at)) return false;
          space_ = true;
          word = at + 1;
        }
      }
    }
    if (word < text_.size() && !Word(word, text_.size())) return false;
    if (space_ && (config_.rules & image::kTrailingSpaceIsWord) != 0) {
      scratch_.codes[0] = static_cast<uint16_t>(config_.space_code);
      return BestPath(1);
    }
    return true;
  }

 private:
  // One raw word, text_[begin, end), not empty.
  bool Word(size_t begin, size_t end) {
    const char* data = text_.data() + begin;
    const auto size = static_cast<uint32_t>(end - begin);
    if (end - begin > kMaxKeyBytes) return Miss(data, end - begin);
    const WordKey key = WordKey::Make(data, size, text_.size() - begin);
    const uint64_t hash = key.Hash();
    const image::WordEntry* bucket = &model_.word_table[size_t{2} * (hash & table_mask_)];
    for (int i = 0; i < 2; ++i) {
      if (bucket[i].size == size && std::memcmp(bucket[i].key, key.part, 24) == 0) {
        sink_.Push(bucket[i].id, 0, 0);
        space_ = false;
        return true;
      }
    }
    if (!scratch_.cache.enabled()) return Miss(data, size);
    CachedWord& cached = scratch_.cache.Slot(hash);
    if (cached.size == size && key.Equals(cached.key)) {
      for (uint32_t i = 0; i < cached.count; ++i) {
        sink_.Push(static_cast<uint32_t>(cached.ids[i]), 0, 0);
      }
      space_ &= cached.count == 0;  // deleted characters are no word
      return true;
    }
    const uint32_t before = sink_.count;
    slow_ = false;
    if (!Miss(data, size)) return false;
    const uint32_t count = sink_.count - before;
    // Words that went through the normalizer may hold or end in spaces: not cached.
    if (!slow_ && count <= CachedWord::kMaxIds && sink_.count <= sink_.capacity) {
      std::memcpy(cached.key, key.part, sizeof(cached.key));
      std::copy_n(sink_.ids + before, count, cached.ids);
      cached.count = static_cast<uint8_t>(count);
      cached.size = static_cast<uint8_t>(size);
    }
    return true;
  }

  bool Miss(const char* data, size_t size) {
    const int64_t chars = Decode(data, size);
    if (chars == kBail) return false;
    if (chars == kSlow) return SlowWord(data, size);
    if (chars == 1) return true;  // everything was deleted: no word
    space_ = false;
    return BestPath(static_cast<uint32_t>(chars));
  }

  static constexpr int64_t kSlow = -1, kBail = -2;

  // Raw word to character codes with the leading U+2581. Returns their number, kSlow or kBail.
  int64_t Decode(const char* data, size_t size) {
    uint16_t* codes = scratch_.codes;
    codes[0] = static_cast<uint16_t>(config_.space_code);
    uint32_t count = 1, previous = 0, previous_size = 0;
    bool slow = false;
    const std::string_view word(data, size);
    for (size_t at = 0; at < size;) {
      const utf8::Decoded c = utf8::Decode(word, at);
      if (!c.valid) return kBail;
      const uint32_t info = model_.word_chars[c.code_point];
      if ((info & (image::kWordSlow | image::kWordBail | image::kWordExtend)) != 0) {
        // A mark at the start of a word may belong to a cluster with the separator before it.
        const bool extend = (info & image::kWordExtend) != 0;
        if ((info & image::kWordBail) != 0 || (extend && at == 0)) return kBail;
        // Clusters below 6 bytes are looked up as a whole (precompiled.rs), which only matters when
        // a key begins with their first character.
        slow |= (info & image::kWordSlow) != 0 ||
                (extend && (previous & image::kWordKeyStart) != 0 && previous_size + c.size < 6);
      }
      if (slow) {  // only looks on for what sends the text to the plain path
      } else if ((info & image::kWordMappedChar) != 0) {
        const uint16_t* list = model_.word_mapped.data() + (info & image::kWordCodeMask);
        if (count + list[0] >= kMaxWordChars) return kBail;
        for (uint32_t i = 0; i < list[0]; ++i) codes[count++] = list[1 + i];
      } else {
        if (count + 1 >= kMaxWordChars) return kBail;
        codes[count++] = static_cast<uint16_t>(info & image::kWordCodeMask);
      }
      previous = info;
      previous_size = c.size;
      at += c.size;
    }
    return slow ? kSlow : int64_t{count};
  }

  // A word that needs the normalizer: the result may hold several words, or none.
  bool SlowWord(const char* data, size_t size) {
    slow_ = true;
    if (size > WordScratch::kNormalizedBytes / 16) return false;
    char raw[WordScratch::kNormalizedBytes / 16];
    std::memcpy(raw, data, size);
    text::NormalizedText in{raw, nullptr, nullptr, static_cast<uint32_t>(size),
                            static_cast<uint32_t>(size)};
    text::NormalizedText out{scratch_.normalized, nullptr, nullptr, WordScratch::kNormalizedBytes,
                             0};
    if (!text::RunPrecompiled(model_, in, &out)) return false;
    uint16_t* codes = scratch_.codes;
    codes[0] = static_cast<uint16_t>(config_.space_code);
    uint32_t count = 1;
    for (uint32_t at = 0; at < out.size;) {
      uint32_t char_size;
      const char32_t c = utf8::DecodeValid(out.data + at, &char_size);
      at += char_size;
      const bool space = c == ' ';
      if (!space) {
        if (count + 1 >= kMaxWordChars) return false;
        codes[count++] = model_.codes[c];
      }
      if ((space || at == out.size) && count > 1) {
        space_ = false;
        if (!BestPath(count)) return false;
        count = 1;
      }
      space_ |= space;
    }
    return true;
  }

  // models/unigram/model.rs encode_optimized (tokenizers 0.23.2) over character codes, as
  // unigram/viterbi.cc, for a word of n characters in scratch_.codes.
  bool BestPath(uint32_t n) {
    uint16_t* codes = scratch_.codes;
    double* best = scratch_.best;
    uint32_t *link = scratch_.link, *value = scratch_.value;
    codes[n] = 0;  // in no trie: every walk ends here
    for (uint32_t i = 1; i <= n; ++i) link[i] = kUnset;
    best[0] = 0;
    const double* scores = model_.scores.data();
    const trie::Unit root = units_[0];
    for (uint32_t begin = 0; begin < n; ++begin) {
      const double sum = best[begin];
      trie::Unit unit = root;
      uint32_t end = begin;
      bool single = false;
      while (true) {
        const uint32_t code = codes[end];
        unit = units_[trie::Base(unit) + code];
        if (trie::Label(unit) != code) break;
        ++end;
        const uint32_t v = trie::Value(unit);
        if (v == trie::kNoValue) continue;
        const double candidate = scores[v] + sum;
        if (link[end] == kUnset || candidate > best[end]) {
          best[end] = candidate;
          link[end] = begin;
          value[end] = v;
        }
        single |= end == begin + 1;
      }
      if (!single) {
        const double candidate = model_.config->unk_score + sum;
        if (link[begin + 1] == kUnset || candidate > best[begin + 1]) {
          best[begin + 1] = candidate;
          link[begin + 1] = begin;
          value[begin + 1] = trie::kNoValue;
        }
      }
    }
    uint32_t end = n, after = kUnset;
    while (end > 0) {
      const uint32_t begin = link[end];
      link[end] = after;
      after = end;
      end = begin;
    }
    const uint32_t unk_id = model_.config->unk_id;
    bool unknown = false;  // consecutive unknown characters are one token
    for (uint32_t at = after; at != kUnset; at = link[at]) {
      if (value[at] == trie::kNoValue) {
        if (!unknown) sink_.Push(unk_id, 0, 0);
        unknown = true;
        continue;
      }
      const uint32_t id = model_.value_ids[value[at]];
      if (id == unk_id) return false;  // the unknown piece, literally: fuses like an unknown
      sink_.Push(id, 0, 0);
      unknown = false;
    }
    return true;
  }

  const Model& model_;
  WordScratch& scratch_;
  const image::WordConfig& config_;
  const trie::Unit* units_;
  const uint32_t table_mask_;
  const std::string_view text_;
  TokenSink& sink_;
  simd::ByteSet separators_;
  bool space_ = false;  // a separator came after the last word
  bool slow_ = false;   // the last word went through the normalizer
};

}  // namespace

bool EncodeWords(const Model& model, WordScratch& scratch, std::string_view text,
                 TokenSink& sink) {
  const uint32_t before = sink.count;
  if (Engine(model, scratch, text, sink).Run()) return true;
  sink.count = before;
  return false;
}

}  // namespace rankfeed::words
