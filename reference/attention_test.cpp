// SPDX-License-Identifier: Apache-2.0
#include "reference/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/attention_backward.h"
#include "reference/ops.h"
#include "reference/random.h"

namespace pkb::ref {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

auto near(const std::vector<double>& values) { return Pointwise(DoubleNear(1e-12), values); }
Tensor column(std::initializer_list<double> values) {
  return Tensor::from_values(values, {static_cast<std::int64_t>(values.size()), 1}, DType::f64);
}

TEST(Attention, WeighsValuesByTheExponentialsOfTheScores) {
  const Tensor q = column({1, 1}), k = column({0, 1}), v = column({1, 4});
  const double log2 = std::log(2.0);
  const Attention all = attention(q, k, v, {.scale = log2});  // weights 1 and 2
  EXPECT_THAT(all.out.values(), near({3, 3}));
  EXPECT_THAT(all.lse.values(), near({std::log(3.0), std::log(3.0)}));
  const Attention causal = attention(q, k, v, {.scale = log2, .causal = true});
  EXPECT_THAT(causal.out.values(), near({1, 3}));
}

TEST(Attention, OfBlocksMergesIntoThatOfAll) {
  Tensor q = Tensor::empty({2, 3, 5, 4}, DType::f64), k = Tensor::empty({2, 3, 9, 4}, DType::f64),
         v = k.empty_like();
  random_fill(q, {}, {.tensor = 0});
  random_fill(k, {.stddev = 30}, {.tensor = 1});
  random_fill(v, {}, {.tensor = 2});
  const auto part = [&](std::int64_t begin, std::int64_t length) {
    return attention(q, k.narrow(2, begin, length), v.narrow(2, begin, length));
  };
  const Attention whole = attention(q, k, v), parts = merged(part(4, 5), part(0, 4));
  EXPECT_THAT(parts.out.values(), near(whole.out.values()));
  EXPECT_THAT(parts.lse.values(), Pointwise(DoubleNear(1e-10), whole.lse.values()));
}

TEST(Attention, OfBlocksOfQueriesIsThatOfAll) {
  Tensor q = Tensor::empty({2, 3, 7, 4}, DType::f64), k = Tensor::empty({2, 3, 9, 4}, DType::f64),
         v = Tensor::empty({2, 3, 9, 5}, DType::f64), dout = Tensor::empty({2, 3, 7, 5}, DType::f64);
  int number = 0;
  for (Tensor* each : {&q, &k, &v, &dout})
    random_fill(*each, {}, {.tensor = static_cast<std::uint16_t>(number++)});
  for (const bool causal : {false, true}) {
    const AttentionOptions at_once{.causal = causal, .diagonal = 2};
    const Attention whole = attention(q, k, v, at_once);
    const AttentionContext context{q, dout, whole.lse,
                                   sum(dout * whole.out, {.dimensions = {-1}, .keep = true})};
    const AttentionGradient gradient = attention_backward(context, k, v, at_once);
    for (const std::int64_t queries : {0, 1, 3, 7}) {  // for 0 there is no room, yet one at a time goes
      AttentionOptions options = at_once;
      options.scores_at_once = queries * 2 * 3 * 9;
      EXPECT_EQ(query_blocks(q, k, options).size(), queries == 7 ? 1u : queries == 3 ? 3u : 7u);
      const Attention parts = attention(q, k, v, options);
      EXPECT_THAT(parts.out.values(), near(whole.out.values()));
      EXPECT_THAT(parts.lse.values(), near(whole.lse.values()));
      const AttentionGradient sums = attention_backward(context, k, v, options);
      EXPECT_THAT(sums.dq.values(), near(gradient.dq.values()));
      EXPECT_THAT(sums.dk.values(), near(gradient.dk.values()));
      EXPECT_THAT(sums.dv.values(), near(gradient.dv.values()));
    }
  }
}

}  // namespace
}  // namespace pkb::ref
