// SPDX-License-Identifier: MIT
// bench/bench_product.cc: the forward's float32 products (gpu_handoff/crossencoder/host/product.h)
// beside those of BLIS, which is loaded where it is installed (Debian's libblis4-serial), for the
// matrices of MiniLM-L6 and of BERT's and XLM-R's base and large sizes and for several numbers of
// rows. Both add a bias; w is laid out for ours before. Results are compared first. They take turns
// in one process, each timed in the CPU time of the thread until so many seconds are over: medians,
// and the median of the ratios within each turn.
//
// usage: bench_product [--target AVX2] [--seconds 0.5] [ROWS...]
// BLIS takes the kind of CPU that BLIS_ARCH_TYPE in the environment names: 0 Skylake-X, for AVX-512,
// 3 Haswell, for AVX2. Without it BLIS 0.9 does not find the CPU of many virtual machines.
#include <dlfcn.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "crossencoder/host/product.h"
#include "measure.h"

namespace rankfeed::bench {
namespace {

using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;  // cblas.h

Sgemm Blis() {
  void* const library = dlopen("libblis.so.4", RTLD_NOW);
  void* const found = library == nullptr ? nullptr : dlsym(library, "cblas_sgemm");
  if (found == nullptr) Die("no libblis.so.4: apt-get install libblis4-serial");
  return reinterpret_cast<Sgemm>(found);
}

// A kind of layers: [n, k] each.
struct Shape {
  const char* of;
  size_t n, k;
};
constexpr Shape kShapes[] = {
    {"MiniLM-L6 qkv", 1152, 384}, {"MiniLM-L6 out", 384, 384}, {"MiniLM-L6 up", 1536, 384}, {"MiniLM-L6 down", 384, 1536},
    {"base qkv", 2304, 768},      {"base out", 768, 768},      {"base up", 3072, 768},      {"base down", 768, 3072},
    {"large qkv", 3072, 1024},    {"large out", 1024, 1024},   {"large up", 4096, 1024},    {"large down", 1024, 4096},
};

std::vector<float> Random(size_t size, float scale, std::mt19937* random) {
  std::uniform_real_distribution<float> number(-scale, scale);
  std::vector<float> values(size);
  for (float& value : values) value = number(*random);
  return values;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns the ratio of times.
double Compare(const Shape& shape, size_t m, Sgemm blis, double seconds) {
  const size_t n = shape.n, k = shape.k;
  std::mt19937 random(1);
  const std::vector<float> x = Random(m * k, 1, &random), w = Random(n * k, 1, &random), bias = Random(n, 1, &random);
  std::vector<float> packed = w, out(m * n), expected(m * n), scratch(handoff::ProductScratch());
  if (!handoff::PackWeights(packed.data(), n, k)) Die("out of memory");
  const auto theirs = [&] {
    for (size_t r = 0; r < m; ++r) std::copy(bias.begin(), bias.end(), expected.begin() + static_cast<ptrdiff_t>(r * n));
    const int rows = static_cast<int>(m), columns = static_cast<int>(n), depth = static_cast<int>(k);
    blis(kRowMajor, kNoTrans, kTrans, rows, columns, depth, 1.0f, x.data(), depth, w.data(), depth, 1.0f, expected.data(), columns);
  };
  const auto ours = [&] {
    handoff::Product(x.data(), m, {packed.data(), true, bias.data(), n, k}, nullptr, out.data(), scratch.data());
  };
  theirs();
  ours();
  for (size_t i = 0; i < out.size(); ++i)
    if (!(std::fabs(out[i] - expected[i]) <= 1e-6f * static_cast<float>(k))) Die("results differ");
  std::vector<double> ratios, theirs_took, ours_took;
  for (double spent = 0; spent < seconds || ratios.size() < 5;) {
    const uint64_t begin = Clock(CLOCK_THREAD_CPUTIME_ID);
    theirs();
    const uint64_t between = Clock(CLOCK_THREAD_CPUTIME_ID);
    ours();
    const uint64_t end = Clock(CLOCK_THREAD_CPUTIME_ID);
    theirs_took.push_back(1e-9 * static_cast<double>(between - begin));
    ours_took.push_back(1e-9 * static_cast<double>(end - between));
    ratios.push_back(theirs_took.back() / ours_took.back());
    spent += theirs_took.back() + ours_took.back();
  }
  const double work = 2e-9 * static_cast<double>(m * n) * static_cast<double>(k);
  std::printf("%-15s %5zu x %4zu x %4zu: BLIS %6.1f, ours %6.1f GFLOP/s, ratio %.2f\n", shape.of, m, n, k,
              work / Median(theirs_took), work / Median(ours_took), Median(ratios));
  std::fflush(stdout);
  return Median(ratios);
}

int Main(int argc, char** argv) {
  double seconds = 0.5;
  std::vector<size_t> rows;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (word == "--target" && i + 1 < argc) {
      const std::string name = argv[++i];
      int64_t chosen = 0;
      for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
        if (name == hwy::TargetName(left & -left)) chosen = left & -left;
      if (chosen == 0) Die("this CPU has no " + name);
      hwy::SetSupportedTargetsForTest(chosen);
    } else if (const long count = std::atol(word.c_str()); count > 0) {
      rows.push_back(static_cast<size_t>(count));
    } else {
      Die("usage: bench_product [--target AVX2] [--seconds 0.5] [ROWS...]");
    }
  }
  if (rows.empty()) rows = {1, 2, 3, 16, 64, 160, 512};
  const char* const type = std::getenv("BLIS_ARCH_TYPE");
  std::printf("ours: %s; BLIS_ARCH_TYPE=%s\n", handoff::ProductTarget(), type == nullptr ? "" : type);
  const Sgemm blis = Blis();
  double least = INFINITY;
  for (const Shape& shape : kShapes)
    for (const size_t m : rows) least = std::min(least, Compare(shape, m, blis, seconds));
  std::printf("the lowest ratio: %.2f\n", least);
  return 0;
}

}  // namespace
}  // namespace rankfeed::bench

int main(int argc, char** argv) {
  return rankfeed::bench::Main(argc, argv);
}
