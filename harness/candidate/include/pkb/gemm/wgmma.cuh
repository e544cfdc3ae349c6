// SPDX-License-Identifier: Apache-2.0
// A warpgroup of four warps multiplies 64 rows of A and 256 columns of B from shared memory (PTX ISA, wgmma).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace pkb::gemm {

/// What a thread of a warpgroup holds of 64 x 256 sums: elements 4 j + 2 h + e are in row 16 w + l / 4 + 8 h
/// and column 8 j + 2 (l % 4) + e, for warp w of the group and lane l.
using Sums = float[128];

/// A matrix in shared memory, swizzled by 128 bytes. For A (rows of 128 bytes along k) eight rows lie
/// `stride` bytes from the next eight; for B (rows along its columns) eight k do, and 64 columns lie
/// `leading` bytes from the next.
__device__ inline std::uint64_t describe(unsigned address, unsigned leading, unsigned stride) {
  constexpr std::uint64_t kSwizzle128 = 1;
  return (address & 0x3ffff) >> 4 | std::uint64_t{leading >> 4} << 16 | std::uint64_t{stride >> 4} << 32 |
         kSwizzle128 << 62;
}

#define PKB_SUMS(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define PKB_SUMS_16(d, i) PKB_SUMS(d, i), PKB_SUMS(d, i + 4), PKB_SUMS(d, i + 8), PKB_SUMS(d, i + 12)
#define PKB_SUMS_64(d, i) \
  PKB_SUMS_16(d, i), PKB_SUMS_16(d, i + 16), PKB_SUMS_16(d, i + 32), PKB_SUMS_16(d, i + 48)
#define PKB_REGISTERS                                                                            \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define PKB_MULTIPLY(d, a, b, adds, type)                                             \
  asm volatile(                                                                       \
      "{\n.reg .pred p;\nsetp.ne.u32 p, %130, 0;\n"                                   \
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " {" PKB_REGISTERS \
      "}, %128, %129, p, 1, 1, 0, 1;\n}"                                              \
      : PKB_SUMS_64(d, 0), PKB_SUMS_64(d, 64)                                         \
      : "l"(a), "l"(b), "r"(unsigned{adds}))

/// Starts d = A B, or d += A B where `adds`, 16 deep. A is along k, B along its columns.
__device__ inline void multiply_16(const __nv_bfloat16*, Sums& d, std::uint64_t a, std::uint64_t b,
                                   bool adds) {
  PKB_MULTIPLY(d, a, b, adds, "bf16");
}
__device__ inline void multiply_16(const __half*, Sums& d, std::uint64_t a, std::uint64_t b, bool adds) {
  PKB_MULTIPLY(d, a, b, adds, "f16");
}

#undef PKB_MULTIPLY
#undef PKB_REGISTERS
#undef PKB_SUMS_64
#undef PKB_SUMS_16
#undef PKB_SUMS

/// Before the first product, and after registers of sums were used otherwise.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// All but the last `kLeft` committed groups are complete.
template <int kLeft>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

}  // namespace pkb::gemm
