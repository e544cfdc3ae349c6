// SPDX-License-Identifier: Apache-2.0
#include "harness/process/scheduling.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <thread>

#include "harness/process/child.h"

namespace pkb::process {
namespace {

using namespace std::chrono_literals;

/// A shell whose two children run without end, bound like everything here to one processor.
Child two_at_once(const char* body) {
  return Child(Command{.arguments = {"/bin/sh", "-c", std::string(body) + " & " + body + " & wait"}});
}

TEST(KeptFromProcessor, CountsWhatDescendantsWait) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  Child busy = two_at_once("while :; do :; done"), idle = two_at_once("sleep 60");
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  std::this_thread::sleep_for(1s);
  // Two share a processor: the one that got less of it waited for half of the time or more.
  EXPECT_GT(kept_from_processor(busy.pid()), 400ms);
  EXPECT_LT(kept_from_processor(idle.pid()), 400ms);
  idle.kill();
  EXPECT_EQ(kept_from_processor(-1), 0ns);
}

}  // namespace
}  // namespace pkb::process
