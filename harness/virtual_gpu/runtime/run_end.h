// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace pkb::virtual_gpu {

/// Between begin_run and end_run: the run has enqueued all of its work and ends with that of `stream`. What
/// nothing orders before is a fault, which review_run adds.
void run_enqueued(cudaStream_t stream);

}  // namespace pkb::virtual_gpu
