// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/link_bytes.h"

#include <gtest/gtest.h>

namespace pkb::judge {
namespace {

// Three ranks. Rank 0 reads 10 from rank 1 and 1000 of its own; rank 1 writes 200 to rank 0 and 30 to rank 2; rank 2
// reads 4 from rank 0. Rank 0 sends 4, rank 1 sends 10 + 230; rank 0 receives 10 + 200, rank 2 receives 30 + 4.
TEST(LinkBytes, AreThoseOfTheBusiestRank) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const worker::Counters counted[] = {{.read_from = {1000, 10, 0}, .written_to = {7, 0, 0}},
                                      {.read_from = {0, 0, 0}, .written_to = {200, 5, 30}},
                                      {.read_from = {4}, .written_to = {}}};
  const LinkBytes busiest = busiest_link(counted[rank], MPI_COMM_WORLD);
  EXPECT_EQ(busiest.sent, 240u);
  EXPECT_EQ(busiest.received, 210u);
}

TEST(LinkBytes, OfAnAnswerWithTooManyRanksAreThoseOfTheRealOnes) {
  const LinkBytes busiest = busiest_link({.read_from = {1, 1, 1, 1000}, .written_to = {0, 0, 0, 1000}}, MPI_COMM_WORLD);
  EXPECT_EQ(busiest.sent, 2u);
  EXPECT_EQ(busiest.received, 2u);
}

}  // namespace
}  // namespace pkb::judge
