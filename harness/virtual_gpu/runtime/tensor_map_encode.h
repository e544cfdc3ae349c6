// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

/// cuTensorMapEncode* with the driver's signatures and argument checks, for cudaGetDriverEntryPoint. They
/// write an exec TensorMap into the opaque bytes.
namespace pkb::virtual_gpu {

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

CUresult encode_im2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                       const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower_corner,
                       const int* upper_corner, cuuint32_t channels, cuuint32_t pixels,
                       const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                       CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

/// CUDA_ERROR_NOT_SUPPORTED: this kind of map needs compute capability 10.0.
CUresult encode_im2col_wide(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                            const cuuint64_t* sizes, const cuuint64_t* strides, int lower_corner_width,
                            int upper_corner_width, cuuint32_t channels, cuuint32_t pixels,
                            const cuuint32_t* steps, CUtensorMapInterleave interleave,
                            CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                            CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

}  // namespace pkb::virtual_gpu
