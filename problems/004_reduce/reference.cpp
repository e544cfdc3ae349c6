// SPDX-License-Identifier: Apache-2.0
#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/problem.h"

namespace pkb {

using namespace ref;

namespace {

/// The sum of every rank's `tensor` on `dst`; elsewhere the output has no rows.
Tensor sum_on_root(Context& ctx, Tensor tensor) {
  const int dst = ctx.param("dst");
  ctx.world().reduce(tensor, dst, Reduce::sum);
  return ctx.world().rank() == dst ? tensor : tensor.narrow(0, 0, 0);
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  return {{"out", sum_on_root(ctx, in["tensor"].clone())}};
}

Tensors error_bound(Context& ctx, const Tensors& in) {
  return {{"out", sum_bound(ctx, sum_on_root(ctx, abs(in["tensor"])))}};
}

}  // namespace pkb
