// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/tensor_map_encode.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/tensor_map.h"

namespace pkb::virtual_gpu {
namespace {

/// The arguments of a call, valid until a test changes them.
struct Arguments {
  CUtensorMap map{};
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  cuuint32_t rank = 4;
  std::uint64_t address = 1 << 20;
  cuuint64_t sizes[5] = {64, 14, 9, 32, 2};
  cuuint64_t strides[4] = {128, 128 * 14, 128 * 14 * 9, 128 * 14 * 9 * 32};
  cuuint32_t box[5] = {64, 4, 2, 1, 1}, steps[5] = {1, 1, 2, 1, 1};
  int lower[3] = {-1, -2, 0}, upper[3] = {-1, 1, 0};
  cuuint32_t channels = 64, pixels = 128;
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

  CUresult tiled() {
    return encode_tiled(&map, type, rank, reinterpret_cast<void*>(address), sizes, strides, box, steps,
                        interleave, swizzle, promotion, fill);
  }
  CUresult im2col() {
    return encode_im2col(&map, type, rank, reinterpret_cast<void*>(address), sizes, strides, lower, upper,
                         channels, pixels, steps, interleave, swizzle, promotion, fill);
  }
  TensorMap decoded() const { return std::bit_cast<TensorMap>(map); }
};

TEST(EncodeTiled, KeepsEveryArgument) {
  Arguments in;
  ASSERT_EQ(in.tiled(), CUDA_SUCCESS);
  const TensorMap map = in.decoded();
  EXPECT_EQ(problem_of(map), nullptr);
  EXPECT_EQ(map.address, 1u << 20);
  EXPECT_EQ(map.rank, 4);
  EXPECT_EQ(map.type, TensorMap::Type::bf16);
  EXPECT_EQ(map.swizzle, TensorMap::Swizzle::bytes_128);
  EXPECT_EQ(map.mode, TensorMap::Mode::tile);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(map.size(i), static_cast<std::int64_t>(in.sizes[i]));
    EXPECT_EQ(map.box[static_cast<std::size_t>(i)], in.box[i]);
    EXPECT_EQ(map.step[static_cast<std::size_t>(i)], in.steps[i]);
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(map.stride[i], in.strides[i]);
}

TEST(EncodeTiled, TakesWhatIsAllowedAtTheEdge) {
  Arguments in;
  in.sizes[3] = 1ull << 32;
  in.box[1] = 256;
  in.strides[2] = (1ull << 40) - 16;
  EXPECT_EQ(in.tiled(), CUDA_SUCCESS);
  EXPECT_EQ(in.decoded().size(3), 1ll << 32);
  Arguments vector;
  vector.rank = 1;
  EXPECT_EQ(encode_tiled(&vector.map, vector.type, 1, nullptr, vector.sizes, nullptr, vector.box,
                         vector.steps, vector.interleave, vector.swizzle, vector.promotion, vector.fill),
            CUDA_SUCCESS);
}

struct Wrong {
  const char* name;
  void (*change)(Arguments&);
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

class EncodeRefuses : public testing::TestWithParam<Wrong> {};

TEST_P(EncodeRefuses, AnInvalidValue) {
  Arguments in;
  GetParam().change(in);
  EXPECT_EQ(in.tiled(), CUDA_ERROR_INVALID_VALUE);
}

INSTANTIATE_TEST_SUITE_P(
    Tiled, EncodeRefuses,
    testing::Values(
        Wrong{"TypeUnknown", [](Arguments& in) { in.type = static_cast<CUtensorMapDataType>(16); }},
        Wrong{"RankZero", [](Arguments& in) { in.rank = 0; }},
        Wrong{"RankSix", [](Arguments& in) { in.rank = 6; }},
        Wrong{"AddressNotOf16", [](Arguments& in) { in.address += 8; }},
        Wrong{"SizeZero", [](Arguments& in) { in.sizes[1] = 0; }},
        Wrong{"SizeBeyond32Bits", [](Arguments& in) { in.sizes[1] = (1ull << 32) + 1; }},
        Wrong{"StrideNotOf16", [](Arguments& in) { in.strides[0] = 136; }},
        Wrong{"StrideOf41Bits", [](Arguments& in) { in.strides[2] = 1ull << 40; }},
        Wrong{"BoxZero", [](Arguments& in) { in.box[1] = 0; }},
        Wrong{"Box257", [](Arguments& in) { in.box[1] = 257; }},
        Wrong{"BoxBeyond16Bits", [](Arguments& in) { in.box[1] = 65537; }},
        Wrong{"InnerBoxNotOf16Bytes", [](Arguments& in) { in.box[0] = 60; }},
        Wrong{"InnerBoxLongerThanSpan", [](Arguments& in) { in.box[0] = 72; }},
        Wrong{"StepZero", [](Arguments& in) { in.steps[2] = 0; }},
        Wrong{"StepNine", [](Arguments& in) { in.steps[2] = 9; }},
        Wrong{"InterleavedPlane",
              [](Arguments& in) {
                in.rank = 2;
                in.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
              }},
        Wrong{"Interleaved32WithOtherSwizzle",
              [](Arguments& in) { in.interleave = CU_TENSOR_MAP_INTERLEAVE_32B; }},
        Wrong{"SwizzleUnknown", [](Arguments& in) { in.swizzle = static_cast<CUtensorMapSwizzle>(7); }},
        Wrong{"PromotionUnknown",
              [](Arguments& in) { in.promotion = static_cast<CUtensorMapL2promotion>(4); }},
        Wrong{"FillUnknown", [](Arguments& in) { in.fill = static_cast<CUtensorMapFloatOOBfill>(2); }},
        Wrong{"NanForIntegers",
              [](Arguments& in) {
                in.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
                in.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
              }}),
    [](const auto& test) { return test.param.name; });

TEST(EncodeTiled, RefusesMisplacedMaps) {
  Arguments in;
  alignas(64) std::byte bytes[256];
  EXPECT_EQ(encode_tiled(reinterpret_cast<CUtensorMap*>(bytes + 32), in.type, in.rank, nullptr, in.sizes,
                         in.strides, in.box, in.steps, in.interleave, in.swizzle, in.promotion, in.fill),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode_tiled(nullptr, in.type, in.rank, nullptr, in.sizes, in.strides, in.box, in.steps,
                         in.interleave, in.swizzle, in.promotion, in.fill),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(EncodeIm2col, KeepsCornersAndColumn) {
  Arguments in;
  ASSERT_EQ(in.im2col(), CUDA_SUCCESS);
  const TensorMap map = in.decoded();
  EXPECT_EQ(map.mode, TensorMap::Mode::im2col);
  EXPECT_EQ(map.channels, 64);
  EXPECT_EQ(map.pixels, 128);
  EXPECT_EQ(map.lower, (std::array<std::int16_t, 3>{-1, -2, 0}));
  EXPECT_EQ(map.upper, (std::array<std::int16_t, 3>{-1, 1, 0}));
}

class Im2colRefuses : public testing::TestWithParam<Wrong> {};

TEST_P(Im2colRefuses, AnInvalidValue) {
  Arguments in;
  GetParam().change(in);
  EXPECT_EQ(in.im2col(), CUDA_ERROR_INVALID_VALUE);
}

INSTANTIATE_TEST_SUITE_P(
    Im2col, Im2colRefuses,
    testing::Values(Wrong{"Plane", [](Arguments& in) { in.rank = 2; }},
                    Wrong{"CornerBelow8Bits", [](Arguments& in) { in.lower[0] = -129; }},
                    Wrong{"CornerAbove8Bits", [](Arguments& in) { in.upper[1] = 128; }},
                    Wrong{"CornerBeyond16Bits", [](Arguments& in) { in.upper[1] = 65536; }},
                    Wrong{"CornerAbove5Bits", [](Arguments& in) { in.rank = 5, in.upper[0] = 16; }},
                    Wrong{"EmptyBox", [](Arguments& in) { in.lower[0] = 13; }},
                    Wrong{"NoChannels", [](Arguments& in) { in.channels = 0; }},
                    Wrong{"ManyChannels",
                          [](Arguments& in) {
                            in.channels = 264;
                            in.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
                          }},
                    Wrong{"ManyPixels", [](Arguments& in) { in.pixels = 1025; }},
                    Wrong{"ChannelsLongerThanSpan", [](Arguments& in) { in.channels = 72; }}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pkb::virtual_gpu
