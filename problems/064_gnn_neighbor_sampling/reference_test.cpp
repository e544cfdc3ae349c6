// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/sorting.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "064_gnn_neighbor_sampling";
using Integers = std::vector<std::int64_t>;

Tensor of(const Integers& values) {
  return Tensor::from_values(Row(values.begin(), values.end()), {static_cast<std::int64_t>(values.size())},
                             DType::i64);
}

struct Graph {
  Integers colptr, row, owner;
};

/// This rank's part: edges of other ranks' nodes are not there.
Tensors part_of(const Graph& graph, int rank, const Integers& seeds) {
  Integers colptr{0}, row, edge;
  for (std::size_t v = 0; v < graph.owner.size(); ++v) {
    for (std::int64_t e = graph.colptr[v]; graph.owner[v] == rank && e < graph.colptr[v + 1]; ++e) {
      row.push_back(graph.row[std::size_t(e)]);
      edge.push_back(e);
    }
    colptr.push_back(static_cast<std::int64_t>(row.size()));
  }
  return {{"seed_nodes", of(seeds)},
          {"colptr", of(colptr)},
          {"row", of(row)},
          {"edge_id", of(edge)},
          {"node_to_rank", of(graph.owner)}};
}

struct Sample {
  Integers node, row, col, edge;
};

ContextOptions fanouts(int first, int second, int third = 0) {
  return {.parameters = {{"fanout_0", first}, {"fanout_1", second}, {"fanout_2", third}, {"degree", 5}}};
}

void expect_samples(const Graph& graph, const ContextOptions& options, const std::vector<Integers>& seeds,
                    const std::vector<Sample>& samples) {
  expect_outputs(kProblem, static_cast<int>(seeds.size()), options, [&](int rank) -> Exchange {
    const Sample& mine = samples[std::size_t(rank)];
    return {part_of(graph, rank, seeds[std::size_t(rank)]),
            {{"node", of(mine.node)},
             {"row_out", of(mine.row)},
             {"col_out", of(mine.col)},
             {"edge_out", of(mine.edge)},
             {"nodes", of({static_cast<std::int64_t>(mine.node.size())})},
             {"edges", of({static_cast<std::int64_t>(mine.edge.size())})}}};
  });
}

const Graph kGraph{{0, 2, 3, 3, 6, 7, 8}, {1, 2, 2, 0, 4, 5, 3, 5}, {0, 1, 0, 1, 0, 1}};
const Sample kOfThreeAndZero{{3, 0, 4, 1, 2}, {1, 2, 3, 4, 0, 4}, {0, 0, 1, 1, 2, 3}, {3, 4, 0, 1, 6, 2}};

TEST(NeighborSampling, AnIdleRankKeepsAnswering) {
  // Rank 1's seed has but a self-loop; node 1, which rank 0 asks for in the second hop, is its own.
  expect_samples(kGraph, fanouts(2, 1), {{3, 0}, {5}}, {kOfThreeAndZero, {{5}, {0}, {0}, {7}}});
  expect_samples(kGraph, fanouts(2, 1), {{3, 0}, {}}, {kOfThreeAndZero, {}});
  expect_samples(kGraph, fanouts(2, 1), {{2}, {3, 0}}, {{{2}, {}, {}, {}}, kOfThreeAndZero});
  expect_samples(kGraph, fanouts(2, 1), {{}, {}}, {{}, {}});
}

TEST(NeighborSampling, OwnersMakeNoDifference) {
  for (const Integers& owner : {Integers{0, 0, 0, 0, 0, 0}, Integers{1, 1, 1, 1, 1, 1},
                                Integers{2, 1, 0, 2, 1, 0}, Integers{0, 0, 2, 2, 0, 2}}) {
    const Graph graph{kGraph.colptr, kGraph.row, owner};
    expect_samples(graph, fanouts(2, 1), {{3, 0}, {5}, {2}},
                   {kOfThreeAndZero, {{5}, {0}, {0}, {7}}, {{2}, {}, {}, {}}});
  }
}

TEST(NeighborSampling, AllNeighboursWhereTheFanoutIsNegative) {
  // 3 <- 0 4 5, then 0 <- 1 2, 4 <- 3, 5 <- 5.
  expect_samples({kGraph.colptr, kGraph.row, Integers(6, 0)}, fanouts(-1, -1), {{3}},
                 {{{3, 0, 4, 5, 1, 2}, {1, 2, 3, 4, 5, 0, 3}, {0, 0, 0, 1, 1, 2, 3}, {3, 4, 5, 0, 1, 6, 7}}});
}

/// The published graph: node v has the 16 neighbours after it.
TEST(NeighborSampling, ALattice) {
  constexpr std::int64_t kNodes = 10000;
  Graph graph{{0}, {}, {}};
  for (std::int64_t v = 0; v < kNodes; ++v) {
    for (std::int64_t j = 0; j < 16; ++j) graph.row.push_back((v + 1 + j) % kNodes);
    graph.colptr.push_back(16 * (v + 1));
    graph.owner.push_back(v % 4);
  }
  with_ranks(4, fanouts(10, 5), [&](Context& ctx) {
    Integers seeds(512);
    std::iota(seeds.begin(), seeds.end(), 512 * ctx.world().rank());
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, part_of(graph, ctx.world().rank(), seeds));
    Integers nodes(527);
    std::iota(nodes.begin(), nodes.end(), 512 * ctx.world().rank());
    EXPECT_EQ(out["node"].integers(), nodes);
    EXPECT_EQ(out["edges"].item(), 5170);
    EXPECT_EQ(out["edge_out"].numel(), 5170);
  });
}

/// One rank's sample, from the definition.
Sample sampled(const Graph& graph, const Integers& numbers, const Integers& seeds, const Integers& hops) {
  Sample result{seeds, {}, {}, {}};
  const auto place_of = [&](std::int64_t id) {
    return std::ranges::find(result.node, id) - result.node.begin();
  };
  std::size_t begin = 0;
  for (const std::int64_t fanout : hops) {
    const std::size_t end = result.node.size();
    for (std::size_t i = begin; fanout != 0 && i < end; ++i) {
      const auto v = std::size_t(result.node[i]);
      const std::int64_t last =
          fanout < 0 ? graph.colptr[v + 1] : std::min(graph.colptr[v + 1], graph.colptr[v] + fanout);
      for (std::int64_t e = graph.colptr[v]; e < last; ++e) {
        if (place_of(graph.row[std::size_t(e)]) == std::ssize(result.node))
          result.node.push_back(graph.row[std::size_t(e)]);
        result.row.push_back(place_of(graph.row[std::size_t(e)]));
        result.col.push_back(static_cast<std::int64_t>(i));
        result.edge.push_back(numbers[std::size_t(e)]);
      }
    }
    begin = end;
  }
  return result;
}

TEST(NeighborSampling, EveryKindOfInput) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    with_ranks(ranks, fanouts(4, -1, 2), [&](Context& ctx) {
      const ProblemLibrary library(kProblem);
      const int rank = ctx.world().rank();
      constexpr std::int64_t kNodes = 307, kRoom = 3000;
      for (std::uint32_t trial = 0; trial < 3; ++trial) {
        Tensors in{{"seed_nodes", Tensor::zeros({7 + 3 * rank}, DType::i64)},
                   {"colptr", Tensor::zeros({kNodes + 1}, DType::i64)},
                   {"row", Tensor::zeros({kRoom}, DType::i64)},
                   {"edge_id", Tensor::zeros({kRoom}, DType::i64)},
                   {"node_to_rank", Tensor::zeros({kNodes}, DType::i64)}};
        library.make_inputs(ctx, {.seed = 3, .trial = trial}, in);
        const auto everyones = [&](const char* name) {
          Tensor all = Tensor::empty({ranks, in[name].numel()}, DType::i64);
          ctx.world().all_gather_into_tensor(all, in[name]);
          return all;
        };
        const Tensor colptr = everyones("colptr"), row = everyones("row"), edge_id = everyones("edge_id");
        Graph whole{{0}, {}, in["node_to_rank"].integers()};
        Integers numbers;
        for (std::int64_t v = 0; v < kNodes; ++v) {
          for (int r = 0; r < ranks; ++r) {
            const auto at = [&](const Tensor& of, std::int64_t i) {
              return of[r].narrow(0, i, 1).integers()[0];
            };
            const std::int64_t begin = at(colptr, v), end = at(colptr, v + 1);
            EXPECT_TRUE(r == whole.owner[std::size_t(v)] || begin == end)
                << "rank " << r << " has edges of another's node";
            for (std::int64_t e = begin; e < end; ++e) {
              whole.row.push_back(at(row, e));
              numbers.push_back(at(edge_id, e));
            }
          }
          whole.colptr.push_back(static_cast<std::int64_t>(whole.row.size()));
        }
        const Integers seeds = in["seed_nodes"].integers();
        EXPECT_EQ(std::set(seeds.begin(), seeds.end()).size(), seeds.size()) << "seeds are not distinct";
        EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), numbers.size())
            << "edges are not distinct";
        if (trial == 1) {
          for (const std::int64_t seed : seeds) EXPECT_EQ(whole.owner[std::size_t(seed)], ranks - 1);
        }
        if (trial == 2 && ranks > 1) {
          EXPECT_EQ(std::ranges::count(whole.owner, 1), 0);
        }

        const Sample expected = sampled(whole, numbers, seeds, {4, -1, 2});
        EXPECT_EQ(expected.edge.empty(), trial == 2 && rank == 0);
        const Tensors out = library.reference(ctx, in);
        EXPECT_EQ(out["node"].integers(), expected.node);
        EXPECT_EQ(out["row_out"].integers(), expected.row);
        EXPECT_EQ(out["col_out"].integers(), expected.col);
        EXPECT_EQ(out["edge_out"].integers(), expected.edge);
      }
    });
}

}  // namespace
}  // namespace pkb::ref::testing
