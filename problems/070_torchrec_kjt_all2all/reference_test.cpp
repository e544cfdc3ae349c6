// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "reference/ops.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "070_torchrec_kjt_all2all";

Tensor row(const Row& values, DType dtype = DType::i64) {
  return Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, dtype);
}

struct Owners {
  int features = 1, spread = 1, shift = 0;
  int keys(int rank) const { return features + (rank + shift) % spread; }
};
ContextOptions options(const Owners& owners, int stagger = 1, bool weighted = false, bool per_key = false) {
  return {.parameters = {{"features", owners.features},
                         {"spread", owners.spread},
                         {"shift", owners.shift},
                         {"stagger", stagger},
                         {"weighted", weighted ? 1 : 0},
                         {"per_key", per_key ? 1 : 0},
                         {"B", 50},
                         {"L", 4}}};
}

struct Batch {
  int samples;
  Row lengths, values;
};
struct Bags {
  Row lengths, values;
};

double total(const Row& row) { return std::accumulate(row.begin(), row.end(), 0.0); }

void expect_bags(const Owners& owners, const std::vector<Batch>& batches, const std::vector<Bags>& bags) {
  const auto ranks = static_cast<int>(batches.size());
  Row strides;
  for (const Batch& each : batches) strides.push_back(each.samples);
  expect_outputs(kProblem, ranks, options(owners), [&](int rank) -> Exchange {
    const Batch& mine = batches[std::size_t(rank)];
    const Bags& wanted = bags[std::size_t(rank)];
    Row lengths = mine.lengths, values = mine.values;
    lengths.push_back(99);  // room that does not count
    values.push_back(-1);
    return {{{"lengths", row(lengths)},
             {"values", row(values)},
             {"weights", row({}, DType::bf16)},
             {"batch_size", row({double(mine.samples)})},
             {"stride_per_key", row({})}},
            {{"lengths_out", row(wanted.lengths)},
             {"values_out", row(wanted.values)},
             {"weights_out", row({}, DType::bf16)},
             {"lengths_count", row({double(wanted.lengths.size())})},
             {"values_count", row({total(wanted.lengths)})},
             {"stride", row({total(strides)})},
             {"stride_per_rank", row(strides)},
             {"stride_per_key_per_rank", Tensor::zeros({0, ranks}, DType::i64)}}};
  });
}

TEST(JaggedAllToAll, FeaturesOutsideSourcesInside) {
  expect_bags(
      {.features = 1, .spread = 2},
      {{2, {1, 2, 0, 1, 2, 0}, {10, 11, 12, 13, 14, 15}}, {2, {0, 1, 2, 1, 1, 1}, {20, 21, 22, 23, 24, 25}}},
      {{{1, 2, 0, 1}, {10, 11, 12, 20}}, {{0, 1, 2, 1, 2, 0, 1, 1}, {13, 21, 22, 23, 14, 15, 24, 25}}});
}

TEST(JaggedAllToAll, BatchesOfDifferentSizes) {
  expect_bags({}, {{1, {1, 2}, {1, 2, 3}}, {2, {0, 3, 1, 0}, {4, 5, 6, 7}}},
              {{{1, 0, 3}, {1, 4, 5, 6}}, {{2, 1, 0}, {2, 3, 7}}});
  expect_bags({}, {{0, {}, {}}, {1, {1, 1}, {8, 9}}}, {{{1}, {8}}, {{1}, {9}}});
  expect_bags({}, {{0, {}, {}}, {0, {}, {}}, {0, {}, {}}}, {{{}, {}}, {{}, {}}, {{}, {}}});
}

TEST(JaggedAllToAll, ARankMayOwnNothing) {
  expect_bags({.features = 0, .spread = 3, .shift = 2},  // 2, 0
              {{1, {1, 2}, {1, 2, 3}}, {2, {1, 0, 1, 2}, {4, 5, 6, 7}}},
              {{{1, 1, 0, 2, 1, 2}, {1, 4, 2, 3, 5, 6, 7}}, {{}, {}}});
}

TEST(JaggedAllToAll, OneRankKeepsAll) {
  expect_bags({.features = 2}, {{2, {1, 0, 0, 1}, {3, 4}}}, {{{1, 0, 0, 1}, {3, 4}}});
}

/// A bag of source s, feature f, sample b has length (s + f + b) % 5 and ids that name it: the oracle writes
/// the output's nesting down.
void expect_nesting(int ranks, int stagger, bool per_key) {
  const Owners owners{.features = 0, .spread = 4, .shift = 2};
  const auto batch = [&](int s, int f) { return per_key ? (3 * s + 2 * f) % 7 : 3 + s; };
  int features = 0;
  for (int d = 0; d < ranks; ++d) features += owners.keys(d);
  std::vector<int> order;
  for (int x = 0; x < ranks / stagger; ++x)
    for (int y = 0; y < stagger; ++y) order.push_back(x + ranks / stagger * y);
  struct Nested {
    Row lengths, values;
    void add(int s, int f, int b) {
      lengths.push_back((s + f + b) % 5);
      for (int i = 0; i < (s + f + b) % 5; ++i) values.push_back(1000 * s + 100 * f + 10 * b + i);
    }
  };
  expect_outputs(kProblem, ranks, options(owners, stagger, true, per_key), [&](int rank) -> Exchange {
    Nested given, wanted;
    Row key_strides, rank_strides, table;
    for (int f = 0; f < features; ++f) {
      key_strides.push_back(batch(rank, f));
      for (int b = 0; b < batch(rank, f); ++b) given.add(rank, f, b);
    }
    int first = 0;
    for (int d = 0; d < rank; ++d) first += owners.keys(d);
    for (int f = first; f < first + owners.keys(rank); ++f)
      for (const int s : order) {
        table.push_back(batch(s, f));
        for (int b = 0; b < batch(s, f); ++b) wanted.add(s, f, b);
      }
    for (int s = 0; s < ranks; ++s) rank_strides.push_back(3 + s);
    const auto weights = [](Row values) {
      for (double& each : values) each = std::fmod(each, 251) / 4;  // exact in bf16
      return row(values, DType::bf16);
    };
    return {{{"lengths", row(given.lengths)},
             {"values", row(given.values)},
             {"weights", weights(given.values)},
             {"batch_size", per_key ? row({}) : row({3.0 + rank})},
             {"stride_per_key", per_key ? row(key_strides) : row({})}},
            {{"lengths_out", row(wanted.lengths)},
             {"values_out", row(wanted.values)},
             {"weights_out", weights(wanted.values)},
             {"lengths_count", row({double(wanted.lengths.size())})},
             {"values_count", row({double(wanted.values.size())})},
             {"stride", per_key ? row({}) : row({total(rank_strides)})},
             {"stride_per_rank", per_key ? row({}) : row(rank_strides)},
             {"stride_per_key_per_rank",
              Tensor::from_values(per_key ? table : Row(), {per_key ? owners.keys(rank) : 0, ranks},
                                  DType::i64)}}};
  });
}

TEST(JaggedAllToAll, WeightsAndStaggeredSources) {
  for (int ranks = 1; ranks <= 4; ++ranks) expect_nesting(ranks, 1, false);
  expect_nesting(2, 2, false);
  expect_nesting(4, 2, false);
  expect_nesting(4, 4, false);
}

TEST(JaggedAllToAll, BatchSizesPerFeature) {
  for (int ranks = 1; ranks <= 4; ++ranks) expect_nesting(ranks, 1, true);
  expect_nesting(4, 2, true);
}

TEST(JaggedAllToAll, InputsHaveEmptyAndFullBags) {
  with_ranks(3, options({.features = 2}), [](Context& ctx) {
    const int rank = ctx.world().rank();
    for (std::uint32_t trial = 0; trial < 3; ++trial) {
      Tensors in{{"lengths", Tensor::zeros({300}, DType::i64)},
                 {"values", Tensor::zeros({1200}, DType::i64)},
                 {"weights", row({}, DType::bf16)},
                 {"batch_size", row({0})},
                 {"stride_per_key", row({})}};
      ProblemLibrary(kProblem).make_inputs(ctx, {.seed = 3, .trial = trial}, in);
      EXPECT_EQ(amin(in["lengths"]).item(), 0);
      EXPECT_EQ(amax(in["lengths"]).item(), 4);
      const double mean_length = total(in["lengths"].values()) / 300;
      EXPECT_NEAR(mean_length,
                  rank == 0 || trial == 0 || (trial == 2 && rank == 1) ? 2
                  : trial == 1                                         ? 0.8
                                                                       : 0.13,
                  0.3);
      const std::vector<double> samples{50, trial == 1 ? 33. : trial == 2 ? 0 : 50, trial == 1 ? 16. : 50};
      EXPECT_EQ(in["batch_size"].item(), samples[std::size_t(rank)]);
    }
  });
}

}  // namespace
}  // namespace pkb::ref::testing
