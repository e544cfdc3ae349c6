// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/dtype.h"
#include "reference/require.h"

namespace pkb::ref {

/// Where a tensor's elements live: in host memory or on the thread's current CUDA device.
enum class Place : std::uint8_t { host, cuda };
std::string_view name_of(Place place);

/// An n-dimensional array in PyTorch's conventions: a view (shape, strides, offset) of shared storage.
///
/// Copying a Tensor copies the view. Views (`transpose`, `narrow`, `view`, ...) share the storage; operators
/// that end in an underscore write through it. Dimensions count from 0, negative ones from the end. On cuda
/// everything is enqueued on `current_stream()`; only `bytes`, `values`, `copy_to`, `copy_from`, `equal` and
/// a move to the host wait for it. Functions throw ShapeError or DTypeError.
class Tensor {
 public:
  /// A tensor without elements: shape (0), bf16, host.
  Tensor() = default;

  static Tensor empty(Shape shape, DType dtype, Place place = Place::host);
  static Tensor zeros(Shape shape, DType dtype, Place place = Place::host);
  static Tensor full(Shape shape, double value, DType dtype, Place place = Place::host);
  /// A row-major tensor over the caller's memory, which must outlive every view of it.
  static Tensor from_blob(void* data, Shape shape, DType dtype, Place place);
  /// Row-major values, each rounded to `dtype` once.
  static Tensor from_values(std::span<const double> values, Shape shape, DType dtype,
                            Place place = Place::host);
  static Tensor from_values(std::initializer_list<double> values, Shape shape, DType dtype,
                            Place place = Place::host);

  DType dtype() const { return x_dtype; }
  Place place() const { return x_place; }
  const Shape& shape() const { return x_shape; }
  const Shape& strides() const { return x_strides; }  ///< in elements
  int dim() const { return static_cast<int>(x_shape.size()); }
  std::int64_t size(int dimension) const;
  std::int64_t numel() const;
  std::size_t nbytes() const { return static_cast<std::size_t>(numel()) * size_of(x_dtype); }
  bool is_contiguous() const;

  /// The first element. Tensors have shared storage, so constness does not reach it.
  std::byte* data() const { return x_data; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(x_data);
  }

  // Views.
  /// Same elements under another shape, one extent may be -1. Throws unless strides allow it.
  Tensor view(Shape shape) const;
  Tensor transpose(int a, int b) const;
  Tensor t() const { return transpose(-2, -1); }
  Tensor permute(std::span<const int> dimensions) const;
  Tensor permute(std::initializer_list<int> dimensions) const;
  /// Elements [start, start + length) of one dimension.
  Tensor narrow(int dimension, std::int64_t start, std::int64_t length) const;
  Tensor select(int dimension, std::int64_t index) const;
  /// select(0, index), Python's tensor[index].
  Tensor operator[](std::int64_t index) const { return select(0, index); }
  /// At most `count` pieces of ceil(extent / count), the last may be shorter (torch.chunk).
  std::vector<Tensor> chunk(std::int64_t count, int dimension = 0) const;
  Tensor unsqueeze(int dimension) const;
  Tensor squeeze(int dimension) const;
  /// Windows of `size` elements, `step` apart, along a dimension: they become a new last dimension
  /// (Tensor.unfold).
  Tensor unfold(int dimension, std::int64_t size, std::int64_t step) const;
  /// Pieces of the given extents, which must add up to that of the dimension (torch.split).
  std::vector<Tensor> split(const std::vector<std::int64_t>& extents, int dimension = 0) const;
  /// Repeats extents of 1 without copying (stride 0).
  Tensor expand(const Shape& shape) const;

  // Copies where needed.
  Tensor contiguous() const;          ///< itself when it is
  Tensor reshape(Shape shape) const;  ///< a view when strides allow it
  Tensor to(DType dtype) const;       ///< itself when it has it; rounds to nearest even, once
  Tensor to(Place place) const;       ///< itself when it is there; to host: waits
  Tensor clone() const;               ///< contiguous
  Tensor empty_like() const { return empty(x_shape, x_dtype, x_place); }

  // In place.
  /// Copies `source`, expanded to this shape and converted to this dtype, from any place.
  Tensor& copy_(const Tensor& source);
  Tensor& fill_(double value);
  /// Row-major bytes from or to host memory of exactly nbytes().
  void copy_from(std::span<const std::byte> bytes);
  void copy_to(std::span<std::byte> bytes) const;

  /// Row-major elements, read back to the host.
  std::vector<std::byte> bytes() const;
  std::vector<double> values() const;
  std::vector<std::int64_t> integers() const;  ///< of an integer dtype
  double item() const;                         ///< of a tensor with one element

 private:
  Tensor(std::shared_ptr<void> storage, std::byte* data, Shape shape, Shape strides, DType dtype, Place place)
      : x_storage(std::move(storage)),
        x_data(data),
        x_shape(std::move(shape)),
        x_strides(std::move(strides)),
        x_dtype(dtype),
        x_place(place) {}
  int wrapped(int dimension) const;
  Tensor as_view(Shape shape, Shape strides, std::int64_t offset = 0) const;

  std::shared_ptr<void> x_storage;  // null when the memory is borrowed
  std::byte* x_data = nullptr;
  Shape x_shape{0}, x_strides{1};
  DType x_dtype = DType::bf16;
  Place x_place = Place::host;
};

/// Same shape, dtype and bytes. NaNs with the same payload are equal, -0 and +0 are not.
bool equal(const Tensor& a, const Tensor& b);

/// Along an existing dimension, in which the extents may differ.
Tensor cat(std::span<const Tensor> tensors, int dimension = 0);
Tensor cat(std::initializer_list<Tensor> tensors, int dimension = 0);
/// Along a new dimension.
Tensor stack(std::span<const Tensor> tensors, int dimension = 0);
Tensor stack(std::initializer_list<Tensor> tensors, int dimension = 0);

/// Row-major strides of `shape`.
Shape contiguous_strides(const Shape& shape);
std::int64_t numel(const Shape& shape);

/// A few tensors by name, in order.
class Tensors {
 public:
  using Item = std::pair<std::string, Tensor>;
  Tensors() = default;
  Tensors(std::initializer_list<Item> items) : x_items(items) {}

  /// @throws std::out_of_range that lists the names there are.
  const Tensor& operator[](std::string_view name) const;
  bool contains(std::string_view name) const;
  /// Adds, or replaces the tensor of that name.
  void set(std::string name, Tensor tensor);
  std::size_t size() const { return x_items.size(); }
  auto begin() const { return x_items.begin(); }
  auto end() const { return x_items.end(); }

 private:
  std::vector<Item> x_items;
};

}  // namespace pkb::ref
