// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "reference/tensor.h"
#include "reference/testing/ranks.h"

// Device memory that tensors give back.
namespace pkb::ref {
namespace {

class CudaMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::gpus() == 0) GTEST_SKIP() << "no GPU here";
  }
};

TEST_F(CudaMemory, FreedMemoryServesTheNextOfItsSize) {
  const auto row = [](std::int64_t n) { return Tensor::empty({n}, DType::f32, Place::cuda); };
  const void* const first = row(1000).data();
  const Tensor again = row(1020), other = row(1000);  // both fit into 4096 bytes
  EXPECT_EQ(again.data(), first);
  EXPECT_NE(other.data(), first);
}

TEST_F(CudaMemory, FreedMemoryServesOtherSizesBeforeItRunsOut) {
  std::size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  constexpr std::int64_t kBlock = 256 << 20;
  {
    std::vector<Tensor> blocks;
    for (std::size_t taken = 0; taken < free / 10 * 7; taken += kBlock)
      blocks.push_back(Tensor::empty({kBlock}, DType::u8, Place::cuda));
  }
  Tensor large = Tensor::empty({static_cast<std::int64_t>(free / 10 * 6)}, DType::u8, Place::cuda);
  large.narrow(0, large.numel() - 1, 1).fill_(7);
  EXPECT_EQ(large.narrow(0, large.numel() - 1, 1).integers()[0], 7);
}

}  // namespace
}  // namespace pkb::ref
