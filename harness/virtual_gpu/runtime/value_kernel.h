// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include "harness/virtual_gpu/runtime/device.h"

/// A stream that writes or awaits a value in memory does so by a kernel of one thread, so that waiting is seen where
/// a kernel's is and orders memory as a kernel's does.
namespace pkb::virtual_gpu {

struct ValuePlace {
  std::uint64_t address = 0, value = 0;
  unsigned bytes = 4;  ///< or 8
};

cudaError_t write_value(Device& device, cudaStream_t stream, const ValuePlace& place);
cudaError_t wait_for_value(Device& device, cudaStream_t stream, const ValuePlace& place,
                           CUstreamWaitValue_flags condition);

}  // namespace pkb::virtual_gpu
