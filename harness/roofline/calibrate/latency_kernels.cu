// SPDX-License-Identifier: Apache-2.0
#include <cuda/atomic>

#include "harness/roofline/calibrate/latency_kernels.h"

namespace pkb::roofline {
namespace {

constexpr unsigned long long kPatience = 5'000'000'000;  // ns

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

__device__ unsigned long long now() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

// False when the others are lost.
__device__ bool wait(const Seats& seats, int seat, unsigned target) {
  const unsigned long long start = now();
  const Flag flag(*seats.flag_of[seat]);
  while (static_cast<int>(flag.load(cuda::memory_order_acquire) - target) < 0)
    if (now() - start > kPatience) {
      Flag(*seats.lost).store(1, cuda::memory_order_relaxed);
      return false;
    }
  return true;
}

__global__ void ping_pong_kernel(Seats seats, SeatLaunch launch) {
  const int seat = launch.first + static_cast<int>(blockIdx.x);
  const Flag other(*seats.flag_of[1 - seat]);
  for (unsigned round = 1; round <= static_cast<unsigned>(launch.rounds); ++round) {
    if (seat == 0) other.store(round, cuda::memory_order_release);
    if (!wait(seats, seat, round)) return;
    if (seat == 1) other.store(round, cuda::memory_order_release);
  }
}

__global__ void barriers_kernel(Seats seats, SeatLaunch launch) {
  const int seat = launch.first + static_cast<int>(blockIdx.x);
  const int peer = static_cast<int>(threadIdx.x);
  for (unsigned round = 1; round <= static_cast<unsigned>(launch.rounds); ++round) {
    Flag(*seats.flag_of[peer]).fetch_add(1, cuda::memory_order_release);
    const bool arrived = peer != 0 || wait(seats, seat, round * static_cast<unsigned>(seats.count));
    if (__syncthreads_or(!arrived)) return;
  }
}

}  // namespace

cudaError_t ping_pong(const Seats& seats, const SeatLaunch& launch, cudaStream_t stream) {
  ping_pong_kernel<<<launch.count, 1, 0, stream>>>(seats, launch);
  return cudaGetLastError();
}

cudaError_t barriers(const Seats& seats, const SeatLaunch& launch, cudaStream_t stream) {
  barriers_kernel<<<launch.count, seats.count, 0, stream>>>(seats, launch);
  return cudaGetLastError();
}

}  // namespace pkb::roofline
