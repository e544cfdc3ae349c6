// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce: every rank loads all ranks' inputs and adds them itself. W times the link traffic of
// the best algorithm, but no synchronisation at all: inputs are complete before `run`, and reads owe no
// barrier.
#include <pkb/allreduce.h>

#include <algorithm>

namespace {

using pkb::T;
constexpr int kMaxRanks = 64;
constexpr int kWidth = 16 / sizeof(T);

struct Inputs {
  const T* of_rank[kMaxRanks];
};
struct alignas(16) Vector {
  T element[kWidth];
};

// Ranks are added in the same order everywhere, so that all ranks get the same bits.
__global__ void all_reduce(Inputs inputs, int ranks, T* out, std::int64_t count) {
  const std::int64_t first = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t vectors = count / kWidth;

  for (std::int64_t i = first; i < vectors; i += stride) {
    float sum[kWidth] = {};
    for (int r = 0; r < ranks; ++r) {
      const Vector v = reinterpret_cast<const Vector*>(inputs.of_rank[r])[i];
      for (int k = 0; k < kWidth; ++k) sum[k] += static_cast<float>(v.element[k]);
    }
    Vector total;
    for (int k = 0; k < kWidth; ++k) total.element[k] = static_cast<T>(sum[k]);
    reinterpret_cast<Vector*>(out)[i] = total;
  }

  const std::int64_t i = vectors * kWidth + first;
  if (i >= count) return;
  float sum = 0;
  for (int r = 0; r < ranks; ++r) sum += static_cast<float>(inputs.of_rank[r][i]);
  out[i] = static_cast<T>(sum);
}

}  // namespace

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t count = args.out.numel();
  if (count == 0) return;
  Inputs inputs{};
  for (int r = 0; r < ctx.world_size(); ++r) inputs.of_rank[r] = ctx.peer(args.tensor.as<T>(), r);
  const int blocks = static_cast<int>(std::min<std::int64_t>((count / kWidth + 255) / 256 + 1, 512));
  all_reduce<<<blocks, 256, 0, ctx.stream()>>>(inputs, ctx.world_size(), args.out.as<T>(), count);
}
