// SPDX-License-Identifier: MIT
// fast/unigram.cc: see unigram.h.
#include "fast/unigram.h"

namespace rankfeed::fast {

void Unigram::Scratch::Carve(Layout& layout, const Model&) {
  paths.Carve(layout, SpanDecoder::kMaxSpans);
  decoder.Carve(layout);
  codes = layout.Take<uint16_t>(SpanDecoder::kMaxSegmentCodes);
  ledger.Carve(layout);
}

void Unigram::Scratch::CarveLast(Layout& layout) {
  ledger.lattice.Carve(layout, std::max(SpanBatch::kCapacity, SpanDecoder::kMaxSegmentCodes));
}

Unigram::Unigram(const Model& model, const KernelTable& kernels, const NormalizedTokens& normalized_tokens,
                 const reference::Scratch&, LookUp& look_up, Scratch& scratch)
    : SegmentWriter(kernels, look_up),
      model_(model),
      look_up_(look_up),
      scratch_(scratch),
      rule_(model, model.segment.config->cost_unit),
      paths_(model, kernels.search, scratch.paths),
      decoder_(model, kernels, normalized_tokens, scratch.paths.search, scratch.decoder),
      leaves_(unigram::Path::Leaves(model.has(image::kByteFallback))),
      signs_(model),
      ledger_(model, rule_, scratch.ledger),
      places_(model.huggingface() ? Places(std::in_place_type<Offsets>, model)
                                  : Places(std::in_place_type<SpOffsets>, model)) {
  const uint32_t space = model.PieceOfCode(model.segment.config->space_code);
  if (!rule_.goes_on() && space != trie::kNoValue && space != model.config->unk_id) space_id_ = space;
}

uint32_t Unigram::Solve(SegmentQueue& queue, uint32_t count) {
  const bool resumed = resumes();
  const uint32_t end = decoder_.Decode(queue, count, look_up_);
  const uint32_t used = decoder_.used();
  next_decoded_ = 0;
  unwritten_.segment = kNone;
  decoded_count_ = decoder_.decoded_count();
  if (decoded_count_ != 0) {
    paths_.Solve(decoder_.runs(), decoder_.cjk_codes(), rule_);
    Resolve(end);
  }
  // The next batch is as long as will use seven eighths of the search's room if its segments are like these.
  if (!resumed && end != 0) {
    const uint32_t fits = end * (decoder_.search_room() * 7 / 8) / std::max(used, 1u);
    batch_ = std::min({std::max(fits, kLeastBatch), 2 * batch_, LookUp::kMaxBatch});
  }
  return end;
}

// Segments of one span have their ids in found() now, repeats before segment `end` what the segments
// have that they repeat; decoded() is left with what is neither.
void Unigram::Resolve(uint32_t end) {
  // Copies: for all the compiler knows what is stored below is what the members point to.
  Found* const all = found_;
  Decoded* const decoded = decoder_.decoded();
  uint16_t* const inserts = look_up_.inserts();
  const uint32_t count = decoded_count_;
  uint32_t left = 0, insert_count = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const Decoded miss = decoded[k];
    const Found found = miss.cacheable ? paths_.found(miss.first) : Found{};
    // Ids hold up to the score that the info names; beyond it the segment is decoded again from its bytes. Where they
    // never hold, the span is searched anew, if it is no short one.
    const bool may_hold = found.info.exact_below != 0;
    if (found.info.count != 0 && (may_hold || paths_.IsShort(miss.first))) {
      all[miss.segment] = found;
      inserts[insert_count] = miss.segment;
      insert_count += may_hold;
    } else {
      all[miss.segment].ids = nullptr;
      decoded[left++] = miss;
    }
  }
  decoded_count_ = left;
  look_up_.SetInserts(insert_count);
  if (!look_up_.repeats().empty()) ResolveRepeats(end);
}

void Unigram::ResolveRepeats(uint32_t end) {
  Decoded* const decoded = decoder_.decoded();
  const uint32_t own = decoded_count_;
  for (const auto [segment, of] : look_up_.repeats()) {
    if (segment >= end) break;
    found_[segment] = found_[of];
    if (found_[of].ids != nullptr) continue;
    // A miss, or itself a repeat of one.
    const auto before = [](const Decoded& a, uint16_t wanted) { return a.segment < wanted; };
    const Decoded* miss = std::lower_bound(decoded, decoded + own, of, before);
    if (miss == decoded + own || miss->segment != of) {
      miss = decoded + decoded_count_ - 1;
      while (miss->segment != of) --miss;
    }
    decoded[decoded_count_] = *miss;
    decoded[decoded_count_++].segment = segment;
  }
  if (decoded_count_ == own) return;
  std::sort(decoded, decoded + decoded_count_,
            [](const Decoded& a, const Decoded& b) { return a.segment < b.segment; });
}

}  // namespace rankfeed::fast
