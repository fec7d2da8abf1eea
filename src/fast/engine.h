// SPDX-License-Identifier: MIT
// fast/engine.h: the fast road from text to ids, one loop for all kinds of models, in both parity modes.
//
// The path of a text:
//
//   bytes ─scan─> segments ─look up─> found ────────────────────────────────────────────┐
//                              └─ misses ─(Unigram) decode─> spans ─search─> paths ─────┴─emit─> ids
//                                       └─(WordPiece, BPE) spell─> ids ─────────────────┘
//
// Words used here, in all files of this room and in the sections of an image:
//
//   stretch      text between two added tokens, or a whole text: what a reference encodes at once.
//   segment      bytes whose ends no piece of the vocabulary crosses, so that the best path of a
//                stretch is the best paths of its segments, up to rounding. Ends at a boundary.
//   word start   a segment before which the reference puts a U+2581, the metaspace.
//   span         codes of characters with one best path: a segment or a part of one.
//   code         number of a character in the vocabulary's trie; unknown ones share the last.
//   direct code  of a character that is a piece, one code, and stands for itself in any company.
//   expansion    the codes of a character that normalizes to others.
//   sign         a punctuation character that is a word of its own (signs.h).
//   hit, miss    a segment that a table has, or has not.
//   path         ids of a span, with the least score they can have, and the margin: by how much any
//                other path is worse (exactness.h says what for).
//   bound        at least -score so far. Ids of a path hold as long as it is low enough.
//   to hold      a path is what the reference finds at the score so far. Where it may not be, the
//                reference's own search decides (ledger.h).
//   general path what encodes a stretch that the engine cannot (reference/): any pipeline, any text.
//   cut          a separator that a stretch may be parted at (cuts.h).
//   part         what is between the cuts around a segment that the engine cannot encode: it takes
//                the general path, and the rest of its stretch stays.
//   kind         what the engine asks of a kind of model: Unigram (unigram.h), WordPiece and Bpe
//                (words.h). It solves the misses of a batch, writes ids and gives them their places.
//   stop bytes   ASCII bytes that added tokens begin with.
//
// Exactness does not rest on these files alone: the builder decides which pipelines may use them
// and which characters send a segment through the normalizer or a stretch to the general path.
//
// The files, in the order in which text meets them: queue (texts to runs of segments) with opening
// and cuts, scan, look_up with cache and key; then of Unigram decode with group_reader and
// span_writer, models/unigram (paths, ledger), unigram with offsets; of the others words with wordpiece
// or bpe, and word_cuts for offsets. segment_writer is what all kinds write with. All loops are in kernels/.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/layout.h"
#include "base/token_sink.h"
#include "fast/call.h"
#include "fast/look_up.h"
#include "fast/queue.h"
#include "fast/unigram.h"
#include "fast/words.h"
#include "image/model.h"
#include "rankfeed/encode.h"
#include "stretch/added_tokens.h"
#include "reference/scratch.h"

namespace rankfeed::fast {

// Returns whether the image allows this road at all.
inline bool Available(const Model& model) {
  return model.segment.config.has_value();
}

template <class Kind>
class Engine {
 public:
  struct Scratch {
    SegmentQueue::Scratch queue;
    LookUp::Scratch look_up;
    typename Kind::Scratch kind;
    using Engine = fast::Engine<Kind>;

    void Carve(Layout& layout, const Model& model, uint32_t cache_bytes) {
      look_up.Carve(layout, cache_bytes);
      kind.Carve(layout, model);
      queue.Carve(layout);
      kind.CarveLast(layout);
    }
  };

  // For the life of an encoder; what is passed must stay.
  Engine(const Model& model, const KernelTable& kernels, const NormalizedTokens& normalized_tokens,
         const Cuts& cuts, reference::Scratch& general, Scratch& scratch);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Encodes the texts to the sink; what leaves the fast road takes the general path then and there.
  // flags: as reference::EncodeHuggingFaceStretch takes them. roads: [RANKFEED_REASON_COUNT], counts
  // what leaves. Errors: those of the general path, SPECIAL_IN_TEXT (at a token that the call
  // refuses) and LIMIT (32 bits could not count on); then what was written of the text that
  // Call::done names is void.
  rankfeed_status Encode(const Texts& texts, uint32_t flags, TokenSink* sink, rankfeed_road_counts* roads);

  // Returns how far the last call came.
  const Call& call() const { return call_; }

 private:
  rankfeed_status EmitBatch(const Segments& segments, uint32_t count, bool* left);
  [[gnu::always_inline]] rankfeed_reason EmitRun(const Segments& segments, uint32_t begin,
                                                 uint32_t end, uint32_t decoded_end,
                                                 SegmentRun* run);
  bool AddToken(const SegmentRun& run);
  void CutOut(rankfeed_reason reason);
  rankfeed_status Leave(rankfeed_reason reason);
  rankfeed_status General(std::string_view bytes, rankfeed_reason reason, bool part, bool inside,
                          reference::CarriedScore* score);

  const Model& model_;
  const bool keeps_separator_;  // Cuts::keeps_separator
  const ByteClasses classes_;
  SegmentQueue queue_;
  LookUp look_up_;
  Kind kind_;
  reference::Scratch& general_;
  Call call_;
  std::string_view stretch_;  // the one that is written
};

}  // namespace rankfeed::fast
