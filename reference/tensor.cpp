// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor.h"

#include <algorithm>
#include <stdexcept>

namespace pkb::ref {

std::string_view name_of(Place place) {
  switch (place) {
    case Place::host:
      return "host";
    case Place::cuda:
      return "cuda";
  }
  return "";
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

std::int64_t numel(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

int Tensor::wrapped(int dimension) const {
  const int wrapped = dimension < 0 ? dimension + dim() : dimension;
  require(wrapped >= 0 && wrapped < dim(), "dimension {} is not one of a tensor of shape {}", dimension,
          x_shape);
  return wrapped;
}

std::int64_t Tensor::size(int dimension) const { return x_shape[std::size_t(wrapped(dimension))]; }
std::int64_t Tensor::numel() const { return ref::numel(x_shape); }

bool Tensor::is_contiguous() const {
  if (numel() == 0) return true;
  const Shape dense = contiguous_strides(x_shape);
  for (std::size_t d = 0; d < x_shape.size(); ++d)
    if (x_shape[d] != 1 && x_strides[d] != dense[d]) return false;
  return true;
}

Tensor Tensor::as_view(Shape shape, Shape strides, std::int64_t offset) const {
  std::byte* const data = x_data ? x_data + offset * static_cast<std::int64_t>(size_of(x_dtype)) : nullptr;
  return Tensor(x_storage, data, std::move(shape), std::move(strides), x_dtype, x_place);
}

namespace {

/// `shape` with its -1 replaced.
Shape resolved(Shape shape, const Shape& old) {
  const std::int64_t count = numel(old);
  const auto unknown = std::ranges::find(shape, -1);
  if (unknown != shape.end()) {
    *unknown = 1;
    const std::int64_t rest = numel(shape);
    require(rest > 0 && count % rest == 0, "shape {} does not divide into {}", old, shape);
    *unknown = count / rest;
  }
  require(numel(shape) == count && std::ranges::all_of(shape, [](auto extent) { return extent >= 0; }),
          "shape {} has not the number of elements of {}", shape, old);
  return shape;
}

/// Strides that give the elements of (old, strides) the shape `shape`; empty when only a copy can.
Shape view_strides(const Shape& old, const Shape& strides, const Shape& shape) {
  // Dense runs of old dimensions are cut into new ones from the back (as PyTorch's computeStride).
  Shape result(shape.size(), 1);
  std::size_t next = shape.size();
  std::int64_t run = 1, covered = 1;  // elements of the current run of old dimensions, and of new ones in it
  for (std::size_t d = old.size(), first = old.size() - 1; d-- > 0;) {
    run *= old[d];
    if (d > 0 && (old[d - 1] == 1 || strides[d - 1] == run * strides[first])) continue;
    while (next > 0 && (covered < run || shape[next - 1] == 1)) {
      result[--next] = covered * strides[first];
      covered *= shape[next];
    }
    if (covered != run) return {};
    run = covered = 1;
    first = d - 1;
  }
  return next == 0 ? result : Shape{};
}

}  // namespace

Tensor Tensor::view(Shape shape) const {
  shape = resolved(std::move(shape), x_shape);
  if (is_contiguous()) {
    Shape strides = contiguous_strides(shape);
    return as_view(std::move(shape), std::move(strides));
  }
  Shape strides = view_strides(x_shape, x_strides, shape);
  require(!strides.empty(), "view: shape {} with strides {} cannot be seen as {}; use reshape", x_shape,
          x_strides, shape);
  return as_view(std::move(shape), std::move(strides));
}

Tensor Tensor::reshape(Shape shape) const {
  shape = resolved(std::move(shape), x_shape);
  if (is_contiguous()) return view(std::move(shape));
  Shape strides = view_strides(x_shape, x_strides, shape);
  if (strides.empty()) return contiguous().view(std::move(shape));
  return as_view(std::move(shape), std::move(strides));
}

Tensor Tensor::transpose(int a, int b) const {
  Shape shape = x_shape, strides = x_strides;
  const auto first = std::size_t(wrapped(a)), second = std::size_t(wrapped(b));
  std::swap(shape[first], shape[second]);
  std::swap(strides[first], strides[second]);
  return as_view(std::move(shape), std::move(strides));
}

Tensor Tensor::permute(std::span<const int> dimensions) const {
  Shape shape, strides, order;
  for (const int dimension : dimensions) {
    const auto d = std::size_t(wrapped(dimension));
    order.push_back(static_cast<std::int64_t>(d));
    shape.push_back(x_shape[d]);
    strides.push_back(x_strides[d]);
  }
  Shape sorted = order;
  std::ranges::sort(sorted);
  require(order.size() == x_shape.size() && std::ranges::adjacent_find(sorted) == sorted.end(),
          "permute: {} does not name each dimension of {} once", order, x_shape);
  return as_view(std::move(shape), std::move(strides));
}

Tensor Tensor::permute(std::initializer_list<int> dimensions) const {
  return permute(std::span(dimensions.begin(), dimensions.size()));
}

Tensor Tensor::narrow(int dimension, std::int64_t start, std::int64_t length) const {
  const auto d = std::size_t(wrapped(dimension));
  require(start >= 0 && length >= 0 && start + length <= x_shape[d],
          "narrow: [{}, {}) is not within dimension {} of {}", start, start + length, dimension, x_shape);
  Shape shape = x_shape;
  shape[d] = length;
  return as_view(std::move(shape), x_strides, start * x_strides[d]);
}

Tensor Tensor::select(int dimension, std::int64_t index) const {
  const auto d = wrapped(dimension);
  const std::int64_t extent = size(d), at = index < 0 ? index + extent : index;
  require(at >= 0 && at < extent, "select: index {} is not within dimension {} of {}", index, dimension,
          x_shape);
  Shape shape = x_shape, strides = x_strides;
  shape.erase(shape.begin() + d);
  strides.erase(strides.begin() + d);
  return as_view(std::move(shape), std::move(strides), at * x_strides[std::size_t(d)]);
}

std::vector<Tensor> Tensor::chunk(std::int64_t count, int dimension) const {
  require(count > 0, "chunk: {} pieces of {}", count, x_shape);
  const std::int64_t extent = size(dimension);
  const std::int64_t length = std::max<std::int64_t>(1, (extent + count - 1) / count);
  std::vector<Tensor> pieces;
  for (std::int64_t start = 0; start < extent || pieces.empty(); start += length)
    pieces.push_back(narrow(dimension, start, std::min(length, extent - start)));
  return pieces;
}

Tensor Tensor::unsqueeze(int dimension) const {
  const int at = dimension < 0 ? dimension + dim() + 1 : dimension;
  require(at >= 0 && at <= dim(), "unsqueeze: no place {} in {}", dimension, x_shape);
  Shape shape = x_shape, strides = x_strides;
  strides.insert(strides.begin() + at,
                 at < dim() ? x_shape[std::size_t(at)] * x_strides[std::size_t(at)] : 1);
  shape.insert(shape.begin() + at, 1);
  return as_view(std::move(shape), std::move(strides));
}

Tensor Tensor::squeeze(int dimension) const {
  require(size(dimension) == 1, "squeeze: dimension {} of {} is not 1", dimension, x_shape);
  return select(dimension, 0);
}

Tensor Tensor::unfold(int dimension, std::int64_t size, std::int64_t step) const {
  const auto d = std::size_t(wrapped(dimension));
  require(size >= 0 && size <= x_shape[d] && step > 0, "unfold: windows of {}, {} apart, of dimension {} of {}",
          size, step, dimension, x_shape);
  Shape shape = x_shape, strides = x_strides;
  shape[d] = (x_shape[d] - size) / step + 1;
  strides[d] *= step;
  shape.push_back(size);
  strides.push_back(x_strides[d]);
  return as_view(std::move(shape), std::move(strides));
}

std::vector<Tensor> Tensor::split(const std::vector<std::int64_t>& extents, int dimension) const {
  std::vector<Tensor> pieces;
  std::int64_t start = 0;
  for (const std::int64_t extent : extents) {
    pieces.push_back(narrow(dimension, start, extent));
    start += extent;
  }
  require(start == size(dimension), "split: {} of dimension {} of {}", extents, dimension, x_shape);
  return pieces;
}

Tensor Tensor::expand(const Shape& shape) const {
  require(shape.size() >= x_shape.size(), "expand: {} has more dimensions than {}", x_shape, shape);
  Shape strides(shape.size(), 0);
  const std::size_t added = shape.size() - x_shape.size();
  for (std::size_t d = 0; d < x_shape.size(); ++d) {
    require(x_shape[d] == shape[added + d] || x_shape[d] == 1, "expand: {} does not expand to {}", x_shape,
            shape);
    if (x_shape[d] == shape[added + d]) strides[added + d] = x_strides[d];
  }
  return as_view(shape, std::move(strides));
}

const Tensor& Tensors::operator[](std::string_view name) const {
  for (const auto& [each, tensor] : x_items)
    if (each == name) return tensor;
  std::string names;
  for (const auto& [each, tensor] : x_items) names += (names.empty() ? "" : ", ") + each;
  throw std::out_of_range("no tensor \"" + std::string(name) +
                          "\"; there are: " + (names.empty() ? "none" : names));
}

bool Tensors::contains(std::string_view name) const {
  return std::ranges::any_of(x_items, [&](const Item& item) { return item.first == name; });
}

void Tensors::set(std::string name, Tensor tensor) {
  for (auto& [each, old] : x_items)
    if (each == name) {
      old = std::move(tensor);
      return;
    }
  x_items.emplace_back(std::move(name), std::move(tensor));
}

}  // namespace pkb::ref
