// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <cufftXt.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include "reference/cuda/backend.h"
#include "reference/cuda_check.h"
#include "reference/device.h"

namespace pkb::ref {
namespace {

void check(cufftResult status, const char* what) {
  if (status != CUFFT_SUCCESS) throw std::runtime_error(std::string(what) + ": cuFFT error " + std::to_string(status));
}

struct Types {
  cudaDataType in, out;
};

Types types_of(const Fft& fft) {
  const bool wide = fft.dtype == DType::f64;
  const cudaDataType real = wide ? CUDA_R_64F : CUDA_R_32F, complex = wide ? CUDA_C_64F : CUDA_C_32F;
  switch (fft.kind) {
    case Fft::Kind::real_to_complex:
      return {real, complex};
    case Fft::Kind::complex_to_real:
      return {complex, real};
    case Fft::Kind::forward:
    case Fft::Kind::inverse:
      break;
  }
  return {complex, complex};
}

cufftHandle make_plan(const Fft& fft) {
  cufftHandle plan = 0;
  check(cufftCreate(&plan), "cufftCreate");
  long long length = fft.length;
  std::size_t workspace = 0;
  const Types types = types_of(fft);
  // No layout given: rows are dense. Transforms are computed in the type of their output.
  const cudaDataType compute = fft.dtype == DType::f64 ? CUDA_C_64F : CUDA_C_32F;
  check(cufftXtMakePlanMany(plan, 1, &length, nullptr, 1, 0, types.in, nullptr, 1, 0, types.out, fft.batch, &workspace,
                            compute),
        "cufftXtMakePlanMany");
  return plan;
}

}  // namespace

void fft_on_cuda(const Fft& fft) {
  // Per device and shape, for the life of the process.
  using Key = std::tuple<int, Fft::Kind, DType, std::int64_t, std::int64_t>;
  static std::mutex mutex;
  static auto* const plans = new std::map<Key, cufftHandle>;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const std::scoped_lock lock(mutex);
  const Key key{device, fft.kind, fft.dtype, fft.length, fft.batch};
  const auto known = plans->find(key);
  const cufftHandle plan = known != plans->end() ? known->second : plans->emplace(key, make_plan(fft)).first->second;
  check(cufftSetStream(plan, current_stream()), "cufftSetStream");
  const bool inverse = fft.kind == Fft::Kind::inverse || fft.kind == Fft::Kind::complex_to_real;
  check(cufftXtExec(plan, fft.in, fft.out, inverse ? CUFFT_INVERSE : CUFFT_FORWARD), "cufftXtExec");
}

}  // namespace pkb::ref
