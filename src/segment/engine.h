// SPDX-License-Identifier: MIT
// segment/engine.h: the fast path: text cut into segments that are looked up or searched one by
// one, in both parity modes.
//
// A segment (segment/scan.h) is a stretch that no piece of the vocabulary crosses the ends of, so
// the best path of a text is the best paths of its segments, up to rounding (segment/exactness.h).
// Segments are looked up by their raw bytes, a batch at a time with all memory fetched ahead: first
// in the image's table of segments that are one token, then in a cache of segments seen before
// (segment/cache.h). What both miss is decoded (segment/decode.h) and searched together
// (segment/search.h). Text that needs no normalization is never copied, and most of it is never even
// decoded. A segment whose margin does not settle its ids at the score accumulated so far is
// searched once more with the reference's own sums (segment/exact_path.h).
//
// Exactness does not rest on these files alone: builder/segment_tables.cc decides which pipelines may
// use them and which characters force a segment through the normalizer or a text off this path.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/layout.h"
#include "image/model.h"
#include "base/token_sink.h"
#include "simd/kernels.h"
#include "segment/decode.h"
#include "segment/exact_path.h"
#include "segment/kernels/kernels.h"
#include "segment/scan.h"
#include "segment/search.h"
#include "segment/cache.h"

namespace rankfeed::segment {

// Segments of one text that lie next to each other in the scratch.
struct SegmentRun {
  std::string_view text;
  uint32_t begin, end;  // in Scratch::segments
  bool first, last;     // of the text's runs
};

struct Scratch {
  static constexpr uint32_t kBatch = 2048;  // segments searched together, at most
  static constexpr uint32_t kRuns = 256;    // whose segments may wait
  // A segment of a key has no more, the U+2581 included.
  static constexpr uint32_t kSegmentCodes = image::kMaxExpansionCodes * sizeof(SegmentKey);
  static constexpr uint32_t kNormalizedBytes = 16 * 1024;

  const simd::Kernels* kernels = nullptr;
  Kernels word_kernels = {};
  LookUpKernels look_up = {};
  SegmentCache cache;
  Stream stream;
  ExactPath exact;
  simd::ClassMasks* masks = nullptr;
  SegmentMasks* segment_masks = nullptr;
  Segments segments = {};  // a block's, behind those of a batch
  SegmentRun* runs = nullptr;   // kRuns
  LookUpBatch batch = {};
  uint16_t* slots = nullptr;   // kRepeatSlots
  PartScratch parts;
  uint16_t* codes = nullptr;   // of one segment
  char* normalized = nullptr;  // kNormalizedBytes

  void Carve(Layout& layout, uint32_t cache_bytes) {
    cache.Carve(layout, cache_bytes);
    stream.Carve(layout);
    exact.Carve(layout, Stream::kCapacity);
    masks = layout.Take<simd::ClassMasks>(SegmentScanner::kBlockBytes / 64);
    segment_masks = layout.Take<SegmentMasks>(SegmentScanner::kBlockBytes / 64);
    segments.begins = layout.Take<uint32_t>(kBatch + SegmentScanner::kMaxSegments);
    segments.ends = layout.Take<uint32_t>(kBatch + SegmentScanner::kMaxSegments);
    runs = layout.Take<SegmentRun>(kRuns);
    constexpr uint32_t kEntries = kBatch + LookUpBatch::kBeyond;
    batch.keys = layout.Take<SegmentKey>(kEntries);
    for (uint64_t*& part : batch.parts) part = layout.Take<uint64_t>(kEntries);
    batch.hashes = layout.Take<uint64_t>(kEntries);
    batch.found = layout.Take<Found>(kEntries);
    batch.misses = layout.Take<uint16_t>(kEntries);
    slots = layout.Take<uint16_t>(kRepeatSlots);
    parts.Carve(layout);
    codes = layout.Take<uint16_t>(kSegmentCodes);
    normalized = layout.Take<char>(kNormalizedBytes);
  }
};

// Whether the image allows this path at all.
inline bool Available(const Model& model) {
  return model.segment.config.has_value();
}

// What to encode together. Short texts share batches, so that what one of them fetches arrives
// while others work; each one's ids are those it has alone.
struct Texts {
  std::span<const std::string_view> texts;
  std::span<const uint32_t> before, after;  // ids put around every text
  uint32_t* ends = nullptr;                 // nullable; by text: sink.count after it
  // Nullable. Whether a text is to take the general path; asked in order as texts are read, as looking
  // at all of them before would wait for memory, and of some only if they hold a byte of stop_bytes.
  bool (*leave)(const void* leave_for, std::string_view text) = nullptr;
  const void* leave_for = nullptr;
  simd::ByteSet stop_bytes = {};
};

// Encodes texts (HuggingFace: stretches that hold no added token), one behind the other. Returns
// how many were done: the next one, if any, needs the general path. sink.count is where the last one
// done ends; columns beyond it are unspecified.
size_t Encode(const Model& model, Scratch& scratch, const Texts& texts,
                   TokenSink& sink);

// The same for one text; false when it needs the general path.
inline bool Encode(const Model& model, Scratch& scratch, std::string_view text,
                        TokenSink& sink) {
  return Encode(model, scratch, Texts{{&text, 1}, {}, {}}, sink) == 1;
}

}  // namespace rankfeed::segment
