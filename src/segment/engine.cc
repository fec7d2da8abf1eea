// SPDX-License-Identifier: MIT
// segment/engine.cc: see engine.h.
#include "segment/engine.h"

#include <algorithm>
#include <cstring>

#include "normalize/precompiled.h"
#include "normalize/sp_normalize.h"
#include "general/arithmetic.h"

namespace rankfeed::segment {
namespace {

template <class Arithmetic>
class Engine {
 public:
  Engine(const Model& model, Scratch& scratch, const Texts& texts, TokenSink& sink)
      : model_(model),
        config_(*model.segment.config),
        scratch_(scratch),
        batch_(scratch.batch),
        stream_(scratch.stream),
        decoder_(model, scratch.word_kernels, scratch.stream, scratch.parts),
        rule_(model, config_.cost_unit),
        scanner_(model, *scratch.kernels, scratch.look_up, texts.stop_bytes, scratch.masks,
                 scratch.segment_masks),
        text_count_(texts.texts.size()),
        tables_{model.segment.entries.data(), (uint64_t{1} << model.segment.config->table_bits) - 1,
                scratch.cache.lines(), scratch.cache.mask()},
        texts_(texts),
        sink_(sink) {}

  size_t Run() {
    while (!bailed_ && done_ < text_count_) {
      if (tail_ - head_ < batch_size_) Fill();
      Batch();
    }
    if (bailed_) sink_.count = text_begin_;
    return done_;
  }

 private:
  static constexpr bool kFloat32 = Arithmetic::kFloat32;
  static constexpr uint32_t kLeastBatch = 32, kFirstBatch = 512;
  static constexpr uint32_t kGoal = Stream::kCapacity * 7 / 8;
  // Looked up at once: what that fetches stays in the first level cache.
  static constexpr uint32_t kLookUps = 128;
  static constexpr uint32_t kFetchLines = 16;  // of 64 bytes: about what kLookUps are
  static constexpr uint8_t kNotKept = PathResult::NotKept(kFloat32);

  static std::string_view Bytes(std::string_view text, const Segments& segments, uint32_t i) {
    return {text.data() + segments.begin(i), segments.size(i)};
  }

  // Segments until there are enough for a batch. Those left over move to the front.
  void Fill() {
    for (uint32_t* of : {scratch_.segments.begins, scratch_.segments.ends}) {
      std::copy(of + head_, of + tail_, of);
    }
    std::copy(scratch_.runs + first_run_, scratch_.runs + run_count_, scratch_.runs);
    tail_ -= head_;
    run_count_ -= first_run_;
    first_run_ = 0;
    for (uint32_t r = 0; r < run_count_; ++r) {
      SegmentRun& run = scratch_.runs[r];
      run.begin = run.begin > head_ ? run.begin - head_ : 0;
      run.end -= head_;
    }
    head_ = 0;
    while (tail_ < batch_size_ && run_count_ < Scratch::kRuns) {
      const bool first = !scanning_;
      if (first && next_ == text_count_) break;
      const std::string_view text = texts_.texts[first ? next_ : next_ - 1];
      // Of a text of several blocks nothing may go on before the last one is read.
      if (first && text.size() > SegmentScanner::kBlockBytes && Leave(text)) break;
      if (first) scanner_.Start(text);
      SegmentRun& run = scratch_.runs[run_count_];
      run = {text, tail_, tail_, first, false};
      if (!scanner_.done()) run.end += scanner_.Next(scratch_.segments.From(tail_));
      if (first) {
        if (scanner_.done() && scanner_.found() && Leave(text)) break;
        ++next_;
      }
      ++run_count_;
      tail_ = run.end;
      scanning_ = !scanner_.done();
      run.last = !scanning_;
    }
  }

  // Whether the next text takes the general path. No other is read then.
  bool Leave(std::string_view text) {
    if (texts_.leave == nullptr || !texts_.leave(texts_.leave_for, text)) return false;
    text_count_ = next_;
    return true;
  }

  // Encodes the segments ahead, as many as go together, and ends the texts that end with them.
  // Fewer than a batch when the stream is full: what was looked up for the others is void then, as
  // the cache has changed.
  void Batch() {
    const bool resumed = partial_;
    partial_ = false;
    const Segments segments = scratch_.segments.From(head_);
    const uint32_t count = resumed ? 1 : std::min(tail_ - head_, batch_size_);
    uint32_t miss_count = 1;
    repeats_ = 0;
    if (resumed) {
      batch_.misses[0] = 0;
    } else {
      miss_count = LookUp(count);
    }
    const uint32_t end = Decode(segments, count, miss_count, resumed);
    const uint32_t used = decoder_.used();
    if (misses_ != 0) {
      decoder_.Solve(rule_);
      SettleMisses();
      SettleRepeats(end);
    }
    if (!Emit(segments, end)) bailed_ = true;
    Insert();
    head_ += end;
    // As many as will use kGoal of the stream if they are like these.
    if (!resumed) {
      const uint32_t fits = end * kGoal / std::max(used, 1u);
      batch_size_ = std::clamp(std::min(fits, 2 * batch_size_), kLeastBatch, Scratch::kBatch);
    }
  }

  // Segments batch_.misses[0 .. miss_count), of count, to sequences. Returns where the batch ends:
  // before count when the stream is full or a text needs the general path.
  uint32_t Decode(const Segments& segments, uint32_t count, uint32_t miss_count, bool resumed) {
    decoder_.Clear();
    misses_ = 0;
    const SegmentRun* run = scratch_.runs + first_run_;
    for (uint32_t k = 0; k < miss_count; ++k) {
      const uint32_t i = batch_.misses[k];
      if (!resumed && segments.size(i) <= ShortDecode::kMaxBytes) {
        const uint32_t done =
            decoder_.Short(segments, batch_.keys, batch_.misses + k, miss_count - k,
                           miss_ + misses_);
        misses_ += done;
        if (done != 0) {
          k += done - 1;
          continue;
        }
      }
      while (run->end <= head_ + i) ++run;
      const std::string_view bytes = Bytes(run->text, segments, i);
      Decoder::Resume from{0, 0, segments.word_start(i)};
      if (resumed) from = resume_;
      const uint32_t first = decoder_.part_count();
      const bool more = segments.ends[i] < run->text.size();
      DecodeStatus status = decoder_.Raw(bytes, more, &from);
      const bool slow = status == DecodeStatus::kSlow;
      if (slow) status = Normalize(bytes, segments.word_start(i));
      if (status == DecodeStatus::kBail) {
        // The texts before it are encoded to their end.
        bailed_ = true;
        const uint32_t end = std::max(run->begin, head_) - head_;
        while (misses_ != 0 && miss_[misses_ - 1].segment >= end) --misses_;
        return end;
      }
      if (status == DecodeStatus::kFull) {
        partial_ = decoder_.part_count() != first;
        resume_ = from;
        if (!partial_) return i;
      }
      const uint32_t last = decoder_.part_count();
      const bool plain = !partial_ && !slow && !resumed && last - first == 1 &&
                         !decoder_.spaces() && !decoder_.trailing_space() &&
                         decoder_.part(first).size() <= Scratch::kSegmentCodes;
      miss_[misses_++] = {static_cast<uint16_t>(i),    static_cast<uint16_t>(first),
                          static_cast<uint16_t>(last), false,
                          plain,                       decoder_.trailing_space()};
      if (partial_) return i;
    }
    return count;
  }

  // Fetches kFetchLines of the texts that will be scanned next, from byte *at of text *i on, which
  // are moved on. Here, a few at a time, as scanning waits for memory and looking up seldom does.
  void FetchTexts(size_t* i, size_t* at) const {
    for (uint32_t lines = 0; *i < text_count_; ++*i, *at = 0) {
      const std::string_view text = texts_.texts[*i];
      for (; *at < text.size(); *at += 64) {
        if (lines++ == kFetchLines) return;
        __builtin_prefetch(text.data() + *at, 0, 2);  // not to the first level cache
      }
    }
  }

  // Looks up the next segments; returns how many are in neither table.
  uint32_t LookUp(uint32_t count) {
    uint32_t miss_count = 0;
    size_t fetched = next_, fetched_to = 0;
    const LookUpKernels& kernels =
        count < kFewSegments ? *scratch_.look_up.few : scratch_.look_up;
    const SegmentRun* run = scratch_.runs + first_run_;
    for (uint32_t begin = 0, made = 0; begin < count; begin = made) {
      const uint32_t end = std::min(count, begin + kLookUps);
      for (;; ++run) {
        const uint32_t size = std::min(run->end - head_, end) - made;
        kernels.make_keys(tables_, run->text.data(), run->text.size(),
                          scratch_.segments.From(head_ + made), size, made, batch_);
        made += size;
        if (made == end) break;
      }
      FetchTexts(&fetched, &fetched_to);
      miss_count = kernels.match_table(tables_, begin, end, batch_, miss_count);
    }
    miss_count = kernels.match_cache(tables_, batch_, miss_count);
    if (miss_count < 2) return miss_count;
    // What a text is about comes several times in a batch.
    constexpr uint32_t kNone = Scratch::kBatch;
    batch_.keys[kNone] = {{SegmentKey::Tag(0x7f, false), 0, 0, 0}};
    return kernels.find_repeats(batch_, kNone, miss_count, scratch_.slots, repeat_, &repeats_);
  }

  // A segment with characters that are not normalized one by one.
  DecodeStatus Normalize(std::string_view bytes, bool word_start) {
    if (bytes.size() > Scratch::kNormalizedBytes / 16) return DecodeStatus::kBail;
    std::string_view normalized;
    if constexpr (kFloat32) {
      normalize::SpNormalizer normalizer = normalize::SpNormalizerOf(model_);
      normalizer.add_dummy_prefix = normalizer.escape_whitespaces = false;
      normalize::SpNormalized result;
      if (!normalize::SpNormalize(normalizer, bytes, scratch_.normalized, nullptr,
                             Scratch::kNormalizedBytes, &result)) {
        return DecodeStatus::kBail;
      }
      normalized = {scratch_.normalized, result.size};
      // Spaces inside one replacement do not collapse: each is a U+2581 of its own.
      if (normalized.find("  ") != std::string_view::npos) return DecodeStatus::kBail;
    } else {
      char raw[Scratch::kNormalizedBytes / 16];
      std::memcpy(raw, bytes.data(), bytes.size());
      const auto size = static_cast<uint32_t>(bytes.size());
      normalize::NormalizedText in{raw, nullptr, nullptr, size, size};
      normalize::NormalizedText out{scratch_.normalized, nullptr, nullptr,
                               Scratch::kNormalizedBytes, 0};
      if (!normalize::RunPrecompiled(model_, in, &out)) return DecodeStatus::kBail;
      normalized = {out.data, out.size};
    }
    return decoder_.Normalized(normalized, word_start);
  }

  // segments[0, count) in order, and the part of the one after them that was decoded. With each
  // text's last segment, what comes after it.
  bool Emit(const Segments& segments, uint32_t count) {
    uint32_t miss = 0;
    for (; first_run_ < run_count_; ++first_run_) {
      SegmentRun& run = scratch_.runs[first_run_];
      if (run.begin > head_ + count) break;
      // What goes on here and was not looked up, or was not even begun.
      const bool rest = run.end > head_ + count;
      if (rest && run.begin == head_ + count && !partial_) break;
      if (run.first) BeginText();
      run.first = false;
      text_ = run.text;
      const uint32_t end = rest ? count : run.end - head_;
      uint32_t i = run.begin > head_ ? run.begin - head_ : 0;
      for (; miss < misses_ && head_ + miss_[miss].segment < run.end; ++miss) {
        if (!EmitFound(segments, i, miss_[miss].segment)) return false;
        i = miss_[miss].segment;
        if (segments.word_start(i)) space_ |= segments.begin(i) != 0;
        if (!EmitMiss(miss_[miss])) return false;
        ++i;
      }
      if (!EmitFound(segments, i, end)) return false;
      if (rest) break;
      if (run.last && !EndText()) return false;
    }
    return true;
  }

  void BeginText() {
    text_begin_ = sink_.count;
    for (const uint32_t id : texts_.before) sink_.Push(id, 0, 0);
    checkpoint_ = sink_.count;
    fused_count_ = 0;
    sum_ = 0;
    score_ = 0;
    space_ = false;
  }

  bool EndText() {
    if ((config_.rules & image::kTrailingSpaceIsWord) != 0 && !TrailingSpace()) return false;
    for (const uint32_t id : texts_.after) sink_.Push(id, 0, 0);
    if (texts_.ends != nullptr) texts_.ends[done_] = sink_.count;
    ++done_;
    text_begin_ = sink_.count;
    return true;
  }

  bool EmitFound(const Segments& segments, uint32_t begin, uint32_t end) {
    if (begin < end) space_ = false;
    for (uint32_t i = begin; i < end;) {
      i = EmitSettled(batch_.found, i, end);
      if (i == end) break;
      // One that has to be searched, or that may not fit.
      const Found& found = batch_.found[i];
      if (Settled(found.info)) {
        Copy(found.ids, found.info.count);
      } else {
        const uint32_t codes =
            DecodePlain(model_, Bytes(text_, segments, i), segments.word_start(i), scratch_.codes);
        if (!Exact({scratch_.codes, codes})) return false;
      }
      ++i;
    }
    return true;
  }

  // Writes found[begin, end) without a look at anything but their infos, as far as they hold and
  // there is room for all; returns where it stopped.
  uint32_t EmitSettled(const Found* found, uint32_t begin, uint32_t end) {
    const uint64_t room = sink_.capacity > sink_.count ? sink_.capacity - sink_.count : 0;
    const uint32_t stop =
        begin + static_cast<uint32_t>(std::min<uint64_t>(end - begin, room / CacheLine::kMaxIds));
    int32_t* out = sink_.ids + sink_.count;
    const LookUpKernels& kernels = scratch_.look_up;
    const uint32_t done = kFloat32 ? kernels.emit_sums(found, begin, stop, &out, &sum_)
                                   : kernels.emit(found, begin, stop, &out);
    sink_.count = static_cast<uint32_t>(out - sink_.ids);
    return done;
  }

  // Misses that are like segments of the tables become found; what is left in miss_ needs EmitMiss.
  // Most are few ids, and then ids are written by one loop without a branch on where they come
  // from.
  void SettleMisses() {
    uint32_t left = 0;
    for (uint32_t k = 0; k < misses_; ++k) {
      const Decoded& miss = miss_[k];
      Found found;
      bool kept;
      if (miss.is_short) {
        const PathResult& result = stream_.result(miss.first);
        found = {stream_.ids() + result.first_id, 0, result.info};
        kept = (result.flags & kNotKept) == 0 && result.count <= CacheLine::kMaxIds;
      } else {
        found = decoder_.part_found()[miss.first];
        kept = miss.plain && found.info.count != 0;
      }
      // What EmitFound cannot settle it decodes again, into scratch_.codes.
      if (kept) {
        batch_.found[miss.segment] = found;
        insert_[inserts_] = miss.segment;
        inserts_ += found.info.exact_below != 0;
      } else {
        batch_.found[miss.segment].ids = nullptr;
        miss_[left++] = miss;
      }
    }
    misses_ = left;
  }

  // Repeats before end are what the segments are that they repeat: found, or misses in order.
  void SettleRepeats(uint32_t end) {
    const uint32_t own = misses_;
    for (uint32_t k = 0; k < repeats_ && repeat_[k].segment < end; ++k) {
      const auto [segment, of] = repeat_[k];
      batch_.found[segment] = batch_.found[of];
      if (batch_.found[of].ids != nullptr) continue;
      const Decoded* miss = miss_ + misses_ - 1;
      while (miss->segment != of) --miss;
      miss_[misses_] = *miss;
      miss_[misses_++].segment = segment;
    }
    if (misses_ != own) {
      std::sort(miss_, miss_ + misses_,
                [](const Decoded& a, const Decoded& b) { return a.segment < b.segment; });
    }
  }

  bool EmitMiss(const Decoded& miss) {
    if (miss.is_short) {
      const Sequence& sequence = stream_.sequences()[miss.first];
      space_ = false;
      return EmitPath(stream_.result(miss.first), {stream_.codes() + sequence.begin,
                                                   size_t{sequence.end} - sequence.begin});
    }
    const Found* const found = decoder_.part_found();
    if (miss.first != miss.last) space_ = false;
    for (uint32_t k = miss.first; k < miss.last; ++k) {
      if (found[k].info.count != 0) {
        const uint32_t stop = EmitSettled(found, k, miss.last);
        if (stop != k) {
          k = stop - 1;
        } else if (Settled(found[k].info)) {
          Copy(found[k].ids, found[k].info.count);
        } else if (!Exact(decoder_.part(k))) {
          return false;
        }
      } else if (!EmitPath(decoder_.part_result(k), decoder_.part(k))) {
        return false;
      }
    }
    space_ |= miss.trailing_space;
    return true;
  }

  bool EmitPath(const PathResult& result, std::span<const uint16_t> codes) {
    if ((result.flags & PathResult::kLiteral) != 0) return false;
    if (!Settled(result.info) || !Fuse(result)) return Exact(codes);
    Copy(stream_.ids() + result.first_id, result.count);
    return true;
  }

  // Remembers for the reference's sums how many characters an unknown token stands for. False if
  // that is not known.
  bool Fuse(const PathResult& result) {
    if ((result.flags & kNotKept) == 0) return true;
    if (result.fused == 0 || fused_count_ == kMaxFused) return false;
    const int32_t* const ids = stream_.ids() + result.first_id;
    const int32_t* const unknown =
        std::find(ids, ids + result.count, static_cast<int32_t>(model_.config->unk_id));
    fused_[fused_count_++] = {sink_.count + static_cast<uint32_t>(unknown - ids), result.fused};
    return true;
  }

  void Insert() {
    if (scratch_.cache.enabled()) {
      for (uint32_t k = 0; k < inserts_; ++k) {
        const uint32_t i = insert_[k];
        const SegmentKey& key = batch_.keys[i];
        if (key.size() > SegmentKey::kMaxBytes) continue;
        const Found& found = batch_.found[i];
        Keep(key, found.ids, found.info, tables_.Line(batch_.hashes[i]));
      }
    }
    inserts_ = 0;
  }

  // Whether ids of that info hold at the score accumulated so far; if so, moves it on.
  bool Settled(image::PathInfo info) {
    const uint64_t sum = sum_ + info.score_bound;
    if (sum >> info.exact_below != 0) return false;
    if constexpr (kFloat32) sum_ = sum;
    return true;
  }

  // ids may be read up to CacheLine::kMaxIds.
  void Copy(const int32_t* ids, uint32_t count) {
    if (sink_.count + std::max(count, CacheLine::kMaxIds) <= sink_.capacity) {
      std::memcpy(sink_.ids + sink_.count, ids, CacheLine::kMaxIds * sizeof(int32_t));
      if (count > CacheLine::kMaxIds) {
        std::memcpy(sink_.ids + sink_.count, ids, count * sizeof(int32_t));
      }
      sink_.count += count;
      return;
    }
    for (uint32_t i = 0; i < count; ++i) sink_.Push(static_cast<uint32_t>(ids[i]), 0, 0);
  }

  // The reference's sums: up to here by adding the scores of the tokens so far, in its order, then
  // through codes by its own search.
  bool Exact(std::span<const uint16_t> codes) {
    if (sink_.count > sink_.capacity) return false;  // the tokens were not kept
    if constexpr (!kFloat32) FindWord(codes);
    const uint32_t unk_id = model_.config->unk_id;
    const Fused* fused = fused_;
    for (; checkpoint_ < sink_.count; ++checkpoint_) {
      const auto id = static_cast<uint32_t>(sink_.ids[checkpoint_]);
      if (id != unk_id) {
        score_ = Arithmetic::Store(Arithmetic::Piece(model_.segment.id_scores[id], score_));
        continue;
      }
      if (!kFloat32) return false;  // of how many characters?
      const bool is_fused = fused != fused_ + fused_count_ && fused->token == checkpoint_;
      for (uint32_t chars = is_fused ? (fused++)->chars : 1; chars > 0; --chars) {
        score_ = Arithmetic::Unknown(model_.config->unk_score, score_);
      }
    }
    fused_count_ = 0;
    if (!scratch_.exact.Run<Arithmetic>(model_, codes.data(), static_cast<uint32_t>(codes.size()),
                                        &score_, sink_)) return false;
    checkpoint_ = sink_.count;
    if constexpr (kFloat32) sum_ = rule_.Accumulated(score_);
    return true;
  }

  // HuggingFace searches every word on its own, from score 0. Looked for only here, so that writing
  // ids needs no look at where words begin: U+2581 stands nowhere else, so nor do pieces that begin
  // with it. Those that began before the checkpoint are in its score.
  void FindWord(std::span<const uint16_t> codes) {
    uint32_t begin = sink_.count;
    if (!decoder_.BeginsWord(codes)) {
      do {
        if (begin == checkpoint_) return;
        --begin;
      } while (!model_.text(model_.id_pieces[static_cast<uint32_t>(sink_.ids[begin])])
                    .starts_with("\xe2\x96\x81"));
    }
    checkpoint_ = begin;
    score_ = 0;
  }

  bool TrailingSpace() {
    space_ |= !text_.empty() &&
              (config_.separators[static_cast<uint8_t>(text_.back()) & 15] >>
                   (static_cast<uint8_t>(text_.back()) >> 4) & 1) != 0 &&
              static_cast<uint8_t>(text_.back()) < 0x80;
    if (!space_) return true;
    const auto code = static_cast<uint16_t>(config_.space_code);
    return Exact({&code, 1});
  }

  const Model& model_;
  const image::SegmentConfig& config_;
  Scratch& scratch_;
  const LookUpBatch& batch_;
  Stream& stream_;
  Decoder decoder_;
  const ExactnessRule rule_;
  SegmentScanner scanner_;
  size_t text_count_;  // of texts_, up to one to leave
  const LookUpTables tables_;
  const Texts& texts_;
  TokenSink& sink_;

  uint32_t batch_size_ = kFirstBatch;  // segments to look up together

  // Segments and runs that wait; those of the next texts join them.
  uint32_t head_ = 0, tail_ = 0;            // in Scratch::segments
  uint32_t first_run_ = 0, run_count_ = 0;  // in Scratch::runs
  size_t next_ = 0;                         // text to scan next
  size_t done_ = 0;                         // texts
  bool scanning_ = false;                   // the one before next_ goes on
  bool bailed_ = false;                     // text done_ needs the general path

  Decoded miss_[Scratch::kBatch];
  uint16_t insert_[Scratch::kBatch + 1];
  Repeat repeat_[Scratch::kBatch + 1];
  uint32_t misses_ = 0, inserts_ = 0, repeats_ = 0;

  // Of the text whose tokens are being written:
  std::string_view text_;
  uint32_t text_begin_ = sink_.count;  // in sink_
  uint64_t sum_ = 0;                   // weights of the segments so far (SentencePiece)
  double score_ = 0;         // the reference's, at token checkpoint_
  uint32_t checkpoint_ = 0;  // index in sink_
  // Unknown tokens from there on that stand for several characters (SentencePiece).
  struct Fused {
    uint32_t token, chars;  // index in sink_
  };
  static constexpr uint32_t kMaxFused = 64;
  Fused fused_[kMaxFused];
  uint32_t fused_count_ = 0;
  bool space_ = false;       // a separator came after the last word

  bool partial_ = false;  // the first segment of the next batch goes on at resume_
  Decoder::Resume resume_{};
};

}  // namespace

size_t Encode(const Model& model, Scratch& scratch, const Texts& texts,
                   TokenSink& sink) {
  switch (ScoreSumsOf(model)) {
    case ScoreSums::kFloat64:
      return Engine<general::HuggingFaceArithmetic>(model, scratch, texts, sink).Run();
    case ScoreSums::kFloat32:
      return Engine<general::SentencePiece021Arithmetic>(model, scratch, texts, sink).Run();
    case ScoreSums::kFloat32Rebased:
      break;
  }
  return Engine<general::SentencePieceArithmetic>(model, scratch, texts, sink).Run();
}

}  // namespace rankfeed::segment
