// SPDX-License-Identifier: Apache-2.0
// Sorting, merging and selecting, by CUB and by hand.
#include <cub/cub.cuh>

#include "harness/virtual_gpu/answers/answer.cuh"

namespace pkb::virtual_gpu::answers {
namespace {

constexpr int kItems = 40000;

/// Runs `algorithm(storage, bytes)` as CUB wants it: once for the size, once for the work.
template <class Algorithm>
void with_storage(Algorithm algorithm) {
  std::size_t bytes = 0;
  algorithm(nullptr, bytes);
  const Scratch<char> storage(bytes);
  algorithm(static_cast<void*>(storage), bytes);
}

__global__ void shorten(const std::uint32_t* in, std::uint32_t* out, unsigned shift) {
  out[blockIdx.x * 256 + threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x] >> shift;
}

__global__ void block_radix_sort(const std::uint32_t* in, std::uint32_t* out) {
  using Sort = cub::BlockRadixSort<std::uint32_t, 128, 8>;
  using Load = cub::BlockLoad<std::uint32_t, 128, 8, cub::BLOCK_LOAD_TRANSPOSE>;
  __shared__ union {
    typename Sort::TempStorage sort;
    typename Load::TempStorage load;
  } storage;
  std::uint32_t items[8];
  Load(storage.load).Load(in + blockIdx.x * 1024, items);
  __syncthreads();
  Sort(storage.sort).SortBlockedToStriped(items);
  cub::StoreDirectStriped<128>(threadIdx.x, out + blockIdx.x * 1024, items);
}

__global__ void bitonic(const std::uint32_t* in, std::uint32_t* out) {
  __shared__ std::uint32_t data[1024];
  const unsigned t = threadIdx.x;
  data[t] = in[blockIdx.x * 1024 + t];
  for (unsigned size = 2; size <= 1024; size *= 2) {
    for (unsigned step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const unsigned other = t ^ step;
      if (other <= t) continue;
      const std::uint32_t a = data[t], b = data[other];
      if ((a > b) != ((t & size) != 0)) continue;
      data[t] = b;
      data[other] = a;
    }
  }
  __syncthreads();
  out[blockIdx.x * 1024 + t] = data[t];
}

// A warp sorts 32 keys without shared memory, the larger of two going up or down.
__global__ void warp_sort(const std::uint32_t* in, std::uint32_t* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  std::uint32_t key = in[i];
  for (unsigned size = 2; size <= 32; size *= 2) {
    for (unsigned step = size / 2; step > 0; step /= 2) {
      const std::uint32_t other = __shfl_xor_sync(0xffffffff, key, step);
      const bool takes_smaller = ((lane & step) == 0) == ((lane & size) == 0);
      key = takes_smaller ? min(key, other) : max(key, other);
    }
  }
  out[i] = key;
}

// Two sorted arrays into one: each thread finds by bisection where its diagonal crosses the path of the merge.
__global__ void merge(const std::uint32_t* a, const std::uint32_t* b, int count, std::uint32_t* out) {
  constexpr int kEach = 7;
  const int diagonal = (blockIdx.x * blockDim.x + threadIdx.x) * kEach;
  if (diagonal >= 2 * count) return;
  int low = max(0, diagonal - count), high = min(diagonal, count);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
    else high = middle;
  }
  int i = low, j = diagonal - low;
  for (int k = diagonal; k < min(diagonal + kEach, 2 * count); ++k) {
    const bool from_a = j >= count || (i < count && a[i] <= b[j]);
    out[k] = from_a ? a[i++] : b[j++];
  }
}

// The 64 largest of each row of 1024: four rounds narrow the least of them down by 8 bits.
__global__ void top_k(const std::uint32_t* in, std::uint32_t* out) {
  constexpr unsigned kWanted = 64;
  __shared__ unsigned bins[256], prefix, remaining, taken;
  const std::uint32_t* const row = in + blockIdx.x * 1024;
  if (threadIdx.x == 0) {
    prefix = taken = 0;
    remaining = kWanted;
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 1024; i += 256) {
      const unsigned long long above = static_cast<unsigned long long>(row[i]) >> (shift + 8);
      if (above == static_cast<unsigned long long>(prefix) >> (shift + 8)) atomicAdd(&bins[row[i] >> shift & 255], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int bin = 255;
      for (; bins[bin] < remaining; --bin) remaining -= bins[bin];
      prefix |= static_cast<unsigned>(bin) << shift;
    }
    __syncthreads();
  }
  for (unsigned i = threadIdx.x; i < 1024; i += 256) {
    if (row[i] >= prefix) {
      const unsigned at = atomicAdd(&taken, 1u);
      if (at < kWanted) bins[at] = row[i];
    }
  }
  __syncthreads();
  // Their order is that of chance: a rank for each.
  if (threadIdx.x >= kWanted) return;
  unsigned rank = 0;
  for (unsigned i = 0; i < kWanted; ++i) {
    rank += bins[i] > bins[threadIdx.x] || (bins[i] == bins[threadIdx.x] && i < threadIdx.x);
  }
  out[blockIdx.x * kWanted + rank] = bins[threadIdx.x];
}

// A kernel that calls itself, with a stack of its own: ranges that are left to sort.
__device__ void quick_sort(std::uint32_t* data, int low, int high) {
  if (low >= high) return;
  const std::uint32_t pivot = data[(low + high) / 2];
  int i = low, j = high;
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i > j) break;
    const std::uint32_t held = data[i];
    data[i++] = data[j];
    data[j--] = held;
  }
  quick_sort(data, low, j);
  quick_sort(data, i, high);
}
__global__ void recursive(const std::uint32_t* in, std::uint32_t* out) {
  std::uint32_t own[48];  // indexed by values: local memory
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < 48; ++i) own[i] = in[t * 48 + i] >> 12;
  quick_sort(own, 0, 47);
  for (int i = 0; i < 48; ++i) out[t * 48 + i] = own[i];
}

}  // namespace
}  // namespace pkb::virtual_gpu::answers

using namespace pkb::virtual_gpu::answers;

PKB_ANSWERS(
    {"sort_cub_pairs", 8 * kItems,
     [](const std::uint32_t* in, void* out) {
       auto* const keys = static_cast<std::uint32_t*>(out);
       with_storage([&](void* storage, std::size_t& bytes) {
         cub::DeviceRadixSort::SortPairs(storage, bytes, in, keys, in + 65536, keys + kItems, kItems);
       });
     }},
    {"sort_cub_descending_floats", 4 * kItems,
     [](const std::uint32_t* in, void* out) {
       with_storage([&](void* storage, std::size_t& bytes) {
         cub::DeviceRadixSort::SortKeysDescending(storage, bytes, reinterpret_cast<const float*>(in),
                                                  static_cast<float*>(out), kItems);
       });
     }},
    {"sort_cub_exclusive_sum", 4 * kItems,
     [](const std::uint32_t* in, void* out) {
       with_storage([&](void* storage, std::size_t& bytes) {
         cub::DeviceScan::ExclusiveSum(storage, bytes, in, static_cast<std::uint32_t*>(out), kItems);
       });
     }},
    {"sort_cub_max", 8,
     [](const std::uint32_t* in, void* out) {
       with_storage([&](void* storage, std::size_t& bytes) {
         cub::DeviceReduce::Max(storage, bytes, in, static_cast<std::uint32_t*>(out), kItems);
       });
     }},
    {"sort_cub_run_lengths", 8 * 65536,
     [](const std::uint32_t* in, void* out) {
       const Scratch<std::uint32_t> keys(65536);
       const Scratch<int> runs(1);
       shorten<<<256, 256>>>(in, keys, 31);
       auto* const unique = static_cast<std::uint32_t*>(out);
       with_storage([&](void* storage, std::size_t& bytes) {
         cub::DeviceRunLengthEncode::Encode(storage, bytes, static_cast<const std::uint32_t*>(keys), unique,
                                            reinterpret_cast<int*>(unique + 65536), static_cast<int*>(runs), kItems);
       });
     }},
    {"sort_block_radix", 4 * 1024 * 32,
     [](const std::uint32_t* in, void* out) { block_radix_sort<<<32, 128>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"sort_bitonic", 4 * 1024 * 16,
     [](const std::uint32_t* in, void* out) { bitonic<<<16, 1024>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"sort_warp", 4 * 65536,
     [](const std::uint32_t* in, void* out) { warp_sort<<<256, 256>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"sort_merge_path", 8 * 1024,
     [](const std::uint32_t* in, void* out) {
       const Scratch<std::uint32_t> sorted(2048);
       bitonic<<<2, 1024>>>(in, sorted);
       merge<<<3, 128>>>(sorted, sorted + 1024, 1024, static_cast<std::uint32_t*>(out));
     }},
    {"sort_top_k", 4 * 64 * 64,
     [](const std::uint32_t* in, void* out) { top_k<<<64, 256>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"sort_recursive", 4 * 48 * 1024, [](const std::uint32_t* in, void* out) {
       recursive<<<16, 64>>>(in, static_cast<std::uint32_t*>(out));
     }})
