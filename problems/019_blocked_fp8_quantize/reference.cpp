// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"

namespace pkb {

using namespace ref;

namespace {

struct Blocks {
  Tensor values;          ///< (rows, blocks of a row, elements)
  Tensor scale, divisor;  ///< (rows, blocks of a row, 1)
};

/// Of the local rows, in the dtype of `x`.
Blocks blocks_of(Context& ctx, const Tensor& x) {
  const std::int64_t block = ctx.param("block_size"), rows = x.size(0), columns = x.size(1);
  require(columns % block == 0, "blocked_fp8_quantize: {} columns are no blocks of {}", columns, block);
  const Tensor values = x.view({rows, columns / block, block});
  const Tensor scale = amax(abs(values), {.dimensions = {-1}, .keep = true}) / 448;
  return {.values = values, .scale = scale, .divisor = masked_fill(scale, eq(scale, 0), 1)};
}

/// (M, ..., 1 or more) of every rank to (W M, all columns).
Tensor gathered(const Group& world, const Tensor& mine) {
  const std::int64_t rows = mine.size(0);
  Tensor all = Tensor::empty({world.size() * rows, mine.size(1) * mine.size(2)}, mine.dtype(), mine.place());
  world.all_gather_into_tensor(all, mine);
  return all;
}

/// Codes as their bits, so that -0 is not 0. A view.
Tensor bits_of(const Tensor& codes) {
  return Tensor::from_blob(codes.data(), codes.shape(), DType::u8, codes.place());
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  // fp32 whatever the run: codes and scales are a format, not an approximation.
  const Blocks blocks = blocks_of(ctx, in["local_tensor"].to(DType::f32));
  const Tensor codes = (blocks.values / blocks.divisor).to(DType::e4m3);
  return {{"y_global", gathered(ctx.world(), codes)}, {"s_global", gathered(ctx.world(), blocks.scale)}};
}

// Another order of operations, such as x * (1/s), may end on the other side of a midpoint between two codes:
// where the exact quotient lies within 2e-6 of one, either neighbour is right. That happens to some in 10000
// codes; rounding that is wrong happens to many more, as every second trial is full of midpoints.
Tensors check_outputs(Context& ctx, const Judged& judged) {
  constexpr double kNearMidpoint = 2e-6, kShare = 1e-3, kFew = 8;
  const Blocks exact = blocks_of(ctx, judged.in["local_tensor"].to(DType::f64));
  const Tensor quotient = exact.values / exact.divisor;
  const auto is_rounded = [&](double factor) {
    const Tensor codes = gathered(ctx.world(), (quotient * factor).to(DType::e4m3));
    return eq(bits_of(judged.got["y_global"]), bits_of(codes));
  };
  const Tensor same = eq(bits_of(judged.got["y_global"]), bits_of(judged.baseline["y_global"]));
  const Tensor near = logical_or(is_rounded(1 - kNearMidpoint), is_rounded(1 + kNearMidpoint));
  const double neighbours = sum(logical_and(near, logical_not(same))).item();
  const double allowed = kShare * static_cast<double>(same.numel()) + kFew;  // a few are no statistic
  const Tensor wrong =
      Tensor::full(same.shape(), std::numeric_limits<double>::infinity(), DType::f64, same.place());
  return {{"y_global", masked_fill(masked_fill(wrong, near, neighbours / allowed), same, 0)}};
}

// Blocks of very different size, some of zeroes. Every second trial has integers whose largest is 448: their
// codes are often ties.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  Tensor local = in["local_tensor"];
  const std::int64_t block = ctx.param("block_size"), blocks = local.numel() / block;
  const RandomKey key = request.key(0, ctx.world().rank());
  Tensor view = local.view({blocks, block});
  if (request.trial % 2 == 0) {
    random_fill(local, {}, key);
  } else {
    random_fill(local, {.kind = Distribution::Kind::integers, .low = -447, .high = 447}, key);
    view.narrow(1, 0, 1).fill_(448);
  }
  std::vector<double> sizes;
  for (std::int64_t b = 0; b < blocks; ++b)
    sizes.push_back(b % 11 == 5 ? 0 : std::ldexp(1, static_cast<int>((5 * b + ctx.world().rank()) % 9) - 6));
  view.copy_(view * Tensor::from_values(sizes, {blocks, 1}, local.dtype(), local.place()));
}

}  // namespace pkb
