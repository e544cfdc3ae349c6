// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/virtual_gpu/blas/product.h"
#include "harness/virtual_gpu/runtime/device.h"

/// What a cublasHandle_t points to.
struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  int sm_count = 0;
};

/// How the functions of cuBLAS run: as work of the device, in the order of the handle's stream. Operands are looked
/// up when the work runs, since pointers to them may lie in the device's memory too.
namespace pkb::virtual_gpu::blas {

enum class Use : std::uint8_t { read, write };

/// Work that a call has become, while it runs. What it may not access ends the context, as a kernel's fault does.
class Execution {
 public:
  Execution(Device& device, std::string call) : x_device(device), x_call(std::move(call)) {}

  /// A matrix that the call knows as `name`, with the address of this process; nothing after a fault.
  std::optional<Matrix> matrix(std::string_view name, Matrix on_device, Use use = Use::read);
  /// Bytes at an address of the device or of the host; null after a fault.
  std::byte* bytes(std::string_view name, const void* pointer, std::size_t count, Use use = Use::read);
  /// The device's memory that was used.
  std::vector<check::Checker::Touch> touches() && { return std::move(x_touches); }

 private:
  std::byte* find(std::string_view name, const void* pointer, std::size_t count);

  Device& x_device;
  std::string x_call;
  std::vector<check::Checker::Touch> x_touches;
};

/// A number that the caller gave by a pointer, which is followed now if it is the host's, else when the work runs.
class Scalar {
 public:
  Scalar(const void* pointer, cudaDataType type, cublasPointerMode_t mode);
  /// Nothing after a fault.
  std::optional<double> value(Execution& work, std::string_view name) const;

 private:
  const void* x_pointer;
  cudaDataType x_type;
  std::optional<double> x_known;
};

/// Puts the work of `call` into a stream.
cublasStatus_t submit(Device& device, cudaStream_t stream, std::string call, std::function<void(Execution&)> run);

/// A status for what the virtual GPU lacks, which is reported with its name.
cublasStatus_t unsupported(Device& device, const std::string& what);

/// Runs body(device) unless the context is dead or OpenBLAS missing.
template <class Body>
cublasStatus_t call(Body&& body) noexcept {
  try {
    Device& own = device();
    if (own.sticky_error() != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (!is_available()) return unsupported(own, "cuBLAS without OpenBLAS, which is not installed");
    return body(own);
  } catch (const std::bad_alloc&) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  } catch (const std::exception&) {
    return CUBLAS_STATUS_INTERNAL_ERROR;
  }
}

/// The same for functions that take a handle.
template <class Body>
cublasStatus_t call(cublasHandle_t handle, Body&& body) noexcept {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return call(std::forward<Body>(body));
}

/// How cuBLAS computes, and in which type it takes alpha and beta.
struct Compute {
  Precision precision = Precision::f32;
  cudaDataType scale = CUDA_R_32F;
};
std::optional<Compute> compute_of(cublasComputeType_t type);

}  // namespace pkb::virtual_gpu::blas
