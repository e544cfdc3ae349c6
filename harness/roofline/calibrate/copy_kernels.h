// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

/// Copies between addresses that the current GPU can access, its own or a peer's, by one thread block on each of `sms`
/// multiprocessors. Addresses and `bytes` are multiples of 16. Each returns the error of its launch.
namespace pkb::roofline {

struct CopyLaunch {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  int sms = 1;
};

/// Through registers: ld.global.v4 and st.global.v4.
cudaError_t copy_by_registers(const CopyLaunch& copy, cudaStream_t stream);

/// By the tensor memory accelerator: cp.async.bulk into shared memory and out of it. Takes compute capability 9.0.
cudaError_t copy_by_bulk(const CopyLaunch& copy, cudaStream_t stream);

}  // namespace pkb::roofline
