// SPDX-License-Identifier: Apache-2.0
#include "reference/sabotage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/testing/ranks.h"

namespace pkb::ref::testing {
namespace {

using Kind = Sabotage::Kind;
using Values = std::vector<double>;

Tensor row(const Values& values) {
  return Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, DType::f32);
}

/// Rank r gives {10 r + 1, 10 r + 2, 10 r + 3}; `call` returns what this rank gets.
void expect(const Sabotage& fault, const std::function<Tensor(Context&, Tensor mine)>& call,
            const std::vector<Values>& expected, bool acts = true) {
  with_ranks(3, {.sabotage = fault}, [&](Context& ctx) {
    const int rank = ctx.world().rank();
    const Tensor got = call(ctx, row({10.0 * rank + 1, 10.0 * rank + 2, 10.0 * rank + 3}));
    EXPECT_EQ(got.values(), expected[static_cast<std::size_t>(rank)]) << name_of(fault) << ", rank " << rank;
    EXPECT_EQ(ctx.sabotage_record().acted, acts) << name_of(fault) << ", rank " << rank;
    EXPECT_EQ(ctx.sabotage_record().collectives, 1);
  });
}

Tensor all_reduced(Context& ctx, Tensor mine) {
  ctx.world().all_reduce(mine);
  return mine;
}
Tensor largest(Context& ctx, Tensor mine) {
  ctx.world().all_reduce(mine, Reduce::max);
  return mine;
}
Tensor gathered(Context& ctx, const Tensor& mine) {
  Tensor all = Tensor::zeros({9}, DType::f32);
  ctx.world().all_gather_into_tensor(all, mine);
  return all;
}
Tensor scattered_sum(Context& ctx, const Tensor& mine) {
  Tensor part = Tensor::zeros({1}, DType::f32);
  ctx.world().reduce_scatter_tensor(part, mine);
  return part;
}
Tensor transposed(Context& ctx, const Tensor& mine) {
  Tensor got = Tensor::zeros({3}, DType::f32);
  ctx.world().all_to_all_single(got, mine);
  return got;
}
Tensor from_rank_1(Context& ctx, Tensor mine) {
  ctx.world().broadcast(mine, 1);
  return mine;
}

TEST(Sabotage, OfAllReduce) {
  const auto everywhere = [](const Values& values) { return std::vector<Values>(3, values); };
  expect({.kind = Kind::none}, all_reduced, everywhere({33, 36, 39}), false);
  expect({.kind = Kind::local_only}, all_reduced, {{1, 2, 3}, {11, 12, 13}, {21, 22, 23}});
  expect({.kind = Kind::missing, .ranks = {1}}, all_reduced, everywhere({22, 24, 26}));
  expect({.kind = Kind::missing, .ranks = {0, 1}}, all_reduced, everywhere({21, 22, 23}));
  expect({.kind = Kind::doubled, .ranks = {2}}, all_reduced, everywhere({54, 58, 62}));
  expect({.kind = Kind::rotated}, all_reduced, everywhere({36, 39, 33}));
  expect({.kind = Kind::swapped, .ranks = {0, 1}}, all_reduced, everywhere({33, 36, 39}), false);
  expect({.kind = Kind::skipped, .call = 0}, all_reduced, {{1, 2, 3}, {11, 12, 13}, {21, 22, 23}});
  expect({.kind = Kind::skipped, .call = 1}, all_reduced, everywhere({33, 36, 39}), false);
  expect({.kind = Kind::missing, .ranks = {2}}, largest, everywhere({11, 12, 13}));
  expect({.kind = Kind::doubled, .ranks = {2}}, largest, everywhere({21, 22, 23}), false);
}

TEST(Sabotage, OfWhatMovesBlocks) {
  const auto everywhere = [](const Values& values) { return std::vector<Values>(3, values); };
  expect({.kind = Kind::missing, .ranks = {1}}, gathered, everywhere({1, 2, 3, 0, 0, 0, 21, 22, 23}));
  expect({.kind = Kind::doubled, .ranks = {2}}, gathered, everywhere({21, 22, 23, 11, 12, 13, 21, 22, 23}));
  expect({.kind = Kind::swapped, .ranks = {1, 2}}, gathered, everywhere({1, 2, 3, 21, 22, 23, 11, 12, 13}));
  expect({.kind = Kind::rotated}, gathered, everywhere({11, 12, 13, 21, 22, 23, 1, 2, 3}));
  expect({.kind = Kind::local_only}, gathered,
         {{1, 2, 3, 1, 2, 3, 1, 2, 3},
          {11, 12, 13, 11, 12, 13, 11, 12, 13},
          {21, 22, 23, 21, 22, 23, 21, 22, 23}});

  expect({.kind = Kind::swapped, .ranks = {0, 1}}, scattered_sum, {{36}, {33}, {39}});
  expect({.kind = Kind::rotated}, scattered_sum, {{36}, {39}, {33}});
  expect({.kind = Kind::missing, .ranks = {0}}, scattered_sum, {{32}, {34}, {36}});
  expect({.kind = Kind::local_only}, scattered_sum, {{1}, {12}, {23}});

  expect({.kind = Kind::none}, transposed, {{1, 11, 21}, {2, 12, 22}, {3, 13, 23}}, false);
  expect({.kind = Kind::missing, .ranks = {1}}, transposed, {{1, 0, 21}, {2, 0, 22}, {3, 0, 23}});
  expect({.kind = Kind::rotated}, transposed, {{11, 21, 1}, {12, 22, 2}, {13, 23, 3}});
  expect({.kind = Kind::local_only}, transposed, {{1, 2, 3}, {11, 12, 13}, {21, 22, 23}});
}

TEST(Sabotage, OfRoots) {
  expect({.kind = Kind::swapped, .ranks = {1, 2}}, from_rank_1, std::vector<Values>(3, {21, 22, 23}));
  expect({.kind = Kind::missing, .ranks = {0}}, from_rank_1, std::vector<Values>(3, {11, 12, 13}), false);
  with_ranks(3, {.sabotage = Sabotage{.kind = Kind::missing, .ranks = {1}}}, [](Context& ctx) {
    Tensor tensor = row({1, 2});
    ctx.world().broadcast(tensor, 1);
    EXPECT_EQ(tensor.values(), ctx.world().rank() == 1 ? Values({1, 2}) : Values({0, 0}));
    EXPECT_EQ(ctx.sabotage_record().acted, ctx.world().rank() != 1);
  });
}

TEST(Sabotage, OfGroupsExchangesTheFirstAndTheLastRank) {
  const GroupLayout pairs{.name = "tp", .ranks_of = {{0, 1}, {2, 3}}};
  with_ranks(4, {.groups = {pairs}, .sabotage = Sabotage{.kind = Kind::mixed_groups}}, [](Context& ctx) {
    const int rank = ctx.world().rank();
    EXPECT_EQ(ctx.group("tp").ranks(), rank == 1 || rank == 3 ? std::vector({3, 1}) : std::vector({2, 0}));
    EXPECT_EQ(ctx.world().ranks(), std::vector({0, 1, 2, 3}));
    EXPECT_TRUE(ctx.sabotage_record().acted);
  });
}

TEST(Sabotage, OfGroupsChangesNothingWhereEachRankIsAlone) {
  const GroupLayout alone{.name = "dp", .ranks_of = {{0}, {1}}}, all{.name = "tp", .ranks_of = {{0, 1}}};
  with_ranks(2, {.groups = {alone, all}, .sabotage = Sabotage{.kind = Kind::mixed_groups}}, [](Context& ctx) {
    EXPECT_EQ(ctx.group("dp").ranks(), std::vector({ctx.world().rank()}));
    EXPECT_FALSE(ctx.sabotage_record().acted);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
