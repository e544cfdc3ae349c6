// SPDX-License-Identifier: Apache-2.0
// The nine problems as they are resolved, against numbers worked out by hand from the catalogue.
#include "harness/problem/problem.h"

#include <gmock/gmock.h>

#include <numeric>

#include "harness/error/error.h"

namespace pkb::problem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kRoot = PKB_PROBLEMS;

Problem problem(std::string_view name) { return find(kRoot, name); }

TEST(Problems, AllResolveAtEverySize) {
  const std::vector<Problem> all = load_all(kRoot);
  ASSERT_GE(all.size(), 9u);
  for (const Problem& each : all) EXPECT_NO_THROW(each.check_sizes()) << each.name();
}

TEST(Problems, AreFoundByIdNameAndFolder) {
  for (const char* name : {"13", "013", "gemm_allreduce", "013_gemm_allreduce"})
    EXPECT_EQ(problem(name).id(), 13) << name;
}

std::string refusal(std::string_view name) {
  try {
    find(kRoot, name);
  } catch (const InputError& error) {
    return error.what();
  }
  return "found";
}

TEST(Problems, UnknownOnesNameTheClosest) {
  EXPECT_THAT(refusal("allreduec"), HasSubstr("there is no \"allreduec\"; closest are 001_allreduce"));
  EXPECT_THAT(refusal("gemm_allr"), HasSubstr("closest are 013_gemm_allreduce"));
  EXPECT_THAT(refusal("0"), HasSubstr("there is no \"0\""));
  EXPECT_THAT(refusal("99999999999999999999"), HasSubstr("there is no"));
  EXPECT_THAT(refusal(""), HasSubstr("there is no \"\""));
  EXPECT_THROW(find("/nonexistent", "1"), InputError);
}

TEST(Instances, DefaultRanksAreTheFirst) {
  EXPECT_EQ(problem("1").instances({}).at(0).ranks, 4);
  EXPECT_EQ(problem("1").instances({.size = "full"}).at(0).ranks, 8);
  EXPECT_THAT(problem("1").ranks("tiny"), ElementsAre(4, 2, 3));
}

TEST(Instances, AllreduceTiny) {
  const std::vector<Instance> tiny = problem("1").instances({.ranks = 3, .dtype = DType::f16});
  ASSERT_EQ(tiny.size(), 2u);
  EXPECT_EQ(tiny[0].folder, "001_allreduce");
  EXPECT_EQ(tiny[0].variant, 0);
  EXPECT_EQ(tiny[1].variant, 1);
  ASSERT_EQ(tiny[0].tensors_of.size(), 3u);
  for (const Instance::Tensors& rank : tiny[0].tensors_of) {
    EXPECT_THAT(rank.inputs.at(0).shape, ElementsAre(97, 131));
    EXPECT_EQ(rank.inputs[0].dtype, DType::f16);
    EXPECT_THAT(rank.outputs.at(0).shape, ElementsAre(97, 131));
    EXPECT_TRUE(rank.outputs[0].replicated);
  }
  EXPECT_THAT(tiny[1].tensors_of[2].outputs[0].shape, ElementsAre(1, 3));
  EXPECT_THAT(tiny[0].parameter_names, ElementsAre("M", "N"));
  EXPECT_EQ(tiny[0].symbols.at("W"), 3);
  ASSERT_EQ(tiny[0].groups.size(), 1u);
  EXPECT_EQ(tiny[0].groups[0].name, "world");
  EXPECT_THAT(tiny[0].groups[0].ranks_of, ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(Instances, ValuesAlternateBetweenNormalAndIntegers) {
  const std::vector<Instance> tiny = problem("1").instances({});
  const std::vector<Values>& values = tiny[0].tensors_of[0].inputs[0].values;
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].kind, Values::Kind::normal);
  EXPECT_EQ(values[1].kind, Values::Kind::integers);
  EXPECT_EQ(values[1].low, -8);
  EXPECT_EQ(values[1].high, 8);
}

TEST(Instances, AllgatherStacksAlongANewAxis) {
  const Instance tiny = problem("allgather").instances({.ranks = 2}).at(0);
  EXPECT_THAT(tiny.tensors_of[1].inputs[0].shape, ElementsAre(61, 83));
  EXPECT_THAT(tiny.tensors_of[1].outputs[0].shape, ElementsAre(2, 61, 83));
}

TEST(Instances, BroadcastVariantsMoveTheRoot) {
  const std::vector<Instance> tiny = problem("3").instances({.ranks = 3});
  ASSERT_EQ(tiny.size(), 3u);
  EXPECT_THAT(tiny[0].parameter_names, ElementsAre("M", "N", "src"));
  EXPECT_EQ(tiny[0].symbols.at("src"), 0);
  EXPECT_EQ(tiny[1].symbols.at("src"), 2);
  EXPECT_EQ(tiny[2].symbols.at("src"), 1);
  EXPECT_THAT(tiny[2].tensors_of[0].outputs[0].shape, ElementsAre(1, 1));
}

TEST(Instances, OnlyTheRootOfReduceAndGatherHasAnOutput) {
  const Instance reduce = problem("4").instances({.ranks = 4}).at(1);
  EXPECT_THAT(reduce.tensors_of[0].outputs[0].shape, ElementsAre(0, 131));
  EXPECT_THAT(reduce.tensors_of[3].outputs[0].shape, ElementsAre(97, 131));
  EXPECT_THAT(reduce.tensors_of[0].outputs[0].largest_shape, ElementsAre(97, 131));

  const Instance gather = problem("6").instances({.ranks = 4}).at(0);
  EXPECT_THAT(gather.tensors_of[0].outputs[0].shape, ElementsAre(4, 61, 83));
  EXPECT_THAT(gather.tensors_of[1].outputs[0].shape, ElementsAre(0, 61, 83));
}

TEST(Instances, OnlyTheRootOfScatterHasAnInput) {
  const Instance scatter = problem("5").instances({.ranks = 3}).at(0);
  EXPECT_THAT(scatter.tensors_of[0].inputs[0].shape, ElementsAre(3, 61, 83));
  EXPECT_THAT(scatter.tensors_of[2].inputs[0].shape, ElementsAre(0, 61, 83));
  EXPECT_THAT(scatter.tensors_of[2].inputs[0].largest_shape, ElementsAre(3, 61, 83));
  EXPECT_THAT(scatter.tensors_of[2].outputs[0].shape, ElementsAre(61, 83));
}

TEST(Instances, ReduceScatterAndAlltoall) {
  const Instance reduce_scatter = problem("7").instances({.ranks = 3}).at(0);
  EXPECT_THAT(reduce_scatter.tensors_of[0].inputs[0].shape, ElementsAre(183, 67));
  EXPECT_THAT(reduce_scatter.tensors_of[0].outputs[0].shape, ElementsAre(61, 67));
  const Instance alltoall = problem("8").instances({.ranks = 2}).at(0);
  EXPECT_THAT(alltoall.tensors_of[0].inputs[0].shape, ElementsAre(2, 37, 41));
  EXPECT_THAT(alltoall.tensors_of[0].outputs[0].shape, ElementsAre(2, 37, 41));
}

TEST(Instances, GemmAllreducePaper) {
  const Instance paper = problem("13").instances({.size = "paper"}).at(0);
  EXPECT_EQ(paper.ranks, 4);
  EXPECT_THAT(paper.parameter_names, ElementsAre("M", "N", "K"));
  EXPECT_THAT(paper.tensors_of[0].inputs[0].shape, ElementsAre(1024, 512));
  EXPECT_THAT(paper.tensors_of[0].inputs[1].shape, ElementsAre(512, 1024));
  EXPECT_THAT(paper.tensors_of[0].outputs[0].shape, ElementsAre(1024, 1024));
}

TEST(Instances, ExactOnIntegersOnlyWhereNothingRounds) {
  EXPECT_TRUE(problem("1").instances({.ranks = 32}).at(0).checks.at(0).exact_on_integers);
  EXPECT_FALSE(problem("1").instances({.ranks = 33}).at(0).checks.at(0).exact_on_integers);
  EXPECT_TRUE(problem("13").instances({.size = "paper"}).at(0).checks.at(0).exact_on_integers);
  EXPECT_FALSE(problem("13").instances({.size = "full"}).at(0).checks.at(0).exact_on_integers);
  EXPECT_TRUE(
      problem("13").instances({.size = "full", .dtype = DType::f32}).at(0).checks.at(0).exact_on_integers);
}

TEST(Instances, OneRankIsAllowedEverywhere) {
  for (const Problem& each : load_all(kRoot)) EXPECT_NO_THROW(each.instances({.ranks = 1})) << each.name();
}

std::int64_t bytes(const Tensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(),
                         static_cast<std::int64_t>(size_of(tensor.dtype)), std::multiplies<>());
}

TEST(Instances, LargeCrossesTwoGibibytesAndFitsEight) {
  for (const char* name : {"1", "2", "7", "8", "13"}) {
    for (const int ranks : problem(name).ranks("large")) {
      const Instance large = problem(name).instances({.size = "large", .ranks = ranks}).at(0);
      std::int64_t largest = 0, sum = 0;
      for (const auto* list : {&large.tensors_of[0].inputs, &large.tensors_of[0].outputs})
        for (const Tensor& tensor : *list) {
          largest = std::max(largest, bytes(tensor));
          sum += bytes(tensor);
        }
      EXPECT_GT(largest, std::int64_t{1} << 31) << name;
      if (ranks == problem(name).ranks("large").front()) {
        EXPECT_LT(sum, std::int64_t{8} << 30) << name;
      }
    }
  }
}

TEST(Instances, FullFitsEightGibibytes) {
  for (const Problem& each : load_all(kRoot)) {
    std::int64_t sum = 0;
    const Instance full = each.instances({.size = "full"}).at(0);
    for (const auto* list : {&full.tensors_of[0].inputs, &full.tensors_of[0].outputs})
      for (const Tensor& tensor : *list) sum += bytes(tensor);
    EXPECT_GT(sum, 0) << each.name();
    EXPECT_LT(sum, std::int64_t{8} << 30) << each.name();
  }
}

std::string refusal(const Problem::Choice& choice, const char* name = "3") {
  try {
    problem(name).instances(choice);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Instances, BadChoicesAreRefused) {
  EXPECT_EQ(refusal({.size = "huge"}),
            "003_broadcast: there is no size \"huge\"; choose one of tiny, small, paper, full");
  EXPECT_EQ(refusal({.ranks = -1}), "ranks: -1 is out of range; give 1 to 1024");
  EXPECT_EQ(refusal({.ranks = 1025}), "ranks: 1025 is out of range; give 1 to 1024");
}

TEST(Cost, OfAllreduceAndGemmAllreduce) {
  // 1024 x 1024 bf16 is 2 MiB. Four ranks: three quarters of an addition per element and rank.
  const Problem allreduce = problem("1");
  const Cost a = allreduce.cost(allreduce.instances({.size = "paper"}).at(0));
  EXPECT_EQ(a.flops, 786432);
  EXPECT_EQ(a.hbm_bytes, 4194304);
  EXPECT_EQ(a.sent_bytes, 2097152);
  EXPECT_EQ(a.received_bytes, 2097152);
  // One rank alone sends nothing.
  EXPECT_EQ(allreduce.cost(allreduce.instances({.ranks = 1}).at(0)).sent_bytes, 0);

  const Problem gemm = problem("13");
  const Cost g = gemm.cost(gemm.instances({.size = "paper"}).at(0));
  EXPECT_EQ(g.flops, 2.0 * 1024 * 1024 * 512 + 786432);
  EXPECT_EQ(g.hbm_bytes, 2097152 + 2097152);
  EXPECT_EQ(g.sent_bytes, 2097152);
}

TEST(Cost, OfRootedProblems) {
  const Problem scatter = problem("5");
  const Cost cost = scatter.cost(scatter.instances({.size = "paper"}).at(0));
  EXPECT_EQ(cost.sent_bytes, 3 * 2097152);
  EXPECT_EQ(cost.received_bytes, 2097152);
  EXPECT_EQ(cost.hbm_bytes, 5 * 2097152);
}

}  // namespace
}  // namespace pkb::problem
