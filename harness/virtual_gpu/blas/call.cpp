// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/blas/call.h"

#include <fmt/format.h>

#include "harness/virtual_gpu/runtime/operation.h"

namespace pkb::virtual_gpu::blas {

std::byte* Execution::find(std::string_view name, const void* pointer, std::size_t count) {
  const auto range = x_device.memory().find(pointer);
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  std::string fault;
  if (!range) {
    fault = fmt::format("{} at {:#x} is no memory of the device", name, address);
  } else if (const std::uint64_t left = range->bytes - (address - range->base); count > left) {
    fault = fmt::format("{} needs {} bytes from {:#x} on, {} more than its allocation has there", name, count, address,
                        count - left);
  } else {
    return range->host(pointer);
  }
  x_device.fail({.kind = Fault::Kind::illegal_address, .text = fault, .kernel = x_call, .file = {}, .address = address});
  return nullptr;
}

std::byte* Execution::bytes(std::string_view name, const void* pointer, std::size_t count, Use use) {
  std::byte* const here = find(name, pointer, count);
  if (here == nullptr) return nullptr;
  if (auto touch = x_device.memory().touch(pointer, count, use == Use::write); touch.shadow)
    x_touches.push_back(std::move(touch));
  return here;
}

std::optional<Matrix> Execution::matrix(std::string_view name, Matrix on_device, Use use) {
  if (on_device.span() == 0) return on_device;
  std::byte* const here = find(name, on_device.data, on_device.span());
  if (here == nullptr) return std::nullopt;
  // By lines along memory, or elements where there are none.
  const Matrix lines = on_device.row_stride == 1 || on_device.columns == 1 ? on_device : on_device.transposed();
  const auto element = static_cast<std::int64_t>(size_of(lines.type));
  const bool dense = lines.row_stride == 1;
  const bool whole = dense && (lines.columns == 1 || lines.column_stride == lines.rows);
  const auto whole_touch = x_device.memory().touch(on_device.data, on_device.span(), use == Use::write);
  for (std::int64_t column = 0; whole_touch.shadow && column < (whole ? 1 : lines.columns); ++column)
    for (std::int64_t row = 0; row < (dense ? 1 : lines.rows); ++row) {
      auto touch = whole_touch;
      touch.offset += static_cast<std::uint64_t>((column * lines.column_stride + row * lines.row_stride) * element);
      if (!whole) touch.bytes = static_cast<std::uint64_t>(dense ? lines.rows * element : element);
      x_touches.push_back(std::move(touch));
    }
  on_device.data = here;
  return on_device;
}

Scalar::Scalar(const void* pointer, cudaDataType type, cublasPointerMode_t mode) : x_pointer(pointer), x_type(type) {
  if (mode == CUBLAS_POINTER_MODE_HOST) x_known = load(static_cast<const std::byte*>(pointer), type);
}

std::optional<double> Scalar::value(Execution& work, std::string_view name) const {
  if (x_known) return x_known;
  const std::byte* const here = work.bytes(name, x_pointer, size_of(x_type));
  if (here == nullptr) return std::nullopt;
  return load(here, x_type);
}

cublasStatus_t submit(Device& device, cudaStream_t handle, std::string call, std::function<void(Execution&)> run) {
  const auto stream = device.stream(handle);
  if (!stream) return CUBLAS_STATUS_INVALID_VALUE;
  const Enqueued done = enqueue(device, *stream, LibraryCall{call, [&device, call, run = std::move(run)] {
                                  Execution work(device, call);
                                  run(work);
                                  return std::move(work).touches();
                                }});
  return done.error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t unsupported(Device& device, const std::string& what) {
  device.unsupported(what);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

std::optional<Compute> compute_of(cublasComputeType_t type) {
  switch (type) {
    // Half sums are kept as float: more exact than asked for.
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return Compute{Precision::f32, CUDA_R_16F};
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9: return Compute{Precision::f32, CUDA_R_32F};
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT: return Compute{Precision::f64, CUDA_R_64F};
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC: return Compute{Precision::i32, CUDA_R_32I};
  }
  return std::nullopt;
}

}  // namespace pkb::virtual_gpu::blas
