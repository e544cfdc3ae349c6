// SPDX-License-Identifier: Apache-2.0
// Labelled long: every kind of loop reaches elements beyond the 2^31st. 5 GiB of memory.
#include <gtest/gtest.h>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/philox.h"
#include "reference/pointwise.h"
#include "reference/random.h"
#include "reference/tensor.h"

namespace pkb::ref {
namespace {

constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 6, kFar = kCount - 2;

/// Zeros, but 7 at kFar.
Tensor marked() {
  Tensor t = Tensor::zeros({kCount}, DType::u8);
  t.narrow(0, kFar, 1).fill_(7);
  return t;
}
double at(const Tensor& t, std::int64_t index) { return t.narrow(0, index, 1).item(); }

TEST(Offsets, OfElementwiseOperators) {
  const Tensor sum = marked() + 1;
  EXPECT_EQ(at(sum, kFar), 8);
  EXPECT_EQ(at(sum, kFar - (std::int64_t{1} << 31)), 1);
  EXPECT_EQ(at(sum, kCount - 1), 1);
}

TEST(Offsets, OfMasksThatBroadcast) {
  const Tensor mask = eq(marked().view({kCount / 2, 2}), Tensor::from_values({7, 7}, {1, 2}, DType::u8));
  EXPECT_EQ(at(mask.view({kCount}), kFar), 1);
  EXPECT_EQ(at(mask.view({kCount}), kFar - (std::int64_t{1} << 31)), 0);
}

TEST(Offsets, OfReductions) {
  const Tensor t = marked();
  EXPECT_EQ(amax(t).item(), 7);
  EXPECT_EQ(amax(t.narrow(0, 0, kFar)).item(), 0);
  EXPECT_EQ(at(amax(t.view({2, kCount / 2}), {.dimensions = {0}}), kCount / 2 - 2), 7);
}

TEST(Offsets, OfCopiesInAnotherOrder) {
  const Tensor turned = marked().view({2, kCount / 2}).t().contiguous().view({kCount});
  EXPECT_EQ(at(turned, kCount - 3), 7) << "row n / 2 - 2, column 1";
  EXPECT_EQ(at(turned, kFar), 0);
}

TEST(Offsets, OfChosenElements) {
  const Tensor index = Tensor::from_values({0, static_cast<double>(kFar), 6}, {3}, DType::i64);
  EXPECT_EQ(index_select(marked(), 0, index).integers(), (std::vector<std::int64_t>{0, 7, 0}));
}

TEST(Offsets, OfRandomNumbers) {
  Tensor t = Tensor::empty({kCount}, DType::u8);
  random_fill(t, {.kind = Distribution::Kind::bits}, {.seed = 42});
  // Sixteen bytes of a block: the words in order, each from its lowest byte.
  const std::int64_t block = kFar / 16, within = kFar % 16;
  const std::uint32_t word =
      philox4x32({{static_cast<std::uint32_t>(block), 0, 0, 0}}, 42, 0).word[within / 4];
  EXPECT_EQ(at(t, kFar), word >> (8 * (within % 4)) & 0xff);
}

}  // namespace
}  // namespace pkb::ref
