// SPDX-License-Identifier: Apache-2.0
// Every rank reads the rows it asks for where they are: tables are complete before `run`, so that nobody waits for anybody and no
// request is sent. The first kernel says where each request's row goes, the second copies a row per warp.
#include <pkb/embedding_lookup.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;
constexpr int kThreads = 1024;

std::int64_t* places_here;

/// Sums over the threads before this one, and over all.
struct Sums {
  std::int64_t before, all;
};

__device__ Sums sums_over_block(std::int64_t mine) {
  __shared__ std::int64_t sums[kThreads];
  sums[threadIdx.x] = mine;
  for (int step = 1; step < kThreads; step *= 2) {
    __syncthreads();
    const std::int64_t left = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += left;
  }
  __syncthreads();
  const Sums result{sums[threadIdx.x] - mine, sums[kThreads - 1]};
  __syncthreads();  // the next call overwrites them
  return result;
}

/// Block o places the requests to owner o: behind those to smaller owners, in their order. A thread has neighbouring requests.
__global__ void place_by_owner(const std::int64_t* indices, std::int64_t* places, std::int64_t requests, std::int64_t rows) {
  const std::int64_t owner = blockIdx.x, each = (requests + kThreads - 1) / kThreads;
  const std::int64_t begin = min(threadIdx.x * each, requests), end = min(begin + each, requests);
  std::int64_t smaller = 0, same = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    smaller += indices[k] / rows < owner;
    same += indices[k] / rows == owner;
  }
  const std::int64_t first = sums_over_block(smaller).all;
  std::int64_t place = first + sums_over_block(same).before;
  for (std::int64_t k = begin; k < end; ++k)
    if (indices[k] / rows == owner) places[k] = place++;
}

/// places null: in the order of the requests.
__global__ void copy_rows(const std::int64_t* indices, const std::int64_t* places, pkb::Peers<const T> table, T* out,
                          std::int64_t requests, std::int64_t rows, std::int64_t width) {
  const pkb::Team warp{static_cast<int>(threadIdx.x % 32), 32, 0};
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / 32;
  for (std::int64_t k = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; k < requests; k += warps) {
    const std::int64_t row = indices[k], place = places == nullptr ? k : places[k];
    pkb::store(warp, out + place * width, table[static_cast<int>(row / rows)] + row % rows * width, width);
  }
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t most = args.L + (ctx.world_size() - 1) * args.extra;  // the same on all ranks
  places_here = static_cast<std::int64_t*>(ctx.symmetric(most * sizeof(std::int64_t)));
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t requests = args.output_vectors.shape[0], rows = args.local_shard.shape[0];
  if (requests == 0) return;
  const auto* indices = args.indices.as<const std::int64_t>();
  std::int64_t* const places = args.request_order ? nullptr : places_here;
  if (places != nullptr)
    place_by_owner<<<ctx.world_size(), kThreads, 0, ctx.stream()>>>(indices, places, requests, rows);
  copy_rows<<<512, 256, 0, ctx.stream()>>>(indices, places, pkb::peers_of(ctx, args.local_shard.as<const T>()),
                                           args.output_vectors.as<T>(), requests, rows, args.output_vectors.shape[1]);
}
