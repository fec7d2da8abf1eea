// SPDX-License-Identifier: MIT
// fast/engine.cc: the loop of the fast road: a batch of segments of several texts is looked up,
// what it lacks is solved, and ids are written in order. See engine.h.
#include "fast/engine.h"

#include <algorithm>

#include "reference/hf_encode.h"
#include "reference/hf_trim_offsets.h"
#include "reference/sp_encode.h"

namespace rankfeed::fast {

template <class Kind>
Engine<Kind>::Engine(const Model& model, const KernelTable& kernels, const NormalizedTokens& normalized_tokens,
                     const Cuts& cuts, reference::Scratch& general, Scratch& scratch)
    : model_(model),
      keeps_separator_(cuts.keeps_separator()),
      classes_(SegmentScanner::ClassesOf(*model.segment.config, general.added.stop_bytes(),
                                         normalized_tokens.first_bytes())),
      queue_(model, kernels, classes_, scratch.queue, normalized_tokens, cuts),
      look_up_(model, kernels, scratch.look_up),
      kind_(model, kernels, normalized_tokens, general, look_up_, scratch.kind),
      general_(general) {}

template <class Kind>
rankfeed_status Engine<Kind>::Encode(const Texts& texts, uint32_t flags, TokenSink* sink,
                                     rankfeed_road_counts* roads) {
  call_.Start(texts, flags, sink, roads);
  // The tokens of a part are recognized by their begins, if there are any offsets.
  queue_.Start(texts.texts, texts.added, Kind::kPartsLeave && (sink->begin != nullptr || sink->end == nullptr));
  kind_.Start(sink);
  for (;;) {
    const uint32_t batch = kind_.batch();
    if (queue_.waiting() < batch && queue_.has_room()) queue_.Fill(batch);
    if (queue_.empty()) return RANKFEED_OK;
    if (sink->count >= TokenSink::kMost) [[unlikely]]
      return RANKFEED_E_LIMIT;
    const Segments segments = queue_.segments();
    uint32_t count = 1;
    if (kind_.resumes()) {
      look_up_.Miss();
    } else {
      count = queue_.BeforeLeaving(std::min(queue_.waiting(), batch));
      look_up_.Run(queue_, count);
    }
    const uint32_t end = kind_.Solve(queue_, count);
    bool left = false;
    const rankfeed_status status = EmitBatch(segments, end, &left);
    look_up_.Insert();
    if (status != RANKFEED_OK) return status;
    if (!left) [[likely]]
      queue_.PopSegments(end);
  }
}

// Writes segments [0, count) in order, and the part of the one after them that was decoded. With each
// stretch's and each text's last segment, what comes after it. *left: something took the general
// path, and what waits begins after it.
template <class Kind>
rankfeed_status Engine<Kind>::EmitBatch(const Segments& segments, uint32_t count, bool* left) {
  for (; !queue_.empty(); queue_.PopRun()) {
    SegmentRun& run = queue_.front();
    const uint32_t begin = queue_.begin(run), end = queue_.end(run);
    if (begin > count) break;
    // The run goes on with segments that were not looked up, or not even begun.
    const bool rest = end > count && run.reason == RANKFEED_REASON_NONE;
    if (rest && begin == count && !kind_.resumes()) break;
    if ((run.marks & SegmentRun::kBeginsText) != 0) call_.BeginText();
    const rankfeed_reason reason = EmitRun(segments, begin, rest ? count : end, end, &run);
    if (reason != RANKFEED_REASON_NONE) {
      *left = true;
      return Leave(reason);
    }
    if (rest) break;
    if (run.token != nullptr && !AddToken(run)) return RANKFEED_E_SPECIAL_IN_TEXT;
    if ((run.marks & SegmentRun::kEndsText) != 0) call_.EndText();
  }
  return RANKFEED_OK;
}

// Writes the segments of a run, [begin, end) as far as the batch goes, and what belongs to the stretch if
// that begins or ends with them. Returns why the stretch leaves, if it does.
template <class Kind>
inline rankfeed_reason Engine<Kind>::EmitRun(const Segments& segments, uint32_t begin, uint32_t end,
                                             uint32_t decoded_end, SegmentRun* run) {
  reference::CarriedScore* const score = call_.texts().score;
  if ((run->marks & SegmentRun::kBeginsStretch) != 0) {
    call_.BeginStretch();
    stretch_ = run->stretch;
    const uint32_t offset = call_.OffsetOf(stretch_);
    kind_.BeginStretch(stretch_, offset, offset == 0 && score != nullptr ? score->before : 0);
  }
  run->marks &= static_cast<uint8_t>(~(SegmentRun::kBeginsText | SegmentRun::kBeginsStretch));
  if (run->reason != RANKFEED_REASON_NONE) return run->reason;
  const bool ends = end == decoded_end && (run->marks & SegmentRun::kEndsStretch) != 0;
  rankfeed_reason reason;
  while ((reason = kind_.Emit(segments, begin, end, decoded_end)) != RANKFEED_REASON_NONE) {
    const SegmentWriter::Unwritten alone = kind_.unwritten();
    if (Kind::kPartsLeave || alone.segment == SegmentWriter::kNone) return reason;
    call_.sink().count = alone.token;
    reference::CarriedScore none;
    // An error comes again with all of the stretch.
    if (General(segments.Bytes(stretch_, alone.segment), reason, false, false, &none) != RANKFEED_OK) return reason;
    begin = alone.segment + 1;
  }
  if (!ends) return reason;
  reason = kind_.EndStretch(score != nullptr ? &score->after : nullptr);
  if (reason == RANKFEED_REASON_NONE && call_.texts().refuse_special &&
      call_.HoldsSpecial(model_, model_.unigram() ? image::kNoId : model_.config->unk_id)) {
    return RANKFEED_REASON_OPTIONS;
  }
  return reason;
}

// Writes the added token after a run, in the place that trim_offsets leaves it. Returns false if the call refuses it.
template <class Kind>
bool Engine<Kind>::AddToken(const SegmentRun& run) {
  uint32_t begin = run.token_begin, end = run.token_end;
  if (model_.has(image::kTrimOffsets)) {
    const std::string_view text = call_.text();
    const reference::EndSpaces spaces = reference::CountEndSpaces({text.data() + begin, end - begin});
    const uint32_t kept = reference::TrimBack(text, end, spaces.trailing);
    begin = reference::TrimFront(text, begin, end, spaces.leading);
    end = std::max(begin, kept);
  }
  return call_.AddToken(*run.token, begin, end);
}

// Cuts a part out around the segment that was not written, which becomes the first run, and takes the tokens
// of the part back; if no part can be cut out, nothing changes.
template <class Kind>
void Engine<Kind>::CutOut(rankfeed_reason reason) {
  queue_.Leave(0, kind_.unwritten().segment, reason, /*whole=*/false);
  if (queue_.front().reason != RANKFEED_REASON_NONE) return;  // it cannot
  queue_.PopRun();
  const uint32_t begin = call_.OffsetOf(queue_.front().stretch);
  const bool inside = queue_.front().stretch.data() != stretch_.data();
  // The U+2581 in front of a part may have the place of the separator before it.
  const uint32_t cut = inside && !keeps_separator_ ? begin - 1 : begin;
  TokenSink& sink = call_.sink();
  sink.count = kind_.unwritten().token;
  while (sink.count != call_.stretch_begin() && sink.begin[sink.count - 1] >= cut) --sink.count;
}

// Sends the first run to the general path if it is a part; or its stretch: its tokens go, and what
// of it still waits.
template <class Kind>
rankfeed_status Engine<Kind>::Leave(rankfeed_reason reason) {
  reference::CarriedScore score;
  if constexpr (Kind::kPartsLeave) {
    if (kind_.unwritten().segment != SegmentWriter::kNone) CutOut(reason);
    kind_.Forget();
    const SegmentRun run = queue_.front();
    const bool inside = run.stretch.data() != stretch_.data();
    if ((run.marks & SegmentRun::kPart) != 0 && kind_.EndPart(inside, &score.before)) {
      queue_.PopPart();
      const rankfeed_status status = General(run.stretch, reason, true, inside, &score);
      kind_.Resume(run.stretch, score.after);
      return status;
    }
  }
  call_.DropStretch();
  queue_.DropStretch();
  reference::CarriedScore* const carried = call_.texts().score;
  if (carried != nullptr && call_.OffsetOf(stretch_) == 0) score.before = carried->before;
  const rankfeed_status status = General(stretch_, reason, false, false, &score);
  if (carried != nullptr) carried->after = score.after;
  return status;
}

// Encodes bytes of the text in hand by the general path: a part of a stretch, inside if it is not the first
// one; or a stretch, or a segment that leaves alone.
template <class Kind>
rankfeed_status Engine<Kind>::General(std::string_view bytes, rankfeed_reason reason, bool part,
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

template class Engine<Unigram>;
template class Engine<WordPiece>;
template class Engine<Bpe>;

}  // namespace rankfeed::fast
