// SPDX-License-Identifier: Apache-2.0
#include "harness/process/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace pkb::process {
namespace {

TEST(MemoryFile, HasItsSizeHoldsZerosAndCannotShrink) {
  const FileDescriptor file = memory_file(10'000);
  ASSERT_TRUE(file);
  struct stat facts {};
  ASSERT_EQ(::fstat(file.get(), &facts), 0);
  EXPECT_EQ(facts.st_size, 10'000);
  EXPECT_EQ(facts.st_blocks, 0) << "untouched memory costs nothing";
  char last = 1;
  EXPECT_EQ(::pread(file.get(), &last, 1, 9'999), 1);
  EXPECT_EQ(last, 0);
  EXPECT_NE(::ftruncate(file.get(), 1), 0);
  EXPECT_NE(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace pkb::process
