// SPDX-License-Identifier: Apache-2.0
// Every rank reads its heads of everybody's tokens: inputs are complete before `run`, so that nobody waits for anybody. The
// heads of one token for one rank are neighbours in its source and in its target: a warp copies them at a time.
#include <pkb/ulysses_gather_seq_scatter_heads.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;

struct Sizes {
  std::int64_t batch, tokens_of_rank, tokens_kept, run;  ///< run: elements of one token for one rank
};

__global__ void gather_tokens(pkb::Peers<const T> x, T* out, Sizes n) {
  const pkb::Team warp{static_cast<int>(threadIdx.x % 32), 32, 0};
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / 32;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; i < n.batch * n.tokens_kept; i += warps) {
    // Each rank begins with its own tokens, so that no link is crowded.
    const std::int64_t token = (x.rank * n.tokens_of_rank + i / n.batch) % n.tokens_kept, b = i % n.batch;
    const int source = static_cast<int>(token / n.tokens_of_rank);
    const std::int64_t at = (b * n.tokens_of_rank + token % n.tokens_of_rank) * x.ranks + x.rank;
    pkb::store(warp, out + (b * n.tokens_kept + token) * n.run, x[source] + at * n.run, n.run);
  }
}

}  // namespace

void run(pkb::Context& ctx, const pkb::Args& args) {
  if (args.out.numel() == 0) return;
  const Sizes sizes{.batch = args.x.shape[0],
                    .tokens_of_rank = args.x.shape[1],
                    .tokens_kept = args.out.shape[1],
                    .run = args.out.shape[2] * args.out.shape[3]};
  gather_tokens<<<512, 256, 0, ctx.stream()>>>(pkb::peers_of(ctx, args.x.as<const T>()), args.out.as<T>(), sizes);
}
