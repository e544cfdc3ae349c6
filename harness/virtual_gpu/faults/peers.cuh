// SPDX-License-Identifier: Apache-2.0
// What the candidates here have in common: accesses by order and scope, every rank's memory, and a meeting of all
// ranks that is right. A candidate includes it by name; the test pastes it in, since a candidate is one file.
#include <pkb/candidate.h>

namespace {

using pkb::T;
constexpr int kMaxRanks = 4;
constexpr int kBlocks = 4, kThreads = 256;

#define LOAD_AS(name, how)                                                                          \
  __device__ inline unsigned name(const unsigned* at) {                                             \
    unsigned value;                                                                                 \
    asm volatile("ld." how ".global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");             \
    return value;                                                                                   \
  }
LOAD_AS(load_relaxed, "relaxed.sys")
LOAD_AS(load_acquire, "acquire.sys")
LOAD_AS(load_acquire_gpu, "acquire.gpu")

#define STORE_AS(name, how)                                                                         \
  __device__ inline void name(unsigned* at, unsigned value) {                                       \
    asm volatile("st." how ".global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");               \
  }
STORE_AS(store_relaxed, "relaxed.sys")
STORE_AS(store_release, "release.sys")
STORE_AS(store_release_gpu, "release.gpu")

#define ADD_AS(name, how)                                                                           \
  __device__ inline unsigned name(unsigned* at, unsigned value) {                                   \
    unsigned before;                                                                                \
    asm volatile("atom." how ".global.add.u32 %0, [%1], %2;"                                        \
                 : "=r"(before) : "l"(at), "r"(value) : "memory");                                  \
    return before;                                                                                  \
  }
ADD_AS(add_release, "release.sys")
ADD_AS(add_acq_rel_gpu, "acq_rel.gpu")

/// Whether a counter that only grows has come to `epoch`.
__device__ inline bool reached(unsigned counter, unsigned epoch) {
  return static_cast<int>(counter - epoch) >= 0;
}

/// Every rank's tensors and its `State` in symmetric memory.
template <class State>
struct Peers {
  int count, self;
  const T* input[kMaxRanks];
  T* out[kMaxRanks];
  State* state[kMaxRanks];
};
template <class State>
Peers<State> peers_of(const pkb::Context& ctx, const pkb::Tensor& input, const pkb::Tensor& out, State* here) {
  Peers<State> peers{ctx.world_size(), ctx.rank(), {}, {}, {}};
  for (int r = 0; r < peers.count; ++r) {
    peers.input[r] = ctx.peer(input.as<T>(), r);
    peers.out[r] = ctx.peer(out.as<T>(), r);
    if (here != nullptr) peers.state[r] = ctx.peer(here, r);
  }
  return peers;
}
template <class State>
State* symmetric_state(pkb::Context& ctx) {
  return static_cast<State*>(ctx.symmetric(sizeof(State)));
}

/// A part of `count` elements: the `part`-th of `parts`.
struct Part {
  int begin, end;
  __host__ __device__ Part(int count, int part, int parts) {
    const int width = (count + parts - 1) / parts;
    begin = min(part * width, count), end = min(begin + width, count);
  }
};

/// What all ranks' inputs sum up to at element `i`; ranks are added in the same order everywhere.
template <class State>
__device__ T sum_of_inputs(const Peers<State>& peers, int i) {
  float sum = 0;
  for (int r = 0; r < peers.count; ++r) sum += static_cast<float>(peers.input[r][i]);
  return static_cast<T>(sum);
}

/// The base of a State whose blocks meet the blocks of the same number on all ranks.
struct Meeting {
  unsigned came[kBlocks][kMaxRanks];
};
/// Everything that the block numbered like this one did on any rank happens before everything after it.
template <class State>
__device__ void meet(const Peers<State>& peers, unsigned epoch) {
  __syncthreads();
  if (threadIdx.x < peers.count) {
    store_release(&peers.state[threadIdx.x]->came[blockIdx.x][peers.self], epoch);
    while (!reached(load_acquire(&peers.state[peers.self]->came[blockIdx.x][threadIdx.x]), epoch)) {}
  }
  __syncthreads();
}

}  // namespace
