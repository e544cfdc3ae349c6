// SPDX-License-Identifier: Apache-2.0
// What the kernels share. Sums are of integers, of floats in a fixed order, or exact: tensor cores cut off what lies
// far below the largest term, so that what they multiply is small integers. Approximate instructions do not occur.
#pragma once

#include <cuda_runtime.h>

#include "harness/virtual_gpu/answers/answer.h"

namespace pkb::virtual_gpu::answers {

/// In [-1, 1), of 24 bits.
__device__ inline float real(std::uint32_t word) { return static_cast<float>(static_cast<int>(word) >> 8) * 0x1p-23f; }
/// In [-8, 8].
__device__ inline int small(std::uint32_t word) { return static_cast<int>(word % 17) - 8; }

/// 2^x for x <= 0, by a polynomial: unlike ex2.approx the same on all devices.
__device__ inline float exp2_of_negative(float x) {
  x = fmaxf(x, -126.0f);
  const float whole = floorf(x), rest = x - whole;
  float y = __fmaf_rn(rest, 1.8775767e-3f, 8.9893397e-3f);
  y = __fmaf_rn(rest, y, 5.5826318e-2f);
  y = __fmaf_rn(rest, y, 2.4015361e-1f);
  y = __fmaf_rn(rest, y, 6.9315308e-1f);
  y = __fmaf_rn(rest, y, 9.9999994e-1f);
  return __int_as_float(__float_as_int(y) + (static_cast<int>(whole) << 23));
}

/// 2^x of an integer; 0 when it is less than 2^-12.
__device__ inline float exp2_of_integer(float x) {
  return x < -12 ? 0 : __int_as_float((127 + static_cast<int>(x)) << 23);
}

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

template <class T>
__device__ T warp_sum(T value) {
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffff, value, lane);
  return value;
}

/// Zeroed device memory for the time of one answer.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::size_t count) {
    cudaMalloc(&x_data, count * sizeof(T));
    cudaMemset(x_data, 0, count * sizeof(T));
  }
  ~Scratch() { cudaFree(x_data); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  operator T*() const { return x_data; }

 private:
  T* x_data = nullptr;
};

}  // namespace pkb::virtual_gpu::answers

/// Exports a table of answers.
#define PKB_ANSWERS(...)                                                         \
  pkb::virtual_gpu::answers::Answers answers() {                                 \
    static constexpr pkb::virtual_gpu::answers::Answer kAll[] = {__VA_ARGS__};   \
    return {kAll, sizeof(kAll) / sizeof(kAll[0])};                               \
  }
