// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <pkb/device/order.cuh>
#include <pkb/device/team.cuh>
#include <pkb/device/tensor_map.cuh>

#include <cstdint>

// Tiles to a peer: from shared or local global memory to any rank's, stored or added. All of them are
// complete for others when the team has signalled and the others have waited (signals.cuh). Elements are
// float, __half or __nv_bfloat16; `store` takes any type of 1, 2, 4, 8 or 16 bytes.
//
// What is added to from several ranks must be cleared before the first of them adds: clear it, let a barrier
// pass, add.
namespace pkb {

/// Rows of elements, `pitch` elements from one to the next.
template <class U>
struct Tile {
  U* data = nullptr;
  int rows = 0, columns = 0;
  std::int64_t pitch = 0;

  __device__ U* row(int i) const { return data + i * pitch; }
};

namespace tile {

__device__ inline bool aligned(const void* a, const void* b, unsigned bytes) {
  return ((reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b)) & (bytes - 1)) == 0;
}
__device__ inline bool bulk(const void* a, const void* b, std::int64_t bytes) {
  return aligned(a, b, 16) && bytes % 16 == 0;
}

/// Copies what it can in units of type Unit, as part `thread` of `threads`. How many bytes that is in all.
template <class Unit>
__device__ std::int64_t store_units(Team team, char* to, const char* from, std::int64_t bytes) {
  if (!aligned(to, from, sizeof(Unit))) return 0;
  const std::int64_t units = bytes / sizeof(Unit);
  for (std::int64_t i = team.thread; i < units; i += team.threads)
    reinterpret_cast<Unit*>(to)[i] = reinterpret_cast<const Unit*>(from)[i];
  return units * sizeof(Unit);
}

// 16 bytes, or one element.
__device__ inline void add_vector(float* to, uint4 v) {
  asm volatile("red.relaxed.sys.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}
__device__ inline void add_vector(__half* to, uint4 v) {
  asm volatile("red.relaxed.sys.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
__device__ inline void add_vector(__nv_bfloat16* to, uint4 v) {
  asm volatile("red.relaxed.sys.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
__device__ inline void add_element(float* to, float v) {
  asm volatile("red.relaxed.sys.global.add.f32 [%0], %1;" ::"l"(to), "f"(v) : "memory");
}
__device__ inline void add_element(__half* to, __half v) {
  asm volatile("red.relaxed.sys.global.add.noftz.f16 [%0], %1;" ::"l"(to), "h"(__half_as_ushort(v))
               : "memory");
}
__device__ inline void add_element(__nv_bfloat16* to, __nv_bfloat16 v) {
  asm volatile("red.relaxed.sys.global.add.noftz.bf16 [%0], %1;" ::"l"(to), "h"(__bfloat16_as_ushort(v))
               : "memory");
}

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
__device__ inline void start_store(void* to, const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ inline void start_add(float* to, const float* from, unsigned bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ inline void start_add(__half* to, const __half* from, unsigned bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ inline void start_add(__nv_bfloat16* to, const __nv_bfloat16* from, unsigned bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ inline void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// What the team has written to shared memory is there for asynchronous copies that thread 0 starts.
__device__ inline void show_to_copies(Team team) {
  order::fence_shared_for_copies();
  team.sync();
}

}  // namespace tile

// Plain forms: every thread of the team stores or adds its share, in the widest accesses that both addresses
// allow.

template <class U>
__device__ void store(Team team, U* to, const U* from, std::int64_t count) {
  auto* target = reinterpret_cast<char*>(to);
  auto* source = reinterpret_cast<const char*>(from);
  const std::int64_t bytes = count * sizeof(U);
  std::int64_t done = tile::store_units<uint4>(team, target, source, bytes);
  done += tile::store_units<unsigned>(team, target + done, source + done, bytes - done);
  tile::store_units<U>(team, target + done, source + done, bytes - done);
}
template <class U>
__device__ void store(Team team, Tile<U> to, Tile<const U> from) {
  for (int i = 0; i < to.rows; ++i) store(team, to.row(i), from.row(i), to.columns);
}

/// Each element is added by one relaxed atomic operation of system scope: several ranks may add to it at
/// once.
template <class U>
__device__ void add(Team team, U* to, const U* from, std::int64_t count) {
  constexpr int kWidth = 16 / sizeof(U);
  const std::int64_t vectors = tile::aligned(to, from, 16) ? count / kWidth : 0;
  for (std::int64_t i = team.thread; i < vectors; i += team.threads)
    tile::add_vector(to + i * kWidth, reinterpret_cast<const uint4*>(from)[i]);
  for (std::int64_t i = vectors * kWidth + team.thread; i < count; i += team.threads)
    tile::add_element(to + i, from[i]);
}
template <class U>
__device__ void add(Team team, Tile<U> to, Tile<const U> from) {
  for (int i = 0; i < to.rows; ++i) add(team, to.row(i), from.row(i), to.columns);
}

// Asynchronous forms: `from` lies in shared memory and was written by the team, or handed to it by
// `HandOver`. The copy engine of the SM (TMA) moves it while the team goes on; `stores_read` says when `from`
// may be filled again. Rows whose address or length is no multiple of 16 bytes fall back to the plain form.

template <class U>
__device__ void store_async(Team team, Tile<U> to, Tile<const U> from) {
  tile::show_to_copies(team);
  bool started = false;
  for (int i = 0; i < to.rows; ++i) {
    const unsigned bytes = to.columns * sizeof(U);
    if (!tile::bulk(to.row(i), from.row(i), bytes)) {
      store(team, to.row(i), from.row(i), to.columns);
    } else if (team.thread == 0) {
      tile::start_store(to.row(i), from.row(i), bytes);
      started = true;
    }
  }
  if (started) tile::commit();
}
template <class U>
__device__ void store_async(Team team, U* to, const U* from, int count) {
  store_async(team, Tile<U>{to, 1, count, count}, Tile<const U>{from, 1, count, count});
}

/// PTX promises that the additions of one copy are atomic towards those of the same GPU. Where ranks add to
/// the same element at the same time, use `add`, or give each rank an element of its own.
template <class U>
__device__ void add_async(Team team, Tile<U> to, Tile<const U> from) {
  tile::show_to_copies(team);
  bool started = false;
  for (int i = 0; i < to.rows; ++i) {
    const unsigned bytes = to.columns * sizeof(U);
    if (!tile::bulk(to.row(i), from.row(i), bytes)) {
      add(team, to.row(i), from.row(i), to.columns);
    } else if (team.thread == 0) {
      tile::start_add(to.row(i), from.row(i), bytes);
      started = true;
    }
  }
  if (started) tile::commit();
}
template <class U>
__device__ void add_async(Team team, U* to, const U* from, int count) {
  add_async(team, Tile<U>{to, 1, count, count}, Tile<const U>{from, 1, count, count});
}

// The same through a tensor map of the peer's matrix (tensor_map.cuh): `from` is one box, 128-byte aligned
// and packed. What of the box lies outside the matrix is left out, so edges need no care.

__device__ inline void store_async(Team team, const TensorMap& to, int row, int column, const void* from) {
  tile::show_to_copies(team);
  if (team.thread != 0) return;
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to),
               "r"(column), "r"(row), "r"(tile::shared_address(from))
               : "memory");
  tile::commit();
}
/// As for `add_async` above; the type of the elements is the map's.
__device__ inline void add_async(Team team, const TensorMap& to, int row, int column, const void* from) {
  tile::show_to_copies(team);
  if (team.thread != 0) return;
  asm volatile(
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
          &to),
      "r"(column), "r"(row), "r"(tile::shared_address(from))
      : "memory");
  tile::commit();
}

/// What the team's asynchronous stores take from shared memory has been read, and may be overwritten. That
/// they have arrived is another matter: signals see to that.
__device__ inline void stores_read(Team team) {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  team.sync();
}

}  // namespace pkb
