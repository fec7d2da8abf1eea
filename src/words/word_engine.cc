// SPDX-License-Identifier: MIT
// words/word_engine.cc: see word_engine.h.
#include "words/word_engine.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "text/precompiled.h"
#include "text/sp_normalize.h"
#include "unigram/arithmetic.h"

namespace rankfeed::words {
namespace {

constexpr uint32_t kBeginMask = ~Segment::kWordStart;

template <class Arithmetic>
class Engine {
 public:
  Engine(const Model& model, WordScratch& scratch, std::string_view text, TokenSink& sink)
      : model_(model),
        config_(*model.word_config),
        scratch_(scratch),
        stream_(scratch.stream),
        decoder_(model, scratch.stream, scratch.sequences),
        tables_{model.word_table.data(), (uint64_t{1} << model.word_config->table_bits) - 1,
                scratch.cache.words(), scratch.cache.mask()},
        text_(text),
        sink_(sink),
        checkpoint_(sink.count) {}

  bool Run() {
    SegmentScanner scanner(model_, *scratch_.kernels, text_, scratch_.segments, scratch_.masks);
    uint32_t count;
    while (scanner.Next(&count)) {
      for (uint32_t i = 0; i < count;) {
        const uint32_t batch = std::min(count - i, WordScratch::kBatch);
        const uint32_t done = Batch(scratch_.segments + i, batch);
        if (done == 0 && !partial_) return false;
        i += done;
      }
    }
    if ((config_.rules & image::kTrailingSpaceIsWord) != 0) return TrailingSpace();
    return true;
  }

 private:
  static constexpr bool kFloat32 = std::is_same_v<Arithmetic, unigram::SentencePieceArithmetic>;

  std::string_view Bytes(const Segment& segment) const {
    const uint32_t begin = segment.begin & kBeginMask;
    return {text_.data() + begin, segment.end - begin};
  }
  static bool WordStart(const Segment& segment) { return segment.begin > kBeginMask; }

  // Encodes the first segments of a batch and returns how many; 0 and not partial_ on failure.
  // Fewer than all when the stream is full. What was looked up for the others is void then: the
  // cache has changed.
  uint32_t Batch(const Segment* segments, uint32_t count) {
    const bool resumed = partial_;
    partial_ = false;
    uint32_t lacking = 1;
    if (resumed) {
      scratch_.misses[0] = 0;
    } else {
      lacking = scratch_.word_kernels->look_up(tables_, text_.data(), text_.size(), segments, count,
                                               scratch_.keys, scratch_.hashes, scratch_.found,
                                               scratch_.misses);
    }
    stream_.Clear();
    decoder_.Clear();
    misses_ = 0;
    uint32_t end = resumed ? 1 : count;
    for (uint32_t k = 0; k < lacking; ++k) {
      const uint32_t i = scratch_.misses[k];
      uint32_t at = resumed ? resume_at_ : 0;
      bool word_start = resumed ? resume_word_start_ : WordStart(segments[i]);
      const uint32_t first = decoder_.count();
      DecodeStatus status = decoder_.Raw(Bytes(segments[i]), &at, &word_start);
      const bool slow = status == DecodeStatus::kSlow;
      if (slow) status = Normalize(segments[i]);
      if (status == DecodeStatus::kBail) return 0;
      if (status == DecodeStatus::kFull) {
        end = i;
        partial_ = decoder_.count() != first;
        resume_at_ = at;
        resume_word_start_ = word_start;
        if (!partial_) break;
      }
      miss_[misses_++] = {static_cast<uint16_t>(i), static_cast<uint16_t>(first),
                          static_cast<uint16_t>(decoder_.count()), decoder_.trailing_space(),
                          !partial_ && !slow && !resumed && !decoder_.spaces()};
      if (partial_) break;
    }
    if (misses_ != 0) {
      stream_.Solve(model_, *scratch_.word_kernels, {scratch_.sequences, decoder_.count()});
    }
    if (!Emit(segments, end)) {
      partial_ = false;
      return 0;
    }
    Insert(segments);
    return end;
  }

  // A segment with characters that are not normalized one by one.
  DecodeStatus Normalize(const Segment& segment) {
    const std::string_view bytes = Bytes(segment);
    if (bytes.size() > WordScratch::kNormalizedBytes / 16) return DecodeStatus::kBail;
    std::string_view normalized;
    if constexpr (kFloat32) {
      text::SpNormalizer normalizer = text::SpNormalizerOf(model_);
      normalizer.add_dummy_prefix = normalizer.escape_whitespaces = false;
      text::SpNormalized result;
      if (!text::SpNormalize(normalizer, bytes, scratch_.normalized, nullptr,
                             WordScratch::kNormalizedBytes, &result)) {
        return DecodeStatus::kBail;
      }
      normalized = {scratch_.normalized, result.size};
      // Spaces inside one replacement do not collapse: each is a U+2581 of its own.
      if (normalized.find("  ") != std::string_view::npos) return DecodeStatus::kBail;
    } else {
      char raw[WordScratch::kNormalizedBytes / 16];
      std::memcpy(raw, bytes.data(), bytes.size());
      const auto size = static_cast<uint32_t>(bytes.size());
      text::NormalizedText in{raw, nullptr, nullptr, size, size};
      text::NormalizedText out{scratch_.normalized, nullptr, nullptr,
                               WordScratch::kNormalizedBytes, 0};
      if (!text::RunPrecompiled(model_, in, &out)) return DecodeStatus::kBail;
      normalized = {out.data, out.size};
    }
    // A U+2581 that a replacement spells acts as a separator.
    if (normalized.find("\xe2\x96\x81") != std::string_view::npos) return DecodeStatus::kBail;
    return decoder_.Normalized(normalized, WordStart(segment));
  }

  // segments[0, count) in order, and the part of the one after them that was decoded.
  bool Emit(const Segment* segments, uint32_t count) {
    uint32_t i = 0;
    for (uint32_t k = 0; k < misses_; ++k) {
      if (!EmitFound(segments, i, miss_[k].segment)) return false;
      i = miss_[k].segment;
      if (WordStart(segments[i])) space_ |= (segments[i].begin & kBeginMask) != 0;
      if (!EmitMiss(miss_[k])) return false;
      ++i;
    }
    return EmitFound(segments, i, count);
  }

  bool EmitFound(const Segment* segments, uint32_t begin, uint32_t end) {
    if (begin < end) space_ = false;
    for (uint32_t i = begin; i < end;) {
      // Without a look at anything but the info as long as there is room for all.
      const uint64_t room = sink_.capacity > sink_.count ? sink_.capacity - sink_.count : 0;
      const uint32_t stop =
          i + static_cast<uint32_t>(std::min<uint64_t>(end - i, room / CachedWord::kMaxIds));
      int32_t* out = sink_.ids + sink_.count;
      uint64_t sum = sum_;
      for (; i < stop; ++i) {
        const Found& found = scratch_.found[i];
        const uint64_t after = sum + (found.info >> 16);
        if (after >> (found.info >> 8 & 0xff) != 0) break;
        if constexpr (kFloat32) {
          sum = after;
        } else if (WordStart(segments[i])) {
          checkpoint_ = static_cast<uint32_t>(out - sink_.ids);
          score_ = 0;
        }
        std::memcpy(out, found.ids, CachedWord::kMaxIds * sizeof(int32_t));
        out += found.info & 0xff;
      }
      sink_.count = static_cast<uint32_t>(out - sink_.ids);
      sum_ = sum;
      if (i == end) break;
      // One that has to be searched, or that may not fit.
      const Found& found = scratch_.found[i];
      if (WordStart(segments[i])) StartWord();
      if (Settled(found.info)) {
        Copy(found.ids, found.info & 0xff);
      } else {
        const uint32_t codes =
            DecodePlain(model_, Bytes(segments[i]), WordStart(segments[i]), scratch_.codes);
        if (!Exact(scratch_.codes, codes)) return false;
      }
      ++i;
    }
    return true;
  }

  struct Miss {
    uint16_t segment, first, last;  // its sequences
    bool trailing_space, whole;
  };

  bool EmitMiss(Miss& miss) {
    for (uint32_t k = miss.first; k < miss.last; ++k) {
      const Sequence& sequence = scratch_.sequences[k];
      if (sequence.word_start) StartWord();
      const StreamResult result = stream_.Result(model_, sequence);
      if (result.literal) return false;
      // Replaying sums needs to know how many characters one unknown token stands for, so its sums
      // are made here and now.
      const uint32_t limit = kFloat32 && result.unknown ? 0 : result.exact.limit;
      const uint32_t info = result.count | limit << 8 | result.exact.weight << 16;
      if (Settled(info)) {
        Copy(stream_.ids() + result.first_id, result.count);
      } else if (!Exact(stream_.codes() + sequence.begin, sequence.end - sequence.begin)) {
        return false;
      }
      space_ = false;
      if (miss.whole && miss.last - miss.first == 1 && !miss.trailing_space && limit != 0 &&
          result.count <= CachedWord::kMaxIds) {
        insert_[inserts_++] = {miss.segment, static_cast<uint16_t>(result.first_id), info};
      }
    }
    space_ |= miss.trailing_space;
    return true;
  }

  void Insert(const Segment* segments) {
    if (scratch_.cache.enabled()) {
      for (uint32_t k = 0; k < inserts_; ++k) {
        const uint32_t i = insert_[k].segment;
        if (Bytes(segments[i]).size() > WordKey::kMaxBytes) continue;
        CachedWord& cached = *tables_.Slot(scratch_.hashes[i]);
        std::memcpy(cached.key, scratch_.keys[i].part, sizeof(cached.key));
        std::memcpy(cached.ids, stream_.ids() + insert_[k].first_id, sizeof(cached.ids));
        cached.info = insert_[k].info;
      }
    }
    inserts_ = 0;
  }

  // HuggingFace searches every word on its own, from score 0.
  void StartWord() {
    if constexpr (!kFloat32) {
      checkpoint_ = sink_.count;
      score_ = 0;
    }
  }

  // Whether ids of that info hold at the score accumulated so far; if so, moves it on.
  bool Settled(uint32_t info) {
    const uint64_t sum = sum_ + (info >> 16);
    if (sum >> (info >> 8 & 0xff) != 0) return false;
    if constexpr (kFloat32) sum_ = sum;
    return true;
  }

  // ids may be read up to CachedWord::kMaxIds.
  void Copy(const int32_t* ids, uint32_t count) {
    if (sink_.count + std::max(count, CachedWord::kMaxIds) <= sink_.capacity) {
      std::memcpy(sink_.ids + sink_.count, ids, CachedWord::kMaxIds * sizeof(int32_t));
      if (count > CachedWord::kMaxIds) {
        std::memcpy(sink_.ids + sink_.count, ids, count * sizeof(int32_t));
      }
      sink_.count += count;
      return;
    }
    for (uint32_t i = 0; i < count; ++i) sink_.Push(static_cast<uint32_t>(ids[i]), 0, 0);
  }

  // The reference's sums: up to here by adding the scores of the tokens so far, in its order, then
  // through codes by its own search.
  bool Exact(const uint16_t* codes, uint32_t n) {
    if (sink_.count > sink_.capacity) return false;  // the tokens were not kept
    const uint32_t unk_id = model_.config->unk_id;
    for (; checkpoint_ < sink_.count; ++checkpoint_) {
      const auto id = static_cast<uint32_t>(sink_.ids[checkpoint_]);
      if (id == unk_id) return false;  // of how many characters?
      score_ = Arithmetic::Store(model_.word_scores[id] + score_);
    }
    if (!scratch_.exact.Run<Arithmetic>(model_, codes, n, &score_, sink_)) return false;
    checkpoint_ = sink_.count;
    if constexpr (kFloat32) sum_ = static_cast<uint64_t>(std::max(-score_, 0.0)) + 2;
    return true;
  }

  bool TrailingSpace() {
    space_ |= !text_.empty() &&
              (config_.separators[static_cast<uint8_t>(text_.back()) & 15] >>
                   (static_cast<uint8_t>(text_.back()) >> 4) & 1) != 0 &&
              static_cast<uint8_t>(text_.back()) < 0x80;
    if (!space_) return true;
    StartWord();
    const auto code = static_cast<uint16_t>(config_.space_code);
    return Exact(&code, 1);
  }

  const Model& model_;
  const image::WordConfig& config_;
  WordScratch& scratch_;
  Stream& stream_;
  Decoder decoder_;
  const LookUpTables tables_;
  const std::string_view text_;
  TokenSink& sink_;

  struct Inserted {
    uint16_t segment, first_id;
    uint32_t info;
  };
  Miss miss_[WordScratch::kBatch];
  Inserted insert_[WordScratch::kBatch];
  uint32_t misses_ = 0, inserts_ = 0;

  uint64_t sum_ = 0;     // at least -score at the end of the tokens so far (SentencePiece)
  double score_ = 0;     // the reference's, at token checkpoint_
  uint32_t checkpoint_;  // index in sink_
  bool space_ = false;   // a separator came after the last word
  bool partial_ = false;  // the first segment of the next batch goes on at resume_at_
  uint32_t resume_at_ = 0;
  bool resume_word_start_ = false;
};

}  // namespace

bool EncodeWords(const Model& model, WordScratch& scratch, std::string_view text,
                 TokenSink& sink) {
  const uint32_t before = sink.count;
  const bool done =
      model.huggingface()
          ? Engine<unigram::HuggingFaceArithmetic>(model, scratch, text, sink).Run()
          : Engine<unigram::SentencePieceArithmetic>(model, scratch, text, sink).Run();
  if (!done) sink.count = before;
  return done;
}

}  // namespace rankfeed::words
