// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace pkb::ref {

/// Throws std::runtime_error "what: error's name and text" unless `status` is success.
void check(cudaError_t status, const char* what);

}  // namespace pkb::ref
