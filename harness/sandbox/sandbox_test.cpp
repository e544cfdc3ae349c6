// SPDX-License-Identifier: Apache-2.0
#include "harness/sandbox/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/process/run_limited.h"

namespace pkb::sandbox {
namespace {

TEST(Sandbox, WithoutBubblewrapIsRefusedWithARemedy) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  EXPECT_EQ(
      fault(),
      "sandbox: bubblewrap (bwrap) is not installed; install it (scripts/setup does), or run unprotected "
      "with --sandbox none");
  ::setenv("PATH", path.c_str(), 1);
}

/// `ls` in what compilers see.
std::string list(const std::string& folder) {
  std::vector<std::string> line = walls(find_means(), System::compilers, 1 << 20);
  line.insert(line.end(), {"--chdir", "/", "--", "/bin/ls", folder});
  return process::run_limited(line, {}, "/", {}).text;
}

TEST(Sandbox, CompilersAreShownAndTheRestIsNot) {
  if (const std::string why = fault(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_THAT(list("/usr"), testing::HasSubstr("include\n"));
  EXPECT_EQ(list("/tmp"), "");
  for (const char* hidden : {"home\n", "root\n", "var\n", "opt\n", "srv\n", "mnt\n"})
    EXPECT_THAT(list("/"), testing::Not(testing::HasSubstr(hidden)));
}

}  // namespace
}  // namespace pkb::sandbox
