// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter by loads: rank r reads row block r of every rank's input and adds. Each link carries the
// least it can, and reads of complete inputs need no flag. Row block r starts at r * M * N elements, which
// may be odd, so the widest access that every block's address allows is chosen on the host.
#include <pkb/reducescatter.h>

#include <algorithm>

namespace {

using pkb::T;
constexpr int kMaxRanks = 64;

struct Blocks {
  const T* of_rank[kMaxRanks];
};
template <int kWidth>
struct alignas(kWidth * sizeof(T)) Vector {
  T element[kWidth];
};

template <int kWidth>
__global__ void reduce_scatter(Blocks blocks, int ranks, int self, T* out, std::int64_t vectors) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < vectors;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    float sum[kWidth] = {};
    for (int step = 0; step < ranks; ++step) {  // each rank starts with itself, so the links are used evenly
      const int r = (self + step) % ranks;
      const auto v = reinterpret_cast<const Vector<kWidth>*>(blocks.of_rank[r])[i];
      for (int k = 0; k < kWidth; ++k) sum[k] += static_cast<float>(v.element[k]);
    }
    Vector<kWidth> total;
    for (int k = 0; k < kWidth; ++k) total.element[k] = static_cast<T>(sum[k]);
    reinterpret_cast<Vector<kWidth>*>(out)[i] = total;
  }
}

template <int kWidth>
void launch(pkb::Context& ctx, const Blocks& blocks, T* out, std::int64_t count) {
  const std::int64_t vectors = count / kWidth;
  const int grid = static_cast<int>(std::min<std::int64_t>((vectors + 255) / 256, 512));
  reduce_scatter<kWidth><<<grid, 256, 0, ctx.stream()>>>(blocks, ctx.world_size(), ctx.rank(), out, vectors);
}

}  // namespace

void run(pkb::Context& ctx, const pkb::Args& args) {
  constexpr int kWidest = 16 / sizeof(T);
  const std::int64_t count = args.out.numel();
  if (count == 0) return;
  Blocks blocks{};
  for (int r = 0; r < ctx.world_size(); ++r)
    blocks.of_rank[r] = ctx.peer(args.tensor.as<T>(), r) + ctx.rank() * count;
  if (count % kWidest == 0)
    launch<kWidest>(ctx, blocks, args.out.as<T>(), count);
  else if (count % 2 == 0)
    launch<2>(ctx, blocks, args.out.as<T>(), count);
  else
    launch<1>(ctx, blocks, args.out.as<T>(), count);
}
