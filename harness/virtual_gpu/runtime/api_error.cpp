// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/unsupported.h"

namespace pkb::virtual_gpu {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

struct ErrorText {
  const char *name, *description;
};

constexpr ErrorText text_of(cudaError_t error) {
#define PKB_CUDA_ERROR(error_name, error_description) \
  case error_name: return {#error_name, error_description};
  switch (static_cast<int>(error)) {
#include "harness/virtual_gpu/runtime/errors.inc"
  }
#undef PKB_CUDA_ERROR
  return {"unrecognized error code", "unrecognized error code"};
}

}  // namespace

// Not ready is an answer, not an error; a real runtime does not record it either.
cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

void restore_last_error(cudaError_t error) { last_error = error; }

int unsupported_call(const char* name) {
  return call([&](Device& device) { return device.unsupported(name); });
}

}  // namespace pkb::virtual_gpu

using namespace pkb::virtual_gpu;

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t error) { return text_of(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return text_of(error).description; }
