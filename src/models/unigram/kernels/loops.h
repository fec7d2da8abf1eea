// SPDX-License-Identifier: MIT
// models/unigram/kernels/loops.h: the loops of portable_search.cc, as each Highway target has them,
// and those of avx512_search.cc. Included again for every target, so it has no guard.
#include <hwy/highway.h>

#include "base/avx512.h"
#include "models/unigram/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace rankfeed::unigram {
namespace HWY_NAMESPACE {

uint32_t LookUpSpans(const SpanTable&, const SpanList&, Found*, uint16_t*);
Visits Walk(const Lattice&, const Span*, uint32_t);
void Relax(const Lattice&, uint32_t, uint32_t);
void Trace(const Lattice&, const ExactnessRule&, const Span*, uint32_t, Path*);

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::unigram
HWY_AFTER_NAMESPACE();

#if HWY_ARCH_X86
namespace rankfeed::unigram::avx512 {

using namespace rankfeed::avx512;  // NOLINT: intrinsics under short names

RANKFEED_GATHER uint32_t LookUpSpans(const SpanTable&, const SpanList&, Found*, uint16_t*);
RANKFEED_GATHER Visits Walk(const Lattice&, const Span*, uint32_t);
RANKFEED_GATHER void RelaxIndependent(const Lattice&, uint32_t);
RANKFEED_GATHER void Trace(const Lattice&, const ExactnessRule&, const Span*, uint32_t, Path*);

}  // namespace rankfeed::unigram::avx512
#endif  // HWY_ARCH_X86
