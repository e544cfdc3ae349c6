// SPDX-License-Identifier: Apache-2.0
#include "reference/copy.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "reference/map.h"
#include "reference/short_walk.h"

namespace pkb::ref::detail {
namespace {

template <class To, class From>
PKB_HD To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;  // all bits, NaN payloads included
  else
    return store<To>(load(x));
}

template <class Index, class To, class From, class AnyWalk>
__global__ void convert_strided(To* to, const From* from, AnyWalk walk) {
  const Index i = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= walk.count) return;
  Index at[2];
  walk.offsets(i, at);
  to[at[0]] = convert<To>(from[at[1]]);
}

template <class Index, class To, class From, class AnyWalk>
void convert_on_cuda(To* to, const From* from, const AnyWalk& walk) {
  convert_strided<Index><<<blocks_for(walk.count), kMapThreads, 0, current_stream()>>>(to, from, walk);
  check(cudaGetLastError(), "copy or conversion");
}

template <class To, class From>
void convert_walk(Place place, To* to, const From* from, const Walk<2>& walk) {
  if (place == Place::cuda) {
    // Conversions are not worth a second kernel for each pair of types.
    if constexpr (std::is_same_v<To, From>)
      if (const auto brief = ShortWalk<2>::of(walk)) return convert_on_cuda<std::uint32_t>(to, from, *brief);
    return convert_on_cuda<std::int64_t>(to, from, walk);
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

struct Copy {
  void* to;
  const void* from;
  std::size_t size;  // of an element, bytes
  Walk<2> walk;

  /// Takes neighbours as one element, of 16 bytes at most, as long as they are neighbours on both sides.
  void widen() {
    const auto aligned = [](const void* p, std::size_t bytes) {
      return reinterpret_cast<std::uintptr_t>(p) % bytes == 0;
    };
    while (size < 16 && walk.dims > 0 && aligned(to, 2 * size) && aligned(from, 2 * size) && pairs()) {
      const int last = walk.dims - 1;
      for (int d = 0; d < last; ++d)
        for (auto& strides : walk.strides) strides[d] /= 2;
      walk.extents[last] /= 2;
      walk.count /= 2;
      if (walk.extents[last] == 1) --walk.dims;
      size *= 2;
    }
  }

 private:
  bool pairs() const {
    const int last = walk.dims - 1;
    for (const auto& strides : walk.strides) {
      if (strides[last] != 1) return false;
      for (int d = 0; d < last; ++d)
        if (strides[d] % 2 != 0) return false;
    }
    return walk.extents[last] % 2 == 0;
  }
};

constexpr int kTile = 32, kTileRows = 8;

/// A plane whose rows lie dense in `to` and whose columns lie dense in `from`, for every place of `others`.
struct Transpose {
  std::int64_t rows, columns, row_in_to, column_in_from;
  Walk<2> others;

  std::int64_t tiles(std::int64_t side) const {
    return (rows + side - 1) / side * ((columns + side - 1) / side) * others.count;
  }
};

/// Neighbours that one instruction moves.
template <class T, int N>
struct alignas(sizeof(T) * N) Neighbours {
  T items[N];
};

/// Through shared memory, so that reads and writes both coalesce. A thread takes N neighbours at a time.
template <class T, int N>
__global__ void transpose_tiles(T* to, const T* from, Transpose plane) {
  constexpr int kSide = kTile * N;
  using Unit = Neighbours<T, N>;
  __shared__ Unit tile[kSide][kTile + 1];  // [column][row]
  const std::int64_t across = (plane.columns + kSide - 1) / kSide, down = (plane.rows + kSide - 1) / kSide;
  const std::int64_t other = blockIdx.x / (across * down), place = blockIdx.x % (across * down);
  const std::int64_t row = place / across * kSide, column = place % across * kSide;
  const int mine = static_cast<int>(threadIdx.x) * N;
  std::int64_t at[2];
  plane.others.offsets(other, at);
#pragma unroll
  for (int c = threadIdx.y; c < kSide; c += kTileRows)
    if (row + mine < plane.rows && column + c < plane.columns)
      tile[c][threadIdx.x] =
          *reinterpret_cast<const Unit*>(from + at[1] + (column + c) * plane.column_in_from + row + mine);
  __syncthreads();
#pragma unroll
  for (int r = threadIdx.y; r < kSide; r += kTileRows)
    if (row + r < plane.rows && column + mine < plane.columns) {
      Unit out;
      for (int n = 0; n < N; ++n) out.items[n] = tile[mine + n][r / N].items[r % N];
      *reinterpret_cast<Unit*>(to + at[0] + (row + r) * plane.row_in_to + column + mine) = out;
    }
}

/// Whether units of `neighbours` elements cut the plane evenly, and its extents fill tiles of them.
template <class T>
bool splits_into(int neighbours, const T* to, const T* from, const Transpose& plane) {
  const std::uint64_t bytes = sizeof(T) * static_cast<std::uint64_t>(neighbours);
  std::int64_t odd = plane.rows | plane.columns | plane.row_in_to | plane.column_in_from;
  for (const auto& strides : plane.others.strides)
    for (int d = 0; d < plane.others.dims; ++d) odd |= strides[d];
  return odd % neighbours == 0 && reinterpret_cast<std::uintptr_t>(to) % bytes == 0 &&
         reinterpret_cast<std::uintptr_t>(from) % bytes == 0 &&
         std::min(plane.rows, plane.columns) >= kTile * neighbours;
}

template <class T, int N>
void transpose(T* to, const T* from, const Transpose& plane) {
  transpose_tiles<T, N>
      <<<static_cast<unsigned>(plane.tiles(kTile * N)), dim3(kTile, kTileRows), 0, current_stream()>>>(
          to, from, plane);
  check(cudaGetLastError(), "transposing copy");
}

/// The walk as a transposition, where it is one and large enough to gain by tiles.
std::optional<Transpose> transposition(const Walk<2>& walk) {
  const int last = walk.dims - 1;
  if (walk.dims < 2 || walk.strides[0][last] != 1 || walk.strides[1][last] == 1) return std::nullopt;
  int dense = 0;  // in `from`
  while (dense < last && walk.strides[1][dense] != 1) ++dense;
  if (dense == last || std::min(walk.extents[dense], walk.extents[last]) < kTile / 2) return std::nullopt;
  Transpose result{
      walk.extents[dense], walk.extents[last], walk.strides[0][dense], walk.strides[1][last], {}};
  result.others.count = walk.count / (result.rows * result.columns);
  for (int d = 0; d < last; ++d) {
    if (d == dense) continue;
    const int to = result.others.dims++;
    result.others.extents[to] = walk.extents[d];
    for (int n = 0; n < 2; ++n) result.others.strides[n][to] = walk.strides[n][d];
  }
  return result;
}

template <class T>
void run(Place place, const Copy& copy) {
  T* const to = static_cast<T*>(copy.to);
  const T* const from = static_cast<const T*>(copy.from);
  const auto plane = transposition(copy.walk);
  if (place != Place::cuda || !plane) return convert_walk(place, to, from, copy.walk);
  if constexpr (sizeof(T) <= 2) {
    constexpr int kNeighbours = 4 / sizeof(T);
    if (splits_into(kNeighbours, to, from, *plane)) return transpose<T, kNeighbours>(to, from, *plane);
  }
  transpose<T, 1>(to, from, *plane);
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
  Copy copy{to.data(), from.data(), size_of(to.dtype()), walk};
  copy.widen();
  switch (copy.size) {
    case 1:
      return run<std::uint8_t>(to.place(), copy);
    case 2:
      return run<std::uint16_t>(to.place(), copy);
    case 4:
      return run<std::uint32_t>(to.place(), copy);
    case 8:
      return run<std::uint64_t>(to.place(), copy);
    case 16:
      return run<uint4>(to.place(), copy);
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
