// SPDX-License-Identifier: Apache-2.0
#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/problem.h"

namespace pkb {

using namespace ref;

namespace {

/// The ranks' column blocks side by side: (M, K) here becomes (M, W K) everywhere.
Tensor gathered_columns(Context& ctx, const Tensor& a) {
  const int ranks = ctx.world().size();
  Tensor blocks = Tensor::empty({ranks, a.size(0), a.size(1)}, a.dtype(), a.place());
  ctx.world().all_gather_into_tensor(blocks, a);
  return blocks.transpose(0, 1).reshape({a.size(0), ranks * a.size(1)});
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  return {{"C", matmul(gathered_columns(ctx, in["A_local"]), in["B"])}};
}

Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensor a = gathered_columns(ctx, in["A_local"]);
  const Tensor &b = in["B"];
  return {{"C", product_bound(ctx, matmul(a, b), matmul(abs(a), abs(b)), a.size(1))}};
}

}  // namespace pkb
