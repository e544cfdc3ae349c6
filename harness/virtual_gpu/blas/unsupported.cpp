// SPDX-License-Identifier: Apache-2.0
// The rest of cuBLAS: a candidate that imports one of these loads, and hears which call is missing when it makes it.
// As in runtime/unsupported.cpp the header stays out, so that the functions need no prototypes.
#include "harness/virtual_gpu/runtime/unsupported.h"

namespace {

constexpr int kNotSupported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED

int lacks(const char* name) {
  pkb::virtual_gpu::unsupported_call(name);
  return kNotSupported;
}

}  // namespace

#define PKB_UNSUPPORTED_CALL(name) \
  extern "C" int name() { return lacks(#name); }
#include "harness/virtual_gpu/blas/unsupported.inc"
