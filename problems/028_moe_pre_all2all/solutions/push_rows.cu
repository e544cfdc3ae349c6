// SPDX-License-Identifier: Apache-2.0
// MoE dispatch in one kernel: every row goes from its token straight to its final place on the expert's rank.
// A rank's own counts are in the tables of the experts' ranks, which say as well where this rank's rows begin
// there.
#include <pkb/moe_pre_all2all.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;
constexpr int kThreads = 256;

pkb::Signals signals;

struct Dispatch {
  const T* hidden;
  const float* mask;                      // [E][K][tokens]
  pkb::Peers<const std::int64_t> tables;  // [source rank][local expert]
  pkb::Peers<T> out;
  std::uint8_t* routing_map;
  std::int64_t *mapping, *mapping_rows, *global_rows;
  int tokens, width, chosen, local;  // local: experts of a rank

  __device__ std::int64_t rows(int at, int source, int expert) const {
    return tables[at][source * local + expert];
  }
};

/// How many threads before this one have `flag`, and in `all` how many there are.
__device__ int before(bool flag, int& all) {
  __shared__ int of_warp[kThreads / 32];
  const unsigned votes = __ballot_sync(0xffffffffu, flag);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();  // the last counts have been read
  if (lane == 0) of_warp[warp] = __popc(votes);
  __syncthreads();
  int count = __popc(votes & ((1u << lane) - 1));
  all = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w < warp) count += of_warp[w];
    all += of_warp[w];
  }
  return count;
}

// Block e has expert e.
__global__ void __launch_bounds__(kThreads) dispatch(Dispatch d, pkb::Signals signals) {
  __shared__ int chosen_token[kThreads];
  const int expert = blockIdx.x, owner = expert / d.local, own = expert % d.local, rank = d.out.rank;
  std::int64_t listed = 0, place = 0;  // rows before this expert's: in the list, and on its rank
  for (int e = 0; e < expert; ++e) listed += d.rows(e / d.local, rank, e % d.local);
  for (int source = 0; source < d.out.ranks; ++source) {
    for (int e = 0; e < own; ++e) place += d.rows(owner, source, e);
    if (source < rank) place += d.rows(owner, source, own);
  }

  for (int first = 0; first < d.tokens; first += kThreads) {
    const int token = first + threadIdx.x;
    bool routed = false;
    for (int k = 0; token < d.tokens && k < d.chosen; ++k)
      routed = routed || d.mask[(std::int64_t{expert} * d.chosen + k) * d.tokens + token] != 0;
    if (token < d.tokens) d.routing_map[std::int64_t{expert} * d.tokens + token] = routed;
    int all = 0;
    const int index = before(routed, all);
    if (routed) {
      chosen_token[index] = token;
      d.mapping[listed + index] = token;
    }
    __syncthreads();
    for (int i = 0; i < all; ++i)
      pkb::store(pkb::whole_block(), d.out[owner] + (place + i) * d.width,
                 d.hidden + std::int64_t{chosen_token[i]} * d.width, d.width);
    listed += all, place += all;
  }

  if (expert == 0 && threadIdx.x == 0) {
    std::int64_t arriving = 0;
    for (int i = 0; i < d.out.ranks * d.local; ++i) arriving += d.tables.here()[i];
    *d.global_rows = arriving;
    *d.mapping_rows = std::int64_t{d.chosen} * d.tokens;
  }
  signals.finish();
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) { signals = pkb::Signals(ctx, 0); }

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int experts = static_cast<int>(args.expert_mask.shape[0]);
  const Dispatch d{.hidden = args.hidden_states.as<T>(),
                   .mask = args.expert_mask.as<float>(),
                   .tables = pkb::peers_of<const std::int64_t>(
                       ctx, args.num_global_tokens_per_local_expert.as<std::int64_t>()),
                   .out = pkb::peers_of(ctx, args.global_permuted_hidden_states.as<T>()),
                   .routing_map = args.routing_map.as<std::uint8_t>(),
                   .mapping = args.mapping.as<std::int64_t>(),
                   .mapping_rows = args.mapping_rows.as<std::int64_t>(),
                   .global_rows = args.global_rows.as<std::int64_t>(),
                   .tokens = static_cast<int>(args.hidden_states.shape[0]),
                   .width = static_cast<int>(args.hidden_states.shape[1]),
                   .chosen = static_cast<int>(args.expert_mask.shape[1]),
                   .local = experts / ctx.world_size()};
  dispatch<<<experts, kThreads, 0, ctx.stream()>>>(d, signals);
}
