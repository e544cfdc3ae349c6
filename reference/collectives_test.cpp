// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reference/context.h"
#include "reference/random.h"
#include "reference/testing/ranks.h"

namespace pkb::ref {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using testing::with_ranks;
using Values = std::vector<double>;

/// Each case runs with 1, 2, 3 and 4 ranks.
class Collectives : public ::testing::TestWithParam<int> {
 protected:
  void on_ranks(const std::function<void(Context&, int rank, int ranks)>& body) {
    with_ranks(GetParam(), {}, [&](Context& ctx) { body(ctx, ctx.world().rank(), ctx.world().size()); });
  }
};

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, ::testing::Values(1, 2, 3, 4),
                         ::testing::PrintToStringParamName());

TEST_P(Collectives, AllReduceAddsEveryRanksElements) {
  on_ranks([](Context& ctx, int rank, int ranks) {
    // Rank r holds 1, 10, 100 ... times r + 1; 5 elements do not divide by the ranks.
    Tensor t = Tensor::from_values({1.0 * (rank + 1), 10.0 * (rank + 1), 100.0 * (rank + 1), -1.0, 0.5}, {5},
                                   DType::f32);
    ctx.world().all_reduce(t);
    const double sum = ranks * (ranks + 1) / 2;
    EXPECT_THAT(t.values(), ElementsAre(sum, 10 * sum, 100 * sum, -ranks, 0.5 * ranks));
  });
}

TEST_P(Collectives, MessagesBetweenNeighbours) {
  on_ranks([](Context& ctx, int rank, int ranks) {
    const int after = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    const Tensor first = Tensor::full({2}, rank, DType::f32), second = Tensor::full({3}, 10 + rank, DType::i64);
    const Tensor got_first = first.empty_like(), got_second = second.empty_like();
    // Two messages to one rank keep their order, whatever the order of sends and receives.
    ctx.world().batch_isend_irecv(
        {isend(first, after), irecv(got_first, before), isend(second, after), irecv(got_second, before)});
    EXPECT_THAT(got_first.values(), ElementsAre(before, before));
    EXPECT_THAT(got_second.values(), ElementsAre(10 + before, 10 + before, 10 + before));
    EXPECT_THROW(ctx.world().batch_isend_irecv({isend(first, ranks)}), ShapeError);
    EXPECT_THROW(ctx.world().batch_isend_irecv({isend(first.expand({2, 2}), 0)}), ShapeError);
  });
}

TEST_P(Collectives, EveryReductionAndDType) {
  on_ranks([](Context& ctx, int rank, int ranks) {
    for (const DType dtype :
         {DType::bf16, DType::f16, DType::f32, DType::f64, DType::i8, DType::u8, DType::i32, DType::i64}) {
      const auto reduced = [&](Reduce op) {
        Tensor t = Tensor::from_values({rank + 1.0, 4.0 - rank}, {2}, dtype);
        ctx.world().all_reduce(t, op);
        return t.values();
      };
      const double product[] = {1, 2, 6, 24}, falling[] = {4, 12, 24, 24};
      EXPECT_THAT(reduced(Reduce::sum),
                  ElementsAre(ranks * (ranks + 1) / 2, 4 * ranks - ranks * (ranks - 1) / 2));
      EXPECT_THAT(reduced(Reduce::prod), ElementsAre(product[ranks - 1], falling[ranks - 1]));
      EXPECT_THAT(reduced(Reduce::min), ElementsAre(1, 5 - ranks));
      EXPECT_THAT(reduced(Reduce::max), ElementsAre(ranks, 4));
    }
  });
}

TEST_P(Collectives, AverageScalesEachShareFirst) {
  on_ranks([](Context& ctx, int rank, int ranks) {
    Tensor t = Tensor::from_values({12.0 * (rank + 1)}, {1}, DType::f64);
    ctx.world().all_reduce(t, Reduce::avg);
    EXPECT_NEAR(t.values()[0], 6.0 * (ranks + 1), 1e-14);
    if (ranks == 3) {
      // 1/3 in bf16 is 171/512; 3 * 171/512 rounds to 1 (513/512 is nearer to 1 than to 1 + 2^-7).
      Tensor b = Tensor::from_values({3}, {1}, DType::bf16);
      ctx.world().all_reduce(b, Reduce::avg);
      EXPECT_THAT(b.values(), ElementsAre(3));
    }
  });
}

TEST_P(Collectives, ReductionsInBf16RoundAtEveryHopOfARing) {
  if (GetParam() != 3) return;
  on_ranks([](Context& ctx, int rank, int) {
    // Chunk c is summed in the order c + 1, c + 2, c. With 256, 1, -256 on ranks 0, 1, 2, exactly 1 in all:
    // chunk 0: (1 - 256) + 256 = 1; chunk 1: (-256 + 256) + 1 = 1; chunk 2: (256 + 1 -> 256) - 256 = 0.
    const double own[] = {256, 1, -256};
    Tensor t = Tensor::full({3}, own[rank], DType::bf16);
    ctx.world().all_reduce(t);
    EXPECT_THAT(t.values(), ElementsAre(1, 1, 0));
    // A reduction to rank 2 is a chain 0, 1, 2.
    Tensor r = Tensor::full({1}, own[rank], DType::bf16);
    ctx.world().reduce(r, 2);
    EXPECT_THAT(r.values(), ElementsAre(rank == 2 ? 0 : own[rank]));
  });
}

TEST_P(Collectives, Fp16OverflowsToInfinity) {
  if (GetParam() != 2) return;
  on_ranks([](Context& ctx, int, int) {
    Tensor t = Tensor::full({1}, 60000, DType::f16);
    ctx.world().all_reduce(t);
    EXPECT_EQ(t.values()[0], INFINITY);
  });
}

TEST_P(Collectives, ReduceChangesTheRootOnly) {
  on_ranks([](Context& ctx, int rank, int ranks) {
    for (int dst = 0; dst < ranks; ++dst) {
      Tensor t = Tensor::from_values({rank + 1.0, 2.0 * rank}, {2}, DType::f32);
      ctx.world().reduce(t, dst);
      if (rank == dst)
        EXPECT_THAT(t.values(), ElementsAre(ranks * (ranks + 1) / 2, ranks * (ranks - 1)));
      else
        EXPECT_THAT(t.values(), ElementsAre(rank + 1, 2 * rank));
    }
  });
}

TEST_P(Collectives, ReduceScatterGivesBlockRToRankR) {
  on_ranks([](Context& ctx, int rank, int ranks) {
    Values values;
    for (int i = 0; i < 2 * ranks; ++i) values.push_back(100 * rank + i);
    const Tensor in = Tensor::from_values(values, {2 * ranks}, DType::f64);
    Tensor out = Tensor::empty({2}, DType::f64);
    ctx.world().reduce_scatter_tensor(out, in);
    const double base = 100.0 * ranks * (ranks - 1) / 2;
    EXPECT_THAT(out.values(), ElementsAre(base + ranks * 2 * rank, base + ranks * (2 * rank + 1)));
    EXPECT_EQ(in.values(), values);
  });
}

TEST_P(Collectives, MovementKeepsEveryBit) {
  on_ranks([](Context& ctx, int rank, int ranks) {
    const auto block_of = [](int owner) {
      Tensor block = Tensor::empty({3, 5}, DType::bf16);
      random_fill(block, {.kind = Distribution::Kind::bits},
                  {.seed = 7, .rank = static_cast<std::uint16_t>(owner)});
      return block;
    };
    std::vector<Tensor> blocks;
    for (int owner = 0; owner < ranks; ++owner) blocks.push_back(block_of(owner));
    const Tensor all = stack(blocks);
    Tensor gathered = Tensor::empty({ranks, 3, 5}, DType::bf16);
    ctx.world().all_gather_into_tensor(gathered, blocks[std::size_t(rank)]);
    EXPECT_TRUE(equal(gathered, all));
    for (int root = 0; root < ranks; ++root) {
      Tensor copy = rank == root ? blocks[std::size_t(root)].clone() : Tensor::zeros({3, 5}, DType::bf16);
      ctx.world().broadcast(copy, root);
      EXPECT_TRUE(equal(copy, blocks[std::size_t(root)]));
      Tensor own = Tensor::zeros({3, 5}, DType::bf16);
      ctx.world().scatter(own, rank == root ? all : Tensor(), root);
      EXPECT_TRUE(equal(own, blocks[std::size_t(rank)]));
      Tensor collected = rank == root ? Tensor::zeros({ranks, 3, 5}, DType::bf16) : Tensor();
      ctx.world().gather(collected, blocks[std::size_t(rank)], root);
      EXPECT_TRUE(rank != root || equal(collected, all));
    }
    Tensor received = Tensor::empty({ranks}, DType::i32);
    Values sent;
    for (int to = 0; to < ranks; ++to) sent.push_back(10 * rank + to);
    ctx.world().all_to_all_single(received, Tensor::from_values(sent, {ranks}, DType::i32));
    for (int from = 0; from < ranks; ++from)
      EXPECT_EQ(received.values()[std::size_t(from)], 10 * from + rank);
  });
}

TEST_P(Collectives, AllToAllTakesUnevenAndEmptySplits) {
  on_ranks([](Context& ctx, int rank, int ranks) {
    // Rank r sends (r + d) % 3 rows to rank d, each row [r, d].
    std::vector<std::int64_t> in_splits, out_splits;
    Values in_values, expected;
    for (int other = 0; other < ranks; ++other) {
      in_splits.push_back((rank + other) % 3);
      out_splits.push_back((other + rank) % 3);
      for (int row = 0; row < (rank + other) % 3; ++row) {
        in_values.insert(in_values.end(), {double(rank), double(other)});
        expected.insert(expected.end(), {double(other), double(rank)});
      }
    }
    const auto rows = static_cast<std::int64_t>(in_values.size() / 2);
    Tensor out = Tensor::empty({rows, 2}, DType::i64);
    ctx.world().all_to_all_single(out, Tensor::from_values(in_values, {rows, 2}, DType::i64), out_splits,
                                  in_splits);
    EXPECT_EQ(out.values(), expected);
  });
}

TEST_P(Collectives, ManySlicesOfALongRing) {
  on_ranks([](Context& ctx, int rank, int ranks) {
    // Several slices of 1 MiB in each chunk, the last one short, chunks of different length.
    constexpr std::int64_t kCount = 3'000'001;
    Tensor t = Tensor::empty({kCount}, DType::f32);
    random_fill(t, {.kind = Distribution::Kind::integers, .low = -1000, .high = 1000},
                {.seed = 3, .rank = static_cast<std::uint16_t>(rank)});
    Values expected(kCount, 0);
    for (int each = 0; each < ranks; ++each) {
      Tensor other = Tensor::empty({kCount}, DType::f32);
      random_fill(other, {.kind = Distribution::Kind::integers, .low = -1000, .high = 1000},
                  {.seed = 3, .rank = static_cast<std::uint16_t>(each)});
      const Values values = other.values();
      for (std::size_t i = 0; i < values.size(); ++i) expected[i] += values[i];
    }
    Tensor reduced = t.clone();
    ctx.world().reduce(reduced, ranks - 1);
    EXPECT_TRUE(rank != ranks - 1 || reduced.values() == expected);
    ctx.world().all_reduce(t);
    EXPECT_EQ(t.values(), expected);
  });
}

TEST_P(Collectives, EmptyTensorsPassAndTwoRunsAgreeBitForBit) {
  on_ranks([](Context& ctx, int rank, int ranks) {
    Tensor empty = Tensor::empty({0, 3}, DType::bf16);
    ctx.world().all_reduce(empty);
    ctx.world().broadcast(empty, 0);
    Tensor none = Tensor::empty({ranks, 0}, DType::bf16);
    ctx.world().all_gather_into_tensor(none, Tensor::empty({0}, DType::bf16));
    ctx.world().all_to_all_single(none, none.clone());
    Tensor first = Tensor::empty({1001}, DType::bf16);
    random_fill(first, {}, {.seed = 5, .rank = static_cast<std::uint16_t>(rank)});
    Tensor second = first.clone();
    ctx.world().all_reduce(first);
    ctx.world().all_reduce(second);
    EXPECT_TRUE(equal(first, second));
    Tensor everyones = Tensor::empty({ranks, 1001}, DType::bf16);
    ctx.world().all_gather_into_tensor(everyones, first);
    for (int other = 0; other < ranks; ++other) EXPECT_TRUE(equal(everyones[other], first));
    ctx.world().barrier();
  });
}

TEST_P(Collectives, RefuseWhatDoesNotFit) {
  on_ranks([](Context& ctx, int, int ranks) {
    Group& world = ctx.world();
    Tensor square = Tensor::zeros({2, 3}, DType::f32), column = square.t();
    EXPECT_THAT([&] { world.all_reduce(column); },
                ThrowsMessage<ShapeError>(HasSubstr("shape (3, 2) with strides (1, 3)")));
    Tensor out = Tensor::zeros({2, 3}, DType::f32);
    EXPECT_THROW(world.all_gather_into_tensor(out, Tensor::zeros({5, 3}, DType::f32)), ShapeError);
    EXPECT_THROW(world.broadcast(square, ranks), ShapeError);
    EXPECT_THROW(world.reduce(square, -1), ShapeError);
    Tensor integers = Tensor::zeros({2}, DType::i32);
    EXPECT_THROW(world.all_reduce(integers, Reduce::avg), DTypeError);
    if (ranks == 2) {
      Tensor three = Tensor::zeros({3}, DType::f32);
      EXPECT_THAT([&] { world.all_to_all_single(three, three); },
                  ThrowsMessage<ShapeError>(HasSubstr("(3) does not split into 2 equal blocks")));
    }
    if (ranks == 4) {
      Tensor block = Tensor::zeros({1, 1}, DType::f32);
      EXPECT_THAT(
          [&] {
            world.reduce_scatter_tensor(block, Tensor::zeros({6, 1}, DType::f32));
          },
          ThrowsMessage<ShapeError>(HasSubstr("(6, 1) is not 4 blocks of (1, 1)")));
    }
  });
}

TEST(Groups, AMeshHasRowsAndColumns) {
  const ContextOptions options{
      .parameters = {{"src", 2}, {"eps", 0.5}},
      .groups = {{"tp", {{0, 1}, {2, 3}}}, {"dp", {{2, 0}, {1, 3}}}, {"few", {{1, 2}}}}};
  with_ranks(4, options, [](Context& ctx) {
    const int rank = ctx.world().rank();
    EXPECT_EQ(ctx.group("tp").rank(), rank % 2);
    Tensor t = Tensor::full({1}, rank, DType::f32);
    ctx.group("tp").all_reduce(t);
    EXPECT_THAT(t.values(), ElementsAre(rank < 2 ? 1 : 5));
    // Group order is the layout's, not the world's.
    Tensor order = Tensor::empty({2}, DType::i32);
    ctx.group("dp").all_gather_into_tensor(order, Tensor::full({1}, rank, DType::i32));
    if (rank % 2 == 0)
      EXPECT_THAT(order.values(), ElementsAre(2, 0));
    else
      EXPECT_THAT(order.values(), ElementsAre(1, 3));
    EXPECT_EQ(ctx.group("dp").ranks(), (rank % 2 == 0 ? std::vector<int>{2, 0} : std::vector<int>{1, 3}));
    if (rank == 0) {
      EXPECT_THAT(
          [&] { ctx.group("few"); },
          ThrowsMessage<std::out_of_range>(HasSubstr("no group \"few\" here; there are: dp, tp, world")));
    }
    const int src = ctx.param("src");
    const double eps = ctx.param("eps");
    EXPECT_EQ(src, 2);
    EXPECT_EQ(eps, 0.5);
    EXPECT_THAT([&] { [[maybe_unused]] const int wrong = ctx.param("eps"); },
                ThrowsMessage<std::runtime_error>("parameter eps is 0.5, not an integer"));
    EXPECT_THAT([&] { ctx.param("dst"); },
                ThrowsMessage<std::out_of_range>(HasSubstr("no parameter \"dst\"; there are: eps, src")));
  });
}

}  // namespace
}  // namespace pkb::ref
