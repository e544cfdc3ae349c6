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

/// What a shell says inside of what compilers see.
std::string say(const std::string& script) {
  std::vector<std::string> line = walls(find_means(find_bwrap()), {.system = System::compilers});
  line.insert(line.end(), {"--chdir", "/", "--", "/bin/sh", "-c", script});
  return process::run_limited(line, {"PATH=/usr/bin:/bin"}, "/", {}).text;
}
std::string list(const std::string& folder) { return say("ls " + folder); }

TEST(Sandbox, CompilersAreShownAndTheRestIsNot) {
  if (const std::string why = fault(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_THAT(list("/usr"), testing::HasSubstr("include\n"));
  EXPECT_EQ(list("/tmp"), "");
  for (const char* hidden : {"home\n", "root\n", "var\n", "opt\n", "srv\n", "mnt\n"})
    EXPECT_THAT(list("/"), testing::Not(testing::HasSubstr(hidden)));
}

TEST(Sandbox, ThereAreNoCapabilities) {
  if (const std::string why = fault(); !why.empty()) GTEST_SKIP() << why;
  if (find_means(find_bwrap()).proc == Means::Proc::none) GTEST_SKIP() << "no /proc inside";
  EXPECT_EQ(say("grep -E '^Cap(Prm|Eff|Bnd)' /proc/self/status | cut -f 2 | sort -u"), "0000000000000000\n");
}

TEST(Sandbox, OnlyTheTemporaryFoldersCanBeWritten) {
  if (const std::string why = fault(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(say("for folder in / /dev /usr /etc /tmp /dev/shm; do (: > $folder/x) 2>/dev/null && echo "
                "$folder; done"),
            "/tmp\n/dev/shm\n");
  // Opened, not written: a shell that opens it would already be told no.
  EXPECT_EQ(
      say("for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do (: >> $file) 2>/dev/null && "
          "echo $file; done"),
      "");
}

TEST(Sandbox, ATemporaryFolderIsAsLargeAsTold) {
  if (const std::string why = fault(); !why.empty()) GTEST_SKIP() << why;
  for (const char* folder : {"/tmp", "/dev/shm"})
    EXPECT_THAT(say(std::string("head -c 2000000 /dev/zero > ") + folder + "/x; stat -c %s " + folder + "/x"),
                testing::EndsWith("\n1048576\n"));
}

TEST(Sandbox, CompilersStartProgramsButMakeNoNamespaces) {
  if (const std::string why = fault(); !why.empty()) GTEST_SKIP() << why;
  const FileDescriptor filter = filter_for_compilers();
  std::vector<std::string> line = walls(find_means(find_bwrap()), {.system = System::compilers});
  line.insert(line.end(), {"--seccomp", "3", "--chdir", "/", "--", "/bin/sh", "-c",
                           "unshare --user true 2>&1 | grep -o 'not permitted'; echo $(echo started)"});
  EXPECT_EQ(process::run_limited(line, {"PATH=/usr/bin:/bin"}, "/", {}, {filter.get()}).text,
            "not permitted\nstarted\n");
}

}  // namespace
}  // namespace pkb::sandbox
