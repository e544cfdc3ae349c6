// SPDX-License-Identifier: Apache-2.0
// Launchers of the kernels in conformance_async_kernels.cu: asynchronous copies, mbarriers, clusters and dependent
// launches, as candidates write them. Compiled as candidates are and loaded by dlopen. All return what the launch
// answered.
#pragma once

#include <cuda_runtime_api.h>

extern "C" {

/// out[i] = 3 * in[i] + 1. A producer warp fills a ring of tiles by bulk copies, consumer warps work on them, and a
/// bulk copy takes them back. n is a multiple of 1024.
cudaError_t warp_specialised(const int* in, int* out, int n, cudaStream_t stream);
/// sum[c] = sum of column c of in (rows, 256), by cp.async through two buffers. rows is a multiple of 4.
cudaError_t double_buffered(const int* in, int* sum, int rows, cudaStream_t stream);
/// sums[c] += in (rows, 256) by a reducing bulk copy a row.
cudaError_t bulk_reduce(const float* in, float* sums, int rows, cudaStream_t stream);
/// out[i] = 2 * in[i] by cuda::memcpy_async with a cuda::barrier and with a two-stage cuda::pipeline: n of each, one
/// after the other in `out`. n is a multiple of 512.
cudaError_t by_libcudacxx(const int* in, int* out, int n, cudaStream_t stream);

/// Every block of 4 writes the squares of its thread numbers plus 1000 * its rank to its own shared memory; out[block]
/// has the sum of all 4 blocks' values. Clusters are required at compile time.
cudaError_t cluster_sum(int* out, unsigned blocks, cudaStream_t stream);
/// out[block] = rank in the cluster + 100 * its size + 10000 * whether clusters are explicit; `cluster` 0: none asked.
cudaError_t cluster_shape(int* out, unsigned blocks, unsigned cluster, cudaStream_t stream);
cudaError_t allow_non_portable(int allow);  ///< for cluster_shape
cudaError_t most_clusters(int* clusters, unsigned cluster, std::size_t shared);  ///< of cluster_shape's kernel
cudaError_t largest_cluster(int* size);
/// Block 0 of each cluster of 4 loads 256 ints and multicasts them; out[block] gets them, plus the rank.
cudaError_t multicast(const int* in, int* out, unsigned clusters, cudaStream_t stream);
/// A ring of `cluster` blocks: each sends its values round by st.async and adds to all by red.async. out has 2 ints a
/// block: what it received from its left, and the sum of all ranks plus 1.
cudaError_t send_round(int* out, unsigned cluster, cudaStream_t stream);

/// The first kernel lets the second start, waits for *started if `meets`, and writes data; the second sets *started,
/// waits for the first and copies data to out. n ints.
cudaError_t dependent_pair(unsigned* started, int* data, int* out, int n, int meets, cudaStream_t stream);
}
