// SPDX-License-Identifier: Apache-2.0
#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/problem.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  Tensor out = in["tensor"].clone();
  ctx.world().all_reduce(out, Reduce::sum);
  return {{"out", out}};
}

Tensors error_bound(Context& ctx, const Tensors& in) {
  Tensor magnitude = abs(in["tensor"]);
  ctx.world().all_reduce(magnitude, Reduce::sum);
  return {{"out", sum_bound(ctx, magnitude)}};
}

}  // namespace pkb
