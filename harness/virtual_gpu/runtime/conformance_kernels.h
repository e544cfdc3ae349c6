// SPDX-License-Identifier: Apache-2.0
// Launchers of the kernels in conformance_kernels.cu, which is compiled as candidates are and loaded by dlopen.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

extern "C" {

void vector_add(const float* a, const float* b, float* sum, int n, cudaStream_t stream);
/// Adds all elements to *sum: shuffles within warps, shared memory within blocks, an atomic between them.
void reduce_sum(const int* in, unsigned long long* sum, int n, cudaStream_t stream);
/// Inclusive, by one block.
void scan(const int* in, int* out, int n, cudaStream_t stream);
void transpose(const float* in, float* out, int rows, int columns, cudaStream_t stream);
/// c = a * b, (m, k) times (k, n), through 16 x 16 tiles; one fused multiply-add per k, in order, in float.
void gemm_f32(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream);
void gemm_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n, int k,
               cudaStream_t stream);
void gemm_f16(const __half* a, const __half* b, __half* c, int m, int n, int k, cudaStream_t stream);
void histogram(const unsigned char* in, unsigned* bins, int n, cudaStream_t stream);
/// One step of SplitMix64 and one of MurmurHash3's 32-bit finaliser.
void hash(const std::uint64_t* in, std::uint64_t* wide, std::uint32_t* narrow, int n, cudaStream_t stream);
/// out = sqrt(a * a + b * b) / (a - b / 3), each operation rounded, the sum fused.
void doubles(const double* a, const double* b, double* out, int n, cudaStream_t stream);

/// Each block writes its index plus 1 to out[index] and counts itself in *count.
void number_blocks(unsigned* out, unsigned* count, unsigned blocks, cudaStream_t stream);
/// All `blocks` blocks meet at *arrived before any writes out[index].
void meet(unsigned* arrived, unsigned* out, unsigned blocks, cudaStream_t stream);
int meet_capacity();  ///< how many blocks of `meet` the device holds

/// Waits until *flag is `value`, then sets *seen.
void wait_for(const unsigned* flag, unsigned value, unsigned* seen, cudaStream_t stream);
void set_flag(unsigned* flag, unsigned value, cudaStream_t stream);
/// Writes `value` to all n elements, slowly.
void fill_slowly(unsigned* out, unsigned value, int n, cudaStream_t stream);
void copy(const unsigned* in, unsigned* out, int n, cudaStream_t stream);

/// out[i] = scale[i % 4] * offset, a __constant__ array and a __device__ variable, which the kernel then doubles.
void use_variables(float* out, int n, cudaStream_t stream);
cudaError_t set_variables(const float scale[4], float offset);
cudaError_t get_offset(float* offset);
void* variable_symbol();  ///< of the offset, as cudaGetSymbolAddress takes it

/// Reverses n ints in dynamic shared memory; returns what the launch answered.
cudaError_t reverse_in_shared(int* data, int n, cudaStream_t stream);
cudaError_t allow_shared(int bytes);

cudaError_t launch_empty(dim3 grid, dim3 block, std::size_t shared);
cudaError_t launch_bounded(dim3 block);  ///< __launch_bounds__(128)
cudaError_t launch_cooperative(unsigned blocks);
/// One warp: A (16 x 16) times B (16 x 8) by mma, and 1 + A times its transpose by wmma; A and B are bf16, row-major.
void warp_product(const void* a, const void* b, float* by_mma, float* by_wmma);
/// Every block adds what all blocks stored before a barrier of the grid: out has 64 numbers a block.
cudaError_t sum_by_grid(unsigned* partial, unsigned* out, unsigned blocks);
cudaError_t attributes_of_bounded(cudaFuncAttributes* attributes);

/// data[i] = data[i] * factor + offset.
void scale(float* data, float factor, float offset, int n, cudaStream_t stream);
const void* scale_function();  ///< the kernel, whose arguments are those of `scale` without the stream; 1 thread each

void store(int* to, int value, cudaStream_t stream);
void store_misaligned(char* to, cudaStream_t stream);
void trap(cudaStream_t stream);

/// Passes the numbers `from` to `to` round a ring of ranks, each waiting at *mine and then writing to *theirs; the
/// rank that is `first` writes before it waits.
void pass_round(unsigned* mine, unsigned* theirs, unsigned from, unsigned to, bool first, cudaStream_t stream);
}
