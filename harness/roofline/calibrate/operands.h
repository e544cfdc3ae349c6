// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace pkb::roofline {

enum class Operand : std::uint8_t { bf16, fp16, fp8, fp32, fp64 };

/// Fills `count` elements of device memory with uniform random numbers from [-1, 1), on the default stream.
cudaError_t fill_operand(void* memory, Operand operand, std::size_t count);

}  // namespace pkb::roofline
