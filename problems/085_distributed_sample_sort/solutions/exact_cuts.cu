// SPDX-License-Identifier: Apache-2.0
// Distributed sort with exact cuts instead of samples. Each rank sorts its keys; then it finds, by bisection
// over the values of keys and searches in everybody's sorted keys, where its share of all keys begins and
// ends on every rank; it fetches these pieces and sorts them. Keys travel once, and the shares come out right
// without a second exchange.
#include <pkb/distributed_sample_sort.h>
#include <pkb/device.cuh>

#include <type_traits>

namespace {

using pkb::T;
using Bits =
    std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>;  // of a key, in the order of keys
constexpr int kThreads = 256, kBlocks = 64;

Bits *sorted_here, *share_here;  // padded with the largest to a power of two
std::int64_t* cuts_here;         // [2][rank]: where the share begins and ends in each rank's keys
pkb::Signals signals;

__device__ Bits ordered(T key) {
  Bits bits;
  memcpy(&bits, &key, sizeof bits);
  const Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
  return bits & sign ? Bits(~bits) : Bits(bits | sign);
}
__device__ T key_of(Bits bits) {
  const Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
  bits = bits & sign ? Bits(bits & ~sign) : Bits(~bits);
  T key;
  memcpy(&key, &bits, sizeof key);
  return key;
}

__global__ void load(const T* keys, std::int64_t count, Bits* to, std::int64_t padded) {
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < padded;
       i += std::int64_t{gridDim.x} * kThreads)
    to[i] = i < count ? ordered(keys[i]) : Bits(~Bits(0));
}

// One step of a bitonic sort: keys `distance` apart, ascending or descending by turns of `run`.
__global__ void exchange(Bits* keys, std::int64_t padded, std::int64_t run, std::int64_t distance) {
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < padded;
       i += std::int64_t{gridDim.x} * kThreads) {
    const std::int64_t other = i ^ distance;
    if (other < i) continue;
    const Bits a = keys[i], b = keys[other];
    if ((a > b) == ((i & run) == 0)) keys[i] = b, keys[other] = a;
  }
}

struct Lengths {
  std::int64_t of_rank[pkb::kMaxRanks];
};

/// How many of `count` sorted keys are below `bound`.
__device__ std::int64_t below(const Bits* keys, std::int64_t count, std::int64_t bound) {
  std::int64_t low = 0, high = count;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (keys[middle] < bound)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Two warps: one finds where the share begins, one where it ends. `place` keys of all lie before the cut. The
// largest value below which there are no more than `place` is what the key there has; of equal ones, those of
// lower ranks come first.
__global__ void cut(pkb::Peers<const Bits> sorted, Lengths lengths, std::int64_t begin, std::int64_t end,
                    std::int64_t* cuts, pkb::Signals signals) {
  signals.barrier(pkb::whole_block(), 0);  // everybody's keys are sorted
  const int lane = threadIdx.x % 32, which = threadIdx.x / 32;
  const std::int64_t place = which == 0 ? begin : end;
  const auto count = [&](std::int64_t bound) {
    std::int64_t total = 0;
    for (int r = lane; r < sorted.ranks; r += 32) total += below(sorted[r], lengths.of_rank[r], bound);
    for (int l = 16; l > 0; l /= 2) total += __shfl_xor_sync(0xffffffffu, total, l);
    return total;
  };
  std::int64_t low = 0, high = std::int64_t{1} << (8 * sizeof(Bits));  // count(low) <= place
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (count(middle) <= place)
      low = middle;
    else
      high = middle;
  }
  if (lane != 0) return;
  std::int64_t equal = place;  // how many of those that are `low` lie before the cut
  for (int r = 0; r < sorted.ranks; ++r) equal -= below(sorted[r], lengths.of_rank[r], low);
  for (int r = 0; r < sorted.ranks; ++r) {
    const std::int64_t first = below(sorted[r], lengths.of_rank[r], low),
                       after = below(sorted[r], lengths.of_rank[r], low + 1);
    const std::int64_t taken = equal < after - first ? equal : after - first;
    cuts[which * sorted.ranks + r] = first + taken;
    equal -= taken;
  }
}

__global__ void fetch(pkb::Peers<const Bits> sorted, const std::int64_t* cuts, Bits* share,
                      std::int64_t padded) {
  std::int64_t at = 0;
  for (int r = 0; r < sorted.ranks; ++r) {
    const std::int64_t first = cuts[r], count = cuts[sorted.ranks + r] - first;
    const pkb::Range mine = pkb::share_of(count, pkb::this_block());
    pkb::store(pkb::whole_block(), share + at + mine.begin, sorted[r] + first + mine.begin,
               mine.end - mine.begin);
    at += count;
  }
  for (std::int64_t i = at + std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < padded;
       i += std::int64_t{gridDim.x} * kThreads)
    share[i] = Bits(~Bits(0));
}

__global__ void unload(const Bits* share, T* out, std::int64_t count) {
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * kThreads)
    out[i] = key_of(share[i]);
}

std::int64_t padded(std::int64_t count) {
  std::int64_t size = 1;
  while (size < count) size *= 2;
  return size;
}

void sort(Bits* keys, std::int64_t size, cudaStream_t stream) {
  for (std::int64_t run = 2; run <= size; run *= 2)
    for (std::int64_t distance = run / 2; distance > 0; distance /= 2)
      exchange<<<kBlocks, kThreads, 0, stream>>>(keys, size, run, distance);
}

std::int64_t keys_of(const pkb::Args& args, int rank) {
  return rank == args.idle ? 0 : args.n + rank * args.extra;
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  std::int64_t most = 0;
  for (int r = 0; r < ctx.world_size(); ++r) most = max(most, keys_of(args, r));
  sorted_here = static_cast<Bits*>(ctx.symmetric(padded(most) * sizeof(Bits)));
  share_here = static_cast<Bits*>(ctx.symmetric(padded(args.N / ctx.world_size() + 1) * sizeof(Bits)));
  cuts_here = static_cast<std::int64_t*>(ctx.symmetric(2 * ctx.world_size() * sizeof(std::int64_t)));
  signals = pkb::Signals(ctx, 1);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int rank = ctx.rank(), ranks = ctx.world_size();
  const std::int64_t own = args.keys.numel(), share = args.sorted.numel();
  const std::int64_t begin = rank * (args.N / ranks) + min(std::int64_t{rank}, args.N % ranks);
  Lengths lengths{};
  for (int r = 0; r < ranks; ++r) lengths.of_rank[r] = keys_of(args, r);
  const auto sorted = pkb::peers_of<const Bits>(ctx, sorted_here);
  load<<<kBlocks, kThreads, 0, ctx.stream()>>>(args.keys.as<T>(), own, sorted_here, padded(own));
  sort(sorted_here, padded(own), ctx.stream());
  cut<<<1, 64, 0, ctx.stream()>>>(sorted, lengths, begin, begin + share, cuts_here, signals);
  fetch<<<kBlocks, kThreads, 0, ctx.stream()>>>(sorted, cuts_here, share_here, padded(share));
  sort(share_here, padded(share), ctx.stream());
  unload<<<kBlocks, kThreads, 0, ctx.stream()>>>(share_here, args.sorted.as<T>(), share);
}
