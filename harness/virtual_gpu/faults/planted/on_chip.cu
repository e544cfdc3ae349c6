// SPDX-License-Identifier: Apache-2.0
// A right all-reduce that passes its sums through shared or local memory, with one index that is too large.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {};

__global__ void all_reduce(Peers<State> peers, int count, int shift) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float sum = i < count ? static_cast<float>(sum_of_inputs(peers, i)) : 0;
#if defined(STATIC_SHARED) || defined(STATIC_SHARED_WITHIN)
  __shared__ float tile[kThreads];
#else
  extern __shared__ float tile[];
#endif
#if defined(STATIC_SHARED)
  tile[threadIdx.x + shift] = sum;  // @STATIC_SHARED
  const float back = tile[threadIdx.x + shift];
#elif defined(STATIC_SHARED_WITHIN)
  tile[(threadIdx.x + shift) % kThreads] = sum;
  const float back = tile[(threadIdx.x + shift) % kThreads];
#elif defined(DYNAMIC_SHARED) || defined(DYNAMIC_SHARED_WITHIN)
  tile[threadIdx.x] = sum;  // @DYNAMIC_SHARED
  const float back = tile[threadIdx.x];
#elif defined(SHARED_BY_GENERIC_ADDRESS)
  tile[threadIdx.x] = sum;
  float* generic = tile + (threadIdx.x == 0 ? 4096 : 0);
  asm volatile("st.f32 [%0], %1;" ::"l"(generic + threadIdx.x), "f"(sum) : "memory");  // @SHARED_BY_GENERIC_ADDRESS
  const float back = tile[threadIdx.x];
#else  // LOCAL, LOCAL_BEFORE, LOCAL_WITHIN
  float local[16];
  for (int k = 0; k < 16; ++k) local[k] = sum + static_cast<float>(k);
#if defined(LOCAL)
  const int at = (i & 15) + (i == 3 ? 64 * shift : 0);
#elif defined(LOCAL_BEFORE)
  const int at = (i & 15) - (i == 3 ? 64 * shift : 0);
#else
  const int at = i & 15;
#endif
  const float back = local[at] - static_cast<float>(at);  // @LOCAL
#endif
  if (i < count) peers.out[peers.self][i] = static_cast<T>(back);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
#if defined(STATIC_SHARED)
  const int bytes = 0;
#elif defined(DYNAMIC_SHARED)
  const int bytes = (kThreads - 1) * sizeof(float);
#else
  const int bytes = kThreads * sizeof(float);
#endif
  all_reduce<<<(count + kThreads - 1) / kThreads, kThreads, bytes, ctx.stream()>>>(
      peers_of<State>(ctx, args.tensor, args.out, nullptr), count, 1);
}
