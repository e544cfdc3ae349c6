// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace pkb {

/// A matrix as the copy engine of an SM sees it. A kernel takes it as `const __grid_constant__
/// pkb::TensorMap`.
using TensorMap = CUtensorMap;

/// The boxes in which a matrix is copied.
struct Box {
  int rows = 0, columns = 0;  ///< at most 256 each; a row of the box is a multiple of 16 bytes
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
};

constexpr CUtensorMapDataType tensor_map_type(const float*) { return CU_TENSOR_MAP_DATA_TYPE_FLOAT32; }
constexpr CUtensorMapDataType tensor_map_type(const __half*) { return CU_TENSOR_MAP_DATA_TYPE_FLOAT16; }
constexpr CUtensorMapDataType tensor_map_type(const __nv_bfloat16*) {
  return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

/// Describes a row-major matrix of this or another rank; outside it, boxes read zeros and write nothing.
/// False when it cannot be described: no rows or columns, or a row that is no multiple of 16 bytes.
template <class U>
bool make_tensor_map(TensorMap& map, U* matrix, std::int64_t rows, std::int64_t columns, Box box) {
  // The driver's function is asked for by name, since a candidate is linked with no driver.
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                       &found) != cudaSuccess ||
      found != cudaDriverEntryPointSuccess)
    return false;
  const cuuint64_t extents[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(columns) * sizeof(U)};
  const cuuint32_t boxes[2] = {static_cast<cuuint32_t>(box.columns), static_cast<cuuint32_t>(box.rows)};
  const cuuint32_t steps[2] = {1, 1};
  return reinterpret_cast<decltype(cuTensorMapEncodeTiled)*>(function)(
             &map, tensor_map_type(matrix), 2, const_cast<void*>(static_cast<const void*>(matrix)), extents,
             pitch, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, box.swizzle,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace pkb
