// SPDX-License-Identifier: Apache-2.0
#include "harness/timing/referee.h"

#include <gtest/gtest.h>

#include <memory>

namespace pkb::timing {
namespace {

using namespace std::chrono_literals;

/// A rank whose process and GPU are this thread.
void arrive(Word& word, std::uint32_t iteration) { word.value.store(iteration); }
void await(const Word& word, std::uint32_t iteration) {
  while (word.value.load() < iteration) std::this_thread::yield();
}

TEST(Referee, OpensForAllWhenTheLastIsReady) {
  const auto line = std::make_unique<StartLine>();
  Referee first(*line, 0, 2), second(*line, 1, 2);
  first.begin(1);
  second.begin(1);
  arrive(line->lanes[0].enqueued, 1);
  arrive(line->lanes[1].enqueued, 1);
  await(line->inputs_may_come, 1);
  arrive(line->lanes[0].ready, 1);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(line->go.value.load(), 0u);
  const auto before = Referee::Clock::now();
  arrive(line->lanes[1].ready, 1);
  await(line->go, 1);
  arrive(line->lanes[1].done, 1);
  std::this_thread::sleep_for(5ms);
  arrive(line->lanes[0].done, 1);
  const Referee::Times of_first = first.finish(), of_second = second.finish();
  EXPECT_GE(of_first.go, before);
  EXPECT_TRUE(of_first.enqueued);
  EXPECT_GE(of_first.done - of_first.go, 5ms);
  EXPECT_GE(of_second.done, of_first.go);
  EXPECT_LT(of_second.done, of_first.done);
}

TEST(Referee, DoesNotWaitForeverForWorkThatWaitsForItself) {
  const auto line = std::make_unique<StartLine>();
  Referee referee(*line, 0, 1);
  referee.begin(1);
  await(line->inputs_may_come, 1);  // though nothing was enqueued
  arrive(line->lanes[0].ready, 1);
  await(line->go, 1);
  arrive(line->lanes[0].done, 1);
  EXPECT_FALSE(referee.finish().enqueued);
}

TEST(Referee, GivesUpOnAProcessThatDied) {
  const auto line = std::make_unique<StartLine>();
  Referee referee(*line, 0, 2);
  referee.begin(1);
  EXPECT_EQ(referee.finish().done, Referee::Clock::time_point{});
  EXPECT_EQ(line->go.value.load(), 0u);
}

}  // namespace
}  // namespace pkb::timing
