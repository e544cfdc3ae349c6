// SPDX-License-Identifier: Apache-2.0
#include "reference/copy.h"

#include <algorithm>
#include <cstring>

#include "reference/map.h"

namespace pkb::ref::detail {
namespace {

template <class To, class From>
PKB_HD To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;  // all bits, NaN payloads included
  else
    return store<To>(load(x));
}

template <class To, class From>
__global__ void convert_strided(To* to, const From* from, Walk<2> walk) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= walk.count) return;
  std::int64_t at[2];
  walk.offsets(i, at);
  to[at[0]] = convert<To>(from[at[1]]);
}

template <class To, class From>
void convert_walk(Place place, To* to, const From* from, const Walk<2>& walk) {
  if (place == Place::cuda) {
    convert_strided<<<blocks_for(walk.count), kMapThreads, 0, current_stream()>>>(to, from, walk);
    return check(cudaGetLastError(), "copy or conversion");
  }
  const bool dense = walk.dense();
  parallel_for(walk.count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    if (dense) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = convert<To>(from[i]);
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t at[2];
      walk.offsets(i, at);
      to[at[0]] = convert<To>(from[at[1]]);
    }
  });
}

}  // namespace

void copy_elements(const Tensor& to, const Tensor& from) {
  const Walk<2> walk = ref::walk(to, from);
  if (walk.count == 0) return;
  if (walk.dense()) {
    if (to.place() == Place::cuda)
      check(cudaMemcpyAsync(to.data(), from.data(), to.nbytes(), cudaMemcpyDeviceToDevice, current_stream()),
            "cudaMemcpyAsync");
    else
      parallel_for(
          static_cast<std::int64_t>(to.nbytes()), 1 << 22, [&](std::int64_t begin, std::int64_t end) {
            std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
          });
    return;
  }
  switch (size_of(to.dtype())) {
    case 1:
      return convert_walk(to.place(), to.as<std::uint8_t>(), from.as<std::uint8_t>(), walk);
    case 2:
      return convert_walk(to.place(), to.as<std::uint16_t>(), from.as<std::uint16_t>(), walk);
    case 4:
      return convert_walk(to.place(), to.as<std::uint32_t>(), from.as<std::uint32_t>(), walk);
    case 8:
      return convert_walk(to.place(), to.as<std::uint64_t>(), from.as<std::uint64_t>(), walk);
  }
}

void convert_elements(const Tensor& to, const Tensor& from) {
  const Walk<2> walk = ref::walk(to, from);
  if (walk.count == 0) return;
  visit_any(to.dtype(), [&](auto to_type) {
    using To = typename decltype(to_type)::type;
    visit_any(from.dtype(), [&](auto from_type) {
      using From = typename decltype(from_type)::type;
      if constexpr (sizeof(To) == 1 && std::is_class_v<To> && sizeof(From) == 1 && std::is_class_v<From>)
        convert_elements(to, from.to(DType::f32));  // exact, and spares two more kernels
      else
        convert_walk(to.place(), to.as<To>(), from.as<From>(), walk);
    });
  });
}

namespace {

template <class T>
__global__ void fill_strided(T* to, T value, Walk<1> walk) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= walk.count) return;
  std::int64_t at[1];
  walk.offsets(i, at);
  to[at[0]] = value;
}

}  // namespace

void fill_elements(const Tensor& to, double value) {
  const Walk<1> walk = ref::walk(to);
  if (walk.count == 0) return;
  visit_any(to.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* const first = to.as<T>();
    const T item = store<T>(value);
    if (to.place() == Place::cuda) {
      fill_strided<<<blocks_for(walk.count), kMapThreads, 0, current_stream()>>>(first, item, walk);
      return check(cudaGetLastError(), "fill");
    }
    parallel_for(walk.count, 1 << 18, [&](std::int64_t begin, std::int64_t end) {
      if (walk.dense()) return std::fill(first + begin, first + end, item);
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t at[1];
        walk.offsets(i, at);
        first[at[0]] = item;
      }
    });
  });
}

}  // namespace pkb::ref::detail
