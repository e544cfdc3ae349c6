// SPDX-License-Identifier: Apache-2.0
// Kernels whose results are determined to the last bit: what a real GPU answered is recorded, and virtual GPUs must
// answer the same. Each source here is compiled as candidates are and loaded by dlopen.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace pkb::virtual_gpu::answers {

inline constexpr std::size_t kInputWords = 1 << 18;

struct Answer {
  const char* name;
  std::size_t bytes;  ///< of the answer
  /// Starts the kernels in the default stream; what fails is the last error. `in` has kInputWords random words and `out`
  /// is zeroed; both are device memory.
  void (*compute)(const std::uint32_t* in, void* out);
};
struct Answers {
  const Answer* first;
  std::size_t count;
};

}  // namespace pkb::virtual_gpu::answers

/// Of one library.
extern "C" pkb::virtual_gpu::answers::Answers answers();
