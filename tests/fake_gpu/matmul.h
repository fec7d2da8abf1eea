// SPDX-License-Identifier: MIT
// matmul.h: what the fakes of cuBLASLt and hipBLASLt share: plain descriptors, checks of use, and
// the product itself, by the host's own.
//
// Both libraries take out[n, m] = op(w)[n, k] x[k, m] in column-major order. A layout and a
// description that were destroyed, an algorithm that was chosen for another shape or with more
// workspace than there is, a misaligned pointer and memory that is too small are findings.
#ifndef RANKFEED_TESTS_FAKE_GPU_MATMUL_H_
#define RANKFEED_TESTS_FAKE_GPU_MATMUL_H_

#include <cstddef>
#include <cstdint>

#include "fake_gpu/device.h"

namespace fake_gpu {

enum class Element { kF32, kF16, kBf16 };

struct Handle {
  int device;
  bool alive;
};
struct Description {
  bool alive = true, transpose_w = false, float_sums = false;
};
struct Layout {
  bool alive = true;
  Element element = Element::kF32;
  uint64_t rows = 0, columns = 0;
  int64_t stride = 0;
};
struct Preference {
  bool alive = true;
  uint64_t workspace = 0;
  uint32_t reductions = 7;  // all, the libraries' default
};
// What an algorithm's opaque bytes hold: it is good for one problem.
struct Algorithm {
  uint64_t magic, n, m, k, workspace;
};
inline constexpr uint64_t kAlgorithmMagic = 0x6661746d6c676b31;

struct Product {
  const Handle* handle;
  const Description* description;
  const Layout *w, *x, *out;
  const void *w_at, *x_at, *out_in;
  void* out_at;
  Algorithm algorithm;
  void* workspace;
  uint64_t workspace_bytes;
  float alpha, beta;
};

// Everything below: inside Call.
Handle* NewHandle();
void DestroyHandle(Handle* handle);
Description* NewDescription();
Layout* NewLayout(Element element, uint64_t rows, uint64_t columns, int64_t stride);
Preference* NewPreference();
// Fails a check when the object is not alive. Destroyed objects stay readable.
template <class Object>
bool DestroyObject(Object* object, const char* what) {
  if (object == nullptr || !object->alive) {
    Found("matmul-object-not-alive", what);
    return false;
  }
  object->alive = false;
  CountMatmulObjects(-1);
  return true;
}

// False: no algorithm.
bool Choose(const Description& description, const Layout& w, const Layout& x, const Layout& out,
            const Preference& preference, Algorithm* algorithm);
Code Multiply(const Product& product, Stream* stream);

}  // namespace fake_gpu

#endif  // RANKFEED_TESTS_FAKE_GPU_MATMUL_H_
