// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "harness/roofline/calibrate/copy_kernels.h"
#include "harness/roofline/calibrate/latency_kernels.h"

namespace pkb::roofline {
namespace {

using Copy = cudaError_t (*)(const CopyLaunch&, cudaStream_t);
struct Case {
  const char* name;
  Copy copy;
  std::size_t bytes;
  int sms;
};

class Copies : public testing::TestWithParam<Case> {};

TEST_P(Copies, BringEveryByteAndNoMore) {
  const Case& c = GetParam();
  constexpr std::size_t kBehind = 64;
  std::vector<std::uint8_t> sent(c.bytes), got(c.bytes + kBehind);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::uint8_t>(i * 37 + i / 251 + 1);
  void *from = nullptr, *to = nullptr;
  ASSERT_EQ(cudaMalloc(&from, sent.size()), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&to, got.size()), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(from, sent.data(), sent.size(), cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemset(to, 0xee, got.size()), cudaSuccess);
  ASSERT_EQ(c.copy({.to = to, .from = from, .bytes = c.bytes, .sms = c.sms}, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(got.data(), to, got.size(), cudaMemcpyDeviceToHost), cudaSuccess);
  std::vector<std::uint8_t> wanted = sent;
  wanted.resize(got.size(), 0xee);
  EXPECT_EQ(got, wanted);
  cudaFree(from);
  cudaFree(to);
}

// A chunk of the bulk copy has 16 KiB, a block has 8 of them under way; a step of the register copy has 64 KiB.
INSTANTIATE_TEST_SUITE_P(
    Kernels, Copies,
    testing::Values(Case{"RegistersSmallest", copy_by_registers, 16, 3},
                    Case{"RegistersTail", copy_by_registers, 5 * 65536 + 48, 2},
                    Case{"BulkSmallest", copy_by_bulk, 16, 3},  // two blocks have nothing to do
                    Case{"BulkOneChunk", copy_by_bulk, 16384, 1},
                    Case{"BulkTail", copy_by_bulk, 3 * 16384 + 32, 2},
                    Case{"BulkRoundAndRound", copy_by_bulk, 40 * 16384 + 16, 2}),
    [](const auto& test) { return test.param.name; });

class Latencies : public testing::Test {
 protected:
  Seats seats(int count) {
    Seats seats;
    seats.count = count;
    EXPECT_EQ(cudaMalloc(&seats.lost, sizeof(unsigned)), cudaSuccess);
    EXPECT_EQ(cudaMemset(seats.lost, 0, sizeof(unsigned)), cudaSuccess);
    for (int seat = 0; seat < count; ++seat) {
      EXPECT_EQ(cudaMalloc(&seats.flag_of[seat], sizeof(unsigned)), cudaSuccess);
      EXPECT_EQ(cudaMemset(seats.flag_of[seat], 0, sizeof(unsigned)), cudaSuccess);
    }
    return seats;
  }
  static unsigned value(const unsigned* flag) {
    unsigned value = 0;
    EXPECT_EQ(cudaMemcpy(&value, flag, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }
};

TEST_F(Latencies, PingPongPlaysAllRounds) {
  const Seats two = seats(2);
  ASSERT_EQ(ping_pong(two, {.count = 2, .rounds = 20}, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(value(two.lost), 0u);
  EXPECT_EQ(value(two.flag_of[0]), 20u);
  EXPECT_EQ(value(two.flag_of[1]), 20u);
}

TEST_F(Latencies, BarriersCountEverySeatInEveryRound) {
  const Seats five = seats(5);
  ASSERT_EQ(barriers(five, {.count = 5, .rounds = 7}, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(value(five.lost), 0u);
  for (int seat = 0; seat < 5; ++seat) EXPECT_EQ(value(five.flag_of[seat]), 35u);
}

}  // namespace
}  // namespace pkb::roofline
