// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "reference/convolution.h"
#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/problem.h"

namespace pkb {

using namespace ref;

namespace {

/// The band between `padding` rows of each neighbour; zeros above the first band and below the last.
Tensor with_halo(Context& ctx, const Tensor& x) {
  const Group& world = ctx.world();
  const int rank = world.rank(), ranks = world.size();
  const std::int64_t padding = ctx.param("padding"), rows = x.size(2);
  const Tensor top = x.narrow(2, 0, padding).contiguous(),
               bottom = x.narrow(2, rows - padding, padding).contiguous();
  const Tensor above = Tensor::zeros(top.shape(), x.dtype(), x.place()), below = above.clone();
  std::vector<P2POp> messages;
  if (rank > 0) messages.insert(messages.end(), {isend(top, rank - 1), irecv(above, rank - 1)});
  if (rank + 1 < ranks) messages.insert(messages.end(), {isend(bottom, rank + 1), irecv(below, rank + 1)});
  world.batch_isend_irecv(messages);
  return cat({above, x, below}, 2);
}

Tensor convolved(Context& ctx, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const std::int64_t padding = ctx.param("padding"), stride = ctx.param("stride");
  require(weight.size(2) == 2 * padding + 1, "conv2d_boundary_exchange: a kernel of {} for a padding of {}",
          weight.shape(), padding);
  require(x.size(2) >= padding, "conv2d_boundary_exchange: {} has no {} rows for its neighbours", x.shape(), padding);
  const bool alone = ctx.world().size() == 1;  // all rows around are zeros, as the columns are
  return convolution(alone ? x : with_halo(ctx, x), weight, bias,
                     {.stride = {stride, stride}, .padding = {alone ? padding : 0, padding}});
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  return {{"out", convolved(ctx, in["x"], in["weight"], in["bias"])}};
}

// One rounding, or a second one where the bias is added to a rounded product.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensor &weight = in["weight"], &bias = in["bias"];
  const Tensor exact = convolved(ctx, in["x"], weight, bias), product = convolved(ctx, in["x"], weight, {});
  const Tensor magnitudes = convolved(ctx, abs(in["x"]), abs(weight), abs(bias));
  return {{"out", product_bound(ctx, exact, magnitudes, weight.numel() / weight.size(0) + 1) +
                      abs(product) * unit_roundoff(ctx.run_dtype())}};
}

}  // namespace pkb
