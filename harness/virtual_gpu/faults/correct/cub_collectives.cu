// SPDX-License-Identifier: Apache-2.0
// All-reduce that uses CUB on its way: what CUB computes decides where or whether an element is stored, so that a
// wrong answer of it shows.
#include <pkb/allreduce.h>

#if defined(BLOCK_REDUCE)
#include <cub/block/block_reduce.cuh>
#elif defined(BLOCK_SCAN)
#include <cub/block/block_scan.cuh>
#elif defined(BLOCK_SORT)
#include <cub/block/block_radix_sort.cuh>
#elif defined(WARP_SCAN)
#include <cub/warp/warp_scan.cuh>
#elif defined(DEVICE_REDUCE)
#include <cub/device/device_reduce.cuh>
#elif defined(DEVICE_SCAN)
#include <cub/device/device_scan.cuh>
#else
#include <cub/device/device_radix_sort.cuh>
#endif

#include "peers.cuh"

struct State {};
int *keys, *sorted, *places, *order;
void* temporary;
std::size_t temporary_bytes;

#if defined(BLOCK_REDUCE) || defined(BLOCK_SCAN) || defined(BLOCK_SORT) || defined(WARP_SCAN)
__global__ void all_reduce(Peers<State> peers, int count) {
  const int begin = blockIdx.x * kThreads;
#if defined(BLOCK_REDUCE)
  using Collective = cub::BlockReduce<int, kThreads>;
  __shared__ typename Collective::TempStorage storage;
  __shared__ int width;
  const int sum = Collective(storage).Sum(begin + static_cast<int>(threadIdx.x) < count ? 1 : 0);
  if (threadIdx.x == 0) width = sum;
  __syncthreads();
  const int at = static_cast<int>(threadIdx.x) < width ? begin + static_cast<int>(threadIdx.x) : count;
#elif defined(BLOCK_SCAN)
  using Collective = cub::BlockScan<int, kThreads>;
  __shared__ typename Collective::TempStorage storage;
  int before = 0;
  for (int round = 0; round < 2; ++round) {  // the storage is used again
    Collective(storage).ExclusiveSum(1, before);
    __syncthreads();
  }
  const int at = begin + before;
#elif defined(WARP_SCAN)
  using Collective = cub::WarpScan<int>;
  __shared__ typename Collective::TempStorage storage[kThreads / 32];
  int before = 0;
  Collective(storage[threadIdx.x / 32]).ExclusiveSum(1, before);
  const int at = begin + static_cast<int>(threadIdx.x) / 32 * 32 + before;
#else
  using Collective = cub::BlockRadixSort<unsigned, kThreads, 1>;
  __shared__ typename Collective::TempStorage storage;
  unsigned key[1] = {threadIdx.x * 77 % kThreads};
  Collective(storage).Sort(key);
  const int at = begin + static_cast<int>(key[0]);
#endif
  if (at < count) peers.out[peers.self][at] = sum_of_inputs(peers, at);
}
#else
__global__ void make_keys(int* keys, int* places, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
#ifdef DEVICE_SORT
  keys[i] = count - 1 - i;
#else
  keys[i] = 1;
#endif
  places[i] = i;
}
__global__ void all_reduce(Peers<State> peers, const int* sorted, const int* order, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
#if defined(DEVICE_SORT)
  const int at = order[i] == count - 1 - i ? sorted[i] : 0;
#elif defined(DEVICE_SCAN)
  const int at = sorted[i];
#else
  const int at = sorted[0] == count ? i : 0;
#endif
  peers.out[peers.self][at] = sum_of_inputs(peers, at);
}
#endif

cudaError_t collect(int count, cudaStream_t stream) {
#if defined(DEVICE_SORT)
  return cub::DeviceRadixSort::SortPairs(temporary, temporary_bytes, keys, sorted, places, order, count, 0, 32, stream);
#elif defined(DEVICE_SCAN)
  return cub::DeviceScan::ExclusiveSum(temporary, temporary_bytes, keys, sorted, count, stream);
#elif defined(DEVICE_REDUCE)
  return cub::DeviceReduce::Sum(temporary, temporary_bytes, keys, sorted, count, stream);
#else
  return cudaSuccess;
#endif
}

void setup(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  for (int** each : {&keys, &sorted, &places, &order}) cudaMalloc(each, count * sizeof(int));
  temporary = nullptr;
  collect(count, ctx.stream());
  cudaMalloc(&temporary, temporary_bytes + 1);
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel()), blocks = (count + kThreads - 1) / kThreads;
  const auto peers = peers_of<State>(ctx, args.tensor, args.out, nullptr);
#if defined(BLOCK_REDUCE) || defined(BLOCK_SCAN) || defined(BLOCK_SORT) || defined(WARP_SCAN)
  all_reduce<<<blocks, kThreads, 0, ctx.stream()>>>(peers, count);
#else
  make_keys<<<blocks, kThreads, 0, ctx.stream()>>>(keys, places, count);
  collect(count, ctx.stream());
  all_reduce<<<blocks, kThreads, 0, ctx.stream()>>>(peers, sorted, order, count);
#endif
}
void teardown(pkb::Context&) {
  for (int* each : {keys, sorted, places, order}) cudaFree(each);
  cudaFree(temporary);
}
