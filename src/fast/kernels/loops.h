// SPDX-License-Identifier: MIT
// fast/kernels/loops.h: the loops of portable_*.cc, as each Highway target has them, and those of
// avx512_*.cc. Included again for every target, so it has no guard; dispatch.cc makes the tables.
#include <hwy/highway.h>

#include "base/avx512.h"
#include "fast/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace rankfeed::fast {
namespace HWY_NAMESPACE {

bool Classify(const char*, size_t, const ByteClasses&, ClassMasks*);
bool ClassifySplits(const char*, size_t, const ByteSet&, SplitMasks*);
void ClassifyLeads(const char*, size_t, size_t, const CharacterTables&, LeadMasks*);
uint64_t FindApart(const char*, size_t, uint64_t, const CharacterTables&, char32_t*);
void List(const BoundaryMasks*, uint32_t, uint32_t, const Segments&, uint32_t*, uint32_t*);
uint32_t ListStarts(const BoundaryMasks*, uint32_t, uint32_t, uint32_t*);
void MakeKeys(const LookUpTables&, const char*, size_t, const Segments&, uint32_t, uint32_t, const LookUpBatch&);
uint32_t MatchTable(const LookUpTables&, uint32_t, uint32_t, const LookUpBatch&, uint32_t);
uint32_t MatchWords(const LookUpTables&, uint32_t, uint32_t, const LookUpBatch&, uint32_t);
uint32_t MatchCache(const LookUpTables&, const LookUpBatch&, uint32_t);
uint32_t MatchLongs(const LookUpTables&, const LookUpBatch&, uint32_t);
uint32_t FindRepeats(const LookUpBatch&, uint32_t, uint32_t, uint16_t*, Repeat*, uint32_t*);
void Merge(const bpe::Merger&, uint32_t*, MergeWord*, uint32_t);
uint32_t DecodeShort(const Segments&, const SegmentKey*, const uint16_t*, uint32_t, ShortDecode*);
const char* DecodeRun(const char*, RunDecode*);
const char* DecodeCjk(const char*, RunDecode*);
uint32_t Emit(const Found*, uint32_t, uint32_t, int32_t**, uint64_t*);

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::fast
HWY_AFTER_NAMESPACE();

#if HWY_ARCH_X86
namespace rankfeed::fast::avx512 {

using namespace rankfeed::avx512;  // NOLINT: intrinsics under short names

RANKFEED_GATHER void ClassifyLeads(const char*, size_t, size_t, const CharacterTables&, LeadMasks*);
RANKFEED_GATHER uint64_t FindApart(const char*, size_t, uint64_t, const CharacterTables&, char32_t*);
RANKFEED_GATHER void List(const BoundaryMasks*, uint32_t, uint32_t, const Segments&, uint32_t*, uint32_t*);
RANKFEED_GATHER uint32_t ListStarts(const BoundaryMasks*, uint32_t, uint32_t, uint32_t*);
RANKFEED_GATHER void MakeKeys(const LookUpTables&, const char*, size_t, const Segments&, uint32_t, uint32_t,
                              const LookUpBatch&);
RANKFEED_GATHER uint32_t MatchTable(const LookUpTables&, uint32_t, uint32_t, const LookUpBatch&, uint32_t);
RANKFEED_GATHER uint32_t MatchWords(const LookUpTables&, uint32_t, uint32_t, const LookUpBatch&, uint32_t);
RANKFEED_GATHER uint32_t MatchShorts(const LookUpTables&, const LookUpBatch&, uint32_t);
RANKFEED_GATHER uint32_t DecodeShort(const Segments&, const SegmentKey*, const uint16_t*, uint32_t, ShortDecode*);
RANKFEED_GATHER const char* DecodeRun(const char*, RunDecode*);
RANKFEED_GATHER const char* DecodeCjk(const char*, RunDecode*);

}  // namespace rankfeed::fast::avx512
#endif  // HWY_ARCH_X86
