// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/tensor_map_encode.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "harness/virtual_gpu/exec/tensor_map.h"

namespace pkb::virtual_gpu {
namespace {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));

std::optional<TensorMap::Type> type_of(CUtensorMapDataType type) {
  using Type = TensorMap::Type;
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return Type::u8;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
      return Type::u16;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
      return Type::u32;
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
      return Type::s32;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
      return Type::u64;
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
      return Type::s64;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
      return Type::f16;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
      return Type::f32;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return Type::f64;
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return Type::bf16;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
      return Type::f32_ftz;
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
      return Type::tf32;
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return Type::tf32_ftz;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
      break;  // need compute capability 10.0 (PTX ISA 9.7.9.28)
  }
  return std::nullopt;
}

bool set_swizzle(TensorMap& out, CUtensorMapSwizzle swizzle) {
  using Swizzle = TensorMap::Swizzle;
  using Atom = TensorMap::Atom;
  const auto set = [&out](Swizzle kind, Atom atom) {
    out.swizzle = kind;
    out.atom = atom;
    return true;
  };
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
      return set(Swizzle::none, Atom::bytes_16);
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return set(Swizzle::bytes_32, Atom::bytes_16);
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return set(Swizzle::bytes_64, Atom::bytes_16);
    case CU_TENSOR_MAP_SWIZZLE_128B:
      return set(Swizzle::bytes_128, Atom::bytes_16);
    // An H200's driver refuses them: they are for devices of compute capability 10.
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B:
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B:
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B:
      return false;
  }
  return false;
}

template <class To, class From>
bool set(To& to, From from) {
  if (from > std::numeric_limits<To>::max()) return false;
  to = static_cast<To>(from);
  return true;
}

struct Common {
  CUtensorMapDataType type;
  cuuint32_t rank;
  void* address;
  const cuuint64_t* sizes;
  const cuuint64_t* strides;
  const cuuint32_t* steps;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

/// Fills in what both kinds of maps have; false where an argument cannot be represented.
bool set_common(TensorMap& out, const Common& in) {
  const auto type = type_of(in.type);
  if (!type || in.rank == 0 || in.rank > TensorMap::kMostDimensions || in.sizes == nullptr ||
      in.steps == nullptr || (in.rank > 1 && in.strides == nullptr))
    return false;
  if (in.interleave < CU_TENSOR_MAP_INTERLEAVE_NONE || in.interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
      in.promotion < CU_TENSOR_MAP_L2_PROMOTION_NONE || in.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
      in.fill < CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
      in.fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return false;
  out.type = *type;
  out.rank = static_cast<std::uint8_t>(in.rank);
  out.address = reinterpret_cast<std::uint64_t>(in.address);
  out.interleave = static_cast<TensorMap::Interleave>(in.interleave);
  out.fill = in.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ? TensorMap::Fill::zero : TensorMap::Fill::nan;
  for (cuuint32_t i = 0; i < in.rank; ++i)
    if (in.sizes[i] == 0 || !set(out.last[i], in.sizes[i] - 1) || !set(out.step[i], in.steps[i]))
      return false;
  for (cuuint32_t i = 0; i + 1 < in.rank; ++i) out.stride[i] = in.strides[i];
  return set_swizzle(out, in.swizzle);
}

CUresult store(CUtensorMap* to, const TensorMap& map) {
  if (problem_of(map) != nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(to, &map, sizeof map);
  return CUDA_SUCCESS;
}

bool is_place_for_map(const CUtensorMap* map) {
  return map != nullptr && reinterpret_cast<std::uintptr_t>(map) % 64 == 0;
}

}  // namespace

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  TensorMap out;
  if (!is_place_for_map(map) || box == nullptr ||
      !set_common(out, {type, rank, address, sizes, strides, steps, interleave, swizzle, promotion, fill}))
    return CUDA_ERROR_INVALID_VALUE;
  for (cuuint32_t i = 0; i < rank; ++i)
    if (!set(out.box[i], box[i])) return CUDA_ERROR_INVALID_VALUE;
  return store(map, out);
}

CUresult encode_im2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                       const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower_corner,
                       const int* upper_corner, cuuint32_t channels, cuuint32_t pixels,
                       const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                       CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  TensorMap out;
  out.mode = TensorMap::Mode::im2col;
  if (!is_place_for_map(map) || lower_corner == nullptr || upper_corner == nullptr || rank < 3 ||
      !set_common(out, {type, rank, address, sizes, strides, steps, interleave, swizzle, promotion, fill}) ||
      !set(out.channels, channels) || !set(out.pixels, pixels))
    return CUDA_ERROR_INVALID_VALUE;
  for (cuuint32_t i = 0; i + 2 < rank; ++i) {
    out.lower[i] = static_cast<std::int16_t>(lower_corner[i]);
    out.upper[i] = static_cast<std::int16_t>(upper_corner[i]);
    if (out.lower[i] != lower_corner[i] || out.upper[i] != upper_corner[i]) return CUDA_ERROR_INVALID_VALUE;
  }
  return store(map, out);
}

CUresult encode_im2col_wide(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, int, int, cuuint32_t, cuuint32_t, const cuuint32_t*,
                            CUtensorMapInterleave, CUtensorMapIm2ColWideMode, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace pkb::virtual_gpu
