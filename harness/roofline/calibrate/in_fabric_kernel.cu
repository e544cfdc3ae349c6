// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/calibrate/in_fabric_kernel.h"

namespace pkb::roofline {
namespace {

constexpr int kThreads = 1024;

__global__ void __launch_bounds__(kThreads) reduce(uint4* data, std::size_t vectors) {
#if __CUDA_ARCH__ >= 900
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < vectors; i += stride) {
    uint4 v;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(data + i)
                 : "memory");
    asm volatile("multimem.st.relaxed.sys.global.v4.bf16x2 [%0], {%1, %2, %3, %4};" ::"l"(data + i), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
  }
#endif
}

}  // namespace

cudaError_t reduce_in_fabric(std::byte* data, std::size_t bytes, int sms, cudaStream_t stream) {
  reduce<<<sms, kThreads, 0, stream>>>(reinterpret_cast<uint4*>(data), bytes / sizeof(uint4));
  return cudaGetLastError();
}

}  // namespace pkb::roofline
