// SPDX-License-Identifier: Apache-2.0
#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/problem.h"

namespace pkb {

using namespace ref;

namespace {

/// Row block `rank` of the sum of every rank's `tensor`.
Tensor summed_block(Context& ctx, const Tensor& tensor) {
  const int ranks = ctx.world().size();
  require(tensor.size(0) % ranks == 0, "reducescatter: {} rows do not split over {} ranks", tensor.size(0),
          ranks);
  Tensor out = Tensor::empty({tensor.size(0) / ranks, tensor.size(1)}, tensor.dtype(), tensor.place());
  ctx.world().reduce_scatter_tensor(out, tensor, Reduce::sum);
  return out;
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) { return {{"out", summed_block(ctx, in["tensor"])}}; }

Tensors error_bound(Context& ctx, const Tensors& in) {
  return {{"out", sum_bound(ctx, summed_block(ctx, abs(in["tensor"])))}};
}

}  // namespace pkb
