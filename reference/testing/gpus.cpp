// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "reference/cuda_check.h"
#include "reference/testing/ranks.h"

namespace pkb::ref::testing {

int gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

void use_gpu(int index) { check(cudaSetDevice(index), "cudaSetDevice"); }

}  // namespace pkb::ref::testing
