// SPDX-License-Identifier: MIT
// fast/kernels/dispatch.cc: the tables of loops, and which of them this CPU takes.
#include <hwy/targets.h>

#include <atomic>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fast/kernels/dispatch.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target: declares its loops.
#include "fast/kernels/loops.h"
#include "models/unigram/kernels/loops.h"

#if HWY_ONCE
namespace rankfeed::fast {
namespace {

// The loops of one Highway target.
#define RANKFEED_PORTABLE_TABLE(TARGET, CLASSIFY, FEW)                                        \
  KernelTable {                                                                               \
    .classify = CLASSIFY::Classify, .classify_splits = CLASSIFY::ClassifySplits,              \
    .classify_leads = CLASSIFY::ClassifyLeads, .find_apart = TARGET::FindApart,               \
    .list = TARGET::List, .list_starts = TARGET::ListStarts,                                  \
    .make_keys = TARGET::MakeKeys, .match_table = TARGET::MatchTable,                         \
    .match_words = TARGET::MatchWords,                                                        \
    .match_cache = TARGET::MatchCache, .match_longs = nullptr,                                \
    .find_repeats = TARGET::FindRepeats, .merge = TARGET::Merge,                              \
    .decode_short = TARGET::DecodeShort, .decode_run = TARGET::DecodeRun,                     \
    .decode_cjk = TARGET::DecodeCjk, .emit = TARGET::Emit,                                    \
    .search = {.look_up_spans = unigram::TARGET::LookUpSpans, .walk = unigram::TARGET::Walk,  \
               .relax_independent = nullptr, .relax = unigram::TARGET::Relax,                 \
               .trace = unigram::TARGET::Trace, .few = &FEW.search},                          \
    .few = &FEW,                                                                              \
  }

// Null pointers where this build has no such loops.
#if HWY_TARGETS & HWY_SCALAR
constexpr KernelTable kScalarTable = RANKFEED_PORTABLE_TABLE(N_SCALAR, N_SCALAR, kScalarTable);
constexpr const KernelTable* kScalar = &kScalarTable;
#elif HWY_TARGETS & HWY_EMU128
constexpr KernelTable kScalarTable = RANKFEED_PORTABLE_TABLE(N_EMU128, N_EMU128, kScalarTable);
constexpr const KernelTable* kScalar = &kScalarTable;
#else
constexpr const KernelTable* kScalar = nullptr;
#endif
#if HWY_TARGETS & HWY_SSSE3
constexpr KernelTable kSsse3Table = RANKFEED_PORTABLE_TABLE(N_SSSE3, N_SSSE3, kSsse3Table);
constexpr const KernelTable* kSsse3 = &kSsse3Table;
#else
constexpr const KernelTable* kSsse3 = nullptr;
#endif
#if HWY_TARGETS & HWY_SSE4
constexpr KernelTable kSse4Table = RANKFEED_PORTABLE_TABLE(N_SSE4, N_SSE4, kSse4Table);
constexpr const KernelTable* kSse4 = &kSse4Table;
#else
constexpr const KernelTable* kSse4 = nullptr;
#endif
#if HWY_TARGETS & HWY_NEON
constexpr KernelTable kNeonTable = RANKFEED_PORTABLE_TABLE(N_NEON, N_NEON, kNeonTable);
constexpr const KernelTable* kNeon = &kNeonTable;
#else
constexpr const KernelTable* kNeon = nullptr;
#endif
#if HWY_TARGETS & HWY_AVX2
constexpr KernelTable kAvx2Table = RANKFEED_PORTABLE_TABLE(N_AVX2, N_AVX2, kAvx2Table);
constexpr const KernelTable* kAvx2 = &kAvx2Table;
#else
constexpr const KernelTable* kAvx2 = nullptr;
#endif
#if HWY_TARGETS & HWY_AVX2 && HWY_TARGETS & HWY_AVX3
constexpr KernelTable kAvx512Table = RANKFEED_PORTABLE_TABLE(N_AVX2, N_AVX3, kAvx512Table);
constexpr KernelTable kAvx512GatherTable = {
    .classify = N_AVX3::Classify,
    .classify_splits = N_AVX3::ClassifySplits,
    .classify_leads = avx512::ClassifyLeads,
    .find_apart = avx512::FindApart,
    .list = avx512::List,
    .list_starts = avx512::ListStarts,
    .make_keys = avx512::MakeKeys,
    .match_table = avx512::MatchTable,
    .match_words = avx512::MatchWords,
    .match_cache = avx512::MatchShorts,
    .match_longs = N_AVX2::MatchLongs,
    .find_repeats = N_AVX2::FindRepeats,
    .merge = N_AVX2::Merge,
    .decode_short = avx512::DecodeShort,
    .decode_run = avx512::DecodeRun,
    .decode_cjk = avx512::DecodeCjk,
    .emit = N_AVX2::Emit,
    .search = {.look_up_spans = unigram::avx512::LookUpSpans,
               .walk = unigram::avx512::Walk,
               .relax_independent = unigram::avx512::RelaxIndependent,
               .relax = unigram::N_AVX2::Relax,
               .trace = unigram::avx512::Trace,
               .few = &kAvx512Table.search},
    .few = &kAvx512Table,
};
constexpr const KernelTable *kAvx512 = &kAvx512Table, *kAvx512Gather = &kAvx512GatherTable;
#else
constexpr const KernelTable *kAvx512 = nullptr, *kAvx512Gather = nullptr;
#endif

// Sets by Isa: name, the Highway targets whose instructions a CPU needs, the loops.
constexpr struct {
  const char* name;
  int64_t targets;
  const KernelTable* loops;
} kSets[kIsaCount] = {
    {"scalar", HWY_STATIC_TARGET | HWY_SCALAR | HWY_EMU128, kScalar},
    {"ssse3", HWY_SSSE3, kSsse3},
    {"sse4", HWY_SSE4, kSse4},
    {"avx2", HWY_AVX2, kAvx2},
    {"avx512", HWY_AVX3, kAvx512},
    {"avx512-gather", HWY_AVX3_DL, kAvx512Gather},
    {"neon", HWY_NEON, kNeon},
};

// Whether the loops that gather are the faster ones: from Sapphire Rapids and from Zen 5 on
// (bench/NOTES.md). Intel CPUs before are mended against gather data sampling (INTEL-SA-00828) at
// the cost of their speed.
bool FastGathers() {
#if HWY_ARCH_X86
  uint32_t a, b, c, d;
  // AVX512-FP16 (leaf 7, EDX bit 23) came with Sapphire Rapids; some virtual machines hide it.
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 23 & 1) != 0) return true;
  const bool intel = __get_cpuid(0, &a, &b, &c, &d) != 0 && b == signature_INTEL_ebx, amd = b == signature_AMD_ebx;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  constexpr uint32_t kZen5 = 0x1a;  // family: bits 11-8, and 27-20 added if those are all set
  constexpr uint32_t kSapphireRapids = 0x8f, kEmeraldRapids = 0xcf;
  const uint32_t family = a >> 8 & 0xf, model = (a >> 4 & 0xf) | (a >> 12 & 0xf0);
  if (intel) return family == 6 && (model == kSapphireRapids || model == kEmeraldRapids);
  return amd && family == 0xf && 0xf + (a >> 20 & 0xff) >= kZen5;
#else
  return false;
#endif
}

// Returns a bit for each set that the CPU can run, and kFastGathers. Asks once: in a virtual machine cpuid
// takes tens of microseconds.
constexpr uint32_t kKnown = 1u << 31, kFastGathers = 1u << 30;
uint32_t Cpu() {
  static std::atomic<uint32_t> known{0};
  uint32_t cpu = known.load(std::memory_order_relaxed);
  if (cpu != 0) return cpu;
  cpu = kKnown | (FastGathers() ? kFastGathers : 0);
  const int64_t supported = hwy::SupportedTargets();
  for (uint32_t i = 0; i < kIsaCount; ++i) {
    if ((kSets[i].targets & supported) != 0) cpu |= 1u << i;
  }
  known.store(cpu, std::memory_order_relaxed);
  return cpu;
}

constexpr uint8_t kNotForced = 0xff;
std::atomic<uint8_t> forced_isa{kNotForced};

}  // namespace

const char* IsaName(Isa isa) {
  const auto i = static_cast<uint32_t>(isa);
  return i < kIsaCount ? kSets[i].name : nullptr;
}

const KernelTable* KernelsOf(Isa isa) {
  const auto i = static_cast<uint32_t>(isa);
  return i < kIsaCount && (Cpu() >> i & 1) != 0 ? kSets[i].loops : nullptr;
}

Isa ChosenIsa() {
  const uint8_t forced = forced_isa.load(std::memory_order_relaxed);
  if (forced != kNotForced) return Isa{forced};
  for (auto i = static_cast<uint8_t>(kIsaCount); i-- > 0;) {
    const bool pays = Isa{i} != Isa::kAvx512Gather || (Cpu() & kFastGathers) != 0;
    if (pays && KernelsOf(Isa{i}) != nullptr) return Isa{i};
  }
  return Isa::kScalar;
}

bool ForceIsa(Isa isa) {
  if (KernelsOf(isa) == nullptr) return false;
  forced_isa.store(static_cast<uint8_t>(isa), std::memory_order_relaxed);
  return true;
}

void ForgetForcedIsa() {
  forced_isa.store(kNotForced, std::memory_order_relaxed);
}

}  // namespace rankfeed::fast
#endif  // HWY_ONCE
