// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pkb/device/peers.cuh>
#include <pkb/device/team.cuh>

#include <type_traits>

// Sums over the ranks' copies of a symmetric tensor of float, __half or __nv_bfloat16. Every element is
// summed in fp32 and rounded once; by loads from all peers in the order of ranks, or by the fabric where the
// tensors have a multicast address. Both forms want inputs that are complete on every rank: those of a run
// are; buffers are behind a `barrier` or `wait_all`. Work is shared by the teams of `part`, which make no
// further call to agree.
namespace pkb {

/// Elements begin to end - 1.
struct Range {
  std::int64_t begin = 0, end = 0;
};
/// The share of `part` in `count` elements; begins at a multiple of 16 bytes for all types.
__host__ __device__ inline Range share_of(std::int64_t count, Part part) {
  constexpr std::int64_t kStep = 8;
  const std::int64_t width = ((count + kStep - 1) / kStep + part.count - 1) / part.count * kStep;
  const std::int64_t begin = part.index * width < count ? part.index * width : count;
  return {begin, begin + width < count ? begin + width : count};
}

/// 16 bytes of elements.
template <class U>
struct alignas(16) Vector {
  static constexpr int kWidth = 16 / sizeof(U);
  U element[kWidth];
};

/// The sum of the vectors that start at from(0), ..., from(ranks - 1), which are 16-byte aligned.
template <class U, class From>
__device__ Vector<U> sum_of(int ranks, From&& from) {
  constexpr int kWidth = Vector<U>::kWidth;
  float total[kWidth] = {};
#pragma unroll 4
  for (int r = 0; r < ranks; ++r) {
    const auto v = *reinterpret_cast<const Vector<U>*>(from(r));
    for (int k = 0; k < kWidth; ++k) total[k] += static_cast<float>(v.element[k]);
  }
  Vector<U> result;
  for (int k = 0; k < kWidth; ++k) result.element[k] = static_cast<U>(total[k]);
  return result;
}

/// to[i], to[i + 1], ... on every rank = the elements of `value`, or the first `width` of them.
template <class U>
__device__ void store_to_all(const Peers<U>& to, std::int64_t i, const Vector<U>& value,
                             int width = Vector<U>::kWidth) {
  const bool whole = width >= Vector<U>::kWidth && reinterpret_cast<std::uintptr_t>(to.here() + i) % 16 == 0;
  for (int step = 1; step <= to.ranks; ++step) {  // each rank begins with another, so that no link is crowded
    U* const at = to[(to.rank + step) % to.ranks] + i;
    if (whole)
      *reinterpret_cast<Vector<U>*>(at) = value;
    else
      for (int k = 0; k < Vector<U>::kWidth; ++k)
        if (k < width) at[k] = value.element[k];
  }
}

namespace sum {

template <class U>
__device__ U of_element(const Peers<const U>& from, std::int64_t i) {
  float total = 0;
  for (int r = 0; r < from.ranks; ++r) total += static_cast<float>(from[r][i]);
  return static_cast<U>(total);
}

template <class U>
__device__ Vector<U> by_fabric(const U* from) {
  uint4 v;
  if constexpr (std::is_same_v<U, float>)
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from)
                 : "memory");
  else if constexpr (std::is_same_v<U, __half>)
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from)
                 : "memory");
  else
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from)
                 : "memory");
  Vector<U> result;
  memcpy(&result, &v, sizeof v);
  return result;
}
template <class U>
__device__ void to_all_by_fabric(U* to, const Vector<U>& value) {
  uint4 v;
  memcpy(&v, &value, sizeof v);
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}

// The multicast address and the ordinary ones are two addresses of one memory; this orders accesses through
// one before those through the other (PTX ISA, proxies).
__device__ inline void fence_aliases() { asm volatile("fence.proxy.alias;" ::: "memory"); }

/// Calls vector(i) for whole 16 bytes at i, and element(i) for what is left.
template <class U, class OfVector, class OfElement>
__device__ void each(Team team, Part part, const U* base, Range range, OfVector&& vector,
                     OfElement&& element) {
  constexpr int kWidth = Vector<U>::kWidth;
  const std::int64_t first = std::int64_t{part.index} * team.threads + team.thread;
  const std::int64_t stride = std::int64_t{part.count} * team.threads;
  const bool aligned = reinterpret_cast<std::uintptr_t>(base + range.begin) % 16 == 0;
  const std::int64_t vectors = aligned ? (range.end - range.begin) / kWidth : 0;
  for (std::int64_t i = first; i < vectors; i += stride) vector(range.begin + i * kWidth);
  for (std::int64_t i = range.begin + vectors * kWidth + first; i < range.end; i += stride) element(i);
}

}  // namespace sum

/// to[i - range.begin] = the sum of every rank's from[i], on this rank alone. `to` is 16-byte aligned.
template <class U>
__device__ void reduce(Team team, Part part, const Peers<const U>& from, Range range, U* to) {
  const U* all = from.multicast;
  if (all != nullptr) sum::fence_aliases();
  sum::each(
      team, part, from.here(), range,
      [&](std::int64_t i) {
        *reinterpret_cast<Vector<U>*>(to + (i - range.begin)) =
            all != nullptr ? sum::by_fabric(all + i)
                           : sum_of<U>(from.ranks, [&](int r) { return from[r] + i; });
      },
      [&](std::int64_t i) { to[i - range.begin] = sum::of_element(from, i); });
}

/// to[i] on every rank = the sum of every rank's from[i]. Each rank calls it with a range of its own,
/// share_of(count, {rank, ranks}), of tensors that begin alike towards 16 bytes, and signals afterwards: the
/// sums of one rank are complete on all when they have seen its signal. All ranks get the same bits.
template <class U>
__device__ void all_reduce(Team team, Part part, const Peers<const U>& from, const Peers<U>& to,
                           Range range) {
  const bool by_fabric = from.multicast != nullptr && to.multicast != nullptr;
  if (by_fabric) sum::fence_aliases();
  sum::each(
      team, part, from.here(), range,
      [&](std::int64_t i) {
        if (by_fabric) return sum::to_all_by_fabric(to.multicast + i, sum::by_fabric(from.multicast + i));
        store_to_all(to, i, sum_of<U>(from.ranks, [&](int r) { return from[r] + i; }));
      },
      [&](std::int64_t i) {
        const U total = sum::of_element(from, i);
        for (int r = 0; r < to.ranks; ++r) to[r][i] = total;
      });
  if (by_fabric) sum::fence_aliases();
}

}  // namespace pkb
