// SPDX-License-Identifier: Apache-2.0
// Two-shot all-reduce by the fabric: rank r has the switch add slice r of all inputs and store the sum to every
// rank's output, so that only 1/W of the tensor leaves a rank twice. What is no whole vector, and everything where
// the fabric has no multicast, goes by loads and stores. A rank's output is complete when all ranks have signalled.
#include <pkb/allreduce.h>

namespace {

using pkb::T;
constexpr int kMaxRanks = 64;
constexpr int kWidth = 16 / sizeof(T);

// In symmetric memory; counters only grow, so nothing is ever reset while a peer may still signal.
struct Sync {
  unsigned arrived;  // signals received from all ranks, this one included
  unsigned blocks;   // blocks of this rank that have stored their part
};
Sync* sync_here;

struct Ranks {
  const T* input[kMaxRanks];
  T* out[kMaxRanks];
  const T* input_of_all;  // multicast addresses, or null
  T* out_of_all;
  Sync* sync[kMaxRanks];
  int count, self;
};

__device__ unsigned count_block(unsigned* counter) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}
__device__ void signal(unsigned* counter) {
  asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ unsigned load_acquire(const unsigned* counter) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

// The last block to finish tells every rank and waits for every rank. Only that block waits, and only for
// other ranks' kernels, so the grid need not be co-resident.
__device__ void finish(const Ranks& ranks) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  Sync* here = ranks.sync[ranks.self];
  const unsigned before = count_block(&here->blocks);
  if (before % gridDim.x != gridDim.x - 1) return;
  const unsigned epoch = before / gridDim.x + 1;
  for (int r = 0; r < ranks.count; ++r) signal(&ranks.sync[r]->arrived);
  while (static_cast<int>(load_acquire(&here->arrived) - epoch * ranks.count) < 0) __nanosleep(100);
}

// 16 bytes of the sum of all inputs.
__device__ uint4 load_sum(const T* from) {
  uint4 v;
#if defined(PKB_DTYPE_FP32)
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from) : "memory");
#elif defined(PKB_DTYPE_FP16)
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from) : "memory");
#else
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from) : "memory");
#endif
  return v;
}
__device__ void store_to_all(T* to, uint4 v) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};"
               :: "l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

__device__ void reduce_element(const Ranks& ranks, std::int64_t i) {
  float sum = 0;
  for (int r = 0; r < ranks.count; ++r) sum += static_cast<float>(ranks.input[r][i]);
  for (int r = 0; r < ranks.count; ++r) ranks.out[r][i] = static_cast<T>(sum);
}

__global__ void all_reduce(Ranks ranks, std::int64_t count) {
  const std::int64_t vectors = (count + kWidth - 1) / kWidth;
  const std::int64_t slice = (vectors + ranks.count - 1) / ranks.count;
  const std::int64_t begin = slice * ranks.self, end = min(begin + slice, vectors);
  for (std::int64_t i = begin + blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < end;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    if (ranks.input_of_all != nullptr && (i + 1) * kWidth <= count) {
      store_to_all(ranks.out_of_all + i * kWidth, load_sum(ranks.input_of_all + i * kWidth));
    } else {
      for (std::int64_t k = i * kWidth; k < min((i + 1) * kWidth, count); ++k) reduce_element(ranks, k);
    }
  }
  finish(ranks);
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) {
  sync_here = static_cast<Sync*>(ctx.symmetric(sizeof(Sync)));
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  Ranks ranks{};
  ranks.count = ctx.world_size();
  ranks.self = ctx.rank();
  for (int r = 0; r < ranks.count; ++r) {
    ranks.input[r] = ctx.peer(args.tensor.as<T>(), r);
    ranks.out[r] = ctx.peer(args.out.as<T>(), r);
    ranks.sync[r] = ctx.peer(sync_here, r);
  }
  ranks.input_of_all = static_cast<const T*>(ctx.multicast(args.tensor.data));
  ranks.out_of_all = static_cast<T*>(ctx.multicast(args.out.data));
  // The number of blocks must be the same in every run: `finish` counts them.
  all_reduce<<<64, 256, 0, ctx.stream()>>>(ranks, args.out.numel());
}
