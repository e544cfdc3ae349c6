// SPDX-License-Identifier: Apache-2.0
#include "reference/problem_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace pkb::ref {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ProblemLibrary, LoadsWithoutLeakingSymbols) {
  const ProblemLibrary sum("001_allreduce"), gather("002_allgather");
  EXPECT_TRUE(sum.has_error_bound());
  EXPECT_FALSE(gather.has_error_bound());  // not the bound of the library loaded before it
}

TEST(ProblemLibrary, SaysWhatIsMissing) {
  EXPECT_THAT(
      [] { ProblemLibrary("099_nothing"); },
      ThrowsMessage<std::runtime_error>(
          AllOf(HasSubstr("problem 099_nothing has no compiled reference"), HasSubstr("build the project"))));
  const auto folder = std::filesystem::path(::testing::TempDir());
  std::ofstream(folder / "098_text.so") << "no library";
  EXPECT_THAT([&] { ProblemLibrary("098_text", folder); },
              ThrowsMessage<std::runtime_error>(HasSubstr("cannot load the reference of problem 098_text")));
}

}  // namespace
}  // namespace pkb::ref
