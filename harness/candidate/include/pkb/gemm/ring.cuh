// SPDX-License-Identifier: Apache-2.0
// Stages of shared memory that producers fill, by the copy engine or by threads, and consumers empty (PTX
// ISA, mbarrier).
#pragma once

#include <pkb/device/tile.cuh>

namespace pkb::gemm {

__device__ inline void init_barrier(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(tile::shared_address(barrier)), "r"(arrivals)
               : "memory");
}
__device__ inline void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(tile::shared_address(barrier)) : "memory");
}
/// Arrives; the phase also waits for so many bytes of copies.
__device__ inline void arrive_and_expect(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(tile::shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
/// Returns when the phase of this parity is complete; a fresh barrier counts as having completed one of
/// parity 1.
__device__ inline void wait(std::uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(tile::shared_address(barrier)),
      "r"(parity)
      : "memory");
}
/// Starts the copy of one box, whose first element is at `row` and `column`; completes at `barrier`.
__device__ inline void load_box(const TensorMap& from, int row, int column, void* to,
                                std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(tile::shared_address(to)),
      "l"(&from), "r"(column), "r"(row), "r"(tile::shared_address(barrier))
      : "memory");
}

/// Copies a box of rows of 128 bytes by threads, swizzled as the copy engine does; zeros outside the matrix.
template <class U>
__device__ void load_box_by_threads(Team team, const U* from, int row0, int column0, int rows, int columns,
                                    int box_rows, char* to) {
  constexpr int kWidth = 16 / sizeof(U), kChunks = 8;
#pragma unroll 2
  for (int i = team.thread; i < box_rows * kChunks; i += team.threads) {
    const int row = row0 + i / kChunks, column = column0 + i % kChunks * kWidth;
    alignas(16) U chunk[kWidth];
    for (int e = 0; e < kWidth; ++e)
      chunk[e] =
          row < rows && column + e < columns ? from[std::int64_t{row} * columns + column + e] : U(0.0f);
    *reinterpret_cast<uint4*>(to + i / kChunks * 128 + (i % kChunks ^ i / kChunks % 8) * 16) =
        *reinterpret_cast<const uint4*>(chunk);
  }
}

}  // namespace pkb::gemm
