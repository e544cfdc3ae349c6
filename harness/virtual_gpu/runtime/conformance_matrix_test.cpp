// SPDX-License-Identifier: Apache-2.0
// Matrix instructions on any CUDA device of compute capability 9.0, on small integers, whose sums are exact. Built
// twice, as conformance_test.cpp is.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "harness/virtual_gpu/runtime/conformance.h"
#include "harness/virtual_gpu/runtime/conformance_matrix_kernels.h"

namespace {

using namespace pkb::virtual_gpu::conformance;

using Matrices = Cuda;

std::vector<int> small(int rows, int columns, int least, int most, unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_int_distribution<int> distribution(least, most);
  std::vector<int> values(static_cast<std::size_t>(rows * columns));
  for (int& value : values) value = distribution(bits);
  return values;
}

template <class T, class Convert>
std::vector<T> converted(const std::vector<int>& values, Convert convert) {
  std::vector<T> result;
  for (const int value : values) result.push_back(convert(value));
  return result;
}
std::uint16_t bf16(int value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}

struct Size {
  int m, n, k;
};
/// a by rows; b by rows or by columns.
std::vector<int> product(const std::vector<int>& a, const std::vector<int>& b, Size s, bool b_by_rows, int start = 0) {
  std::vector<int> c(static_cast<std::size_t>(s.m * s.n), start);
  for (int i = 0; i < s.m; ++i)
    for (int j = 0; j < s.n; ++j)
      for (int k = 0; k < s.k; ++k)
        c[static_cast<std::size_t>(i * s.n + j)] += a[static_cast<std::size_t>(i * s.k + k)] *
                                                    b[static_cast<std::size_t>(b_by_rows ? k * s.n + j : j * s.k + k)];
  return c;
}
template <class T>
void expect_equal(const std::vector<T>& got, const std::vector<int>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<T>(expected[i])) << i;
}

TEST_F(Matrices, WgmmaReadsEveryLayoutOfSharedMemory) {
  const Size size{64, 64, 64};
  const auto a = small(64, 64, -8, 8, 1), b = small(64, 64, -8, 8, 2);
  const DeviceArray a_device(converted<std::uint16_t>(a, bf16)), b_device(converted<std::uint16_t>(b, bf16));
  const auto expected = product(a, b, size, false);
  int kernels = 0;
  for (const int a_swizzle : {16, 32, 64, 128})
    for (const int b_swizzle : {16, 32, 64, 128})
      for (const bool a_across : {false, true})
        for (const bool b_across : {false, true})
          for (const bool in_registers : {false, true}) {
            const DeviceArray<float> c(64 * 64);
            if (!KERNELS(wgmma_bf16)(a_device.get(), b_device.get(), c.get(), {a_swizzle, a_across},
                                     {b_swizzle, b_across}, in_registers))
              continue;
            ++kernels;
            SCOPED_TRACE("A " + std::to_string(a_swizzle) + (a_across ? " across" : " along") + ", B " +
                         std::to_string(b_swizzle) + (b_across ? " across" : " along") +
                         (in_registers ? ", A in registers" : ""));
            expect_equal(c.values(), expected);
            if (HasFatalFailure()) return;
          }
  EXPECT_EQ(kernels, 56);  // 7 pairs of swizzles
}

/// Matrices of 64 lines of 128 bytes through `launch`.
template <class T, class Sum, class Launch, class Convert>
void multiply_lines(Launch launch, int least, int most, Convert convert) {
  const int k = 128 / static_cast<int>(sizeof(T));
  const auto a = small(64, k, least, most, 3), b = small(64, k, least, most, 4);
  const DeviceArray a_device(converted<T>(a, convert)), b_device(converted<T>(b, convert));
  const DeviceArray<Sum> c(64 * 64);
  launch(a_device.get(), b_device.get(), c.get());
  expect_equal(c.values(), product(a, b, {64, 64, k}, false));
}
std::uint8_t e4m3(int value) { return __nv_cvt_float_to_fp8(static_cast<float>(value), __NV_SATFINITE, __NV_E4M3); }
std::uint8_t e5m2(int value) { return __nv_cvt_float_to_fp8(static_cast<float>(value), __NV_SATFINITE, __NV_E5M2); }
std::uint8_t byte(int value) { return static_cast<std::uint8_t>(value); }
float single(int value) { return static_cast<float>(value); }

TEST_F(Matrices, WgmmaOfEveryType) {
  multiply_lines<std::uint8_t, int>(KERNELS(wgmma_s8), -128, 127, byte);
  multiply_lines<std::uint8_t, int>(KERNELS(wgmma_u8), 0, 255, byte);
  multiply_lines<std::uint8_t, float>(KERNELS(wgmma_e4m3), -4, 4, e4m3);
  multiply_lines<std::uint8_t, float>(KERNELS(wgmma_e5m2), -4, 4, e5m2);
  multiply_lines<float, float>(KERNELS(wgmma_tf32), -9, 9, single);
}

TEST_F(Matrices, GemmThroughLdmatrixAndMma) {
  const auto a = small(64, 64, -8, 8, 5), b = small(64, 64, -8, 8, 6);
  const DeviceArray a_device(converted<std::uint16_t>(a, bf16)), b_device(converted<std::uint16_t>(b, bf16));
  const DeviceArray<float> c(64 * 64);
  KERNELS(mma_bf16)(a_device.get(), b_device.get(), c.get());
  expect_equal(c.values(), product(a, b, {64, 64, 64}, true));
}

template <class T, class Sum, class Launch, class Convert>
void multiply_words(Launch launch, int least, int most, Convert convert) {
  const int k = 32 / static_cast<int>(sizeof(T));
  const auto a = small(16, k, least, most, 7), b = small(8, k, least, most, 8);
  const DeviceArray a_device(converted<T>(a, convert)), b_device(converted<T>(b, convert));
  const DeviceArray<Sum> c(16 * 8);
  launch(a_device.get(), b_device.get(), c.get());
  expect_equal(c.values(), product(a, b, {16, 8, k}, false));
}

TEST_F(Matrices, MmaOfEveryType) {
  multiply_words<std::uint8_t, int>(KERNELS(mma_s8), -128, 127, byte);
  multiply_words<std::uint8_t, float>(KERNELS(mma_e4m3), -4, 4, e4m3);
  multiply_words<float, float>(KERNELS(mma_tf32), -9, 9, single);

  const auto a = small(16, 64, -8, 7, 9), b = small(8, 64, -8, 7, 10);
  const auto nibbles = [](const std::vector<int>& values) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < values.size(); i += 2)
      bytes.push_back(static_cast<std::uint8_t>((values[i] & 15) | values[i + 1] << 4));
    return bytes;
  };
  const DeviceArray a_device(nibbles(a)), b_device(nibbles(b));
  const DeviceArray<int> c(16 * 8);
  KERNELS(mma_s4)(a_device.get(), b_device.get(), c.get());
  expect_equal(c.values(), product(a, b, {16, 8, 64}, false));
}

TEST_F(Matrices, MmaOfDoublesFusesInOrder) {
  std::mt19937 bits(11);
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<double> a(16 * 8), b(8 * 8);
  for (double& value : a) value = distribution(bits);
  for (double& value : b) value = distribution(bits);
  const DeviceArray a_device(a), b_device(b);
  const DeviceArray<double> c(16 * 8);
  KERNELS(mma_f64)(a_device.get(), b_device.get(), c.get());
  const auto got = c.values();
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 8; ++k) sum = std::fma(a[i * 8 + k], b[k * 8 + j], sum);
      ASSERT_EQ(got[i * 8 + j], sum) << i << ' ' << j;
    }
}

TEST_F(Matrices, WmmaOfEveryType) {
  {
    const auto a = small(16, 16, -128, 127, 12), b = small(16, 16, -128, 127, 13);
    const auto narrow = [](int value) { return static_cast<signed char>(value); };
    const DeviceArray a_device(converted<signed char>(a, narrow)), b_device(converted<signed char>(b, narrow));
    const DeviceArray<int> c(16 * 16);
    KERNELS(wmma_s8)(a_device.get(), b_device.get(), c.get());
    expect_equal(c.values(), product(a, b, {16, 16, 16}, true, 1));
  }
  {
    const auto a = small(16, 16, -8, 8, 14), b = small(16, 16, -8, 8, 15);
    const auto half = [](int value) { return __half_raw(__float2half(static_cast<float>(value))).x; };
    const DeviceArray a_device(converted<std::uint16_t>(a, half)), b_device(converted<std::uint16_t>(b, half));
    const DeviceArray<std::uint16_t> c(16 * 16);
    KERNELS(wmma_f16)(a_device.get(), b_device.get(), c.get());
    const auto got = c.values();
    const auto expected = product(a, b, {16, 16, 16}, true, 1);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], half(expected[i])) << i;
  }
  {
    const auto a = small(16, 8, -9, 9, 16), b = small(16, 8, -9, 9, 17);
    const DeviceArray a_device(converted<float>(a, single)), b_device(converted<float>(b, single));
    const DeviceArray<float> c(16 * 16);
    KERNELS(wmma_tf32)(a_device.get(), b_device.get(), c.get());
    expect_equal(c.values(), product(a, b, {16, 16, 8}, false, 1));
  }
  {
    const auto a = small(8, 4, -9, 9, 18), b = small(8, 4, -9, 9, 19);
    const auto wide = [](int value) { return static_cast<double>(value); };
    const DeviceArray a_device(converted<double>(a, wide)), b_device(converted<double>(b, wide));
    const DeviceArray<double> c(8 * 8);
    KERNELS(wmma_f64)(a_device.get(), b_device.get(), c.get());
    expect_equal(c.values(), product(a, b, {8, 8, 4}, false, 1));
  }
}

// The device converts by cvt, the header's host code in integers.
TEST_F(Matrices, Float8AsTheHeaderOfCudaConverts) {
  std::mt19937 bits(20);
  std::vector<float> in = {0.0f, -0.0f, 448.0f, 464.0f, 465.0f, 57344.0f, 61440.0f, 1e-3f, 0x1p-10f, -0x1.8p-10f,
                           std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  while (in.size() < 4096)
    in.push_back(std::ldexp(static_cast<float>(static_cast<std::int32_t>(bits())), -static_cast<int>(bits() % 56)));
  const int n = static_cast<int>(in.size());
  const DeviceArray in_device(in);
  const DeviceArray<unsigned char> codes(2 * in.size());
  const DeviceArray<unsigned short> back(2 * in.size());
  KERNELS(convert_float8)(in_device.get(), codes.get(), back.get(), n);
  const auto got = codes.values();
  const auto halves = back.values();
  for (std::size_t i = 0; i < 2 * in.size(); ++i) {
    const auto format = i % 2 == 0 ? __NV_E4M3 : __NV_E5M2;
    ASSERT_EQ(got[i], __nv_cvt_float_to_fp8(in[i / 2], __NV_SATFINITE, format)) << in[i / 2];
    ASSERT_EQ(halves[i], __nv_cvt_fp8_to_halfraw(got[i], format).x) << in[i / 2];
  }
}

}  // namespace
