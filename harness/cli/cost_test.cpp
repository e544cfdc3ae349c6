// SPDX-License-Identifier: Apache-2.0
// The formulas of `cost` against what virtual GPUs count while solutions run that move no more than they must
// without a fabric that reduces or multicasts. The formulas hold for fabrics that do, so some solutions move
// a known multiple.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/cli/process.h"

namespace pkb::cli {
namespace {

struct Case {
  const char* problem;
  const char* solution;
  double sent = 1, received = 1;  ///< times the formula, with 4 ranks
  const char* size = "tiny";
};

class Cost : public testing::TestWithParam<Case> {};

TEST_P(Cost, IsWhatAMinimalSolutionMoves) {
  const Case& c = GetParam();
  const TestFolder out;
  Command command{.words = {PKB_EXECUTABLE, "eval", c.problem,
                            std::string(PKB_SOURCE "/problems/") + c.problem + "/solutions/" + c.solution,
                            "--device", "virtual", "--ranks", "4", "--size", c.size, "--trials", "1",
                            "--checks", "off", "--json", "--out", out.path()}};
  command.environment["XDG_CACHE_HOME"] = PKB_TEST_CACHE;
  const Finished done = run(command);
  ASSERT_EQ(done.exit, 0) << done.output << done.errors;
  const nlohmann::json links = nlohmann::json::parse(done.output).at("trials").at(0).at("links");
  const auto bytes = [&](const char* name) { return links.at(name).get<double>(); };
  EXPECT_NEAR(bytes("sent") / bytes("least_sent"), c.sent, 0.02 * c.sent) << links;
  EXPECT_NEAR(bytes("received") / bytes("least_received"), c.received, 0.02 * c.received) << links;
}

INSTANTIATE_TEST_SUITE_P(
    Problems, Cost,
    testing::Values(
        // 2 (W - 1)/W each way where the ranks add: every element goes to its adder and back.
        Case{"001_allreduce", "two_shot.cu", 1.5, 1.5},
        // A block goes to each of the other ranks; a multicast sends it once.
        Case{"002_allgather", "push.cu", 3, 1}, Case{"003_broadcast", "chain.cu"},
        Case{"004_reduce", "chain.cu"}, Case{"005_scatter", "pull.cu"}, Case{"006_gather", "push.cu"},
        // Every other rank's block arrives; a fabric that adds delivers one.
        Case{"007_reducescatter", "pull.cu", 1, 3}, Case{"008_alltoall", "push.cu"},
        // As 002 and 007.
        Case{"012_allgather_gemm", "push.cu", 3, 1}, Case{"016_gemm_reducescatter", "store_add.cu", 1, 3},
        Case{"036_ulysses_gather_seq_scatter_heads", "pull.cu"}, Case{"054_ring_attention", "pull.cu", 3, 1},
        // A maximum and a sum for each row, to each of the others; a fabric that reduces could do with one
        // number each way.
        Case{"073_vocab_parallel_cross_entropy_loss", "exchange_sums.cu", 6, 6},
        // As all-reduce; at `tiny` there are too few tiles to share them evenly.
        Case{"013_gemm_allreduce", "tile_push.cu", 1.5, 1.5, "small"}),
    [](const auto& test) { return std::string(test.param.problem).substr(4); });

}  // namespace
}  // namespace pkb::cli
