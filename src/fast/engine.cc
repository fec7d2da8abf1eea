// SPDX-License-Identifier: MIT
// fast/engine.cc: the loop of the fast road: a batch of segments of several texts is looked up,
// what it lacks is decoded and searched, and ids are written in order. See engine.h.
#include "fast/engine.h"

#include <algorithm>

#include "reference/hf_encode.h"
#include "reference/sp_encode.h"

namespace rankfeed::fast {
namespace {

constexpr uint32_t kLeastBatch = 32, kFirstBatch = 512;
// After a stretch or a part that took the general path: what was looked up and decoded of the
// segments after it is done again, and more such stretches may follow.
constexpr uint32_t kBatchAfterLeaving = 4;

}  // namespace

Engine::Engine(const Model& model, const KernelTable& kernels, const ByteSet& stop_bytes,
               const NormalizedTokens& normalized_tokens, const Cuts& cuts,
               reference::Scratch& general, Scratch& scratch)
    : model_(model),
      rule_(model, model.segment.config->cost_unit),
      keeps_separator_(cuts.keeps_separator()),
      classes_(SegmentScanner::ClassesOf(*model.segment.config, stop_bytes,
                                         normalized_tokens.first_bytes())),
      queue_(model, kernels, classes_, scratch.queue, normalized_tokens, cuts),
      look_up_(model, kernels, scratch.look_up),
      spans_(model, kernels, normalized_tokens, scratch.spans),
      emitter_(model, kernels, rule_, spans_, look_up_, scratch.emit),
      general_(general) {}

rankfeed_status Engine::Encode(const Texts& texts, uint32_t flags, TokenSink* sink,
                               rankfeed_road_counts* roads) {
  call_.Start(texts, flags, sink, roads);
  // With offsets the tokens of a part are recognized by their begins.
  queue_.Start(texts.texts, texts.added, sink->begin != nullptr || sink->end == nullptr);
  spans_.ForgetCursor();
  emitter_.Start(sink);
  batch_size_ = kFirstBatch;
  for (;;) {
    if (queue_.waiting() < batch_size_ && queue_.has_room()) queue_.Fill(batch_size_);
    if (queue_.empty()) return RANKFEED_OK;
    if (sink->count >= TokenSink::kMost) [[unlikely]]
      return RANKFEED_E_LIMIT;
    const Segments segments = queue_.segments();
    const bool resumed = spans_.resumes();
    uint32_t count = 1;
    if (resumed) {
      look_up_.Miss();
    } else {
      count = queue_.BeforeLeaving(std::min(queue_.waiting(), batch_size_));
      look_up_.Run(queue_, count);
    }
    const uint32_t end = spans_.Decode(queue_, count, look_up_);
    const uint32_t used = spans_.used();
    if (look_up_.decoded_count() != 0) {
      spans_.Solve(rule_);
      look_up_.Resolve(spans_.paths(), end);
    }
    bool left = false;
    const rankfeed_status status = EmitBatch(segments, end, &left);
    look_up_.Insert();
    if (status != RANKFEED_OK) return status;
    if (left) [[unlikely]]
      continue;
    queue_.PopSegments(end);
    // As many as will use seven eighths of the search's room if they are like these.
    if (!resumed && end != 0) {
      const uint32_t fits = end * (spans_.search_room() * 7 / 8) / std::max(used, 1u);
      const uint32_t most = 2 * batch_size_;
      batch_size_ = std::min({std::max(fits, kLeastBatch), most, LookUp::kMaxBatch});
    }
  }
}

// The segments of a run, [begin, end) as far as the batch goes, and what belongs to the stretch if
// that begins or ends with them. Why the stretch leaves, if it does.
inline rankfeed_reason Engine::EmitRun(const Segments& segments, uint32_t begin, uint32_t end,
                                       uint32_t decoded_end, SegmentRun* run) {
  if ((run->marks & SegmentRun::kBeginsStretch) != 0) {
    call_.BeginStretch();
    const uint32_t offset = call_.OffsetOf(run->stretch);
    const reference::CarriedScore* const score = offset == 0 ? call_.texts().score : nullptr;
    emitter_.BeginStretch(run->stretch, offset, score != nullptr ? score->before : 0);
  }
  run->marks &= static_cast<uint8_t>(~(SegmentRun::kBeginsText | SegmentRun::kBeginsStretch));
  if (run->reason != RANKFEED_REASON_NONE) return run->reason;
  const bool ends = end == decoded_end && (run->marks & SegmentRun::kEndsStretch) != 0;
  rankfeed_reason reason = emitter_.Emit(segments, begin, end, decoded_end);
  if (reason != RANKFEED_REASON_NONE || !ends) return reason;
  reference::CarriedScore* const score = call_.texts().score;
  reason = emitter_.EndStretch(score != nullptr ? &score->after : nullptr);
  if (reason == RANKFEED_REASON_NONE && call_.texts().refuse_special &&
      call_.HoldsSpecial(model_, image::kNoId)) {
    return RANKFEED_REASON_OPTIONS;
  }
  return reason;
}

// Segments [0, count) in order, and the part of the one after them that was decoded. With each
// stretch's and each text's last segment, what comes after it. *left: something took the general
// path, and what waits begins after it.
rankfeed_status Engine::EmitBatch(const Segments& segments, uint32_t count, bool* left) {
  emitter_.BeginBatch();
  for (; !queue_.empty(); queue_.PopRun()) {
    SegmentRun& run = queue_.front();
    const uint32_t begin = queue_.begin(run), end = queue_.end(run);
    if (begin > count) break;
    // What goes on here and was not looked up, or was not even begun.
    const bool rest = end > count && run.reason == RANKFEED_REASON_NONE;
    if (rest && begin == count && !spans_.resumes()) break;
    if ((run.marks & SegmentRun::kBeginsText) != 0) call_.BeginText();
    const rankfeed_reason reason = EmitRun(segments, begin, rest ? count : end, end, &run);
    if (reason != RANKFEED_REASON_NONE) {
      if (emitter_.unplaced().segment != Emitter::kNone) CutOutUnplaced(reason);
      *left = true;
      return Leave(reason);
    }
    if (rest) break;
    if (run.token != nullptr && !call_.AddToken(*run.token, run.token_begin, run.token_end)) {
      return RANKFEED_E_SPECIAL_IN_TEXT;
    }
    if ((run.marks & SegmentRun::kEndsText) != 0) call_.EndText();
  }
  return RANKFEED_OK;
}

// A segment of the first run has tokens whose places are not known: if a part can be cut out around
// it, that becomes the first run, and the tokens of the part are taken back.
void Engine::CutOutUnplaced(rankfeed_reason reason) {
  queue_.Leave(0, emitter_.unplaced().segment, reason, /*whole=*/false);
  if (queue_.front().reason != RANKFEED_REASON_NONE) return;  // it cannot
  queue_.PopRun();
  const uint32_t begin = call_.OffsetOf(queue_.front().stretch);
  const bool inside = queue_.front().stretch.data() != emitter_.stretch().data();
  // The U+2581 in front of a part may have the place of the separator before it.
  const uint32_t cut = inside && !keeps_separator_ ? begin - 1 : begin;
  TokenSink& sink = call_.sink();
  sink.count = emitter_.unplaced().token;
  while (sink.count != call_.stretch_begin() && sink.begin[sink.count - 1] >= cut) --sink.count;
}

// The first run takes the general path if it is a part; or its stretch does: its tokens go, and what
// of it still waits.
rankfeed_status Engine::Leave(rankfeed_reason reason) {
  spans_.ForgetCursor();
  batch_size_ = kBatchAfterLeaving;
  const SegmentRun run = queue_.front();
  const std::string_view stretch = emitter_.stretch();
  const bool inside = run.stretch.data() != stretch.data();
  reference::CarriedScore score;
  if ((run.marks & SegmentRun::kPart) != 0 && (inside || emitter_.MayPartAtBegin()) &&
      emitter_.EndPart(&score.before)) {
    queue_.PopPart();
    const rankfeed_status status = General(run.stretch, reason, true, inside, &score);
    emitter_.Resume(run.stretch, score.after);
    return status;
  }
  call_.DropStretch();
  queue_.DropStretch();
  reference::CarriedScore* const carried = call_.texts().score;
  if (carried != nullptr && call_.OffsetOf(stretch) == 0) score.before = carried->before;
  const rankfeed_status status = General(stretch, reason, false, false, &score);
  if (carried != nullptr) carried->after = score.after;
  return status;
}

// Bytes of the text that is being encoded: a part of a stretch, inside if it is not the first one; or
// a stretch.
rankfeed_status Engine::General(std::string_view bytes, rankfeed_reason reason, bool part,
                                bool inside, reference::CarriedScore* score) {
  const std::string_view text = call_.text();
  // A whole text of SentencePiece's is one stretch, with the spaces that it may have lost.
  const std::string_view all = model_.huggingface() || part ? bytes : text;
  const uint32_t begin = call_.OffsetOf(all), end = begin + static_cast<uint32_t>(all.size());
  const rankfeed_status status =
      model_.huggingface()
          ? reference::EncodeHuggingFaceStretch(model_, general_, text, begin, end, inside,
                                              call_.flags(), call_.sink(), score)
          : reference::EncodeSentencePieceParts(model_, general_, text, begin, end, inside,
                                              call_.sink(), score);
  if (status == RANKFEED_OK) call_.CountLeft(bytes, reason);
  return status;
}

}  // namespace rankfeed::fast
