// SPDX-License-Identifier: Apache-2.0
#include "reference/segments.h"

#include <gtest/gtest.h>

#include <vector>

namespace pkb::ref {
namespace {

using Integers = std::vector<std::int64_t>;

Tensor of(const std::vector<double>& values) {
  return Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, DType::i64);
}

TEST(Segments, IndicesFollowTheirStarts) {
  EXPECT_EQ(segment_indices(of({7, 0, 3, 2}), of({2, 0, 3, 1})).integers(), (Integers{7, 8, 3, 4, 5, 2}));
  EXPECT_EQ(segment_indices(of({}), of({})).integers(), Integers());
  EXPECT_EQ(segment_indices(of({5, 5}), of({0, 0})).integers(), Integers());
  EXPECT_THROW(segment_indices(of({1, 2}), of({1})), ShapeError);
}

TEST(Segments, SumsOfEmptyOnesAreZero) {
  EXPECT_EQ(segment_sum(of({1, 2, 3, 4}), of({0, 3, 0, 1, 0})).integers(), (Integers{0, 6, 0, 4, 0}));
  EXPECT_EQ(segment_sum(of({}), of({0})).integers(), Integers{0});
  EXPECT_THROW(segment_sum(Tensor::zeros({2, 2}, DType::i64), of({4})), ShapeError);
}

TEST(Segments, MoveAsWholes) {
  const Tensor values = Tensor::from_values({0.5, 1.5, 2.5, 3.5, 4.5, 5.5}, {6}, DType::bf16);
  EXPECT_EQ(permute_segments(values, of({2, 0, 3, 1}), of({3, 1, 0, 2})).values(),
            (std::vector<double>{5.5, 0.5, 1.5, 2.5, 3.5, 4.5}));
  EXPECT_EQ(permute_segments(values, of({2, 0, 3, 1}), of({3, 1, 0, 2}), 6).values(),
            permute_segments(values, of({2, 0, 3, 1}), of({3, 1, 0, 2})).values());
  EXPECT_EQ(permute_segments(values, of({2, 0, 3, 1}), of({2, 2})).values(),
            (std::vector<double>{2.5, 3.5, 4.5, 2.5, 3.5, 4.5}));
}

}  // namespace
}  // namespace pkb::ref
