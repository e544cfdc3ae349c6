// SPDX-License-Identifier: Apache-2.0
#include "harness/process/executable.h"

#include <gtest/gtest.h>

namespace pkb::process {
namespace {

TEST(Executable, IsFoundOnThePathOnly) {
  EXPECT_TRUE(find_executable("sh").value().is_absolute());
  EXPECT_EQ(find_executable("no-such-program-of-ours"), std::nullopt);
}

TEST(Executable, IsFoundInTheFoldersGiven) {
  EXPECT_EQ(find_executable("sh", "relative::/nonexistent:/bin"), "/bin/sh");
  EXPECT_EQ(find_executable("sh", "/nonexistent"), std::nullopt);
  EXPECT_EQ(find_executable("passwd", "/etc"), std::nullopt);  // a file, but no program
}

}  // namespace
}  // namespace pkb::process
