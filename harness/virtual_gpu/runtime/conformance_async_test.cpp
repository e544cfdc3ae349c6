// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies, clusters and dependent launches on any CUDA device of compute capability 9.0. Built twice, as
// conformance_test.cpp is.
#include <numeric>
#include <vector>

#include "harness/virtual_gpu/runtime/conformance.h"
#include "harness/virtual_gpu/runtime/conformance_async_kernels.h"

namespace {

using namespace pkb::virtual_gpu::conformance;

using Async = Cuda;
using Clusters = Cuda;

std::vector<int> count_up(int n, int from = 0) {
  std::vector<int> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST_F(Async, WarpSpecialisedPipeline) {
  const int n = 11 * 1024;
  const auto in = count_up(n, -500);
  const DeviceArray in_device(in);
  const DeviceArray<int> out(n);
  ASSERT_CUDA(KERNELS(warp_specialised)(in_device.get(), out.get(), n, nullptr));
  const auto got = out.values();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 3 * in[i] + 1) << i;
}

TEST_F(Async, DoubleBuffersByCpAsync) {
  const int rows = 24;
  const DeviceArray in_device(count_up(rows * 256));
  const DeviceArray<int> sum(256);
  ASSERT_CUDA(KERNELS(double_buffered)(in_device.get(), sum.get(), rows, nullptr));
  const auto got = sum.values();
  // 24 rows: 24 * column + 256 * (0 + ... + 23)
  for (int c = 0; c < 256; ++c) ASSERT_EQ(got[static_cast<std::size_t>(c)], 24 * c + 256 * 276) << c;
}

TEST_F(Async, BulkCopiesReduce) {
  const int rows = 40;
  std::vector<float> in(rows * 256);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 7);
  const DeviceArray in_device(in);
  const DeviceArray<float> sums(256);
  ASSERT_CUDA(KERNELS(bulk_reduce)(in_device.get(), sums.get(), rows, nullptr));
  const auto got = sums.values();
  for (std::size_t c = 0; c < 256; ++c) {
    float expected = 0;  // whole numbers, so that their order does not matter
    for (std::size_t r = 0; r < rows; ++r) expected += in[r * 256 + c];
    ASSERT_EQ(got[c], expected) << c;
  }
}

TEST_F(Async, BarrierAndPipelineOfLibcudacxx) {
  const int n = 2048;
  const DeviceArray in_device(count_up(n, 7));
  const DeviceArray<int> out(2 * n);
  ASSERT_CUDA(KERNELS(by_libcudacxx)(in_device.get(), out.get(), n, nullptr));
  const auto got = out.values();
  for (int i = 0; i < 2 * n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], 2 * (i % n + 7)) << i;
}

TEST_F(Async, DependentLaunchStartsEarlyAndWaits) {
  const int n = 1000;
  for (const int meets : {0, 1}) {
    const Stream stream;
    const DeviceArray<unsigned> started(1);
    const DeviceArray<int> data(n), out(n);
    ASSERT_CUDA(cudaDeviceSynchronize());
    ASSERT_CUDA(KERNELS(dependent_pair)(started.get(), data.get(), out.get(), n, meets, stream.handle));
    ASSERT_CUDA(cudaStreamSynchronize(stream.handle));
    EXPECT_EQ(out.values(), count_up(n, 1));
  }
}

TEST_F(Clusters, ShareMemory) {
  const unsigned blocks = 40;
  const DeviceArray<int> out(blocks);
  ASSERT_CUDA(KERNELS(cluster_sum)(out.get(), blocks, nullptr));
  // 4 * (0^2 + ... + 63^2) + 64 * 1000 * (0 + 1 + 2 + 3)
  EXPECT_EQ(out.values(), std::vector<int>(blocks, 4 * 85344 + 64 * 6000));
}

TEST_F(Clusters, HaveTheShapeOfTheLaunch) {
  const unsigned blocks = 16;
  for (const unsigned size : {0u, 1u, 2u, 8u}) {
    const DeviceArray<int> out(blocks);
    ASSERT_CUDA(KERNELS(cluster_shape)(out.get(), blocks, size, nullptr));
    const auto got = out.values();
    const int blocks_each = size == 0 ? 1 : static_cast<int>(size);
    for (int i = 0; i < static_cast<int>(blocks); ++i)
      EXPECT_EQ(got[static_cast<std::size_t>(i)], i % blocks_each + 100 * blocks_each + (size == 0 ? 0 : 10000)) << i;
  }
}

TEST_F(Clusters, OfMoreThanEightBlocksHaveToBeAskedFor) {
  const DeviceArray<int> out(32);
  int largest = 0;
  EXPECT_EQ(KERNELS(cluster_shape)(out.get(), 32, 16, nullptr), cudaErrorInvalidClusterSize);
  EXPECT_CUDA(KERNELS(largest_cluster)(&largest));
  EXPECT_EQ(largest, 8);
  ASSERT_CUDA(KERNELS(allow_non_portable)(1));
  EXPECT_CUDA(KERNELS(largest_cluster)(&largest));
  EXPECT_EQ(largest, 16);
  EXPECT_CUDA(KERNELS(cluster_shape)(out.get(), 32, 16, nullptr));
  EXPECT_EQ(out.values()[17], 1 + 1600 + 10000);
  EXPECT_EQ(KERNELS(cluster_shape)(out.get(), 32, 32, nullptr), cudaErrorInvalidClusterSize);
  ASSERT_CUDA(KERNELS(allow_non_portable)(0));
}

TEST_F(Clusters, HaveToDivideTheGrid) {
  const DeviceArray<int> out(6);
  EXPECT_EQ(KERNELS(cluster_shape)(out.get(), 6, 4, nullptr), cudaErrorInvalidClusterSize);
  EXPECT_EQ(KERNELS(cluster_sum)(out.get(), 6, nullptr), cudaErrorInvalidClusterSize);
}

TEST_F(Clusters, AsManyAsFitAreActive) {
  int clusters = 0, sms = 0;
  ASSERT_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  ASSERT_CUDA(KERNELS(most_clusters)(&clusters, 2, 200 * 1024));  // one block an SM
  EXPECT_EQ(clusters, sms / 2);
  // How many of 8 depends on which SMs the device has lost.
  ASSERT_CUDA(KERNELS(most_clusters)(&clusters, 8, 200 * 1024));
  EXPECT_GE(clusters, sms / 10);
  EXPECT_LE(clusters, sms / 8);
}

TEST_F(Clusters, Multicast) {
  const unsigned clusters = 5;
  const DeviceArray in_device(count_up(5 * 256));
  const DeviceArray<int> out(20 * 256);
  ASSERT_CUDA(KERNELS(multicast)(in_device.get(), out.get(), clusters, nullptr));
  const auto got = out.values();
  for (int i = 0; i < 20 * 256; ++i) {
    const int block = i / 256;
    ASSERT_EQ(got[static_cast<std::size_t>(i)], block / 4 * 256 + i % 256 + block % 4) << i;
  }
}

TEST_F(Clusters, SendAsynchronously) {
  for (const unsigned size : {2u, 5u, 8u}) {
    const DeviceArray<int> out(2 * size);
    ASSERT_CUDA(KERNELS(send_round)(out.get(), size, nullptr));
    const auto got = out.values();
    for (unsigned rank = 0; rank < size; ++rank) {
      EXPECT_EQ(got[2 * rank], static_cast<int>(4 * ((rank + size - 1) % size) + 60));
      EXPECT_EQ(got[2 * rank + 1], static_cast<int>(size * (size + 1) / 2));
    }
  }
}

}  // namespace
