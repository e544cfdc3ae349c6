// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "reference/copy.h"
#include "reference/cuda_check.h"
#include "reference/device.h"
#include "reference/tensor.h"
#include "reference/zeroed_memory.h"

namespace pkb::ref {
namespace {

thread_local bool fresh_memory_is_zeroed = false;

std::shared_ptr<void> host_allocate(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  if (bytes == 0) return nullptr;
  void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (!memory) throw std::bad_alloc();
  return {memory, [](void* pointer) { std::free(pointer); }};
}

std::size_t checked_bytes(const Shape& shape, DType dtype) {
  require(std::ranges::all_of(shape, [](auto extent) { return extent >= 0; }), "negative extent in shape {}",
          shape);
  std::size_t bytes = size_of(dtype);
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  for (const std::int64_t extent : shape)
    require(!__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes) &&
                bytes < (std::size_t{1} << 62),
            "shape {} is larger than any memory", shape);
  return bytes;
}

/// Contiguous bytes between host memory and a tensor's place.
void copy_bytes(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, kind, current_stream()), "cudaMemcpyAsync");
  // Pageable host memory may be reused by the caller at once.
  synchronize();
}

void zero(void* data, std::size_t bytes, Place place) {
  if (bytes == 0) return;
  if (place == Place::host)
    std::memset(data, 0, bytes);
  else
    check(cudaMemsetAsync(data, 0, bytes, current_stream()), "cudaMemsetAsync");
}

}  // namespace

ZeroedMemory::ZeroedMemory() : x_outer(fresh_memory_is_zeroed) { fresh_memory_is_zeroed = true; }
ZeroedMemory::~ZeroedMemory() { fresh_memory_is_zeroed = x_outer; }

Tensor Tensor::empty(Shape shape, DType dtype, Place place) {
  const std::size_t bytes = checked_bytes(shape, dtype);
  auto storage = place == Place::cuda ? device_allocate(bytes) : host_allocate(bytes);
  auto* const data = static_cast<std::byte*>(storage.get());
  if (fresh_memory_is_zeroed) zero(data, bytes, place);
  Shape strides = contiguous_strides(shape);
  return Tensor(std::move(storage), data, std::move(shape), std::move(strides), dtype, place);
}

Tensor Tensor::zeros(Shape shape, DType dtype, Place place) {
  Tensor result = empty(std::move(shape), dtype, place);
  zero(result.data(), result.nbytes(), place);
  return result;
}

Tensor Tensor::full(Shape shape, double value, DType dtype, Place place) {
  return empty(std::move(shape), dtype, place).fill_(value);
}

Tensor Tensor::from_blob(void* data, Shape shape, DType dtype, Place place) {
  const std::size_t bytes = checked_bytes(shape, dtype);
  require(data || bytes == 0, "from_blob: no memory for a tensor of shape {}", shape);
  Shape strides = contiguous_strides(shape);
  return Tensor(nullptr, static_cast<std::byte*>(data), std::move(shape), std::move(strides), dtype, place);
}

Tensor Tensor::from_values(std::span<const double> values, Shape shape, DType dtype, Place place) {
  require(static_cast<std::int64_t>(values.size()) == ref::numel(shape),
          "from_values: {} values for shape {}", values.size(), shape);
  // Only read from.
  return from_blob(const_cast<double*>(values.data()), std::move(shape), DType::f64, Place::host)
      .clone()
      .to(dtype)
      .to(place);
}

Tensor Tensor::from_values(std::initializer_list<double> values, Shape shape, DType dtype, Place place) {
  return from_values(std::span(values.begin(), values.size()), std::move(shape), dtype, place);
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor result = empty_like();
  detail::copy_elements(result, *this);
  return result;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == x_dtype) return *this;
  Tensor result = empty(x_shape, dtype, x_place);
  detail::convert_elements(result, *this);
  return result;
}

Tensor Tensor::to(Place place) const {
  if (place == x_place) return *this;
  Tensor result = empty(x_shape, x_dtype, place);
  result.copy_(*this);
  return result;
}

Tensor& Tensor::copy_(const Tensor& source) {
  if (source.x_place != x_place) {
    // Convert and arrange on the source's side, so that one dense block crosses.
    const Tensor dense = source.expand(x_shape).to(x_dtype).contiguous();
    Tensor target = is_contiguous() ? *this : empty_like();
    copy_bytes(target.data(), dense.data(), nbytes(),
               x_place == Place::cuda ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
    if (!is_contiguous()) detail::copy_elements(*this, target);
  } else if (source.x_dtype == x_dtype) {
    detail::copy_elements(*this, source.expand(x_shape));
  } else {
    detail::convert_elements(*this, source.expand(x_shape));
  }
  return *this;
}

Tensor& Tensor::fill_(double value) {
  detail::fill_elements(*this, value);
  return *this;
}

void Tensor::copy_from(std::span<const std::byte> bytes) {
  require(bytes.size() == nbytes(), "copy_from: {} bytes for shape {} of {}", bytes.size(), x_shape, x_dtype);
  // Only read from.
  copy_(from_blob(const_cast<std::byte*>(bytes.data()), x_shape, x_dtype, Place::host));
}

void Tensor::copy_to(std::span<std::byte> bytes) const {
  require(bytes.size() == nbytes(), "copy_to: {} bytes for shape {} of {}", bytes.size(), x_shape, x_dtype);
  from_blob(bytes.data(), x_shape, x_dtype, Place::host).copy_(*this);
}

std::vector<std::byte> Tensor::bytes() const {
  std::vector<std::byte> result(nbytes());
  copy_to(result);
  return result;
}

std::vector<double> Tensor::values() const {
  std::vector<double> result(static_cast<std::size_t>(numel()));
  from_blob(result.data(), x_shape, DType::f64, Place::host).copy_(*this);
  return result;
}

std::vector<std::int64_t> Tensor::integers() const {
  require<DTypeError>(!info(x_dtype).floating, "integers: the tensor is {}", x_dtype);
  std::vector<std::int64_t> result(static_cast<std::size_t>(numel()));
  from_blob(result.data(), x_shape, DType::i64, Place::host).copy_(*this);
  return result;
}

double Tensor::item() const {
  require(numel() == 1, "item: shape {} has not one element", x_shape);
  return values()[0];
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && a.bytes() == b.bytes();
}

Tensor cat(std::span<const Tensor> tensors, int dimension) {
  require(!tensors.empty(), "cat: no tensors");
  const Tensor& first = tensors.front();
  const auto d = std::size_t(dimension < 0 ? dimension + first.dim() : dimension);
  require(d < first.shape().size(), "cat: dimension {} of {}", dimension, first.shape());
  Shape shape = first.shape();
  shape[d] = 0;
  for (const Tensor& each : tensors) {
    Shape expected = first.shape();
    if (each.shape().size() == expected.size()) expected[d] = each.shape()[d];
    require(each.shape() == expected, "cat along dimension {}: {} beside {}", dimension, first.shape(),
            each.shape());
    require<DTypeError>(each.dtype() == first.dtype(), "cat: {} beside {}", first.dtype(), each.dtype());
    shape[d] += each.shape()[d];
  }
  Tensor result = Tensor::empty(std::move(shape), first.dtype(), first.place());
  std::int64_t start = 0;
  for (const Tensor& each : tensors) {
    result.narrow(static_cast<int>(d), start, each.shape()[d]).copy_(each);
    start += each.shape()[d];
  }
  return result;
}

Tensor cat(std::initializer_list<Tensor> tensors, int dimension) {
  return cat(std::span(tensors.begin(), tensors.size()), dimension);
}

Tensor stack(std::span<const Tensor> tensors, int dimension) {
  std::vector<Tensor> raised;
  for (const Tensor& each : tensors) {
    require(each.shape() == tensors.front().shape(), "stack: {} beside {}", tensors.front().shape(),
            each.shape());
    raised.push_back(each.unsqueeze(dimension));
  }
  return cat(raised, dimension);
}

Tensor stack(std::initializer_list<Tensor> tensors, int dimension) {
  return stack(std::span(tensors.begin(), tensors.size()), dimension);
}

}  // namespace pkb::ref
