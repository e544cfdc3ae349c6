// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

/// Flags that go to and fro between thread blocks, on one GPU or on several at once.
namespace pkb::roofline {

inline constexpr int kMostSeats = 72;

/// Who takes part. A seat is one thread block; its flag lies where it waits.
struct Seats {
  unsigned* flag_of[kMostSeats] = {};  ///< 0 at first
  int count = 0;
  unsigned* lost = nullptr;  ///< set to 1 by who has waited for 5 s; all can access it
};

/// Which seats a launch has: `count` from `first` on.
struct SeatLaunch {
  int first = 0, count = 1;
  int rounds = 1;
};

/// Seat 0 signals seat 1, which signals back: st.release.sys and ld.acquire.sys. There are two seats.
cudaError_t ping_pong(const Seats& seats, const SeatLaunch& launch, cudaStream_t stream);

/// Every seat signals every seat and waits for all: red.release.sys and ld.acquire.sys.
cudaError_t barriers(const Seats& seats, const SeatLaunch& launch, cudaStream_t stream);

}  // namespace pkb::roofline
