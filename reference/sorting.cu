// SPDX-License-Identifier: Apache-2.0
#include "reference/sorting.h"

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <limits>
#include <numeric>
#include <vector>

#include "reference/indexing.h"
#include "reference/loop.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/rows.h"

namespace pkb::ref {
namespace {

/// An unsigned number in the order of `x`: NaN last, -0 as +0.
template <class T>
PKB_HD auto order_key(T item) {
  const Compute<T> x = load(item);
  using F = Compute<T>;
  using Key = std::conditional_t<sizeof(F) == 8, std::uint64_t, std::uint32_t>;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  if constexpr (std::is_floating_point_v<F>) {
    if (x != x) return static_cast<Key>(~Key{0});
    const Key bits = x == 0 ? Key{0} : __builtin_bit_cast(Key, x);
    return static_cast<Key>(bits & kSign ? ~bits : bits | kSign);
  } else if constexpr (std::is_signed_v<F>) {
    return static_cast<Key>(static_cast<Key>(static_cast<std::make_signed_t<Key>>(x)) ^ kSign);
  } else {
    return static_cast<Key>(x);
  }
}
template <class T>
using Key = decltype(order_key(T{}));

/// Keys of elements, with the row in front where it has room.
template <class T, class Wide>
struct MakeKeys {
  Wide* keys;
  std::int64_t* places;
  const T* in;
  std::int64_t count;
  bool descending, with_row;
  PKB_HD void operator()(std::int64_t i) const {
    Key<T> key = order_key(in[i]);
    if (descending) key = static_cast<Key<T>>(~key);
    keys[i] = with_row ? static_cast<Wide>(static_cast<std::uint64_t>(i / count) << 32 | key) : static_cast<Wide>(key);
    places[i] = i;
  }
};
struct RowOf {
  std::uint32_t* keys;
  const std::int64_t* places;
  std::int64_t count;
  PKB_HD void operator()(std::int64_t i) const { keys[i] = static_cast<std::uint32_t>(places[i] / count); }
};
struct WithinRow {
  std::int64_t* places;
  std::int64_t count;
  PKB_HD void operator()(std::int64_t i) const { places[i] %= count; }
};

template <class Wide>
void radix_sort(Tensor& keys, Tensor& places, int bits) {
  const Tensor sorted_keys = keys.empty_like(), sorted_places = places.empty_like();
  cub::DoubleBuffer<Wide> key_buffers(keys.as<Wide>(), sorted_keys.as<Wide>());
  cub::DoubleBuffer<std::int64_t> place_buffers(places.as<std::int64_t>(), sorted_places.as<std::int64_t>());
  const auto run = [&](void* room, std::size_t& bytes) {
    check(cub::DeviceRadixSort::SortPairs(room, bytes, key_buffers, place_buffers, keys.numel(), 0, bits,
                                          current_stream()),
          "DeviceRadixSort");
  };
  std::size_t bytes = 0;
  run(nullptr, bytes);
  const auto room = device_allocate(bytes);
  run(room.get(), bytes);
  if (place_buffers.selector != 0) places = sorted_places;
  if (key_buffers.selector != 0) keys = sorted_keys;
}

/// Flat places of the elements of each row in its order, then made relative to the row.
template <class T>
Tensor argsort_on_cuda(const Tensor& in, std::int64_t count, bool descending) {
  const std::int64_t rows = in.numel() / count;
  Tensor places = Tensor::empty(in.shape(), DType::i64, Place::cuda);
  const int row_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1)));
  const auto sort_as = [&](auto wide, bool with_row) {
    using Wide = typename decltype(wide)::type;
    Tensor keys = Tensor::empty(in.shape(), sizeof(Wide) == 8 ? DType::i64 : DType::i32, Place::cuda);
    loop(Place::cuda, in.numel(),
         MakeKeys<T, Wide>{keys.as<Wide>(), places.as<std::int64_t>(), in.as<const T>(), count, descending, with_row});
    radix_sort<Wide>(keys, places, with_row ? 32 + row_bits : static_cast<int>(8 * sizeof(Key<T>)));
  };
  if constexpr (sizeof(Key<T>) == 8) {
    sort_as(Type<std::uint64_t>{}, false);
    if (rows > 1) {  // a second stable sort, by row
      Tensor keys = Tensor::empty(in.shape(), DType::i32, Place::cuda);
      loop(Place::cuda, in.numel(), RowOf{keys.as<std::uint32_t>(), places.as<const std::int64_t>(), count});
      radix_sort<std::uint32_t>(keys, places, row_bits);
    }
  } else if (rows > 1) {
    sort_as(Type<std::uint64_t>{}, true);
  } else {
    sort_as(Type<std::uint32_t>{}, false);
  }
  if (rows > 1) loop(Place::cuda, in.numel(), WithinRow{places.as<std::int64_t>(), count});
  return places;
}

template <class T>
Tensor argsort_on_host(const Tensor& in, std::int64_t count, bool descending) {
  const Tensor places = Tensor::empty(in.shape(), DType::i64);
  parallel_for(in.numel() / count, std::max<std::int64_t>(1, (1 << 14) / count),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   const T* const items = in.as<const T>() + row * count;
                   std::int64_t* const first = places.as<std::int64_t>() + row * count;
                   std::iota(first, first + count, 0);
                   std::stable_sort(first, first + count, [&](std::int64_t a, std::int64_t b) {
                     const auto left = order_key(items[a]), right = order_key(items[b]);
                     return descending ? left > right : left < right;
                   });
                 }
               });
  return places;
}

/// The k first of a row, each found as the best one after the one before.
template <class T>
struct SelectRow {
  std::int64_t* out;
  const T* in;
  std::int64_t count, k;

  struct Larger {
    PKB_HD Key<T> operator()(Key<T> a, Key<T> b) const { return a > b ? a : b; }
  };
  struct Smaller {
    PKB_HD std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a < b ? a : b; }
  };

  template <class Row>
  PKB_HD void operator()(const Row& row, std::int64_t r) const {
    const T* const items = in + r * count;
    Key<T> last = 0;
    std::int64_t place = -1;
    for (std::int64_t j = 0; j < k; ++j) {
      const auto remains = [&](std::int64_t i) {
        const Key<T> key = order_key(items[i]);
        return place < 0 || key < last || (key == last && i > place);
      };
      const Key<T> best = row.reduce(count, Key<T>{0}, Larger{},
                                     [&](std::int64_t i) { return remains(i) ? order_key(items[i]) : Key<T>{0}; });
      place = row.reduce(count, std::numeric_limits<std::int64_t>::max(), Smaller{}, [&](std::int64_t i) {
        return remains(i) && order_key(items[i]) == best ? i : std::numeric_limits<std::int64_t>::max();
      });
      last = best;
      if (row.first()) out[r * k + j] = place;
    }
  }
};

/// Inclusive prefix sums of rows: a block per row, a chunk of a value per thread at a time.
constexpr int kScanThreads = 256;
template <class T, class F, class To>
__global__ void scan_rows(To* out, const T* in, std::int64_t count) {
  __shared__ F of_warp[kScanThreads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  F before = 0;
  for (std::int64_t begin = 0; begin < count; begin += kScanThreads) {
    const std::int64_t i = begin + threadIdx.x, at = blockIdx.x * count + i;
    F sum = i < count ? static_cast<F>(load(in[at])) : F(0);
    for (int step = 1; step < 32; step *= 2) {
      const F other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += other;
    }
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    F chunk = 0;
    for (int w = 0; w < kScanThreads / 32; ++w) {
      if (w == warp) sum = before + chunk + sum;
      chunk += of_warp[w];
    }
    before += chunk;
    if (i < count) out[at] = store<To>(sum);
    __syncthreads();
  }
}

void scan_integers(const Tensor& in, const Tensor& out) {
  std::size_t bytes = 0;
  const auto run = [&](void* room) {
    check(cub::DeviceScan::InclusiveSum(room, bytes, in.as<const std::int64_t>(), out.as<std::int64_t>(), in.numel(),
                                        current_stream()),
          "DeviceScan");
  };
  run(nullptr);
  const auto room = device_allocate(bytes);
  run(room.get());
}

template <class T>
struct Search {
  std::int64_t* out;
  const T *sorted, *values;
  std::int64_t count;
  bool right;
  PKB_HD void operator()(std::int64_t i) const {
    const auto value = load(values[i]);
    std::int64_t low = 0, high = count;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const auto here = load(sorted[middle]);
      if (right ? !(value < here) : here < value)
        low = middle + 1;
      else
        high = middle;
    }
    out[i] = low;
  }
};

}  // namespace

Tensor argsort(const Tensor& a, const SortOptions& options) {
  require(a.dim() > 0, "sort: a scalar has no dimension");
  const Tensor in = a.contiguous();
  if (in.numel() == 0) return Tensor::empty(a.shape(), DType::i64, a.place());
  return visit_numeric(a.dtype(), "sort", [&](auto type) {
    using T = typename decltype(type)::type;
    return a.place() == Place::cuda ? argsort_on_cuda<T>(in, in.size(-1), options.descending)
                                    : argsort_on_host<T>(in, in.size(-1), options.descending);
  });
}

Sorted sort(const Tensor& a, const SortOptions& options) {
  const Tensor indices = argsort(a, options);
  return {gather(a, -1, indices), indices};
}

Sorted topk(const Tensor& a, std::int64_t k) {
  require(a.dim() > 0 && k >= 0 && k <= a.size(-1), "topk: {} of {}", k, a.shape());
  constexpr std::int64_t kBySelection = 32;
  if (k > kBySelection) {
    const Sorted all = sort(a, {.descending = true});
    return {all.values.narrow(-1, 0, k).contiguous(), all.indices.narrow(-1, 0, k).contiguous()};
  }
  const Tensor in = a.contiguous();
  Shape shape = a.shape();
  shape.back() = k;
  const Tensor places = Tensor::empty(shape, DType::i64, a.place());
  if (places.numel() > 0)
    visit_numeric(a.dtype(), "topk", [&](auto type) {
      using T = typename decltype(type)::type;
      for_each_row(a.place(), places.numel() / k, in.size(-1),
                   SelectRow<T>{places.as<std::int64_t>(), in.as<const T>(), in.size(-1), k});
    });
  return {gather(in, -1, places), places};
}

Unique unique(const Tensor& a) {
  const Tensor flat = a.reshape({a.numel()});
  const Sorted sorted = sort(flat);
  if (flat.numel() == 0)
    return {sorted.values, sorted.indices, Tensor::empty({0}, DType::i64, a.place())};
  const std::int64_t count = flat.numel();
  const Tensor first = Tensor::full({count}, 1, DType::u8, a.place());
  first.narrow(0, 1, count - 1)
      .copy_(ne(sorted.values.narrow(0, 1, count - 1), sorted.values.narrow(0, 0, count - 1)));
  const Tensor starts = flatnonzero(first);
  Tensor inverse = Tensor::empty({count}, DType::i64, a.place());
  scatter_(inverse, 0, sorted.indices, cumsum(first) - 1);
  const Tensor ends = cat({starts.narrow(0, 1, starts.numel() - 1), Tensor::full({1}, double(count), DType::i64, a.place())});
  return {index_select(sorted.values, 0, starts), inverse, ends - starts};
}

Tensor cumsum(const Tensor& a) {
  require(a.dim() > 0, "cumsum: a scalar has no dimension");
  const bool floating = info(a.dtype()).floating;
  const Tensor in = floating ? a.contiguous() : a.to(DType::i64).contiguous();
  Tensor out = in.empty_like();
  if (in.numel() == 0) return out;
  const std::int64_t count = in.size(-1), rows = in.numel() / count;
  if (a.place() == Place::cuda && !floating && rows == 1) {
    scan_integers(in, out);
    return out;
  }
  visit_numeric(in.dtype(), "cumsum", [&](auto type) {
    using T = typename decltype(type)::type;
    using F = Compute<T>;
    if (a.place() == Place::cuda) {
      scan_rows<T, F, T><<<static_cast<unsigned>(rows), kScanThreads, 0, current_stream()>>>(out.as<T>(), in.as<const T>(),
                                                                                            count);
      return check(cudaGetLastError(), "cumsum");
    }
    parallel_for(rows, std::max<std::int64_t>(1, (1 << 14) / count), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        F sum = 0;
        for (std::int64_t i = row * count; i < (row + 1) * count; ++i) {
          sum = static_cast<F>(sum + load(in.as<const T>()[i]));
          out.as<T>()[i] = store<T>(sum);
        }
      }
    });
  });
  return out;
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, const SearchOptions& options) {
  require(sorted.dim() == 1, "searchsorted: {} is not 1-d", sorted.shape());
  require<DTypeError>(sorted.dtype() == values.dtype(), "searchsorted: {} among {}", values.dtype(), sorted.dtype());
  const Tensor in = sorted.contiguous(), wanted = values.contiguous();
  Tensor out = Tensor::empty(values.shape(), DType::i64, values.place());
  visit_numeric(values.dtype(), "searchsorted", [&](auto type) {
    using T = typename decltype(type)::type;
    loop(values.place(), wanted.numel(),
         Search<T>{out.as<std::int64_t>(), in.as<const T>(), wanted.as<const T>(), in.numel(), options.right});
  });
  return out;
}

}  // namespace pkb::ref
