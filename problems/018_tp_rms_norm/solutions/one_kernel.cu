// SPDX-License-Identifier: Apache-2.0
// One kernel: a block sums the squares of its rows and stores the sums to every rank, meets the blocks of the same number
// there, and scales its rows by the sums of all. What crosses the links is 4 bytes per row and pair of ranks.
#include <pkb/tp_rms_norm.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;
constexpr int kBlocks = 64, kThreads = 256;

float* squares_here;  // (ranks, rows): the sum of squares of each rank's part of a row
pkb::Signals signals;

__device__ float sum_over_block(float mine) {
  __shared__ float of_warp[kThreads / 32];
  for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, lane);
  __syncthreads();  // the last sum has been read
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  float sum = 0;
  for (const float each : of_warp) sum += each;
  return sum;
}

__global__ void rms_norm(const T* x, const T* weight, T* out, std::int64_t rows, std::int64_t columns, float epsilon,
                         pkb::Peers<float> squares, pkb::Signals signals) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float mine = 0;
    for (std::int64_t i = threadIdx.x; i < columns; i += kThreads) {
      const float element = static_cast<float>(x[row * columns + i]);
      mine += element * element;
    }
    const float sum = sum_over_block(mine);
    for (int r = threadIdx.x; r < squares.ranks; r += kThreads) squares[r][squares.rank * rows + row] = sum;
  }
  signals.barrier(pkb::whole_block(), blockIdx.x);
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float sum = 0;
    for (int r = 0; r < squares.ranks; ++r) sum += squares.here()[r * rows + row];
    const float scale = 1 / sqrtf(sum / static_cast<float>(columns * squares.ranks) + epsilon);
    for (std::int64_t i = threadIdx.x; i < columns; i += kThreads)
      out[row * columns + i] =
          static_cast<T>(static_cast<float>(x[row * columns + i]) * scale * static_cast<float>(weight[i]));
  }
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  squares_here = static_cast<float*>(ctx.symmetric(args.out.shape[0] * ctx.world_size() * sizeof(float)));
  signals = pkb::Signals(ctx, kBlocks);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  rms_norm<<<kBlocks, kThreads, 0, ctx.stream()>>>(
      args.local_hidden_states.as<const T>(), args.local_weight.as<const T>(), args.out.as<T>(), args.out.shape[0],
      args.out.shape[1], static_cast<float>(args.variance_epsilon), pkb::peers_of(ctx, squares_here), signals);
}
