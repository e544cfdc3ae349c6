// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "harness/error/error.h"

namespace pkb::roofline {

inline void check(cudaError_t error, const char* action) {
  if (error == cudaSuccess) return;
  const bool no_code = error == cudaErrorNoKernelImageForDevice;
  throw EnvironmentError({.where = "GPU",
                          .fault = std::string(action) + ": " + cudaGetErrorString(error),
                          .remedy = no_code ? "build with -DPKB_CUDA_ARCHITECTURES=native" : ""});
}

}  // namespace pkb::roofline
