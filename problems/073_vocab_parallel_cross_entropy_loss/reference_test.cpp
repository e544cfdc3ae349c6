// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/ops.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;
constexpr auto kProblem = "073_vocab_parallel_cross_entropy_loss";

/// One token per target; every token has the logits `of[rank]`.
void expect_losses(int ranks, const std::vector<Row>& of, const Row& targets, const Row& losses,
                   DType run_dtype = DType::bf16) {
  with_ranks(ranks, {}, [&](Context& ctx) {
    const Row& own = of[static_cast<std::size_t>(ctx.world().rank())];
    const auto width = static_cast<std::int64_t>(own.size()), tokens = static_cast<std::int64_t>(targets.size());
    const Tensor logits = Tensor::from_values(own, {width}, run_dtype).expand({1, tokens, width}).contiguous();
    const Tensor target = Tensor::from_values(targets, {1, tokens}, DType::i64);
    for (const DType dtype : {run_dtype, DType::f64}) {
      const Tensor loss =
          ProblemLibrary(kProblem).reference(ctx, {{"vocab_parallel_logits", logits.to(dtype)}, {"target", target}})["loss"];
      EXPECT_EQ(loss.dtype(), dtype == DType::f64 ? DType::f64 : DType::f32);
      EXPECT_THAT(loss.values(), Pointwise(DoubleNear(dtype == DType::f64 ? 1e-6 : 1e-4), losses));
    }
  });
}

TEST(VocabParallelCrossEntropy, EqualLogits) {
  expect_losses(2, {{0, 0}, {0, 0}}, {3}, {1.386294});
  expect_losses(1, {{0, 0, 0}}, {2}, {std::log(3.0)});
  expect_losses(4, {{0}, {0}, {0}, {0}}, {0, 1, 2, 3}, {1.386294, 1.386294, 1.386294, 1.386294});
}

TEST(VocabParallelCrossEntropy, TheMaximumOfAllRanksCountsNotItsSize) {
  expect_losses(2, {{2, 1}, {0, 1}}, {1}, {1.626523});
  expect_losses(2, {{1002, 1001}, {1000, 1001}}, {1}, {1.626523}, DType::f32);
  expect_losses(2, {{1024, 1016}, {1000, 1016}}, {1}, {8.000671});  // log(1 + 2 e^-8 + e^-24) + 8
}

TEST(VocabParallelCrossEntropy, ALogitFarAboveTheOthers) {
  expect_losses(2, {{0, 0}, {100, 0}}, {0, 2}, {100, 0});
}

TEST(VocabParallelCrossEntropy, ARankMayHaveNothingFinite) {
  expect_losses(3, {{-INFINITY, -INFINITY}, {0, 0}, {-10000, 0}}, {2, 5}, {std::log(3.0), std::log(3.0)});
}

TEST(VocabParallelCrossEntropy, InputsReachAllOfTheVocabulary) {
  with_ranks(3, {}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    for (std::uint32_t trial = 0; trial < 3; ++trial) {
      Tensors in{{"vocab_parallel_logits", Tensor::zeros({4, 50, 7}, DType::bf16)}, {"target", Tensor::zeros({4, 50}, DType::i64)}};
      library.make_inputs(ctx, {.seed = 4, .trial = trial}, in);
      const double low = amin(in["target"]).item(), high = amax(in["target"]).item();
      EXPECT_EQ(low, trial == 1 ? 14 : 0);
      EXPECT_EQ(high, 20);
      if (trial != 2) continue;
      for (const std::int64_t id : in["target"].integers()) EXPECT_TRUE(id % 7 == 0 || id % 7 == 6) << id;
    }
  });
}

}  // namespace
}  // namespace pkb::ref::testing
