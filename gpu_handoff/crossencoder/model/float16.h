// SPDX-License-Identifier: MIT
// crossencoder/model/float16.h: IEEE binary16 and bfloat16 as bits, to and from float, in plain
// integer steps that every compiler for host and device takes. Rounds to nearest even, as IEEE 754
// and PyTorch do.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_FLOAT16_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_FLOAT16_H_

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define RANKFEED_HOST_DEVICE __host__ __device__
#else
#define RANKFEED_HOST_DEVICE
#endif

namespace rankfeed::handoff {

RANKFEED_HOST_DEVICE inline uint32_t BitsOfFloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
RANKFEED_HOST_DEVICE inline float FloatOfBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

RANKFEED_HOST_DEVICE inline float FloatOfBf16(uint16_t bits) {
  return FloatOfBits(static_cast<uint32_t>(bits) << 16);
}
RANKFEED_HOST_DEVICE inline uint16_t Bf16OfFloat(float value) {
  const uint32_t bits = BitsOfFloat(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);  // NaN
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

RANKFEED_HOST_DEVICE inline float FloatOfF16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = bits >> 10 & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return FloatOfBits(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24, exact in float
    const float value = static_cast<float>(mantissa) * 5.9604644775390625e-8f;
    return sign ? -value : value;
  }
  return FloatOfBits(sign | (exponent + 112u) << 23 | mantissa << 13);
}
RANKFEED_HOST_DEVICE inline uint16_t F16OfFloat(float value) {
  const uint32_t bits = BitsOfFloat(value);
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above
  if (magnitude < 0x38800000u) {                                      // below 2^-14: subnormal
    if (magnitude < 0x33000000u) return static_cast<uint16_t>(sign);  // below 2^-25: zero
    const uint32_t exponent = magnitude >> 23;                        // 102 .. 112
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t shift = 126u - exponent;  // 14 .. 24
    const uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1u);
    const uint32_t half = 1u << (shift - 1u);
    return static_cast<uint16_t>(sign | (kept + (rest > half || (rest == half && (kept & 1u)))));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_FLOAT16_H_
