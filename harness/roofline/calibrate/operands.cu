// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "harness/roofline/calibrate/operands.h"

namespace pkb::roofline {
namespace {

// The finaliser of MurmurHash3: neighbouring indices give unrelated numbers.
__device__ float uniform(std::size_t index) {
  auto bits = static_cast<std::uint32_t>(index);
  bits ^= bits >> 16;
  bits *= 0x85ebca6b;
  bits ^= bits >> 13;
  bits *= 0xc2b2ae35;
  bits ^= bits >> 16;
  return static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f;
}

template <class T>
__global__ void fill(T* memory, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    memory[i] = static_cast<T>(uniform(i));
}

template <class T>
cudaError_t launch(void* memory, std::size_t count) {
  fill<<<1024, 256>>>(static_cast<T*>(memory), count);
  return cudaGetLastError();
}

}  // namespace

cudaError_t fill_operand(void* memory, Operand operand, std::size_t count) {
  switch (operand) {
    case Operand::bf16:
      return launch<__nv_bfloat16>(memory, count);
    case Operand::fp16:
      return launch<__half>(memory, count);
    case Operand::fp8:
      return launch<__nv_fp8_e4m3>(memory, count);
    case Operand::fp32:
      return launch<float>(memory, count);
    case Operand::fp64:
      return launch<double>(memory, count);
  }
  return cudaErrorInvalidValue;
}

}  // namespace pkb::roofline
