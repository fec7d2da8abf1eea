// SPDX-License-Identifier: MIT
// fast/words/engine.h: the fast road of models whose words are independent of each other. The queue, the
// scanner and the look-up are those of Unigram; what neither table has is spelled (speller.h), and
// the ids are written in order.
//
//   bytes ─scan─> segments ─look up─> found ──────────┐
//                              └─ misses ─spell─> ids ─┴─emit─> ids
//
// Segments of WordPiece end at white space and beside the signs of ASCII, where words end too; those of
// BPE are the splits of its pattern, and parts of them, which no merge crosses. So a segment has the same
// ids wherever it stands, and the cache needs no condition; but with ignore_merges, where a split that is a
// piece is that piece and a part of one is not, parts have keys of their own (image::kPartsHaveKeys). A
// segment that is too long for a key is spelled when it is written. One whose characters are read together
// with their neighbours takes the general path, alone or with its stretch (EmitSegment).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/layout.h"
#include "base/token_sink.h"
#include "fast/call.h"
#include "fast/look_up.h"
#include "fast/queue.h"
#include "fast/words/merge_speller.h"
#include "fast/words/speller.h"
#include "image/model.h"
#include "models/model.h"
#include "rankfeed/encode.h"
#include "reference/scratch.h"

namespace rankfeed::words {

// In PathInfo::score_bound of a segment with one id: its token covers all bytes.
inline constexpr uint16_t kCoversAll = 1;
// This value says that ids hold always, as all do here, and that CacheLine::kMaxIds of them may be read.
inline constexpr uint8_t kHoldsAlways = unigram::ExactnessRule::kAlways;

struct Scratch {
  fast::SegmentQueue::Scratch queue;
  fast::LookUp::Scratch look_up;
  WordPieceSpeller::Scratch speller;
  int32_t* ids = nullptr;
  fast::MergeWord* words = nullptr;
  void Carve(Layout& layout, const Model& model, uint32_t cache_bytes);
};

class Engine {
 public:
  // For the life of an encoder; what is passed must stay. wordpiece, merges: one of them is null.
  Engine(const Model& model, const fast::KernelTable& kernels, const ByteSet& stop_bytes,
         const fast::NormalizedTokens& normalized_tokens, const fast::Cuts& cuts,
         const WordPieceSpeller* wordpiece, const MergeSpeller* merges, reference::Scratch& general, Scratch& scratch);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Encodes the texts to the sink. flags: as reference::EncodeHuggingFaceStretch takes them. roads:
  // [RANKFEED_REASON_COUNT], counts what takes the general path. Errors: LIMIT, UNK_ID,
  // SPECIAL_IN_TEXT; then what was written of the text that Call::done names is void.
  rankfeed_status Encode(const fast::Texts& texts, uint32_t flags, TokenSink* sink,
                         rankfeed_road_counts* roads);

  // How far the last call came.
  const fast::Call& call() const { return call_; }

  static constexpr uint32_t kMaxIds = 8192;  // of the misses of a batch
  static constexpr uint32_t kBatch = 512;    // segments

 private:
  // A segment has a key, so each of its bytes becomes fewer ids than this.
  static constexpr uint32_t kMostOfOne = fast::SegmentKey::kMaxBytes * image::kMaxExpansionCodes;

  void SpellMisses(uint32_t count);
  rankfeed_status EmitBatch(uint32_t count, bool* left);
  rankfeed_status EmitSegments(fast::SegmentRun* run, const fast::Segments& segments, uint32_t begin, uint32_t end);
  rankfeed_status EmitSegment(fast::SegmentRun* run, const fast::Segments& segments, uint32_t i, bool places);
  bool AddToken(const fast::SegmentRun& run);
  rankfeed_status General(std::string_view bytes, rankfeed_reason reason);

  const Model& model_;
  const fast::KernelTable& kernels_;
  const fast::ByteClasses classes_;
  fast::SegmentQueue queue_;
  fast::LookUp look_up_;
  const WordPieceSpeller* const wordpiece_;  // of the two one is null
  const MergeSpeller* const merges_;
  const bool trims_;                 // the place of a token ends where its spaces do
  const bool looks_for_normalized_;  // some added tokens are looked for in normalized text
  reference::Scratch& general_;
  Scratch& scratch_;
  fast::Call call_;
};

}  // namespace rankfeed::words
