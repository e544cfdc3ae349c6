// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/ops.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "082_vocab_parallel_log_prob_topk";
constexpr double kGone = -INFINITY;

ContextOptions options(int top_k, double top_p, DType run_dtype = DType::f32) {
  return {.run_dtype = run_dtype, .parameters = {{"top_k", top_k}, {"top_p", top_p}}};
}

/// Every token has the same row; a token per target.
void expect_log_probs(int ranks, int top_k, double top_p, const Row& row, const Row& targets,
                      const Row& expected) {
  with_ranks(ranks, options(top_k, top_p), [&](Context& ctx) {
    const std::int64_t own = static_cast<std::int64_t>(row.size()) / ranks,
                       tokens = static_cast<std::int64_t>(targets.size());
    const Tensor logits = Tensor::from_values(row, {static_cast<std::int64_t>(row.size())}, DType::f32)
                              .narrow(0, ctx.world().rank() * own, own)
                              .expand({1, tokens, own})
                              .contiguous();
    const Tensor target = Tensor::from_values(targets, {1, tokens}, DType::i64);
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor out = ProblemLibrary(kProblem).reference(
          ctx, {{"logits", logits.to(dtype)}, {"target", target}})["logprobs"];
      EXPECT_EQ(out.dtype(), dtype);
      const Row got = out.values();
      for (std::size_t i = 0; i < got.size(); ++i)
        if (std::isinf(expected[i])) {
          EXPECT_EQ(got[i], expected[i]) << "target " << targets[i];
        } else {
          EXPECT_NEAR(got[i], expected[i], 2e-6) << "target " << targets[i];
        }
    }
  });
}

const Row kLogs{0, std::log(2), std::log(3), std::log(4)}, kTargets{3, 2, 0, 1}, kEqual(4, 1.5);
const Row kThree{std::log(4 / 9.), std::log(1 / 3.), kGone, std::log(2 / 9.)};

TEST(LogProbTopK, TopPDropsTheLowTail) {
  expect_log_probs(2, 0, 0.75, kLogs, kTargets, kThree);
  EXPECT_NEAR(kThree[0], -0.810930, 1e-6);
  expect_log_probs(2, 0, 0, kLogs, kTargets, {0, kGone, kGone, kGone});
}

TEST(LogProbTopK, TopKKeepsTies) {
  expect_log_probs(2, 3, 1, kLogs, kTargets, kThree);
  expect_log_probs(2, 2, 1, kLogs, kTargets, {-0.559616, -0.847298, kGone, kGone});
  expect_log_probs(2, 2, 1, kEqual, kTargets, Row(4, -1.386294));
  expect_log_probs(2, 1, 1, {1, 5, 5, 0}, kTargets, {kGone, -std::log(2), kGone, -std::log(2)});
  expect_log_probs(2, 7, 1, kLogs, kTargets, {-0.916291, -1.203973, -2.302585, std::log(0.2)});
}

TEST(LogProbTopK, TopPCountsWhatTopKLeaves) {
  expect_log_probs(2, 2, 0.5, kLogs, kTargets, {0, kGone, kGone, kGone});
  expect_log_probs(2, 9, 0.75, kLogs, kTargets, kThree);
}

TEST(LogProbTopK, NeitherIsTheLogSoftmax) {
  for (const int ranks : {1, 2, 4})
    expect_log_probs(ranks, 0, 1, kLogs, kTargets, {-0.916291, -1.203973, -2.302585, std::log(0.2)});
}

TEST(LogProbTopK, HigherIdsOfATieStay) {
  const double third = -std::log(3);
  for (const int ranks : {1, 2, 4})
    expect_log_probs(ranks, 0, 0.6, kEqual, {0, 1, 2, 3}, {kGone, third, third, third});
}

/// Against the definition, row by row, for inputs of every kind in every mode.
double log_prob(const Row& row, std::size_t target, std::size_t top_k, double top_p) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t id) { return row[id]; });
  const double least = top_k == 0 ? -INFINITY : row[order[row.size() - std::min(top_k, row.size())]];
  double mass = 0, low = 0, kept = 0;
  for (const double each : row) mass += each >= least ? std::exp(each) : 0;
  bool stays = false;
  for (std::size_t t = 0; t < order.size(); ++t) {
    const double logit = row[order[t]];
    if (logit < least) continue;
    low += std::exp(logit) / mass;
    if (top_p < 1 && low <= static_cast<float>(1 - top_p) && t + 1 < order.size()) continue;
    kept += std::exp(logit);
    stays = stays || order[t] == target;
  }
  return stays ? row[target] - std::log(kept) : -INFINITY;
}

TEST(LogProbTopK, EveryModeForEveryKindOfInput) {
  int dropped = 0, kept = 0;
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (const auto& [top_k, top_p] :
         std::vector<std::pair<int, double>>{{0, 1}, {7, 1}, {0, 0.8}, {7, 0.8}, {1, 0.5}, {0, 0}})
      with_ranks(ranks, options(top_k, top_p, DType::bf16), [&](Context& ctx) {
        const ProblemLibrary library(kProblem);
        for (std::uint32_t trial = 0; trial < 3; ++trial) {
          Tensors in{{"logits", Tensor::zeros({2, 12, 29}, DType::bf16)},
                     {"target", Tensor::zeros({2, 12}, DType::i64)}};
          library.make_inputs(ctx, {.seed = 8, .trial = trial}, in);
          Tensor all = Tensor::empty({ranks, 24, 29}, DType::bf16);
          ctx.world().all_gather_into_tensor(all, in["logits"]);
          const Row rows = all.transpose(0, 1).reshape({24, 29 * ranks}).values();
          const std::vector<std::int64_t> targets = in["target"].integers();
          const Tensors wide{{"logits", in["logits"].to(DType::f64)}, {"target", in["target"]}};
          const Tensor golden = library.reference(ctx, wide)["logprobs"],
                       baseline = library.reference(ctx, in)["logprobs"];
          const Row exact = golden.values();
          for (std::size_t i = 0; i < exact.size(); ++i) {
            const auto begin = rows.begin() + std::ptrdiff_t(i) * 29 * ranks;
            const double expected =
                log_prob({begin, begin + 29 * ranks}, std::size_t(targets[i]), std::size_t(top_k), top_p);
            (std::isinf(expected) ? dropped : kept) += 1;
            if (std::isinf(expected)) {
              EXPECT_EQ(exact[i], expected);
            } else {
              EXPECT_NEAR(exact[i], expected, 1e-9);
            }
          }
          const auto worst = [&](const Tensor& got) {
            const Tensors named{{"logprobs", got}};
            return amax(library.check_outputs(
                            ctx, {.in = in, .golden = named, .baseline = named, .got = named})["logprobs"])
                .item();
          };
          EXPECT_LE(worst(baseline), 1);
          if (amax(golden).item() > kGone) {
            EXPECT_GT(worst(baseline + 1e-3), 1);
            EXPECT_GT(worst(Tensor::full({2, 12}, kGone, DType::f32)), 1);
          }
          EXPECT_FALSE(worst(Tensor::full({2, 12}, NAN, DType::f32)) <= 1);
        }
      });
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    EXPECT_GT(dropped, 100);
    EXPECT_GT(kept, 100);
  }
}

TEST(LogProbTopK, RefusesTokensThatDoNotSplit) {
  with_ranks(2, options(0, 1), [](Context& ctx) {
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, {{"logits", Tensor::zeros({1, 3, 4}, DType::f32)},
                                                          {"target", Tensor::zeros({1, 3}, DType::i64)}}),
                 ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
