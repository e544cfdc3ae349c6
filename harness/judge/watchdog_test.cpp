// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/watchdog.h"

#include <gtest/gtest.h>

#include <cstring>

namespace pkb::judge {
namespace {

using Rank = DeadlockWatch::Rank;

Rank polls(std::uint64_t progress, std::uint64_t looks = 0) {
  return {.waits_for_others = false,
          .device = {.progress = progress, .looks = looks, .launches = 1, .polling = true, .waits = {}}};
}
Rank works(std::uint64_t progress) {
  return {.waits_for_others = false,
          .device = {.progress = progress, .looks = 0, .launches = 1, .polling = false, .waits = {}}};
}
Rank answered(std::uint64_t progress) {
  return {.waits_for_others = true,
          .device = {.progress = progress, .looks = 0, .launches = 1, .polling = false, .waits = {}}};
}
/// `count` samples of ranks that poll, the first of which looks once from one sample to the next.
std::vector<std::vector<Rank>> looking(std::uint64_t count, const Rank& other) {
  std::vector<std::vector<Rank>> samples;
  for (std::uint64_t i = 0; i < count; ++i) samples.push_back({polls(5, i), other});
  return samples;
}

/// Samples every 100 ms from time 0; the number of the first that finds a deadlock, or -1.
int first_alarm(const std::vector<std::vector<Rank>>& samples) {
  DeadlockWatch watch;
  DeadlockWatch::Clock::time_point now{};
  for (std::size_t i = 0; i < samples.size(); ++i, now += std::chrono::milliseconds(100))
    if (watch.is_deadlocked(now, samples[i])) return static_cast<int>(i);
  return -1;
}

TEST(DeadlockWatch, FindsRanksThatOnlyPoll) {
  // The first sample has no predecessor; quiet from the second at 0.1 s on, for 1 s.
  EXPECT_EQ(first_alarm(looking(20, answered(7))), 11);
}

TEST(DeadlockWatch, IsSilentWhileARankWorks) { EXPECT_EQ(first_alarm(looking(50, works(7))), -1); }

TEST(DeadlockWatch, IsSilentWhenAllHaveAnswered) {
  EXPECT_EQ(first_alarm(std::vector<std::vector<Rank>>(50, {answered(5), answered(7)})), -1);
}

TEST(DeadlockWatch, StartsAgainAfterEachProgress) {
  std::vector<std::vector<Rank>> samples = looking(10, answered(7));
  const std::vector<std::vector<Rank>> later = looking(12, answered(8));
  samples.insert(samples.end(), later.begin(), later.end());
  EXPECT_EQ(first_alarm(samples), 21);  // progress is seen in sample 10, quiet from 11 on
}

// It may have been waiting for a processor since before its peer wrote what it waits for.
TEST(DeadlockWatch, WaitsUntilEveryRankHasLookedSinceTheLastProgress) {
  std::vector<std::vector<Rank>> samples = looking(30, polls(7, 40));
  EXPECT_EQ(first_alarm(samples), -1);
  samples.push_back({polls(5, 30), polls(7, 41)});
  EXPECT_EQ(first_alarm(samples), -1) << "that look may have begun before";
  samples.push_back({polls(5, 31), polls(7, 42)});
  EXPECT_EQ(first_alarm(samples), 31);
}

TEST(Overdue, DoesNotCountWhatAWorkerWasKeptFromTheProcessor) {
  using namespace std::chrono_literals;
  EXPECT_FALSE(is_overdue(29s, 0s, 30s));
  EXPECT_TRUE(is_overdue(30s, 0s, 30s));
  EXPECT_FALSE(is_overdue(100s, 71s, 30s));
  EXPECT_TRUE(is_overdue(100s, 70s, 30s));
  EXPECT_TRUE(is_overdue(300s, std::chrono::nanoseconds::max(), 30s)) << "a worker may write anything";
}

TEST(Waits, OfRanksAreToldOnceWhereTheyAreTheSame) {
  EXPECT_EQ(describe_ranks(
                {{.answered = false, .launches = 1, .waits = "kernel k: 1 thread waits\nkernel l: 2 poll\n"},
                 {.answered = true, .launches = 2, .waits = {}},
                 {.answered = false, .launches = 1, .waits = "kernel k: 1 thread waits\nkernel l: 2 poll\n"},
                 {.answered = true, .launches = 0, .waits = {}},
                 {.answered = false, .launches = 0, .waits = {}}}),
            "ranks 0, 2: kernel k: 1 thread waits; kernel l: 2 poll. The kernels of rank 1 have ended. "
            "Rank 3 has launched no kernel. Rank 4 has not returned");
}

TEST(Waits, OfAHostileRankStayShort) {
  EXPECT_LT(describe_ranks({{.answered = false, .launches = 1, .waits = std::string(4000, 'x')}}).size(),
            2000u);
}

TEST(StatusPages, ShowWhatARankWrites) {
  const auto memory = device::virtual_memory();
  std::vector<device::Segment> pages;
  pages.push_back(memory->create(sizeof(virtual_gpu::Status)));
  auto* page = reinterpret_cast<virtual_gpu::Status*>(pages[0].data());
  page->progress = 42;
  page->launches = 3;
  page->looks = 9;
  std::strcpy(page->waits, "block 0 at a.cu:7");
  const StatusPages status(std::move(pages));
  EXPECT_EQ(status.read(0).progress, 42u);
  EXPECT_EQ(status.read(0).launches, 3u);
  EXPECT_EQ(status.read(0).looks, 9u);
  EXPECT_FALSE(status.read(0).polling);
  EXPECT_EQ(status.read(0).waits, "");
  status.publish_kept_from_processor(0, std::chrono::seconds(3));
  EXPECT_EQ(status.kept_from_processor(), std::chrono::seconds(3));
  page->kept_from_processor = UINT64_MAX;
  EXPECT_EQ(status.kept_from_processor(), std::chrono::nanoseconds::max());
  page->polling = 1;
  EXPECT_FALSE(status.read(0).polling) << "the program may still launch what ends it";
  page->host_waits = 1;
  EXPECT_TRUE(status.read(0).polling);
  EXPECT_EQ(status.read(0).waits, "block 0 at a.cu:7");
  // A hostile worker: no end of the text, escape sequences.
  std::memset(page->waits, '\x1B', sizeof page->waits);
  EXPECT_EQ(status.read(0).waits, std::string(sizeof page->waits, '?'));
}

}  // namespace
}  // namespace pkb::judge
