// SPDX-License-Identifier: Apache-2.0
// Launchers of the kernels in conformance_tensor_kernels.cu, which is compiled as candidates are and loaded
// by dlopen.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

/// A box, and how many bytes of shared memory the kernels show of it.
struct TensorRequest {
  int rank = 2;
  bool im2col = false;
  int coordinates[5] = {};
  std::uint16_t offsets[3] = {};
  unsigned transactions = 0;   ///< bytes that the copy completes
  unsigned shared_offset = 0;  ///< of the box behind a boundary of 1 KiB
  unsigned shared_bytes = 0;   ///< copied to or from the launcher's array, from that boundary on
};

extern "C" {

/// Loads a box into shared memory that is all 0xcd and copies shared memory to `out`. *done is 1 if as many
/// bytes completed as expected.
cudaError_t tensor_load(const CUtensorMap* map, const TensorRequest* request, std::uint8_t* out,
                        unsigned* done);
/// Copies `in` to shared memory and stores a box from there.
cudaError_t tensor_store(const CUtensorMap* map, const TensorRequest* request, const std::uint8_t* in);
enum TensorReduction {
  kTensorAdd,
  kTensorMin,
  kTensorMax,
  kTensorInc,
  kTensorDec,
  kTensorAnd,
  kTensorOr,
  kTensorXor
};
/// The same with a reduction, of 2 dimensions.
cudaError_t tensor_reduce(const CUtensorMap* map, const TensorRequest* request, int reduction,
                          const std::uint8_t* in);
/// Two blocks of a cluster each load a box, at rows coordinates[1] and coordinates[1] + `rows`, into both:
/// the second block's lies behind the first's. `out` has the shared memory of both blocks, `done` two flags.
cudaError_t tensor_multicast(const CUtensorMap* map, const TensorRequest* request, int rows,
                             std::uint8_t* out, unsigned* done);
/// Loads with a copy of `map` whose address, box, sizes and stride of dimension 1 and fill were replaced on
/// the device; `workspace` holds a tensor map. Otherwise as tensor_load.
cudaError_t tensor_replaced(const CUtensorMap* map, const TensorRequest* request, const void* address,
                            unsigned box, unsigned rows, std::uint64_t stride, void* workspace,
                            std::uint8_t* out, unsigned* done);
}
