// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/agreement.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "harness/device/memory.h"
#include "harness/judge/descriptor_exchange.h"
#include "harness/judge/gather.h"
#include "harness/judge/trial_check.h"

namespace pkb::judge {
namespace {

using Kind = Event::Kind;

class Ranks : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &x_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &x_ranks);
  }

  static Event wait(Agreement& agreement) {
    for (;;) {
      if (const auto decided = agreement.decision()) return *decided;
      ::usleep(500);
    }
  }

  int x_rank = 0, x_ranks = 0;
};

TEST_F(Ranks, GoOnWhenAllHaveTheSameEvent) {
  Agreement agreement(MPI_COMM_WORLD);
  for (const Event event :
       {Event{Kind::answered}, Event{Kind::symmetric, 4096}, Event{Kind::barrier}, Event{Kind::answered}}) {
    agreement.post(event);
    EXPECT_EQ(wait(agreement), event);
  }
  agreement.finish();
}

TEST_F(Ranks, StayUndecidedWhileOneIsSilent) {
  Agreement agreement(MPI_COMM_WORLD);
  if (x_rank != 1) agreement.post({Kind::answered});
  for (int i = 0; i < 50; ++i) {
    ASSERT_FALSE(agreement.decision());
    ::usleep(500);
  }
  if (x_rank == 0) {
    EXPECT_TRUE(agreement.events()[0].has_value());
    EXPECT_FALSE(agreement.events()[1].has_value());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (x_rank == 1) agreement.post({Kind::answered});
  EXPECT_EQ(wait(agreement).kind, Kind::answered);
  agreement.finish();
}

TEST_F(Ranks, StopAtOnceWhenOneFails) {
  Agreement agreement(MPI_COMM_WORLD);
  if (x_rank == x_ranks - 1) agreement.post({Kind::failed});
  EXPECT_EQ(wait(agreement).kind, Kind::failed);
  agreement.finish();
}

TEST_F(Ranks, StopWhenRank0SaysSo) {
  Agreement agreement(MPI_COMM_WORLD);
  if (x_rank == 0) agreement.stop();
  EXPECT_EQ(wait(agreement).kind, Kind::failed);
  agreement.finish();
}

TEST_F(Ranks, StopWhenTheirRequestsDiffer) {
  Agreement agreement(MPI_COMM_WORLD);
  agreement.post(x_rank == 1 ? Event{Kind::symmetric, 8} : Event{Kind::symmetric, 16});
  EXPECT_EQ(wait(agreement).kind, Kind::failed);
  EXPECT_EQ(agreement.disagreement(),
            x_rank == 0
                ? "every rank must call symmetric() and barrier() alike: rank 0 called symmetric(16), but "
                  "rank 1 called symmetric(8)"
                : "");
  agreement.finish();
}

TEST_F(Ranks, ExchangeDescriptors) {
  std::array<char, 64> folder{"/tmp/pkb-exchange-XXXXXX"};
  if (x_rank == 0) {
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  }
  MPI_Bcast(folder.data(), folder.size(), MPI_CHAR, 0, MPI_COMM_WORLD);
  {
    DescriptorExchange exchange(MPI_COMM_WORLD, folder.data());
    const auto memory = device::virtual_memory();
    for (int round = 0; round < 3; ++round) {
      const device::Segment mine = memory->create(64);
      mine.data()[0] = static_cast<std::byte>(10 * round + x_rank);
      auto all = exchange.all_gather(mine.fd());
      ASSERT_EQ(all.size(), static_cast<std::size_t>(x_ranks));
      for (int rank = 0; rank < x_ranks; ++rank)
        EXPECT_EQ(memory->import(std::move(all[static_cast<std::size_t>(rank)]), 64).data()[0],
                  static_cast<std::byte>(10 * round + rank));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (x_rank == 0) {
    EXPECT_TRUE(std::filesystem::is_empty(folder.data()));
    std::filesystem::remove(folder.data());
  }
}

TEST_F(Ranks, GatherTheirFindings) {
  const auto all =
      gather({{"rank", x_rank}, {"text", std::string(static_cast<std::size_t>(x_rank) * 1000, 'x') + "\xFF"}},
             MPI_COMM_WORLD);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(x_rank == 0 ? x_ranks : 0));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    EXPECT_EQ(all[rank]["rank"], rank);
    EXPECT_EQ(all[rank]["text"], std::string(rank * 1000, 'x') + "\xEF\xBF\xBD");
  }
}

TEST_F(Ranks, FindTheFirstByteThatDiffersFromRank0) {
  std::vector<std::byte> bytes(1000, std::byte{7});
  EXPECT_EQ(first_difference_from_rank_0(bytes, MPI_COMM_WORLD), -1);
  if (x_rank == 1) bytes[998] = std::byte{8};
  EXPECT_EQ(first_difference_from_rank_0(bytes, MPI_COMM_WORLD), x_rank == 1 ? 998 : -1);
  if (x_rank == 2) bytes.pop_back();
  EXPECT_EQ(first_difference_from_rank_0(bytes, MPI_COMM_WORLD), x_rank == 1 ? 998 : x_rank == 2 ? 0 : -1);
}

}  // namespace
}  // namespace pkb::judge

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
