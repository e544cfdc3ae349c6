// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "036_ulysses_gather_seq_scatter_heads";

/// Rank s holds 1000 s + 100 b + 10 t + h for (B, 2, W, 1).
Tensor own(int rank, int ranks, int batch) {
  Row values;
  for (int b = 0; b < batch; ++b)
    for (int t = 0; t < 2; ++t)
      for (int h = 0; h < ranks; ++h) values.push_back(1000 * rank + 100 * b + 10 * t + h);
  return Tensor::from_values(values, {batch, 2, ranks, 1}, DType::f32);
}

void expect_tokens(int ranks, int batch, int unpadded, int kept) {
  expect_outputs(kProblem, ranks, {.parameters = {{"unpadded_dim_size", unpadded}}}, [&](int rank) -> Exchange {
    Row out;
    for (int b = 0; b < batch; ++b)
      for (int token = 0; token < kept; ++token) out.push_back(1000 * (token / 2) + 100 * b + 10 * (token % 2) + rank);
    return {{{"x", own(rank, ranks, batch)}}, {{"out", Tensor::from_values(out, {batch, kept, 1, 1}, DType::f32)}}};
  });
}

TEST(UlyssesGatherSeqScatterHeads, TwoRanks) {
  expect_outputs(kProblem, 2, {.parameters = {{"unpadded_dim_size", 0}}}, [](int rank) -> Exchange {
    const Row x[] = {{0, 1, 10, 11}, {100, 101, 110, 111}}, out[] = {{0, 10, 100, 110}, {1, 11, 101, 111}};
    return {{{"x", Tensor::from_values(x[rank], {1, 2, 2, 1}, DType::f32)}},
            {{"out", Tensor::from_values(out[rank], {1, 4, 1, 1}, DType::f32)}}};
  });
}

TEST(UlyssesGatherSeqScatterHeads, OneToFourRanksWithTwoBatches) {
  for (int ranks = 1; ranks <= 4; ++ranks) expect_tokens(ranks, 2, 0, 2 * ranks);
}

TEST(UlyssesGatherSeqScatterHeads, PaddingIsCutOffUnlessTheRanksDivideTheLength) {
  expect_tokens(2, 1, 3, 3);
  expect_tokens(2, 1, 2, 4);
  expect_tokens(3, 2, 5, 5);
  expect_tokens(3, 2, 1, 1);  // more padding than a rank's block
}

TEST(UlyssesGatherSeqScatterHeads, Refusals) {
  with_ranks(2, {.parameters = {{"unpadded_dim_size", 0}}}, [](Context& ctx) {
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, {{"x", Tensor::zeros({1, 2, 3, 1}, DType::f32)}}), ShapeError);
  });
  with_ranks(2, {.parameters = {{"unpadded_dim_size", 5}}}, [](Context& ctx) {
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, {{"x", Tensor::zeros({1, 2, 2, 1}, DType::f32)}}), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
