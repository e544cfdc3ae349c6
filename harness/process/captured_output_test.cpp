// SPDX-License-Identifier: Apache-2.0
#include "harness/process/captured_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/process/child.h"

namespace pkb::process {
namespace {

TEST(CapturedOutput, KeepsAllThatFits) {
  CapturedOutput output(8);
  output.append("abc");
  output.append("defgh");
  EXPECT_EQ(output.text(), "abcdefgh");
}

TEST(CapturedOutput, KeepsHeadAndTailOfAFlood) {
  CapturedOutput output(8);
  for (int i = 0; i < 100; ++i) output.append("0123456789");
  EXPECT_EQ(output.text(), "0123\n[992 bytes left out]\n6789");
}

TEST(CapturedOutput, ShowsOtherBytesAsQuestionMarks) {
  CapturedOutput output(100);
  output.append("gr\xC3\xBC\xC3\x9F \xFF \x1B[31m \xED\xA0\x80 \xE2\x82");
  EXPECT_EQ(output.text(), "gr\xC3\xBC\xC3\x9F ? ?[31m ??? ??");
}

TEST(CapturedOutput, FindsTheLastLines) {
  CapturedOutput output(100);
  output.append("one\ntwo\nthree\n");
  EXPECT_EQ(output.last_lines(2), "two\nthree");
  EXPECT_EQ(output.last_lines(3), "one\ntwo\nthree");
  EXPECT_EQ(output.last_lines(9), "one\ntwo\nthree");
  EXPECT_EQ(CapturedOutput(100).last_lines(3), "");
}

TEST(CapturedOutput, DrainsAPipeUntilItsWritersAreGone) {
  const auto [read_end, write_end] = open_pipe();
  CapturedOutput output(100);
  EXPECT_TRUE(output.drain(read_end));
  ASSERT_EQ(::write(write_end, "hello", 5), 5);
  EXPECT_TRUE(output.drain(read_end));
  EXPECT_EQ(output.text(), "hello");
  ::close(write_end);
  EXPECT_FALSE(output.drain(read_end));
  ::close(read_end);
}

}  // namespace
}  // namespace pkb::process
