// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const std::int64_t block = ctx.param("block_size");
  // fp32 whatever the run: codes and scales are a format, not an approximation.
  const Tensor x = in["local_tensor"].to(DType::f32);
  const std::int64_t rows = x.size(0), columns = x.size(1);
  require(columns % block == 0, "blocked_fp8_quantize: {} columns are no blocks of {}", columns, block);

  const Tensor blocks = x.view({rows, columns / block, block});
  const Tensor scale = amax(abs(blocks), {.dimensions = {-1}, .keep = true}) / 448;
  const Tensor divisor = masked_fill(scale, eq(scale, 0), 1);
  const Tensor codes = (blocks / divisor).to(DType::e4m3);

  const auto gathered = [&](const Tensor& mine, std::int64_t width) {
    Tensor all = Tensor::empty({world.size() * rows, width}, mine.dtype(), mine.place());
    world.all_gather_into_tensor(all, mine);
    return all;
  };
  return {{"y_global", gathered(codes, columns)}, {"s_global", gathered(scale, columns / block)}};
}

// Blocks of very different size, some of zeroes. Every second trial has integers whose largest is 448: their codes
// are often ties.
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
