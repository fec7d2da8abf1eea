// SPDX-License-Identifier: MIT
// crossencoder/kernels/lt_gemm.h: matrix products by a vendor's library: cuBLASLt or hipBLASLt,
// which have one interface under two sets of names (Api). One object for each opened device.
//
// Row-major out[m, n] = x[m, k] w[n, k]^T is column-major out[n, m] = op(w)[n, k] x[k, m] with op
// the transpose and leading dimensions k, k, n. m is rounded up to RANKFEED_GPU_GEMM_ROWS, for
// which operands have room (ops.h), so that ragged batches meet plans that are there already.
//
// A plan is made the first time a shape comes and kept in a table of fixed size, which is filled
// and read without locks. The library's own functions allocate while a plan is made, not while it
// is used. What the library does not take is left to the tiled kernel, and counted.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_KERNELS_LT_GEMM_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_KERNELS_LT_GEMM_H_

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>

#include "crossencoder/ops.h"

namespace rankfeed::handoff {

inline constexpr int32_t kLtErrors = 100000;  // a library's status is reported as this plus it

// The library's functions, by their names after "cublasLt" and "hipblasLt".
#define RANKFEED_LT_FUNCTIONS(each)                                                        \
  each(Create) each(Destroy) each(MatmulDescCreate) each(MatmulDescDestroy)                \
      each(MatmulDescSetAttribute) each(MatrixLayoutCreate) each(MatrixLayoutDestroy)      \
          each(MatmulPreferenceCreate) each(MatmulPreferenceDestroy)                       \
              each(MatmulPreferenceSetAttribute) each(MatmulAlgoGetHeuristic) each(Matmul) \
                  each(GetVersion)

template <class Api>
class LtGemm {
 public:
  // Makes the library's handle for the current device, once. Without the library everything is the
  // tiled kernel's. 0 or RANKFEED_GPU_NO_MEMORY.
  int32_t Open() {
    if (plans_ != nullptr) return 0;
    plans_.reset(new (std::nothrow) Plan[kPlans]);
    if (plans_ == nullptr) return -2;
    if (!api_.Load() || api_.Create(&handle_) != Api::kSuccess) handle_ = {};
    return 0;
  }
  // The device is current and has come past all products.
  ~LtGemm() {
    if (plans_ == nullptr || handle_ == typename Api::Handle{}) return;
    for (uint32_t i = 0; i < kPlans; ++i) Destroy(plans_[i]);
    (void)api_.Destroy(handle_);
  }
  LtGemm() = default;
  LtGemm(const LtGemm&) = delete;
  LtGemm& operator=(const LtGemm&) = delete;

  // Queues the product. 0, RANKFEED_GPU_TILED, or kLtErrors + the library's status. noexcept, no
  // locks.
  int32_t Multiply(const rankfeed_op_at& at, const rankfeed_op_gemm& op) noexcept {
    // Half types in 16-byte vectors; smaller shapes are the tiled kernel's.
    if (handle_ == typename Api::Handle{} || op.k % 8 != 0 || op.n % 8 != 0) return NotTaken();
    const Key key{op.dtype, (op.m + kRows - 1) / kRows * kRows, op.n, op.k};
    Plan* const kept = Find(key, at.scratch_bytes);
    if (kept != nullptr) {
      return kept->state.load(std::memory_order_acquire) == kReady ? Run(*kept, at, op)
                                                                   : NotTaken();
    }
    Plan once;  // the table is full
    once.key = key;
    const int32_t rc = Make(&once, at.scratch_bytes) ? Run(once, at, op) : NotTaken();
    Destroy(once);
    return rc;
  }

  // Name of the library, and how many products were not its.
  void Describe(char* out, uint64_t capacity) {
    const auto tiled = static_cast<unsigned long long>(not_taken_.load(std::memory_order_relaxed));
    if (handle_ == typename Api::Handle{}) {
      std::snprintf(out, capacity, "tiled kernel (no %s)", Api::kName);
    } else if (tiled == 0) {
      std::snprintf(out, capacity, "%s %d", Api::kName, api_.Version(handle_));
    } else {
      std::snprintf(out, capacity, "%s %d, %llu by tiled kernel", Api::kName, api_.Version(handle_),
                    tiled);
    }
  }
  // The size that cuBLAS itself takes on sm_90 (cuBLAS guide, workspace).
  uint64_t Scratch() const { return handle_ == typename Api::Handle{} ? 0 : 32u << 20; }

 private:
  static constexpr uint32_t kRows = RANKFEED_GPU_GEMM_ROWS;
  // Four shapes of a model's layers and one of a projection before them, in 1 .. 200 steps of rows
  // (25,600 tokens a batch), and one of its head.
  static constexpr uint32_t kPlans = 1024;

  struct Key {
    uint32_t dtype, m, n, k;
    bool operator==(const Key&) const = default;
  };
  enum State : uint32_t { kEmpty, kMaking, kReady, kNone };
  struct Plan {
    std::atomic<uint32_t> state{kEmpty};
    Key key{};
    typename Api::Description matmul{};
    typename Api::Layout w{}, x{}, out{};
    typename Api::Algorithm algorithm{};
  };

  int32_t NotTaken() {
    not_taken_.fetch_add(1, std::memory_order_relaxed);
    return RANKFEED_GPU_TILED;
  }

  // The plan of that key, made when it is new; null when there is no room. A thread that meets a
  // plan in the making goes on to the next place: at worst a shape is kept twice.
  Plan* Find(const Key& key, uint64_t scratch) {
    uint32_t place = key.dtype * 2654435761u ^ key.m / kRows * 40503u ^ key.n * 97u ^ key.k;
    for (uint32_t tries = 0; tries < kPlans; ++tries, ++place) {
      Plan& plan = plans_[place % kPlans];
      uint32_t state = plan.state.load(std::memory_order_acquire);
      if (state == kEmpty &&
          plan.state.compare_exchange_strong(state, kMaking, std::memory_order_acquire)) {
        plan.key = key;
        const bool made = Make(&plan, scratch);
        plan.state.store(made ? kReady : kNone, std::memory_order_release);
        return &plan;
      }
      if ((state == kReady || state == kNone) && plan.key == key) return &plan;
    }
    return nullptr;
  }

  bool Make(Plan* plan, uint64_t scratch) {
    const Key& key = plan->key;
    const auto type = Api::TypeOf(key.dtype);
    const auto transpose = Api::kTranspose;
    if (api_.MatmulDescCreate(&plan->matmul, Api::kSumsInFloat, Api::kFloat) != Api::kSuccess ||
        api_.MatmulDescSetAttribute(plan->matmul, Api::kTransposeFirst, &transpose,
                                    sizeof transpose) != Api::kSuccess ||
        api_.MatrixLayoutCreate(&plan->w, type, key.k, key.n, key.k) != Api::kSuccess ||
        api_.MatrixLayoutCreate(&plan->x, type, key.k, key.m, key.k) != Api::kSuccess ||
        api_.MatrixLayoutCreate(&plan->out, type, key.n, key.m, key.n) != Api::kSuccess) {
      return false;
    }
    typename Api::Preference preference{};
    if (api_.MatmulPreferenceCreate(&preference) != Api::kSuccess) return false;
    typename Api::Result result{};
    int found = 0;
    const bool ok =
        api_.MatmulPreferenceSetAttribute(preference, Api::kMaxWorkspace, &scratch,
                                          sizeof scratch) == Api::kSuccess &&
        api_.KeepSumsInFloat(preference) &&
        api_.MatmulAlgoGetHeuristic(handle_, plan->matmul, plan->w, plan->x, plan->out, plan->out,
                                    preference, 1, &result, &found) == Api::kSuccess &&
        found > 0;
    (void)api_.MatmulPreferenceDestroy(preference);
    plan->algorithm = result.algo;
    return ok;
  }

  int32_t Run(const Plan& plan, const rankfeed_op_at& at, const rankfeed_op_gemm& op) {
    const float one = 1.0f, zero = 0.0f;
    const auto status = api_.Matmul(handle_, plan.matmul, &one, op.w, plan.w, op.x, plan.x, &zero,
                                    op.out, plan.out, op.out, plan.out, &plan.algorithm, at.scratch,
                                    at.scratch_bytes, Api::StreamOf(at.stream));
    return status == Api::kSuccess ? 0 : kLtErrors + static_cast<int32_t>(status);
  }

  void Destroy(const Plan& plan) {
    if (plan.matmul != nullptr) (void)api_.MatmulDescDestroy(plan.matmul);
    const typename Api::Layout layouts[] = {plan.w, plan.x, plan.out};
    for (typename Api::Layout layout : layouts) {
      if (layout != nullptr) (void)api_.MatrixLayoutDestroy(layout);
    }
  }

  Api api_;
  typename Api::Handle handle_{};
  std::unique_ptr<Plan[]> plans_;
  std::atomic<uint64_t> not_taken_{0};
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_KERNELS_LT_GEMM_H_
