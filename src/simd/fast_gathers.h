// SPDX-License-Identifier: MIT
// simd/fast_gathers.h: whether loops that load from eight places at once pay on this CPU.
#pragma once

namespace rankfeed::simd {

// Whether this CPU has the AVX-512 of Highway's AVX3_DL, and gathers as fast as the loads they stand
// for: Intel CPUs before Sapphire Rapids are mended against gather data sampling (INTEL-SA-00828) at
// the cost of their speed. Tests choose other targets through hwy::SetSupportedTargetsForTest.
bool FastGathers();

// Whether this CPU can run such loops at all, fast or not. The features are those of AVX3_DL.
bool CanGather();

// What FastGathers() answers from now on, where CanGather(): what it is, or yes or no whatever the
// CPU. Tests run the loops on every CPU that has the features.
enum class Gathers { kWhereFast, kAlways, kNever };
void SetGathersForTest(Gathers gathers);

}  // namespace rankfeed::simd
