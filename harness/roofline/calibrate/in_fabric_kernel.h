// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace pkb::roofline {

/// Replaces [data, data + bytes) of a multicast address by the sum over all GPUs: multimem.ld_reduce in fp32 over bf16
/// and multimem.st. Each GPU takes its own part of a tensor. `bytes` is a multiple of 16. Compute capability 9.0.
cudaError_t reduce_in_fabric(std::byte* data, std::size_t bytes, int sms, cudaStream_t stream);

}  // namespace pkb::roofline
