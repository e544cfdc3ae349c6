// SPDX-License-Identifier: Apache-2.0
// Tensor maps and their copies on any CUDA device of compute capability 9.0. Built twice, as
// conformance_test.cpp is.
#include <cuda.h>

#include <cstring>
#include <string>

#include "harness/virtual_gpu/runtime/conformance.h"
#include "harness/virtual_gpu/runtime/conformance_tensor_kernels.h"

namespace {

using namespace pkb::virtual_gpu::conformance;
using Bytes = std::vector<std::uint8_t>;

class Tensors : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (!IsSkipped() && major != 9) GTEST_SKIP() << "compute capability 9.0 needed";
  }
};

template <class F>
F* driver(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found) != cudaSuccess)
    return nullptr;
  return reinterpret_cast<F*>(function);
}

/// A tensor of bytes that count up, modulo 251 so that no two rows are alike.
Bytes counting(std::size_t bytes) {
  Bytes values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::uint8_t>(i % 251);
  return values;
}

struct Tiled {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
  std::vector<cuuint64_t> sizes = {}, strides = {};
  std::vector<cuuint32_t> box = {}, steps = {};  ///< no steps: 1
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

  CUresult encode(CUtensorMap* map, void* address) {
    steps.resize(sizes.size(), 1);
    auto* function = driver<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
    return function(map, type, static_cast<cuuint32_t>(sizes.size()), address, sizes.data(), strides.data(),
                    box.data(), steps.data(), interleave, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  }
};

struct Loaded {
  Bytes shared;
  unsigned done = 0;
};

Loaded load(const CUtensorMap& map, const TensorRequest& request) {
  const DeviceArray<std::uint8_t> out(request.shared_bytes);
  const DeviceArray<unsigned> done(1);
  EXPECT_CUDA(KERNELS(tensor_load)(&map, &request, out.get(), done.get()));
  return {out.values(), done.values()[0]};
}

/// Where the swizzle puts a byte of shared memory: Swizzle<B, M, S> of CuTe.
std::size_t place(CUtensorMapSwizzle swizzle, std::size_t at) {
  const auto add = [at](unsigned b, unsigned m, unsigned s) { return at ^ (at >> s & ((1u << b) - 1) << m); };
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
      return at;
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return add(1, 4, 3);
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return add(2, 4, 3);
    case CU_TENSOR_MAP_SWIZZLE_128B:
      return add(3, 4, 3);
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B:
      return add(2, 5, 2);
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B:
      return add(2, 5, 2) ^ (at >> 7 & 1) << 3;
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B:
      return add(1, 6, 1);
  }
  return at;
}

constexpr std::size_t kRowBytes = 256, kRows = 64;

struct Swizzle {
  const char* name;
  CUtensorMapSwizzle swizzle;
  unsigned inner;   ///< bytes of a box's row
  unsigned pitch;   ///< between rows in shared memory
  unsigned offset;  ///< of the box in shared memory
};
void PrintTo(const Swizzle& one, std::ostream* out) { *out << one.name; }

class Swizzles : public Tensors, public testing::WithParamInterface<Swizzle> {};

TEST_P(Swizzles, PutChunksWhereTheIsaSays) {
  const Swizzle& one = GetParam();
  const DeviceArray tensor(counting(kRowBytes * kRows));
  Tiled tiled{.sizes = {kRowBytes / 2, kRows},
              .strides = {kRowBytes},
              .box = {one.inner / 2, 16},
              .swizzle = one.swizzle};
  alignas(64) CUtensorMap map;
  ASSERT_EQ(tiled.encode(&map, tensor.get()), CUDA_SUCCESS);
  const TensorRequest request{.coordinates = {8, 3},
                              .transactions = 16 * one.inner,
                              .shared_offset = one.offset,
                              .shared_bytes = one.offset + 16 * one.pitch + 128};
  Bytes expected(request.shared_bytes, 0xcd);
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t i = 0; i < one.inner; ++i)
      expected[place(one.swizzle, one.offset + row * one.pitch + i)] =
          static_cast<std::uint8_t>(((row + 3) * kRowBytes + 16 + i) % 251);
  const Loaded loaded = load(map, request);
  EXPECT_EQ(loaded.done, 1u);
  EXPECT_EQ(loaded.shared, expected);
}

INSTANTIATE_TEST_SUITE_P(
    Tiles, Swizzles,
    testing::Values(Swizzle{"None", CU_TENSOR_MAP_SWIZZLE_NONE, 96, 96, 0},
                    Swizzle{"Span32", CU_TENSOR_MAP_SWIZZLE_32B, 32, 32, 0},
                    Swizzle{"Span64", CU_TENSOR_MAP_SWIZZLE_64B, 64, 64, 0},
                    Swizzle{"Span128", CU_TENSOR_MAP_SWIZZLE_128B, 128, 128, 0},
                    Swizzle{"Span128Behind", CU_TENSOR_MAP_SWIZZLE_128B, 128, 128, 384},
                    Swizzle{"Span64Behind", CU_TENSOR_MAP_SWIZZLE_64B, 64, 64, 128},
                    Swizzle{"NarrowIn64", CU_TENSOR_MAP_SWIZZLE_64B, 32, 64, 0},
                    Swizzle{"NarrowIn128", CU_TENSOR_MAP_SWIZZLE_128B, 48, 128, 0}),
    [](const auto& test) { return test.param.name; });

TEST_F(Tensors, OtherAtomsNeedANewerDevice) {
  const DeviceArray tensor(counting(kRowBytes * kRows));
  for (const CUtensorMapSwizzle swizzle : {CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B,
                                           CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B}) {
    Tiled tiled{.sizes = {kRowBytes / 2, kRows}, .strides = {kRowBytes}, .box = {64, 16}, .swizzle = swizzle};
    alignas(64) CUtensorMap map;
    EXPECT_EQ(tiled.encode(&map, tensor.get()), CUDA_ERROR_INVALID_VALUE);
  }
}

struct FillCase {
  const char* name;
  CUtensorMapDataType type;
  std::size_t element;
  bool nan;
};
void PrintTo(const FillCase& one, std::ostream* out) { *out << one.name; }

class Fills : public Tensors, public testing::WithParamInterface<FillCase> {};

// The box begins before the first row and ends behind the last column.
TEST_P(Fills, WhatIsOutside) {
  const FillCase& one = GetParam();
  const DeviceArray tensor(Bytes(kRowBytes * kRows, 0x41));
  const auto columns = static_cast<cuuint64_t>(kRowBytes / one.element);
  Tiled tiled{.type = one.type,
              .sizes = {columns, kRows},
              .strides = {kRowBytes},
              .box = {static_cast<cuuint32_t>(64 / one.element), 4},
              .fill = one.nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                              : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE};
  alignas(64) CUtensorMap map;
  ASSERT_EQ(tiled.encode(&map, tensor.get()), CUDA_SUCCESS);
  const TensorRequest request{.coordinates = {static_cast<int>(columns - 32 / one.element), -2},
                              .transactions = 256,
                              .shared_bytes = 256};
  Bytes expected(256);
  for (std::size_t i = 0; i < 256; ++i) {
    const bool inside = i / 64 >= 2 && i % 64 < 32;
    expected[i] = inside ? 0x41 : one.nan ? (i % 2 == 0 ? 0xf7 : 0x7f) : 0;
  }
  const Loaded loaded = load(map, request);
  EXPECT_EQ(loaded.done, 1u);
  EXPECT_EQ(loaded.shared, expected);
}

INSTANTIATE_TEST_SUITE_P(Types, Fills,
                         testing::Values(FillCase{"BytesZero", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, false},
                                         FillCase{"HalfNan", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, true},
                                         FillCase{"BrainNan", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, true},
                                         FillCase{"FloatZero", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, false},
                                         FillCase{"FloatNan", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, true},
                                         FillCase{"DoubleNan", CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, true}),
                         [](const auto& test) { return test.param.name; });

TEST_F(Tensors, Tf32IsRoundedWhenLoaded) {
  std::vector<std::uint32_t> values = {0x3f800fff, 0x3f801000, 0x3f801001, 0x3f803000,
                                       0xbf801001, 0x7f800000, 0x7f7fffff, 0x7f800001,
                                       0xffc12345, 0x00000001, 0x00001001, 0x807fffff};
  values.resize(16);
  const DeviceArray tensor(values);
  Tiled tiled{.type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, .sizes = {16}, .strides = {0}, .box = {16}};
  alignas(64) CUtensorMap map;
  ASSERT_EQ(tiled.encode(&map, tensor.get()), CUDA_SUCCESS);
  const Loaded loaded = load(map, {.rank = 1, .transactions = 64, .shared_bytes = 64});
  EXPECT_EQ(loaded.done, 1u);
  std::vector<std::uint32_t> got(16);
  std::memcpy(got.data(), loaded.shared.data(), 64);
  const std::vector<std::uint32_t> expected = {0x3f800000, 0x3f800000, 0x3f802000, 0x3f804000,
                                               0xbf802000, 0x7f800000, 0x7f800000, 0x7fffe000,
                                               0x7fffe000, 0,          0x00002000, 0x80800000};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(got[i], expected[i]) << i;
}

TEST_F(Tensors, FiveDimensionsWithSteps) {
  // 16 bytes x 6 x 5 x 4 x 3, every second of the second dimension and third of the fourth.
  const DeviceArray tensor(counting(16 * 6 * 5 * 4 * 3));
  Tiled tiled{.type = CU_TENSOR_MAP_DATA_TYPE_UINT8,
              .sizes = {16, 6, 5, 4, 3},
              .strides = {16, 96, 480, 1920},
              .box = {16, 5, 2, 4, 2},
              .steps = {1, 2, 1, 3, 1}};
  alignas(64) CUtensorMap map;
  ASSERT_EQ(tiled.encode(&map, tensor.get()), CUDA_SUCCESS);
  const unsigned bytes = 16 * 3 * 2 * 2 * 2;
  const Loaded loaded =
      load(map, {.rank = 5, .coordinates = {0, 1, 4, -1, 1}, .transactions = bytes, .shared_bytes = bytes});
  EXPECT_EQ(loaded.done, 1u);
  Bytes expected;
  for (int e : {1, 2})
    for (int d : {-1, 2})
      for (int c : {4, 5})
        for (int b : {1, 3, 5})
          for (int a = 0; a < 16; ++a)
            expected.push_back(
                d < 0 || c > 4 ? 0
                               : static_cast<std::uint8_t>((a + 16 * (b + 6 * (c + 5 * (d + 4 * e)))) % 251));
  EXPECT_EQ(loaded.shared, expected);
}

/// NC/8HWC8 and NC/16HWC16 of 2-byte channels: slices of 16 or 32 bytes.
class Interleaved : public Tensors, public testing::WithParamInterface<int> {};

TEST_P(Interleaved, DimensionsCountSlices) {
  const auto slice = static_cast<std::size_t>(GetParam());
  const bool wide = slice == 32;
  const std::size_t w = 11, h = 5, c = 3, n = 2;
  const DeviceArray tensor(counting(slice * w * h * c * n));
  // However many slices of channels the box has, one is moved.
  Tiled tiled{.sizes = {w, h, c, n},
              .strides = {slice * w, slice * w * h, slice * w * h * c},
              .box = {8, 2, 2, 2},
              .interleave = wide ? CU_TENSOR_MAP_INTERLEAVE_32B : CU_TENSOR_MAP_INTERLEAVE_16B,
              .swizzle = wide ? CU_TENSOR_MAP_SWIZZLE_32B : CU_TENSOR_MAP_SWIZZLE_NONE};
  alignas(64) CUtensorMap map;
  ASSERT_EQ(tiled.encode(&map, tensor.get()), CUDA_SUCCESS);
  const auto bytes = static_cast<unsigned>(slice * 8 * 2 * 2);
  const Loaded loaded =
      load(map, {.rank = 4, .coordinates = {5, 1, 1, 0}, .transactions = bytes, .shared_bytes = bytes});
  EXPECT_EQ(loaded.done, 1u);
  Bytes expected(bytes);
  std::size_t at = 0;
  for (std::size_t image : {0, 1})
    for (std::size_t y : {1, 2})
      for (std::size_t x = 5; x < 13; ++x)
        for (std::size_t i = 0; i < slice; ++i, ++at)
          expected[place(tiled.swizzle, at)] =
              x < w ? static_cast<std::uint8_t>((((image * c + 1) * h + y) * w * slice + x * slice + i) % 251)
                    : 0;
  EXPECT_EQ(loaded.shared, expected);
}

INSTANTIATE_TEST_SUITE_P(Slices, Interleaved, testing::Values(16, 32));

TEST_F(Tensors, Im2colOfPaddedImages) {
  // 32 bytes of channels, W 5, H 4, 2 images; a 3 x 3 filter with padding 1, strides 1 and 2.
  const int w = 5, h = 4, n = 2;
  const DeviceArray tensor(counting(32 * w * h * n));
  auto* encode = driver<decltype(cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  ASSERT_NE(encode, nullptr);
  const cuuint64_t sizes[] = {32, w, h, n}, strides[] = {32, 32 * w, 32 * w * h};
  const cuuint32_t steps[] = {1, 1, 2, 1};
  const int lower[] = {-1, -1}, upper[] = {-1, -1};
  const unsigned pixels = 24;
  alignas(64) CUtensorMap map;
  ASSERT_EQ(encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, tensor.get(), sizes, strides, lower, upper, 32,
                   pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_SUCCESS);
  const TensorRequest request{.rank = 4,
                              .im2col = true,
                              .coordinates = {0, 2, -1, 0},
                              .offsets = {2, 1},
                              .transactions = 32 * pixels,
                              .shared_bytes = 32 * pixels};
  // The base goes through W -1...3 and H -1, 1 of each image, from W 2 on; the pixel is (2, 1) further.
  Bytes expected;
  for (int image = 0; expected.size() < request.shared_bytes; ++image)
    for (int y : {-1, 1})
      for (int x = image == 0 && y == -1 ? 2 : -1; x <= 3 && expected.size() < request.shared_bytes; ++x)
        for (int c = 0; c < 32; ++c) {
          const int at_x = x + 2, at_y = y + 1;
          const bool inside = image < n && at_x < w && at_y < h;
          expected.push_back(
              inside ? static_cast<std::uint8_t>((((image * h + at_y) * w + at_x) * 32 + c) % 251) : 0);
        }
  const Loaded loaded = load(map, request);
  EXPECT_EQ(loaded.done, 1u);
  EXPECT_EQ(loaded.shared, expected);
}

TEST_F(Tensors, StoreSkipsWhatIsOutside) {
  const DeviceArray tensor(counting(kRowBytes * kRows));
  Tiled tiled{.sizes = {kRowBytes / 2, kRows},
              .strides = {kRowBytes},
              .box = {64, 8},
              .swizzle = CU_TENSOR_MAP_SWIZZLE_128B};
  alignas(64) CUtensorMap map;
  ASSERT_EQ(tiled.encode(&map, tensor.get()), CUDA_SUCCESS);
  Bytes shared(1024);
  for (std::size_t i = 0; i < shared.size(); ++i) shared[i] = static_cast<std::uint8_t>(i % 253);
  const DeviceArray in(shared);
  const TensorRequest request{.coordinates = {80, 60}, .shared_bytes = 1024};
  ASSERT_CUDA(KERNELS(tensor_store)(&map, &request, in.get()));
  Bytes expected = counting(kRowBytes * kRows);
  for (std::size_t row = 60; row < kRows; ++row)
    for (std::size_t i = 0; i < 96; ++i)
      expected[row * kRowBytes + 160 + i] = shared[place(tiled.swizzle, (row - 60) * 128 + i)];
  EXPECT_EQ(tensor.values(), expected);
}

struct Start {
  const char* name;
  int x, y;
  cudaError_t load, store;
};
void PrintTo(const Start& one, std::ostream* out) { *out << one.name; }

/// Boxes of 64 x 8 of two bytes.
class Starts : public Tensors, public testing::WithParamInterface<Start> {};

TEST_P(Starts, MayBeOutsideOrNot) {
  for (const bool stores : {false, true}) {
    in_own_process([stores] {
      const DeviceArray tensor(counting(kRowBytes * kRows));
      const DeviceArray<std::uint8_t> bytes(1024);
      const DeviceArray<unsigned> done(1);
      Tiled tiled{.sizes = {kRowBytes / 2, kRows}, .strides = {kRowBytes}, .box = {64, 8}};
      alignas(64) CUtensorMap map;
      ASSERT_EQ(tiled.encode(&map, tensor.get()), CUDA_SUCCESS);
      const Start& start = GetParam();
      const TensorRequest request{
          .coordinates = {start.x, start.y}, .transactions = 1024, .shared_bytes = 1024};
      if (stores) KERNELS(tensor_store)(&map, &request, bytes.get());
      if (!stores) KERNELS(tensor_load)(&map, &request, bytes.get(), done.get());
      EXPECT_EQ(cudaDeviceSynchronize(), stores ? start.store : start.load);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Boxes, Starts,
    testing::Values(Start{"Behind", 80, 60, cudaSuccess, cudaSuccess},
                    Start{"InFrontAcross", -16, 0, cudaSuccess, cudaErrorIllegalInstruction},
                    Start{"InFrontAlong", 0, -2, cudaSuccess, cudaErrorIllegalInstruction},
                    Start{"Unaligned", 4, 0, cudaErrorIllegalInstruction, cudaErrorIllegalInstruction}),
    [](const auto& test) { return test.param.name; });

struct ReductionCase {
  const char* name;
  CUtensorMapDataType type;
  TensorReduction reduction;
  std::uint32_t before, operand, after;  ///< all elements of 4 bytes, or pairs of 2
};
void PrintTo(const ReductionCase& one, std::ostream* out) { *out << one.name; }

class Reductions : public Tensors, public testing::WithParamInterface<ReductionCase> {};

TEST_P(Reductions, CombineElementsInside) {
  const ReductionCase& one = GetParam();
  const bool halves =
      one.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 || one.type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const DeviceArray tensor(std::vector<std::uint32_t>(16 * 8, one.before));
  const cuuint32_t of_word = halves ? 2 : 1;
  Tiled tiled{.type = one.type, .sizes = {16 * of_word, 8}, .strides = {64}, .box = {8 * of_word, 4}};
  alignas(64) CUtensorMap map;
  ASSERT_EQ(tiled.encode(&map, tensor.get()), CUDA_SUCCESS);
  std::vector<std::uint32_t> words(32, one.operand);
  Bytes shared(128);
  std::memcpy(shared.data(), words.data(), 128);
  const DeviceArray in(shared);
  const TensorRequest request{.coordinates = {static_cast<int>(12 * of_word), 6}, .shared_bytes = 128};
  ASSERT_CUDA(KERNELS(tensor_reduce)(&map, &request, one.reduction, in.get()));
  const auto got = tensor.values();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], i / 16 >= 6 && i % 16 >= 12 ? one.after : one.before) << i << std::hex << ' ' << got[i];
}

INSTANTIATE_TEST_SUITE_P(
    All, Reductions,
    testing::Values(
        ReductionCase{"AddU32", CU_TENSOR_MAP_DATA_TYPE_UINT32, kTensorAdd, 0xfffffff0, 0x20, 0x10},
        ReductionCase{"AddF32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, kTensorAdd, 0x3f800000, 0x40000000,
                      0x40400000},
        ReductionCase{"AddF32Subnormal", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, kTensorAdd, 1, 2, 3},
        ReductionCase{"AddF32FtzSubnormal", CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, kTensorAdd, 1, 2, 0},
        ReductionCase{"AddF16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, kTensorAdd, 0x3c004000, 0x40003c00,
                      0x42004200},
        ReductionCase{"AddBf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, kTensorAdd, 0x3f804000, 0x40003f80,
                      0x40404040},
        ReductionCase{"MinS32", CU_TENSOR_MAP_DATA_TYPE_INT32, kTensorMin, 5, 0xfffffffe, 0xfffffffe},
        ReductionCase{"MinU32", CU_TENSOR_MAP_DATA_TYPE_UINT32, kTensorMin, 5, 0xfffffffe, 5},
        ReductionCase{"MaxF16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, kTensorMax, 0xbc004000, 0x3c003c00,
                      0x3c004000},
        ReductionCase{"IncU32", CU_TENSOR_MAP_DATA_TYPE_UINT32, kTensorInc, 7, 7, 0},
        ReductionCase{"DecU32", CU_TENSOR_MAP_DATA_TYPE_UINT32, kTensorDec, 0, 9, 9},
        ReductionCase{"AndS32", CU_TENSOR_MAP_DATA_TYPE_INT32, kTensorAnd, 0xff00ff00, 0x0ff00ff0,
                      0x0f000f00},
        ReductionCase{"OrU32", CU_TENSOR_MAP_DATA_TYPE_UINT32, kTensorOr, 0xff00ff00, 0x0ff00ff0, 0xfff0fff0},
        ReductionCase{"XorU32", CU_TENSOR_MAP_DATA_TYPE_UINT32, kTensorXor, 0xff00ff00, 0x0ff00ff0,
                      0xf0f0f0f0}),
    [](const auto& test) { return test.param.name; });

TEST_F(Tensors, MulticastReachesBothBlocks) {
  const DeviceArray tensor(counting(kRowBytes * kRows));
  Tiled tiled{.sizes = {kRowBytes / 2, kRows}, .strides = {kRowBytes}, .box = {32, 16}};
  alignas(64) CUtensorMap map;
  ASSERT_EQ(tiled.encode(&map, tensor.get()), CUDA_SUCCESS);
  const TensorRequest request{.coordinates = {32, 5}, .transactions = 1024, .shared_bytes = 2048};
  const DeviceArray<std::uint8_t> out(4096);
  const DeviceArray<unsigned> done(2);
  ASSERT_CUDA(KERNELS(tensor_multicast)(&map, &request, 20, out.get(), done.get()));
  EXPECT_EQ(done.values(), (std::vector<unsigned>{1, 1}));
  const Bytes got = out.values();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t half = i / 1024 % 2, row = 5 + 20 * half + i % 1024 / 64;
    ASSERT_EQ(got[i], (row * kRowBytes + 64 + i % 64) % 251) << i;
  }
}

TEST_F(Tensors, FieldsReplacedOnTheDevice) {
  const DeviceArray tensor(counting(kRowBytes * kRows));
  Tiled tiled{.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
              .sizes = {kRowBytes / 2, kRows},
              .strides = {kRowBytes},
              .box = {32, 16}};
  alignas(64) CUtensorMap map;
  ASSERT_EQ(tiled.encode(&map, tensor.get()), CUDA_SUCCESS);
  const DeviceArray<std::uint8_t> workspace(128), out(64 * 4);
  const DeviceArray<unsigned> done(1);
  const TensorRequest request{.coordinates = {0, 0}, .transactions = 256, .shared_bytes = 256};
  // Boxes of 4 rows, 3 rows of the tensor, each 512 bytes apart, from byte 128 on.
  ASSERT_CUDA(KERNELS(tensor_replaced)(&map, &request, tensor.get() + 128, 4, 3, 512, workspace.get(),
                                       out.get(), done.get()));
  EXPECT_EQ(done.values()[0], 1u);
  const Bytes got = out.values();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], i / 64 < 3 ? (128 + i / 64 * 512 + i % 64) % 251 : i % 2 == 0 ? 0xf7 : 0x7f) << i;
}

TEST_F(Tensors, WideIm2colNeedsANewerDevice) {
  auto* encode = driver<decltype(cuTensorMapEncodeIm2colWide)>("cuTensorMapEncodeIm2colWide");
  if (encode == nullptr) GTEST_SKIP() << "the driver has no such function";
  const DeviceArray tensor(counting(64 * 8 * 8 * 2));
  const cuuint64_t sizes[] = {64, 8, 8, 2}, strides[] = {64, 512, 4096};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  alignas(64) CUtensorMap map;
  EXPECT_NE(encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, tensor.get(), sizes, strides, 0, 0, 64, 32, steps,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, CU_TENSOR_MAP_SWIZZLE_64B,
                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_SUCCESS);
}

}  // namespace
