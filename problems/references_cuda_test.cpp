// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reference/random.h"
#include "reference/testing/problem.h"

// Every reference with its inputs on the host and on CUDA.
namespace pkb::ref::testing {
namespace {

Tensor random(const Shape& shape, const Distribution& distribution, int rank, std::uint16_t number = 0) {
  Tensor t = Tensor::empty(shape, DType::bf16);
  random_fill(t, distribution, {.seed = 3, .tensor = number, .rank = static_cast<std::uint16_t>(rank)});
  return t;
}

struct Case {
  const char* problem;
  std::map<std::string, double, std::less<>> parameters;
  bool moves;  ///< only moves data, so that any bits will do
  std::function<Tensors(const Distribution&, int rank, int ranks)> inputs;
};

/// Odd extents; roots are the last rank, which every number of ranks has.
std::vector<Case> cases(int ranks) {
  const double root = ranks - 1;
  const auto matrix = [](const Distribution& values, int rank, int) -> Tensors {
    return {{"tensor", random({97, 131}, values, rank)}};
  };
  return {
      {"001_allreduce", {}, false, matrix},
      {"002_allgather", {}, true, matrix},
      {"003_broadcast", {{"src", root}}, true, matrix},
      {"004_reduce", {{"dst", root}}, false, matrix},
      {"005_scatter",
       {{"src", root}},
       true,
       [](const Distribution& values, int rank, int all) -> Tensors {
         return {{"tensor", random({rank == all - 1 ? all : 0, 61, 83}, values, rank)}};
       }},
      {"006_gather", {{"dst", root}}, true, matrix},
      {"007_reducescatter",
       {},
       false,
       [](const Distribution& values, int rank, int all) -> Tensors {
         return {{"tensor", random({61 * all, 67}, values, rank)}};
       }},
      {"008_alltoall",
       {},
       true,
       [](const Distribution& values, int rank, int all) -> Tensors {
         return {{"tensor", random({all, 37, 41}, values, rank)}};
       }},
      {"013_gemm_allreduce",
       {},
       false,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"A_local", random({113, 71}, values, rank, 0)},
                 {"B_local", random({71, 59}, values, rank, 1)}};
       }},
  };
}

Tensors moved(const Tensors& tensors, DType dtype, Place place) {
  Tensors result;
  for (const auto& [name, tensor] : tensors) result.set(name, tensor.to(dtype).to(place));
  return result;
}

/// `staged`: all ranks on GPU 0; else rank r on GPU r, over NCCL.
void compare_places(int ranks, bool staged) {
  for (const Case& each : cases(ranks)) {
    const Distribution integers{.kind = Distribution::Kind::integers, .low = -1, .high = 1};
    std::vector<Distribution> kinds{{}, integers};
    if (each.moves) kinds.push_back({.kind = Distribution::Kind::bits});
    for (const Distribution& kind : kinds) {
      Tensors host, bound;
      with_ranks(ranks, {.parameters = each.parameters}, [&](Context& ctx) {
        const ProblemLibrary library(each.problem);
        const Tensors in = each.inputs(kind, ctx.world().rank(), ranks);
        host = library.reference(ctx, in);
        if (library.has_error_bound()) bound = library.error_bound(ctx, moved(in, DType::f64, Place::host));
      });
      use_gpu(0);
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      if (!staged && rank < ranks) use_gpu(rank);
      with_ranks(
          ranks, {.place = Place::cuda, .staged = staged, .parameters = each.parameters}, [&](Context& ctx) {
            const ProblemLibrary library(each.problem);
            const Tensors in = moved(each.inputs(kind, rank, ranks), DType::bf16, Place::cuda);
            const Tensors before = moved(in, DType::bf16, Place::host), cuda = library.reference(ctx, in);
            for (const auto& [name, tensor] : in)
              EXPECT_TRUE(equal(tensor, before[name])) << name << " was changed";
            for (const auto& [name, expected] : host) {
              SCOPED_TRACE(std::string(each.problem) + " " + name + " on rank " + std::to_string(rank));
              ASSERT_EQ(cuda[name].shape(), expected.shape());
              if (each.moves) {
                EXPECT_EQ(cuda[name].bytes(), expected.bytes());
                continue;
              }
              if (kind.kind == Distribution::Kind::integers) {
                EXPECT_EQ(cuda[name].values(), expected.values());
                continue;
              }
              // Both are within the bound of the exact result.
              const Row got = cuda[name].values(), want = expected.values(), most = bound[name].values();
              for (std::size_t i = 0; i < got.size(); ++i)
                ASSERT_LE(std::fabs(got[i] - want[i]), 2 * most[i]) << i;
            }
          });
    }
  }
}

TEST(ReferencesOnCuda, StagedWhereRanksShareAGpu) {
  if (gpus() == 0) GTEST_SKIP() << "no GPU here";
  for (int ranks = 1; ranks <= 4; ++ranks) compare_places(ranks, true);
}

TEST(ReferencesOnCuda, NcclWithAGpuPerRank) {
  if (gpus() == 0) GTEST_SKIP() << "no GPU here";
  for (int ranks = 1; ranks <= std::min(gpus(), 4); ++ranks) compare_places(ranks, false);
}

}  // namespace
}  // namespace pkb::ref::testing
