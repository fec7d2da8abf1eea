// SPDX-License-Identifier: MIT
// fuzz/kernels.cc: every SIMD target of this processor equals the scalar definition, over texts in
// blocks of their own, at every alignment. An execution is one text through one target.
#include "fast/kernels/kernels.h"

#include "engine.h"
#include "input.h"

namespace rankfeed::fuzz {
namespace {

std::vector<const fast::KernelTable*> AllKernels() {
  std::vector<const fast::KernelTable*> found;
  for (uint8_t i = 0; i < fast::kIsaCount; ++i) {
    const fast::KernelTable* const kernels = fast::KernelsOf(fast::Isa{i});
    if (kernels != nullptr) found.push_back(kernels);
  }
  FUZZ_ASSERT(!found.empty());
  return found;
}

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  ByteSet set;
  bool expected[256] = {};
  for (size_t n = in.Below(12); n > 0; --n) {
    const uint8_t b = in.U8() % 128;
    set.Add(b);
    expected[b] = true;
  }
  ByteSet other;
  for (size_t n = in.Below(12); n > 0; --n) other.Add(in.U8() % 128);
  const size_t skip = in.Below(64);  // alignment
  const std::string_view text = in.Take(bytes.size());
  const std::unique_ptr<char[]> block(new char[skip + text.size()]);
  if (!text.empty()) std::memcpy(block.get() + skip, text.data(), text.size());
  const char* data = block.get() + skip;
  const size_t words = text.size() / 64 + 1;
  for (const fast::KernelTable* kernels : AllKernels()) {
    ++counters.executions;
    const std::unique_ptr<fast::ClassMasks[]> masks(new fast::ClassMasks[words]);
    const bool found =
        kernels->classify(data, text.size(), {set, other, set, other}, masks.get());
    bool any = false;
    for (size_t i = 0; i < text.size(); ++i) any |= other.Has(static_cast<uint8_t>(data[i]));
    FUZZ_ASSERT(found == any);
    for (size_t i = 0; i < (text.size() + 63) / 64 * 64; ++i) {
      const bool inside = i < text.size();
      const auto byte = static_cast<unsigned char>(inside ? data[i] : 0);
      const fast::ClassMasks& m = masks[i / 64];
      FUZZ_ASSERT((m.separator >> (i % 64) & 1) == (!inside || expected[byte] ? 1u : 0u));
      FUZZ_ASSERT((m.letter >> (i % 64) & 1) == (inside && expected[byte] ? 1u : 0u));
      FUZZ_ASSERT((m.common >> (i % 64) & 1) == (inside && other.Has(byte) ? 1u : 0u));
    }
  }
}

void Generate(Random& random, Bytes* input) {
  const size_t size = 16 + random.Below(random.OneIn(16) ? 2000 : 200);
  const size_t range = random.OneIn(2) ? 256 : 64;
  for (size_t i = 0; i < size; ++i) input->push_back(static_cast<uint8_t>(random.Below(range)));
}

const Register registered({"kernels", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
