// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;
using Integers = std::vector<std::int64_t>;
constexpr auto kProblem = "061_gsplat_3d_gaussian_splatting";

const ContextOptions kImage{.parameters = {{"width", 100}, {"height", 100}, {"near_plane", 0.01}, {"far_plane", 1e10}, {"eps2d", 0.3}}};

/// Small round Gaussians, opacities and colours counting on from `first`, one camera at the origin that looks along z.
Tensors scene(const std::vector<Row>& means, double first = 0) {
  const auto count = static_cast<std::int64_t>(means.size());
  Row flat, quats, opacities, colors;
  for (const Row& mean : means) {
    const double number = first + static_cast<double>(opacities.size());
    flat.insert(flat.end(), mean.begin(), mean.end());
    for (const double each : {2, 0, 0, 0}) quats.push_back(each);
    opacities.push_back(number / 8);
    for (const double each : {number, number + 0.25, number + 0.5}) colors.push_back(each);
  }
  const auto tensor = [](const Row& values, Shape shape) { return Tensor::from_values(values, std::move(shape), DType::f32); };
  return {{"means", tensor(flat, {count, 3})},
          {"quats", tensor(quats, {count, 4})},
          {"scales", Tensor::full({count, 3}, 0.02, DType::f32)},
          {"opacities", tensor(opacities, {count})},
          {"colors", tensor(colors, {count, 3})},
          {"viewmats", tensor({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, {1, 4, 4})},
          {"Ks", tensor({100, 0, 50, 0, 100, 50, 0, 0, 1}, {1, 3, 3})}};
}

TEST(GaussianSplatting, ProjectsAndCulls) {
  with_ranks(1, kImage, [](Context& ctx) {
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, scene({{0, 0, 2},       // in the middle
                                                                       {0.5, 0, 2},
                                                                       {3, 0, 2},       // limited slope, beside the image
                                                                       {0, 0, -1},      // behind
                                                                       {0, 0, 0},       // no projection at all
                                                                       {-1.03, 0, 2},   // beside the image, into which it reaches
                                                                       {-1.5, 0, 2}}));
    EXPECT_EQ(out["gaussian_ids"].integers(), (Integers{0, 1, 5}));
    EXPECT_EQ(out["camera_ids"].integers(), (Integers{0, 0, 0}));
    EXPECT_EQ(out["radii"].integers(), (Integers{4, 4, 4, 4, 5, 4}));
    EXPECT_THAT(out["means2d"].values(), Pointwise(DoubleNear(1e-4), Row{50, 50, 75, 50, -1.5, 50}));
    EXPECT_EQ(out["depths"].values(), (Row{2, 2, 2}));
    const double round = 1 / 1.3, wide = 1 / 1.3625, wider = 1 / 1.565225;
    EXPECT_THAT(out["conics"].values(), Pointwise(DoubleNear(1e-6), Row{round, 0, round, wide, 0, round, wider, 0, round}));
    EXPECT_EQ(out["opacities_received"].values(), (Row{0, 0.125, 0.625}));
    EXPECT_EQ(out["colors_received"].values(), (Row{0, 0.25, 0.5, 1, 1.25, 1.5, 5, 5.25, 5.5}));
    EXPECT_EQ(out["received"].integers(), Integers{3});
    EXPECT_EQ(out["received_counts"].integers(), Integers{3});
  });
}

TEST(GaussianSplatting, SlopesAreLimited) {
  // A large Gaussian at x / z = 1.5 reaches into the image: its covariance is taken at the limit 0.65, its centre is not.
  with_ranks(1, kImage, [](Context& ctx) {
    Tensors in = scene({{3, 0, 2}});
    Tensor(in["scales"]).fill_(1);
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, in);
    const double variance = 2500 * (1 + 0.65 * 0.65) + 0.3;
    EXPECT_NEAR(out["means2d"].values()[0], 200, 1e-4);
    EXPECT_NEAR(out["conics"].values()[0], 1 / variance, 1e-9);
    EXPECT_EQ(out["radii"].integers()[0], static_cast<std::int64_t>(std::ceil(3.33 * std::sqrt(variance))));
  });
}

TEST(GaussianSplatting, RotationsTurnTheAxes) {
  // A quarter turn around z: what is long along x appears long along y; a camera that is turned back sees it along x.
  with_ranks(1, kImage, [](Context& ctx) {
    Tensors in = scene({{0, 0, 2}});
    Tensor quats = in["quats"], scales = in["scales"], viewmats = in["viewmats"];
    quats.copy_(Tensor::from_values({1, 0, 0, 1}, {1, 4}, DType::f32));
    scales.copy_(Tensor::from_values({0.04, 0.02, 0.02}, {1, 3}, DType::f32));
    const auto variances = [&] {
      const Row conic = ProblemLibrary(kProblem).reference(ctx, in)["conics"].values();
      return Row{1 / conic[0], 1 / conic[2]};
    };
    EXPECT_THAT(variances(), Pointwise(DoubleNear(1e-5), Row{1.3, 4.3}));
    viewmats.copy_(Tensor::from_values({0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, {1, 4, 4}, DType::f32));
    EXPECT_THAT(variances(), Pointwise(DoubleNear(1e-5), Row{4.3, 1.3}));
  });
}

TEST(GaussianSplatting, RecordsGoToTheRankOfTheCamera) {
  with_ranks(2, kImage, [](Context& ctx) {
    const bool first = ctx.world().rank() == 0;
    const Tensors out = ProblemLibrary(kProblem).reference(
        ctx, first ? scene({{0, 0, 2}, {0, 0, -1}}) : scene({{0.5, 0, 2}}, 2));
    EXPECT_EQ(out["gaussian_ids"].integers(), (Integers{0, 2}));
    EXPECT_EQ(out["depths"].values(), (Row{2, 2}));
    EXPECT_THAT(out["means2d"].values(), Pointwise(DoubleNear(1e-4), Row{50, 50, 75, 50}));
    EXPECT_EQ(out["received_counts"].integers(), (Integers{1, 1}));
    EXPECT_EQ(out["opacities_received"].values(), (Row{0, 0.25}));
  });
}

TEST(GaussianSplatting, OrderAndNumbersWithSeveralCamerasAndEmptyRanks) {
  // Two cameras per rank, the second looks the other way. Rank 1 has no Gaussians; those of rank 2 are behind.
  with_ranks(3, kImage, [](Context& ctx) {
    const int rank = ctx.world().rank();
    Tensors in = rank == 0 ? scene({{0, 0, 2}, {0, 0, -4}, {0.5, 0, 8}}) : rank == 1 ? scene({}) : scene({{0, 0, -2}}, 3);
    const Tensor other = Tensor::from_values({-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1}, {1, 4, 4}, DType::f32);
    in.set("viewmats", cat({in["viewmats"], other}));
    in.set("Ks", cat({in["Ks"], in["Ks"]}));
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, in);
    EXPECT_EQ(out["gaussian_ids"].integers(), (Integers{0, 2, 1, 3}));
    EXPECT_EQ(out["camera_ids"].integers(), (Integers{0, 0, 1, 1}));
    EXPECT_EQ(out["depths"].values(), (Row{2, 8, 4, 2}));
    EXPECT_EQ(out["received_counts"].integers(), (Integers{3, 0, 1}));
    EXPECT_EQ(out["received"].integers(), Integers{4});
  });
}

TEST(GaussianSplatting, EveryCameraSeesTheGaussiansOfAllFromOneToFourRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    with_ranks(ranks, kImage, [&](Context& ctx) {
      const int rank = ctx.world().rank();
      const Tensors out = ProblemLibrary(kProblem).reference(ctx, scene({{0, 0, 2. + rank}}, rank));
      Integers ids;
      Row depths;
      for (int r = 0; r < ranks; ++r) {
        ids.push_back(r);
        depths.push_back(2 + r);
      }
      EXPECT_EQ(out["gaussian_ids"].integers(), ids);
      EXPECT_EQ(out["depths"].values(), depths);
      EXPECT_EQ(out["received_counts"].integers(), Integers(ids.size(), 1));
    });
}

TEST(GaussianSplatting, NothingToSee) {
  with_ranks(2, kImage, [](Context& ctx) {
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, scene({{0, 0, -2}}));
    EXPECT_EQ(out["means2d"].shape(), (Shape{0, 2}));
    EXPECT_EQ(out["camera_ids"].shape(), Shape{0});
    EXPECT_EQ(out["received_counts"].integers(), (Integers{0, 0}));
  });
}

/// fp32 and fp64 decide alike about every pair, and a fair share is seen.
TEST(GaussianSplatting, InputsLeaveNoDoubt) {
  for (std::uint32_t trial = 0; trial < 3; ++trial)
    with_ranks(3, kImage, [&](Context& ctx) {
      const ProblemLibrary library(kProblem);
      constexpr std::int64_t kCount = 2000;
      const auto zeros = [](Shape shape) { return Tensor::zeros(std::move(shape), DType::f32); };
      Tensors in{{"means", zeros({kCount, 3})},   {"quats", Tensor::full({kCount, 4}, 0.5, DType::f32)}, {"scales", zeros({kCount, 3})},
                 {"opacities", zeros({kCount})},  {"colors", zeros({kCount, 3})},
                 {"viewmats", zeros({2, 4, 4})}, {"Ks", zeros({2, 3, 3})}};
      library.make_inputs(ctx, {.seed = 12, .trial = trial}, in);
      Tensors wide;
      for (const auto& [name, tensor] : in) wide.set(name, tensor.to(DType::f64));
      const Tensors got = library.reference(ctx, in), golden = library.reference(ctx, wide);
      for (const char* name : {"camera_ids", "gaussian_ids", "radii", "received_counts"})
        EXPECT_EQ(got[name].integers(), golden[name].integers()) << name;
      EXPECT_THAT(got["means2d"].values(), Pointwise(DoubleNear(0.02), golden["means2d"].values()));
      const Integers counts = got["received_counts"].integers();
      const bool blind = trial == 2 && ctx.world().rank() == 0;
      for (int r = 0; r < 3; ++r) {
        const bool unseen = trial == 1 && r == 2;
        if (blind || unseen)
          EXPECT_EQ(counts[static_cast<std::size_t>(r)], 0);
        else
          EXPECT_GT(counts[static_cast<std::size_t>(r)], 2 * kCount / 10);
      }
    });
}

}  // namespace
}  // namespace pkb::ref::testing
