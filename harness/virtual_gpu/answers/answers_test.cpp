// SPDX-License-Identifier: Apache-2.0
// The bytes of every answer against those that a real GPU gave, on the device at hand.
#include <gtest/gtest.h>

#include <ostream>

#include "harness/virtual_gpu/answers/compute.h"

namespace pkb::virtual_gpu::answers {

void PrintTo(const Answer& answer, std::ostream* out) { *out << answer.name; }

namespace {

bool has_device() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

class Kernel : public testing::TestWithParam<Answer> {};

TEST_P(Kernel, AnswersAsARealGpuDid) {
  if (!has_device()) GTEST_SKIP() << "no GPU";
  const Answer& answer = GetParam();
  const auto known = recorded();
  const std::string digest = digest_of(answer);
  EXPECT_NE(digest, digest_of_nothing(answer)) << "nothing was written";
  ASSERT_TRUE(known.contains(answer.name)) << "never recorded; answers_record does so";
  EXPECT_EQ(digest, known.at(answer.name));
}

INSTANTIATE_TEST_SUITE_P(Answers, Kernel, testing::ValuesIn(all_answers()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Recorded, NothingThatNobodyAnswers) { EXPECT_EQ(recorded().size(), all_answers().size()); }

}  // namespace
}  // namespace pkb::virtual_gpu::answers
