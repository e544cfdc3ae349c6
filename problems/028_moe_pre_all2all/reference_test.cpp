// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "028_moe_pre_all2all";

Tensor ints(const Row& values, Shape shape) { return Tensor::from_values(values, std::move(shape), DType::i64); }
std::int64_t length(const Row& row) { return static_cast<std::int64_t>(row.size()); }

/// (E, K, M) from the experts of each token in turn.
Tensor mask_of(const Row& experts, std::int64_t all, std::int64_t each) {
  return one_hot(ints(experts, {length(experts) / each, each}), all).permute({2, 1, 0}).to(DType::f32).contiguous();
}

struct Rank {
  Row hidden, experts, sent, received, chunks;    // given
  Row out, mapping;                                // wanted
};

Exchange exchange_of(const Rank& rank, std::int64_t all, std::int64_t each) {
  const std::int64_t ranks = length(rank.sent);
  const Tensor mask = mask_of(rank.experts, all, each);
  return {{{"hidden_states", Tensor::from_values(rank.hidden, {length(rank.hidden), 1}, DType::bf16)},
           {"expert_mask", mask},
           {"input_splits", ints(rank.sent, {ranks})},
           {"output_splits", ints(rank.received, {ranks})},
           {"num_global_tokens_per_local_expert", ints(rank.chunks, {ranks, all / ranks})}},
          {{"global_permuted_hidden_states", Tensor::from_values(rank.out, {length(rank.out), 1}, DType::bf16)},
           {"global_rows", ints({double(rank.out.size())}, {1})},
           {"routing_map", sum(mask, {.dimensions = {1}}).to(DType::u8)},
           {"mapping", ints(rank.mapping, {length(rank.mapping)})},
           {"mapping_rows", ints({double(rank.mapping.size())}, {1})}}};
}

TEST(MoePreAllToAll, RowsLeaveByExpertThenSource) {
  const Rank ranks[] = {{.hidden = {1, 2, 3},
                         .experts = {0, 3, 2, 0, 3, 1},
                         .sent = {3, 3},
                         .received = {3, 4},
                         .chunks = {2, 1, 1, 3},
                         .out = {1, 2, 12, 3, 11, 12, 13},
                         .mapping = {0, 1, 2, 1, 0, 2}},
                        {.hidden = {11, 12, 13},
                         .experts = {1, 2, 1, 0, 2, 1},
                         .sent = {4, 2},
                         .received = {3, 2},
                         .chunks = {1, 2, 2, 0},
                         .out = {2, 11, 13, 1, 3},
                         .mapping = {1, 0, 1, 2, 0, 2}}};
  expect_outputs(kProblem, 2, {}, [&](int rank) { return exchange_of(ranks[rank], 4, 2); });
}

TEST(MoePreAllToAll, SplitsThatDoNotFollowFromTheMaskAreTakenAtTheirWord) {
  const Rank ranks[] = {
      {.hidden = {1, 2, 3, 4}, .experts = {0, 0, 0, 0}, .sent = {2, 2}, .received = {2, 2}, .chunks = {1, 1, 1, 1},
       .out = {1, 5, 2, 6}, .mapping = {0, 1, 2, 3}},
      {.hidden = {5, 6, 7, 8}, .experts = {0, 0, 0, 0}, .sent = {2, 2}, .received = {2, 2}, .chunks = {1, 1, 1, 1},
       .out = {3, 7, 4, 8}, .mapping = {0, 1, 2, 3}}};
  expect_outputs(kProblem, 2, {}, [&](int rank) { return exchange_of(ranks[rank], 4, 1); });
}

TEST(MoePreAllToAll, OneExpertPerRankKeepsTheOrderOfArrival) {
  const Rank ranks[] = {{.hidden = {1}, .experts = {2}, .sent = {0, 0, 1}, .received = {0, 1, 0}, .chunks = {0, 1, 0},
                         .out = {2}, .mapping = {0}},
                        {.hidden = {2, 3}, .experts = {0, 2}, .sent = {1, 0, 1}, .received = {0, 0, 0},
                         .chunks = {0, 0, 0}, .out = {}, .mapping = {0, 1}},
                        {.hidden = {}, .experts = {}, .sent = {0, 0, 0}, .received = {1, 1, 0}, .chunks = {1, 1, 0},
                         .out = {1, 3}, .mapping = {}}};
  expect_outputs(kProblem, 3, {}, [&](int rank) { return exchange_of(ranks[rank], 3, 1); });
}

TEST(MoePreAllToAll, ATokenWithoutExpertAppearsNowhere) {
  expect_outputs(kProblem, 1, {}, [](int) {
    Exchange exchange = exchange_of({.hidden = {5, 6}, .experts = {1, 0}, .sent = {1}, .received = {1}, .chunks = {1, 0},
                                     .out = {6}, .mapping = {1}}, 2, 1);
    exchange.in["expert_mask"].narrow(2, 0, 1).squeeze(2).fill_(0);
    exchange.out.set("routing_map", Tensor::from_values({0, 1, 0, 0}, {2, 2}, DType::u8));
    return exchange;
  });
}

TEST(MoePreAllToAll, RefusesSplitsThatAreNotTheRows) {
  with_ranks(1, {}, [](Context& ctx) {
    const Rank good{.hidden = {5}, .experts = {0}, .sent = {1}, .received = {1}, .chunks = {1}, .out = {5}, .mapping = {0}};
    for (const char* name : {"input_splits", "num_global_tokens_per_local_expert"}) {
      const Exchange exchange = exchange_of(good, 1, 1);
      Tensor(exchange.in[name]).fill_(2);
      EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, exchange.in), ShapeError) << name;
    }
  });
}

TEST(MoePreAllToAll, InputsAreConsistentForEveryRoutingAndAnIdleRank) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    with_ranks(ranks, {}, [&](Context& ctx) {
      const ProblemLibrary library(kProblem);
      for (std::uint32_t trial = 0; trial < 3; ++trial) {
        const std::int64_t tokens = ctx.world().rank() == 1 ? 0 : 9, experts = 12;
        Tensors in{{"hidden_states", Tensor::zeros({tokens, 2}, DType::bf16)},
                   {"expert_mask", Tensor::zeros({experts, 3, tokens}, DType::f32)},
                   {"input_splits", Tensor::zeros({ranks}, DType::i64)},
                   {"output_splits", Tensor::zeros({ranks}, DType::i64)},
                   {"num_global_tokens_per_local_expert", Tensor::zeros({ranks, experts / ranks}, DType::i64)}};
        library.make_inputs(ctx, {.seed = 1, .trial = trial}, in);
        EXPECT_EQ(sum(in["input_splits"]).integers()[0], 3 * tokens);
        for (const double slot : sum(in["expert_mask"], {.dimensions = {0}}).values()) EXPECT_EQ(slot, 1);
        if (tokens > 0) {
          EXPECT_EQ(amax(sum(in["expert_mask"], {.dimensions = {1}})).item(), 1) << "not distinct";
        }
        EXPECT_EQ(library.reference(ctx, in)["mapping"].numel(), 3 * tokens);
      }
    });
}

}  // namespace
}  // namespace pkb::ref::testing
