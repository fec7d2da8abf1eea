// SPDX-License-Identifier: MIT
// matmul.cc: see matmul.h.
#include "fake_gpu/matmul.h"

#include <memory>
#include <vector>

#include "crossencoder/host/product.h"
#include "crossencoder/model/float16.h"
#include "fake_gpu/memory.h"
#include "fake_gpu/thread_sanitizer.h"

namespace fake_gpu {
namespace {

using rankfeed::handoff::Bf16OfFloat;
using rankfeed::handoff::F16OfFloat;
using rankfeed::handoff::FloatOfBf16;
using rankfeed::handoff::FloatOfF16;

// Never freed before the process ends: a destroyed one can be told from garbage.
template <class Object>
Object* Keep(Object object) {
  static auto* const all = new std::vector<std::unique_ptr<Object>>;
  all->push_back(std::make_unique<Object>(object));
  return all->back().get();
}

size_t BytesOf(Element element) {
  return element == Element::kF32 ? 4 : 2;
}
size_t Extent(const Layout& layout) {
  return (static_cast<size_t>(layout.stride) * (layout.columns - 1) + layout.rows) *
         BytesOf(layout.element);
}

// The compact matrix as floats, column by column.
std::vector<float> Read(const Layout& layout, const void* at) {
  std::vector<float> values(layout.rows * layout.columns);
  for (uint64_t c = 0; c < layout.columns; ++c) {
    for (uint64_t r = 0; r < layout.rows; ++r) {
      const uint64_t from = c * static_cast<uint64_t>(layout.stride) + r;
      float& to = values[c * layout.rows + r];
      if (layout.element == Element::kF32) {
        to = static_cast<const float*>(at)[from];
      } else {
        const uint16_t bits = static_cast<const uint16_t*>(at)[from];
        to = layout.element == Element::kF16 ? FloatOfF16(bits) : FloatOfBf16(bits);
      }
    }
  }
  return values;
}

void Write(const Layout& layout, const std::vector<float>& values, void* at) {
  for (uint64_t c = 0; c < layout.columns; ++c) {
    for (uint64_t r = 0; r < layout.rows; ++r) {
      const uint64_t to = c * static_cast<uint64_t>(layout.stride) + r;
      const float value = values[c * layout.rows + r];
      if (layout.element == Element::kF32) {
        static_cast<float*>(at)[to] = value;
      } else {
        static_cast<uint16_t*>(at)[to] =
            layout.element == Element::kF16 ? F16OfFloat(value) : Bf16OfFloat(value);
      }
    }
  }
}

bool Fits(const Description& description, const Layout& w, const Layout& x, const Layout& out) {
  const uint64_t k = description.transpose_w ? w.rows : w.columns;
  const uint64_t n = description.transpose_w ? w.columns : w.rows;
  return x.rows == k && out.rows == n && x.columns == out.columns &&
         w.stride >= static_cast<int64_t>(w.rows) && x.stride >= static_cast<int64_t>(x.rows) &&
         out.stride >= static_cast<int64_t>(out.rows);
}

bool Aligned(const void* at) {
  return reinterpret_cast<uintptr_t>(at) % 16 == 0;
}

}  // namespace

Handle* NewHandle() {
  CountMatmulObjects(1);
  return Keep(Handle{CurrentDevice(), true});
}
Description* NewDescription() {
  CountMatmulObjects(1);
  return Keep(Description());
}
Layout* NewLayout(Element element, uint64_t rows, uint64_t columns, int64_t stride) {
  CountMatmulObjects(1);
  return Keep(Layout{true, element, rows, columns, stride});
}
Preference* NewPreference() {
  CountMatmulObjects(1);
  return Keep(Preference());
}

bool Choose(const Description& description, const Layout& w, const Layout& x, const Layout& out,
            const Preference& preference, Algorithm* algorithm) {
  if (!description.alive || !w.alive || !x.alive || !out.alive || !preference.alive)
    Found("matmul-object-not-alive", "choosing an algorithm");
  if (!Fits(description, w, x, out)) Found("matmul-shapes", "choosing an algorithm");
  // Sums of half types in half precision lose what the bounds on scores allow (CUBLASLT_REDUCTION_
  // SCHEME_INPLACE 1 and OUTPUT_TYPE 4).
  if (out.element != Element::kF32 && (preference.reductions & 5u) != 0)
    Found("matmul-reduction-in-half", "split sums may be added in the output's type");
  if (Options().no_matmul != 0) return false;
  *algorithm = {kAlgorithmMagic, out.rows, out.columns, x.rows, preference.workspace / 2};
  return true;
}

Code Multiply(const Product& p, Stream* stream) {
  const int device = DeviceOf(stream);
  if (device < 0) return Code::kInvalidHandle;
  if (!p.handle->alive || !p.description->alive || !p.w->alive || !p.x->alive || !p.out->alive) {
    Found("matmul-object-not-alive", "a product with a destroyed handle, description or layout");
    return Code::kInvalidHandle;
  }
  if (p.handle->device != device || CurrentDevice() != device) {
    Found("matmul-on-other-device", "handle, stream and current device differ");
    return Code::kInvalidHandle;
  }
  if (!Fits(*p.description, *p.w, *p.x, *p.out)) {
    Found("matmul-shapes", "a product of matrices that do not fit");
    return Code::kInvalidValue;
  }
  const Algorithm& a = p.algorithm;
  if (a.magic != kAlgorithmMagic || a.n != p.out->rows || a.m != p.out->columns ||
      a.k != p.x->rows) {
    Found("matmul-algorithm-of-other-shape", "the algorithm was not chosen for this product");
    return Code::kInvalidValue;
  }
  if (a.workspace > p.workspace_bytes) {
    Found("matmul-workspace", "the algorithm needs more workspace than it is given");
    return Code::kInvalidValue;
  }
  if (!Aligned(p.w_at) || !Aligned(p.x_at) || !Aligned(p.out_at) ||
      reinterpret_cast<uintptr_t>(p.workspace) % 256 != 0) {
    Found("matmul-alignment", "operands at 16 bytes, the workspace at 256");
    return Code::kInvalidValue;
  }
  if (!DeviceMayTouch(p.w_at, Extent(*p.w), device, "weights of a product") ||
      !DeviceMayTouch(p.x_at, Extent(*p.x), device, "input of a product") ||
      !DeviceMayTouch(p.out_at, Extent(*p.out), device, "output of a product") ||
      (p.workspace_bytes != 0 &&
       !DeviceMayTouch(p.workspace, p.workspace_bytes, device, "workspace of a product"))) {
    return Code::kInvalidValue;
  }
  return Enqueue(stream, "matmul", [p] {
    const Layout w = *p.w, x = *p.x, out = *p.out;
    SeenRead(p.w_at, Extent(w));
    SeenRead(p.x_at, Extent(x));
    SeenWrite(p.out_at, Extent(out));
    std::vector<float> product =
        p.beta != 0 ? Read(out, p.out_in) : std::vector<float>(out.rows * out.columns);
    const std::vector<float> left = Read(w, p.w_at), right = Read(x, p.x_at);
    const size_t n = out.rows, m = out.columns, k = x.rows;
    std::vector<float> by_row = left;  // [n, k]
    for (size_t r = 0; !p.description->transpose_w && r < n; ++r)
      for (size_t c = 0; c < k; ++c) by_row[r * k + c] = left[c * n + r];
    std::vector<float> sums(product.size()), scratch(rankfeed::handoff::ProductScratch());
    rankfeed::handoff::Product(right.data(), m, {by_row.data(), false, nullptr, n, k}, nullptr,
                               sums.data(), scratch.data());
    for (size_t i = 0; i < sums.size(); ++i) product[i] = p.alpha * sums[i] + p.beta * product[i];
    Write(out, product, p.out_at);
  });
}

}  // namespace fake_gpu
