// SPDX-License-Identifier: Apache-2.0
/// A matrix product for Hopper (sm_90a) to build on: C = A B for row-major A (m x k) and B (k x n) of
/// __nv_bfloat16, __half or float, summed in fp32. What becomes of the sums is the caller's: they arrive tile
/// by tile in registers.
///
///     __global__ void __launch_bounds__(pkb::gemm::kThreads, 1)
///     product(const __grid_constant__ pkb::gemm::Problem<T> problem, T* c) {
///       pkb::gemm::multiply<4>(problem, pkb::this_block(), [&](const pkb::gemm::HalfTile& half) {
///         half.each([&](int row, int column, float x, float y) {
///           pkb::gemm::put(c, problem.m, problem.n, row, column, x, y);
///         });
///       });
///     }
///     product<<<blocks, pkb::gemm::kThreads, pkb::gemm::shared_bytes(4), stream>>>(problem, c);
///
/// after pkb::gemm::allow_shared(product, pkb::gemm::shared_bytes(4)).
///
/// How it works: one block per SM computes tiles of 128 x 256, one after another. Warps of the first
/// warpgroup keep a ring of stages full, by tensor maps where the matrices have rows of a multiple of 16
/// bytes and by threads otherwise; two more warpgroups take 64 rows each and multiply with `wgmma`, and so
/// the loads of the next tile run while the sums of this one are stored. float is multiplied by threads, in
/// full precision.
#pragma once

#include <pkb/device.cuh>
#include <pkb/gemm/ring.cuh>
#include <pkb/gemm/wgmma.cuh>

#include <type_traits>

namespace pkb::gemm {

inline constexpr int kRows = 128, kColumns = 256;  // of a tile
inline constexpr int kHalf = kRows / 2;            // rows of a warpgroup
inline constexpr int kGroup = 128;                 // threads of a warpgroup
inline constexpr int kThreads = 3 * kGroup, kConsumers = 2 * kGroup;
inline constexpr int kLoaders = 32;  // threads that load where others communicate
inline constexpr int kCommunicators = kGroup - kLoaders;
inline constexpr int kRowBytes = 128;  // of a swizzled row in shared memory
inline constexpr int kBytesA = kRows * kRowBytes, kBytesStage = kBytesA + kColumns * kRowBytes;

/// The depth of a stage.
template <class U>
inline constexpr int kDepth = kRowBytes / sizeof(U);

/// Where a tile lies.
struct Place {
  int row = 0, column = 0;
};

/// Passed to kernels as `const __grid_constant__`.
template <class U>
struct Problem {
  TensorMap map_a, map_b;
  const U *a = nullptr, *b = nullptr;
  int m = 0, n = 0, k = 0;
  bool mapped_a = false, mapped_b = false;

  Problem(const U* a_, const U* b_, std::int64_t m_, std::int64_t n_, std::int64_t k_)
      : a(a_), b(b_), m(static_cast<int>(m_)), n(static_cast<int>(n_)), k(static_cast<int>(k_)) {
    mapped_a = make_tensor_map(map_a, a, m, k, {kRows, kDepth<U>, CU_TENSOR_MAP_SWIZZLE_128B});
    mapped_b = make_tensor_map(map_b, b, k, n, {kDepth<U>, kDepth<U>, CU_TENSOR_MAP_SWIZZLE_128B});
  }

  __host__ __device__ int tile_rows() const { return (m + kRows - 1) / kRows; }
  __host__ __device__ int tiles() const { return tile_rows() * ((n + kColumns - 1) / kColumns); }
  /// Tiles that are computed at the same time share rows of A and columns of B, so that the L2 cache serves
  /// them.
  __device__ Place place(int tile) const {
    constexpr int kTogether = 16;  // rows of tiles
    const int columns = (n + kColumns - 1) / kColumns, group = tile / (kTogether * columns);
    const int rows = min(kTogether, tile_rows() - group * kTogether),
              within = tile - group * kTogether * columns;
    return {(group * kTogether + within % rows) * kRows, within / rows * kColumns};
  }
};

/// Half a tile as one warpgroup of the block has computed it.
struct HalfTile {
  const Sums& sums;
  Team team;    ///< the warpgroup
  int tile;     ///< number of the tile, and
  int half;     ///< which half of it
  Place place;  ///< its first element in C

  /// Calls f(row, column, x, y) for what this thread holds: x is C's element there, y the next one in the
  /// row. They may lie outside C.
  template <class F>
  __device__ void each(F&& f) const {
    const int row = place.row + team.thread / 32 * 16 + team.thread % 32 / 4;
    const int column = place.column + team.thread % 4 * 2;
#pragma unroll
    for (int i = 0; i < 64; ++i) f(row + i % 2 * 8, column + i / 2 * 8, sums[2 * i], sums[2 * i + 1]);
  }
};

/// Stores two neighbouring elements of row-major C, or what of them lies in it.
template <class U>
__device__ void put(U* c, int m, int n, int row, int column, float x, float y) {
  if (row >= m || column >= n) return;
  U* to = c + std::int64_t{row} * n + column;
  struct alignas(2 * sizeof(U)) Pair {
    U x, y;
  };
  if (n % 2 == 0) {
    *reinterpret_cast<Pair*>(to) = {static_cast<U>(x), static_cast<U>(y)};
  } else {
    to[0] = static_cast<U>(x);
    if (column + 1 < n) to[1] = static_cast<U>(y);
  }
}

/// Dynamic shared memory for a ring of so many stages, and `more` bytes of the caller's, which `own_shared`
/// finds.
constexpr int shared_bytes(int stages, int more = 0) { return 1024 + stages * kBytesStage + more; }

__device__ inline char* aligned_shared() {
  extern __shared__ char pkb_gemm_shared[];
  return pkb_gemm_shared + (1024 - tile::shared_address(pkb_gemm_shared) % 1024) % 1024;
}
template <class U, int kStages>
__device__ U* own_shared() {
  return reinterpret_cast<U*>(aligned_shared() + kStages * kBytesStage);
}

template <class Kernel>
void allow_shared(Kernel* kernel, int bytes) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

/// How many blocks to launch: one per SM, or per tile if there are fewer.
inline int blocks_for(int tiles) {
  int device = 0, sms = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  return tiles < sms ? tiles : sms;
}

struct Nothing {
  __device__ void operator()(Team) const {}
  __device__ void operator()(Team, Place) const {}
};
template <class F>
inline constexpr bool kIsNothing = std::is_same_v<std::remove_cvref_t<F>, Nothing>;

/// Fills stage after stage for the tiles of `part`.
template <int kStages, class U, class Await>
__device__ void produce(const Problem<U>& problem, Part part, Team team, Await&& await, std::uint64_t* full,
                        std::uint64_t* empty) {
  const int steps = (problem.k + kDepth<U> - 1) / kDepth<U>;
  const unsigned mapped = (problem.mapped_a ? kBytesA : 0) + (problem.mapped_b ? kBytesStage - kBytesA : 0);
  const bool by_threads = !problem.mapped_a || !problem.mapped_b;
  // Copies are started by one thread; waiting takes its warp.
  if (!by_threads && team.thread >= (kIsNothing<Await> ? 1 : 32)) return;
  if (!by_threads) team.threads = 32;
  constexpr int kBoxBytes = kDepth<U> * kRowBytes;
  for (int t = part.index, n = 0; t < problem.tiles(); t += part.count) {
    const Place place = problem.place(t);
    await(team, place);
    if constexpr (!kIsNothing<Await>) order::fence_global_for_copies();
    for (int step = 0; step < steps; ++step, ++n) {
      const int stage = n % kStages, k0 = step * kDepth<U>;
      char* const a = aligned_shared() + stage * kBytesStage;
      wait(&empty[stage], (n / kStages + 1) % 2);
      if (!problem.mapped_a)
        load_box_by_threads(team, problem.a, place.row, k0, problem.m, problem.k, kRows, a);
      if (!problem.mapped_b)
        for (int i = 0; i < kColumns / kDepth<U>; ++i)
          load_box_by_threads(team, problem.b, k0, place.column + i * kDepth<U>, problem.k, problem.n,
                              kDepth<U>, a + kBytesA + i * kBoxBytes);
      if (by_threads) tile::show_to_copies(team);
      if (team.thread != 0) continue;
      arrive_and_expect(&full[stage], mapped);
      if (problem.mapped_a) load_box(problem.map_a, place.row, k0, a, &full[stage]);
      if (problem.mapped_b)
        for (int i = 0; i < kColumns / kDepth<U>; ++i)
          load_box(problem.map_b, k0, place.column + i * kDepth<U>, a + kBytesA + i * kBoxBytes,
                   &full[stage]);
    }
  }
}

/// sums = or += the product of a stage, for 64 rows at `a`.
template <class U>
__device__ void start_product(Sums& sums, const char* a, const char* b, bool adds) {
  begin_products();
#pragma unroll
  for (int i = 0; i < 4; ++i)
    multiply_16(static_cast<const U*>(nullptr), sums, describe(tile::shared_address(a) + i * 32, 16, 1024),
                describe(tile::shared_address(b) + i * 2048, kDepth<U> * kRowBytes, 1024), adds || i > 0);
  commit_products();
}
template <>
__device__ inline void start_product<float>(Sums& sums, const char* a, const char* b, bool adds) {
  const auto at = [](const char* box, int row, int column) {
    return *reinterpret_cast<const float*>(box + row * kRowBytes + (column / 4 ^ row % 8) * 16 +
                                           column % 4 * 4);
  };
  const int thread = threadIdx.x % kGroup, row = thread / 32 * 16 + thread % 32 / 4;
  for (int k = 0; k < kDepth<float>; ++k) {
    const float left[2] = {at(a, row, k), at(a, row + 8, k)};
#pragma unroll
    for (int i = 0; i < 128; ++i) {
      const int column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      const float right =
          at(b + column / kDepth<float> * kDepth<float> * kRowBytes, k, column % kDepth<float>);
      sums[i] = fmaf(left[i / 2 % 2], right, adds || k > 0 ? sums[i] : 0);
    }
  }
}

/// Multiplies the tiles of `part` and hands them out by halves.
template <int kStages, class U, class Epilogue>
__device__ void consume(const Problem<U>& problem, Part part, Team team, int half, std::uint64_t* full,
                        std::uint64_t* empty, Epilogue&& epilogue) {
  const int steps = (problem.k + kDepth<U> - 1) / kDepth<U>;
  const auto release = [&](int n) {
    __syncwarp();  // one lane speaks for all
    if (team.thread % 32 == 0) arrive(&empty[n % kStages]);
  };
  for (int t = part.index, n = 0; t < problem.tiles(); t += part.count) {
    Sums sums;
    if (steps == 0)
      for (float& each : sums) each = 0;
    for (int step = 0; step < steps; ++step, ++n) {
      const char* const a = aligned_shared() + n % kStages * kBytesStage;
      wait(&full[n % kStages], n / kStages % 2);
      start_product<U>(sums, a + half * kHalf * kRowBytes, a + kBytesA, step > 0);
      wait_for_products<1>();  // this one may run on; the one before is done with its stage
      if (step > 0) release(n - 1);
    }
    wait_for_products<0>();
    if (steps > 0) release(n - 1);
    const Place place = problem.place(t);
    epilogue(HalfTile{sums, team, t, half, {place.row + half * kHalf, place.column}});
  }
}

/// By a whole block of kThreads threads: computes the tiles part.index, part.index + part.count, ... and
/// calls epilogue(half_tile) for each half of each. `communicate`, if given, is called beside it by a team of
/// 96 threads; `await(team, place)`, if given, by the threads that load, before the tile at `place`: it may
/// wait until A and B have come. All threads meet behind it. Takes the named barriers 1 to 4.
template <int kStages, class U, class Epilogue, class Communicate = Nothing, class Await = Nothing>
__device__ void multiply(const Problem<U>& problem, Part part, Epilogue&& epilogue,
                         Communicate&& communicate = {}, Await&& await = {}) {
  __shared__ std::uint64_t full[kStages], empty[kStages];
  const int thread = threadIdx.x, group = thread / kGroup;
  if (thread == 0) {
    for (int i = 0; i < kStages; ++i) {
      init_barrier(&full[i], 1);
      init_barrier(&empty[i], kConsumers / 32);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  // Sums take 128 registers of a thread; loading takes few. Each group gives back what it took, for what
  // follows.
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if constexpr (kIsNothing<Communicate>) {
      produce<kStages>(problem, part, Team{thread, kGroup, 1}, await, full, empty);
    } else {
      if (thread < kLoaders)
        produce<kStages>(problem, part, Team{thread, kLoaders, 1}, await, full, empty);
      else
        communicate(Team{thread - kLoaders, kCommunicators, 2});
    }
    __syncwarp();
    asm volatile("setmaxnreg.inc.sync.aligned.u32 168;");
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
    consume<kStages>(problem, part, Team{thread % kGroup, kGroup, 2 + group}, group - 1, full, empty,
                     epilogue);
    asm volatile("setmaxnreg.dec.sync.aligned.u32 168;");
  }
  __syncthreads();
}

}  // namespace pkb::gemm
