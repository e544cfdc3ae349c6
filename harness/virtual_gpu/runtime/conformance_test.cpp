// SPDX-License-Identifier: Apache-2.0
// What any CUDA device does with kernels compiled by nvcc. Built twice: on the virtual GPU and, where there
// is one, on a real one, so that the expectations themselves are tested.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/virtual_gpu/runtime/conformance.h"
#include "harness/virtual_gpu/runtime/conformance_kernels.h"

namespace {

std::mt19937 random_bits(std::uint32_t seed) { return std::mt19937(seed); }

template <class T>
std::vector<T> uniform(std::size_t count, T low, T high, std::uint32_t seed) {
  auto bits = random_bits(seed);
  std::uniform_real_distribution<T> distribution(low, high);
  std::vector<T> values(count);
  for (T& value : values) value = distribution(bits);
  return values;
}

std::vector<int> integers(std::size_t count, int low, int high, std::uint32_t seed) {
  auto bits = random_bits(seed);
  std::uniform_int_distribution<int> distribution(low, high);
  std::vector<int> values(count);
  for (int& value : values) value = distribution(bits);
  return values;
}

using namespace pkb::virtual_gpu::conformance;

using Kernels = Cuda;
using Streams = Cuda;
using Launches = Cuda;
using Copies = Cuda;
using Faults = Cuda;

TEST_F(Kernels, VectorAdd) {
  const int n = 10'007;
  const auto a = uniform<float>(n, -1, 1, 1), b = uniform<float>(n, -1, 1, 2);
  const DeviceArray a_device(a), b_device(b);
  const DeviceArray<float> sum(n);
  KERNELS(vector_add)(a_device.get(), b_device.get(), sum.get(), n, nullptr);
  const auto got = sum.values();
  for (int i = 0; i < n; ++i) ASSERT_EQ(got[i], a[i] + b[i]) << i;
}

TEST_F(Kernels, ReduceWithShuffles) {
  const auto in = integers(12'345, -1'000'000'000, 1'000'000'000, 3);
  const DeviceArray in_device(in);
  const DeviceArray<unsigned long long> sum(1);
  KERNELS(reduce_sum)(in_device.get(), sum.get(), static_cast<int>(in.size()), nullptr);
  const auto expected = std::accumulate(in.begin(), in.end(), 0ll);
  EXPECT_EQ(static_cast<long long>(sum.values()[0]), expected);
}

TEST_F(Kernels, Scan) {
  const auto in = integers(3'001, -50, 50, 4);
  const DeviceArray in_device(in);
  const DeviceArray<int> out(in.size());
  KERNELS(scan)(in_device.get(), out.get(), static_cast<int>(in.size()), nullptr);
  std::vector<int> expected(in.size());
  std::partial_sum(in.begin(), in.end(), expected.begin());
  EXPECT_EQ(out.values(), expected);
}

TEST_F(Kernels, Transpose) {
  const int rows = 101, columns = 75;
  const auto in = uniform<float>(rows * columns, 0, 1, 5);
  const DeviceArray in_device(in);
  const DeviceArray<float> out(in.size());
  KERNELS(transpose)(in_device.get(), out.get(), rows, columns, nullptr);
  const auto got = out.values();
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) ASSERT_EQ(got[j * rows + i], in[i * columns + j]) << i << ' ' << j;
  }
}

struct GemmShape {
  int m = 50, n = 37, k = 67;
};

std::vector<float> gemm_on_host(const std::vector<float>& a, const std::vector<float>& b, GemmShape s) {
  std::vector<float> c(static_cast<std::size_t>(s.m * s.n));
  for (int i = 0; i < s.m; ++i) {
    for (int j = 0; j < s.n; ++j) {
      float sum = 0;
      for (int k = 0; k < s.k; ++k) sum = std::fma(a[i * s.k + k], b[k * s.n + j], sum);
      c[i * s.n + j] = sum;
    }
  }
  return c;
}

TEST_F(Kernels, GemmF32) {
  const GemmShape s;
  const auto a = uniform<float>(s.m * s.k, -1, 1, 6), b = uniform<float>(s.k * s.n, -1, 1, 7);
  const DeviceArray a_device(a), b_device(b);
  const DeviceArray<float> c(s.m * s.n);
  KERNELS(gemm_f32)(a_device.get(), b_device.get(), c.get(), s.m, s.n, s.k, nullptr);
  EXPECT_EQ(c.values(), gemm_on_host(a, b, s));
}

// Rounds to nearest even by arithmetic on the scale of the last place, not by bits as the hardware does.
float round_to(float value, int digits, int least_exponent) {
  if (value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int last_place = std::max(exponent - digits, least_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, -last_place)), last_place);
}

template <class T, class Gemm>
void check_narrow_gemm(Gemm gemm, int digits, int least_exponent) {
  const GemmShape s;
  auto a = uniform<float>(s.m * s.k, -1, 1, 8), b = uniform<float>(s.k * s.n, -1, 1, 9);
  for (float& value : a) value = round_to(value, digits, least_exponent);
  for (float& value : b) value = round_to(value, digits, least_exponent);
  const std::vector<T> a_narrow(a.begin(), a.end()), b_narrow(b.begin(), b.end());
  const DeviceArray<T> a_device(a_narrow), b_device(b_narrow), c(s.m * s.n);
  gemm(a_device.get(), b_device.get(), c.get(), s.m, s.n, s.k, nullptr);
  const auto expected = gemm_on_host(a, b, s);
  const auto got = c.values();
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(static_cast<float>(got[i]), round_to(expected[i], digits, least_exponent)) << i;
  }
}

TEST_F(Kernels, GemmBf16) { check_narrow_gemm<__nv_bfloat16>(KERNELS(gemm_bf16), 8, -133); }
TEST_F(Kernels, GemmF16) { check_narrow_gemm<__half>(KERNELS(gemm_f16), 11, -24); }

TEST_F(Kernels, HistogramWithAtomics) {
  std::vector<unsigned char> in(20'000);
  auto bits = random_bits(10);
  for (auto& value : in) value = static_cast<unsigned char>(bits() % 256 * (bits() % 3 != 0));
  const DeviceArray in_device(in);
  const DeviceArray<unsigned> bins(256);
  KERNELS(histogram)(in_device.get(), bins.get(), static_cast<int>(in.size()), nullptr);
  std::vector<unsigned> expected(256);
  for (const auto value : in) ++expected[value];
  EXPECT_EQ(bins.values(), expected);
}

TEST_F(Kernels, IntegerHash) {
  // SplitMix64 seeded with 0 begins with this value; MurmurHash3's finaliser maps 1 to the other.
  std::vector<std::uint64_t> in(3'000);
  std::mt19937_64 bits(11);
  for (auto& value : in) value = bits();
  in[0] = 0;
  in[1] = 1;
  const DeviceArray in_device(in);
  const DeviceArray<std::uint64_t> wide(in.size());
  const DeviceArray<std::uint32_t> narrow(in.size());
  KERNELS(hash)(in_device.get(), wide.get(), narrow.get(), static_cast<int>(in.size()), nullptr);
  const auto wide_got = wide.values();
  const auto narrow_got = narrow.values();
  EXPECT_EQ(wide_got[0], 0xe220a8397b1dcdafu);
  EXPECT_EQ(narrow_got[1], 0x514e28b7u);
  for (std::size_t i = 0; i < in.size(); ++i) {
    unsigned __int128 x = static_cast<std::uint64_t>(in[i] + 0x9e3779b97f4a7c15u);
    const auto step = [](unsigned __int128 v, int shift, std::uint64_t factor) {
      return static_cast<std::uint64_t>((v ^ (v >> shift)) * factor);
    };
    x = step(step(x, 30, 0xbf58476d1ce4e5b9u), 27, 0x94d049bb133111ebu);
    ASSERT_EQ(wide_got[i], static_cast<std::uint64_t>(x ^ (x >> 31))) << i;
  }
}

TEST_F(Kernels, DoubleArithmetic) {
  const auto a = uniform<double>(5'000, -1e6, 1e6, 12), b = uniform<double>(5'000, -1e-3, 1e3, 13);
  const DeviceArray a_device(a), b_device(b);
  const DeviceArray<double> out(a.size());
  KERNELS(doubles)(a_device.get(), b_device.get(), out.get(), static_cast<int>(a.size()), nullptr);
  const auto got = out.values();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const volatile double square = b[i] * b[i], third = b[i] / 3;
    const volatile double difference = a[i] - third;
    ASSERT_EQ(got[i], std::sqrt(std::fma(a[i], a[i], square)) / difference) << i;
  }
}

TEST_F(Kernels, GridLargerThanTheChip) {
  const unsigned blocks = 20'000;
  const DeviceArray<unsigned> out(blocks), count(1);
  KERNELS(number_blocks)(out.get(), count.get(), blocks, nullptr);
  std::vector<unsigned> expected(blocks);
  std::iota(expected.begin(), expected.end(), 1u);
  EXPECT_EQ(out.values(), expected);
  EXPECT_EQ(count.values()[0], blocks);
}

TEST_F(Kernels, AllResidentBlocksMeet) {
  const int blocks = KERNELS(meet_capacity)();
  ASSERT_GT(blocks, 0);
  const DeviceArray<unsigned> arrived(1), out(blocks);
  KERNELS(meet)(arrived.get(), out.get(), static_cast<unsigned>(blocks), nullptr);
  std::vector<unsigned> expected(blocks);
  std::iota(expected.begin(), expected.end(), 1u);
  EXPECT_EQ(out.values(), expected);
}

TEST_F(Kernels, WarpsMultiplyMatrices) {
  // Small integers: every order of summation gives the same result. A bf16 is the high half of a float.
  const auto integers = [](std::size_t count, std::uint32_t seed) {
    std::vector<float> values = uniform<float>(count, -8, 8, seed);
    for (float& value : values) value = std::round(value);
    return values;
  };
  const auto bf16 = [](const std::vector<float>& values) {
    std::vector<std::uint16_t> halves;
    for (const float value : values)
      halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
    return halves;
  };
  const std::vector<float> a = integers(256, 1), b = integers(128, 2);
  const DeviceArray<std::uint16_t> device_a(bf16(a)), device_b(bf16(b));
  const DeviceArray<float> by_mma(128), by_wmma(256);
  KERNELS(warp_product)(device_a.get(), device_b.get(), by_mma.get(), by_wmma.get());

  std::vector<float> product(128, 0), square(256, 1);
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k) {
      for (int j = 0; j < 8; ++j) product[i * 8 + j] += a[i * 16 + k] * b[k * 8 + j];
      for (int j = 0; j < 16; ++j) square[i * 16 + j] += a[i * 16 + k] * a[j * 16 + k];
    }
  EXPECT_EQ(by_mma.values(), product);
  EXPECT_EQ(by_wmma.values(), square);
}

TEST_F(Kernels, GridsSynchronise) {
  constexpr unsigned kBlocks = 37;
  const DeviceArray<unsigned> partial(kBlocks), out(kBlocks * 64);
  for (int launch = 0; launch < 3; ++launch) {
    ASSERT_CUDA(KERNELS(sum_by_grid)(partial.get(), out.get(), kBlocks));
    EXPECT_EQ(out.values(), std::vector<unsigned>(kBlocks * 64, kBlocks * (kBlocks + 1) / 2));
  }
}

TEST_F(Kernels, VariablesOfTheModule) {
  const DeviceArray<float> out(8);
  float offset = 0;
  ASSERT_CUDA(KERNELS(get_offset)(&offset));
  EXPECT_EQ(offset, 3);  // as initialised in the source
  const float scale[] = {1, 10, 100, 1000};
  ASSERT_CUDA(KERNELS(set_variables)(scale, 0.5f));
  KERNELS(use_variables)(out.get(), 8, nullptr);
  EXPECT_EQ(out.values(), (std::vector<float>{0.5, 5, 50, 500, 0.5, 5, 50, 500}));
  ASSERT_CUDA(KERNELS(get_offset)(&offset));
  EXPECT_EQ(offset, 1);  // the kernel doubled it

  void* address = nullptr;
  std::size_t bytes = 0;
  ASSERT_CUDA(cudaGetSymbolAddress(&address, KERNELS(variable_symbol)()));
  ASSERT_CUDA(cudaGetSymbolSize(&bytes, KERNELS(variable_symbol)()));
  EXPECT_EQ(bytes, sizeof(float));
  ASSERT_CUDA(cudaMemcpy(&offset, address, bytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(offset, 1);
}

TEST_F(Kernels, DynamicSharedMemory) {
  const auto in = integers(25'000, 0, 1'000'000, 14);  // 100 kB
  const DeviceArray data(in);
  EXPECT_EQ(KERNELS(reverse_in_shared)(data.get(), 25'000, nullptr), cudaErrorInvalidValue);
  ASSERT_CUDA(KERNELS(allow_shared)(100'000));
  ASSERT_CUDA(KERNELS(reverse_in_shared)(data.get(), 25'000, nullptr));
  EXPECT_EQ(data.values(), std::vector<int>(in.rbegin(), in.rend()));
}

TEST_F(Streams, OneWaitsForAnEventOfAnother) {
  const int n = 2'000;
  const Stream first, second;
  const DeviceArray<unsigned> source(n), target(n);
  cudaEvent_t filled;
  ASSERT_CUDA(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  KERNELS(fill_slowly)(source.get(), 7, n, first.handle);
  ASSERT_CUDA(cudaEventRecord(filled, first.handle));
  ASSERT_CUDA(cudaStreamWaitEvent(second.handle, filled, 0));
  KERNELS(copy)(source.get(), target.get(), n, second.handle);
  ASSERT_CUDA(cudaStreamSynchronize(second.handle));
  EXPECT_EQ(target.values(), std::vector<unsigned>(n, 7));
  EXPECT_CUDA(cudaEventDestroy(filled));
}

TEST_F(Streams, KernelSpinsOnFlagSetByAnother) {
  const Stream waiting, setting;
  const DeviceArray<unsigned> flag(1), seen(1);
  ASSERT_CUDA(cudaDeviceSynchronize());
  KERNELS(wait_for)(flag.get(), 5, seen.get(), waiting.handle);
  EXPECT_EQ(cudaStreamQuery(waiting.handle), cudaErrorNotReady);
  EXPECT_CUDA(cudaPeekAtLastError());  // not ready is an answer
  EXPECT_CUDA(cudaStreamQuery(setting.handle));
  KERNELS(set_flag)(flag.get(), 5, setting.handle);
  ASSERT_CUDA(cudaStreamSynchronize(waiting.handle));
  EXPECT_CUDA(cudaStreamQuery(waiting.handle));
  EXPECT_EQ(seen.values()[0], 1u);
}

TEST_F(Streams, HostReleasesKernelThroughPinnedMemory) {
  const Stream waiting;
  unsigned* flag = nullptr;
  ASSERT_CUDA(cudaMallocHost(reinterpret_cast<void**>(&flag), 2 * sizeof(unsigned)));
  flag[0] = flag[1] = 0;
  KERNELS(wait_for)(flag, 3, flag + 1, waiting.handle);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(cudaStreamQuery(waiting.handle), cudaErrorNotReady);
  std::atomic_ref(flag[0]).store(3);
  ASSERT_CUDA(cudaStreamSynchronize(waiting.handle));
  EXPECT_EQ(flag[1], 1u);
  EXPECT_CUDA(cudaFreeHost(flag));
}

TEST_F(Streams, LegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  const int n = 2'000;
  const Stream blocking(cudaStreamDefault), other(cudaStreamDefault);
  const DeviceArray<unsigned> a(n), b(n), c(n);
  KERNELS(fill_slowly)(a.get(), 1, n, blocking.handle);
  KERNELS(copy)(a.get(), b.get(), n, nullptr);
  KERNELS(copy)(b.get(), c.get(), n, other.handle);
  ASSERT_CUDA(cudaStreamSynchronize(other.handle));
  EXPECT_EQ(c.values(), std::vector<unsigned>(n, 1));
}

TEST_F(Streams, LegacyStreamDoesNotWaitForNonBlockingOnes) {
  const Stream waiting;
  const DeviceArray<unsigned> flag(1), seen(1);
  ASSERT_CUDA(cudaDeviceSynchronize());
  KERNELS(wait_for)(flag.get(), 1, seen.get(), waiting.handle);
  KERNELS(set_flag)(flag.get(), 1, nullptr);
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(seen.values()[0], 1u);
}

TEST_F(Streams, HostFunctionsRunInOrder) {
  const Stream stream;
  const DeviceArray<unsigned> out(1'000);
  std::vector<unsigned> copied(1'000);
  unsigned* pinned = nullptr;
  ASSERT_CUDA(cudaMallocHost(reinterpret_cast<void**>(&pinned), 1'000 * sizeof(unsigned)));
  struct Look {
    unsigned* from;
    unsigned sum = 0;
  } look{pinned};
  KERNELS(fill_slowly)(out.get(), 2, 1'000, stream.handle);
  ASSERT_CUDA(
      cudaMemcpyAsync(pinned, out.get(), 1'000 * sizeof(unsigned), cudaMemcpyDeviceToHost, stream.handle));
  ASSERT_CUDA(cudaLaunchHostFunc(
      stream.handle,
      [](void* data) {
        auto& own = *static_cast<Look*>(data);
        own.sum = std::accumulate(own.from, own.from + 1'000, 0u);
      },
      &look));
  ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
  EXPECT_EQ(look.sum, 2'000u);
  EXPECT_CUDA(cudaFreeHost(pinned));
  EXPECT_EQ(cudaLaunchHostFunc(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

TEST_F(Streams, EventsTellOrderAndElapse) {
  const Stream stream;
  cudaEvent_t start, end, untimed;
  ASSERT_CUDA(cudaEventCreate(&start));
  ASSERT_CUDA(cudaEventCreate(&end));
  ASSERT_CUDA(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  float elapsed = -1;
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, start, end), cudaErrorInvalidResourceHandle);  // never recorded
  EXPECT_CUDA(cudaEventQuery(start));
  EXPECT_CUDA(cudaEventSynchronize(start));
  const DeviceArray<unsigned> flag(1), seen(1);
  ASSERT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(cudaEventRecord(start, stream.handle));
  KERNELS(wait_for)(flag.get(), 1, seen.get(), stream.handle);
  ASSERT_CUDA(cudaEventRecord(end, stream.handle));
  ASSERT_CUDA(cudaEventRecord(untimed, stream.handle));
  EXPECT_EQ(cudaEventQuery(end), cudaErrorNotReady);
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, start, end), cudaErrorNotReady);
  KERNELS(set_flag)(flag.get(), 1, nullptr);
  ASSERT_CUDA(cudaEventSynchronize(end));
  ASSERT_CUDA(cudaEventElapsedTime(&elapsed, start, end));
  EXPECT_GT(elapsed, 0);
  ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, start, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(nullptr, stream.handle), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventCreateWithFlags(&start, 77), cudaErrorInvalidValue);
}

TEST_F(Streams, OfEachHostThread) {
  const DeviceArray<unsigned> flag(1), seen(1);
  ASSERT_CUDA(cudaDeviceSynchronize());
  std::thread other([&] {
    KERNELS(wait_for)(flag.get(), 1, seen.get(), cudaStreamPerThread);
    EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  });
  KERNELS(set_flag)(flag.get(), 1, cudaStreamPerThread);
  EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  other.join();
  EXPECT_EQ(seen.values()[0], 1u);
}

TEST_F(Launches, AreCheckedAgainstTheLimits) {
  const auto launch = KERNELS(launch_empty);
  EXPECT_CUDA(launch(1, 1, 0));
  EXPECT_EQ(launch(0, 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, 1025, 0), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, dim3(1, 1, 65), 0), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, dim3(32, 64), 0), cudaErrorInvalidValue);
  EXPECT_EQ(launch(dim3(1, 65536), 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(launch(0x80000000u, 1, 0), cudaErrorInvalidValue);
  EXPECT_CUDA(launch(1, 1, 48 * 1024));
  EXPECT_EQ(launch(1, 1, 48 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaDeviceSynchronize());
}

TEST_F(Launches, AreCheckedAgainstTheKernelsBounds) {
  EXPECT_EQ(KERNELS(launch_bounded)(129), cudaErrorInvalidValue);
  cudaFuncAttributes attributes;
  ASSERT_CUDA(KERNELS(attributes_of_bounded)(&attributes));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 128);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 48 * 1024);
  EXPECT_EQ(attributes.sharedSizeBytes, 0u);
  EXPECT_EQ(attributes.preferredShmemCarveout, -1);
}

TEST_F(Launches, CooperativeOnesMustFit) {
  int sms = 0;
  ASSERT_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  const auto resident = static_cast<unsigned>(2 * sms);  // of 1024 threads
  EXPECT_CUDA(KERNELS(launch_cooperative)(resident));
  EXPECT_EQ(KERNELS(launch_cooperative)(resident + 1), cudaErrorCooperativeLaunchTooLarge);
  EXPECT_CUDA(cudaDeviceSynchronize());
}

TEST_F(Launches, OptInSharedMemoryIsBounded) {
  const auto allow = KERNELS(allow_shared);
  EXPECT_CUDA(allow(227 * 1024));
  EXPECT_EQ(allow(227 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(allow(-1), cudaErrorInvalidValue);
}

TEST_F(Launches, UnknownFunctions) {
  EXPECT_EQ(cudaLaunchKernel(nullptr, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
  EXPECT_CUDA(cudaGetLastError());
  cudaFuncAttributes attributes;
  const auto* function = reinterpret_cast<const void*>(&random_bits);
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, function), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaLaunchKernel(function, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidResourceHandle);
}

struct CopyCase {
  enum class End { device, host };
  End to, from;
  std::size_t bytes;
  cudaMemcpyKind kind;
  cudaError_t expected;
};

TEST_F(Copies, AreCheckedAgainstTheAllocations) {
  using End = CopyCase::End;
  const DeviceArray<char> a(1000), b(1000);
  std::vector<char> x(4000), y(4000);
  for (const CopyCase& each : {
           CopyCase{End::device, End::host, 1000, cudaMemcpyHostToDevice, cudaSuccess},
           CopyCase{End::device, End::host, 1001, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
           CopyCase{End::host, End::host, 10, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
           CopyCase{End::host, End::host, 10, cudaMemcpyDeviceToHost, cudaErrorInvalidValue},
           CopyCase{End::host, End::host, 10, cudaMemcpyDeviceToDevice, cudaErrorInvalidValue},
           CopyCase{End::host, End::host, 10, cudaMemcpyDefault, cudaSuccess},
           CopyCase{End::host, End::device, 1001, cudaMemcpyDeviceToHost, cudaErrorInvalidValue},
           CopyCase{End::device, End::host, 10, cudaMemcpyDeviceToHost, cudaErrorInvalidValue},
           CopyCase{End::device, End::device, 10, cudaMemcpyHostToDevice, cudaSuccess},
           CopyCase{End::device, End::device, 10, cudaMemcpyDeviceToHost, cudaSuccess},
           CopyCase{End::device, End::host, 10, static_cast<cudaMemcpyKind>(7),
                    cudaErrorInvalidMemcpyDirection},
       }) {
    void* const to = each.to == End::device ? a.get() : x.data();
    const void* const from = each.from == End::device ? b.get() : y.data();
    EXPECT_EQ(cudaMemcpy(to, from, each.bytes, each.kind), each.expected)
        << each.bytes << " bytes, kind " << each.kind << ", to " << int(each.to) << " from "
        << int(each.from);
    cudaGetLastError();
  }
  EXPECT_EQ(cudaMemcpy(nullptr, x.data(), 10, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaMemcpy(nullptr, x.data(), 0, cudaMemcpyHostToDevice));
  EXPECT_EQ(cudaMemset(a.get(), 1, 1001), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(x.data(), 1, 10), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(a.get(), 8, x.data(), 16, 16, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpyPeer(a.get(), 1, b.get(), 0, 4), cudaErrorInvalidDevice);
  EXPECT_CUDA(cudaMemcpyPeer(a.get(), 0, b.get(), 0, 4));
  cudaGetLastError();
}

TEST_F(Copies, OfRows) {
  std::vector<char> in(5 * 20);
  std::iota(in.begin(), in.end(), 0);
  const DeviceArray<char> device(5 * 16);
  ASSERT_CUDA(cudaMemcpy2D(device.get(), 16, in.data(), 20, 11, 5, cudaMemcpyHostToDevice));
  ASSERT_CUDA(cudaMemset2D(device.get() + 13, 16, 99, 2, 5));
  const auto got = device.values();
  for (int row = 0; row < 5; ++row) {
    for (int column = 0; column < 16; ++column) {
      const int expected = column < 11 ? in[row * 20 + column] : column == 13 || column == 14 ? 99 : 0;
      EXPECT_EQ(got[row * 16 + column], expected) << row << ' ' << column;
    }
  }
}

TEST_F(Copies, AsynchronousFromPageableMemoryMayReuseIt) {
  const Stream stream;
  const DeviceArray<unsigned> flag(1), seen(1), target(100);
  std::vector<unsigned> source(100, 1);
  ASSERT_CUDA(cudaDeviceSynchronize());
  KERNELS(set_flag)(flag.get(), 1, stream.handle);
  ASSERT_CUDA(cudaMemcpyAsync(target.get(), source.data(), 400, cudaMemcpyHostToDevice, stream.handle));
  source.assign(100, 2);
  ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
  EXPECT_EQ(target.values(), std::vector<unsigned>(100, 1));
}

TEST_F(Copies, PointersKnowWhatTheyAre) {
  int* device = nullptr;
  int* pinned = nullptr;
  int on_host = 0;
  ASSERT_CUDA(cudaMalloc(reinterpret_cast<void**>(&device), 400));
  ASSERT_CUDA(cudaMallocHost(reinterpret_cast<void**>(&pinned), 400));
  cudaPointerAttributes attributes;
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, device + 50));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.devicePointer, device + 50);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.devicePointer, pinned);
  EXPECT_EQ(attributes.hostPointer, pinned);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, &on_host));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributes.hostPointer, &on_host);
  EXPECT_EQ(cudaFree(device + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(&on_host), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaFree(nullptr));
  EXPECT_CUDA(cudaFree(device));
  EXPECT_CUDA(cudaFreeHost(pinned));
  EXPECT_EQ(cudaHostUnregister(&on_host), cudaErrorHostMemoryNotRegistered);
  void* none = &on_host;
  EXPECT_CUDA(cudaMalloc(&none, 0));
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(cudaMalloc(&none, std::size_t{1} << 45), cudaErrorMemoryAllocation);
  cudaGetLastError();
}

void expect_dead(cudaError_t error) {
  EXPECT_EQ(cudaDeviceSynchronize(), error);
  EXPECT_EQ(cudaDeviceSynchronize(), error);
  EXPECT_EQ(cudaGetLastError(), error);
  EXPECT_CUDA(cudaGetLastError());
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 4), error);
  EXPECT_EQ(KERNELS(launch_empty)(1, 1, 0), error);
  int index = -1;
  EXPECT_CUDA(cudaGetDevice(&index));
  EXPECT_EQ(index, 0);
}

TEST_F(Faults, StoreThroughAHostPointer) {
  in_own_process([] {
    auto on_host = std::make_unique<int>(1);
    KERNELS(store)(on_host.get(), 2, nullptr);
    expect_dead(cudaErrorIllegalAddress);
    EXPECT_EQ(*on_host, 1);
  });
}

TEST_F(Faults, StoreFarFromAnyAllocation) {
  in_own_process([] {
    KERNELS(store)(reinterpret_cast<int*>(16), 2, nullptr);
    expect_dead(cudaErrorIllegalAddress);
  });
}

TEST_F(Faults, MisalignedStore) {
  in_own_process([] {
    void* memory = nullptr;
    ASSERT_CUDA(cudaMalloc(&memory, 100));
    KERNELS(store_misaligned)(static_cast<char*>(memory), nullptr);
    expect_dead(cudaErrorMisalignedAddress);
  });
}

TEST_F(Faults, Trap) {
  in_own_process([] {
    KERNELS(trap)(nullptr);
    expect_dead(cudaErrorLaunchFailure);
  });
}

}  // namespace
