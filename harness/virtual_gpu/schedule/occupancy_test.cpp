// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/schedule/occupancy.h"

#include <cuda_occupancy.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>

#include "harness/error/error.h"
#include "harness/virtual_gpu/schedule/residency.h"

namespace pkb::virtual_gpu {
namespace {

TEST(Chip, UnknownOnesAreNamedWithTheKnown) {
  EXPECT_EQ(find_chip("h200").sm_count, 132);
  try {
    find_chip("h300");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "chip of the virtual GPU: \"h300\" is unknown; use one of h100, h200, b200");
  }
}

// NVIDIA's own calculation, from the toolkit.
int nvidia_blocks_per_sm(const Chip& chip, const BlockShape& shape) {
  cudaOccDeviceProp device;
  device.computeMajor = chip.major;
  device.computeMinor = chip.minor;
  device.maxThreadsPerBlock = chip.max_block_threads;
  device.maxThreadsPerMultiprocessor = 32 * chip.warps_per_sm;
  device.regsPerBlock = chip.registers_per_block;
  device.regsPerMultiprocessor = chip.registers_per_sm;
  device.warpSize = 32;
  device.sharedMemPerBlock = static_cast<std::size_t>(chip.default_shared_per_block);
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(chip.shared_per_sm);
  device.numSms = chip.sm_count;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(chip.shared_per_block);
  device.reservedSharedMemPerBlock = static_cast<std::size_t>(chip.reserved_shared);
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = chip.max_block_threads;
  kernel.numRegs = static_cast<int>(shape.registers_per_thread);
  kernel.sharedSizeBytes = 0;
  kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = static_cast<std::size_t>(chip.shared_per_block);
  kernel.numBlockBarriers = 1;
  const cudaOccDeviceState state;
  cudaOccResult result{};
  const auto error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state,
                                                             static_cast<int>(shape.threads), shape.shared);
  EXPECT_EQ(error, CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}

TEST(Occupancy, AgreesWithNvidiasCalculation) {
  for (const std::string_view name : {"h100", "h200", "b200"}) {
    const Chip& chip = find_chip(name);
    for (const std::uint64_t threads :
         {1u, 32u, 33u, 64u, 96u, 128u, 160u, 256u, 288u, 384u, 512u, 768u, 1024u}) {
      for (std::uint32_t registers = 1; registers <= 255; ++registers) {
        for (const std::uint64_t shared :
             {0u, 1u, 1024u, 8000u, 33'000u, 49'152u, 76'000u, 115'712u, 232'448u}) {
          const BlockShape shape{.threads = threads, .registers_per_thread = registers, .shared = shared};
          ASSERT_EQ(blocks_per_sm(chip, shape), nvidia_blocks_per_sm(chip, shape))
              << name << ' ' << threads << " threads " << registers << " registers " << shared << " bytes";
        }
      }
    }
  }
}

TEST(Occupancy, MostRegistersIsTheLimit) {
  const Chip& chip = find_chip("h200");
  for (std::uint64_t threads = 1; threads <= 1024; ++threads) {
    const std::uint32_t most = most_registers(chip, threads);
    ASSERT_GT(nvidia_blocks_per_sm(chip, {.threads = threads, .registers_per_thread = most}), 0) << threads;
    if (most == 255) continue;
    ASSERT_EQ(nvidia_blocks_per_sm(chip, {.threads = threads, .registers_per_thread = most + 1}), 0)
        << threads;
  }
}

TEST(Occupancy, OfAKernelKeepsItsLaunchBounds) {
  const Chip chip = find_chip("h200");
  Kernel kernel;
  kernel.registers_per_thread = 40;
  const auto blocks = [&](std::uint64_t threads) {
    return blocks_per_sm(chip, shape_of(chip, kernel, threads, 0));
  };
  EXPECT_EQ(blocks(1024), 1);  // 1024 * 40 of 65536
  kernel.promised_threads = 2048;  // __launch_bounds__(1024, 2): 32 registers
  EXPECT_EQ(registers_per_thread(chip, kernel), 32u);
  EXPECT_EQ(blocks(1024), 2);
  kernel.promised_threads = 1;
  kernel.max_registers = 24;  // __maxnreg__(24)
  EXPECT_EQ(registers_per_thread(chip, kernel), 24u);
  kernel.registers_per_thread = 20;
  EXPECT_EQ(registers_per_thread(chip, kernel), 20u);
}

TEST(Residency, HoldsAsManyBlocksAsTheOccupancySays) {
  const Chip& chip = find_chip("h200");
  for (const BlockShape& shape : {BlockShape{.threads = 1024, .registers_per_thread = 32, .shared = 0},
                                  BlockShape{.threads = 128, .registers_per_thread = 104, .shared = 0},
                                  BlockShape{.threads = 64, .registers_per_thread = 16, .shared = 20'000},
                                  BlockShape{.threads = 32, .registers_per_thread = 16, .shared = 0}}) {
    Residency residency(chip);
    const Occupancy needs = occupancy(chip, shape);
    int held = 0;
    while (residency.take(needs)) ++held;
    EXPECT_EQ(held, nvidia_blocks_per_sm(chip, shape) * chip.sm_count);
    residency.release(77, needs);
    EXPECT_EQ(residency.take(needs), 77u);
    EXPECT_FALSE(residency.take(needs));
  }
}

TEST(Residency, BlocksOfOtherShapesFillWhatIsLeft) {
  const Chip& chip = find_chip("h200");
  Residency residency(chip);
  const Occupancy large = occupancy(chip, {.threads = 1024, .registers_per_thread = 48});
  for (int i = 0; i < chip.sm_count; ++i) ASSERT_TRUE(residency.take(large));
  EXPECT_FALSE(residency.take(large));  // 2 * 1024 threads fit, but their registers do not
  const Occupancy small = occupancy(chip, {.threads = 256, .registers_per_thread = 32});
  EXPECT_TRUE(residency.take(small));
}

// As cudaOccupancyMaxActiveClusters of an H200 answered for clusters of 1 to 16 blocks.
TEST(Occupancy, ClustersAreCountedWithinProcessingClusters) {
  constexpr std::array kOneAnSm{132, 66, 39, 30, 22, 17, 15, 15, 9, 7, 7, 7, 7, 7, 7, 7};
  constexpr std::array kTwoAnSm{264, 132, 79, 62, 47, 39, 32, 30, 23, 21, 16, 16, 14, 14, 14, 14};
  const Chip& chip = find_chip("h200");
  for (std::size_t i = 0; i < kOneAnSm.size(); ++i) {
    EXPECT_EQ(active_clusters(chip, {.threads = 128, .shared = 200 * 1024}, i + 1), kOneAnSm[i]) << i + 1;
    EXPECT_EQ(active_clusters(chip, {.threads = 1024, .registers_per_thread = 32}, i + 1), kTwoAnSm[i])
        << i + 1;
  }
  EXPECT_EQ(active_clusters(chip, {.threads = 128, .shared = 300 * 1024}, 2), 0);
}

TEST(Residency, HoldsAsManyClustersAsTheOccupancySays) {
  const Chip& chip = find_chip("h200");
  const BlockShape shape{.threads = 1024, .registers_per_thread = 32};
  for (const std::size_t size : {2, 3, 4, 5, 8, 9, 16}) {
    Residency residency(chip);
    int held = 0;
    while (!residency.take_cluster(occupancy(chip, shape), size).empty()) ++held;
    EXPECT_EQ(held, active_clusters(chip, shape, size)) << size;
  }
}

TEST(Residency, TakesAllBlocksOfAClusterOrNone) {
  const Chip& chip = find_chip("h200");
  const Occupancy needs = occupancy(chip, {.threads = 128, .shared = 200 * 1024});
  Residency residency(chip);
  std::vector<std::vector<std::uint32_t>> clusters;
  for (int i = 0; i < 7; ++i) {
    clusters.push_back(residency.take_cluster(needs, 16));
    ASSERT_EQ(clusters.back().size(), 16u);
  }
  EXPECT_TRUE(residency.take_cluster(needs, 16).empty());
  // Two SMs are left in each of the largest, eight in a small one, and four pairs belong to none.
  for (int i = 0; i < 2 + 4 + 4; ++i) EXPECT_EQ(residency.take_cluster(needs, 2).size(), 2u);
  EXPECT_TRUE(residency.take_cluster(needs, 2).empty());
  for (const std::uint32_t sm : clusters[3]) residency.release(sm, needs);
  EXPECT_EQ(residency.take_cluster(needs, 16), clusters[3]);
}

}  // namespace
}  // namespace pkb::virtual_gpu
