// SPDX-License-Identifier: Apache-2.0
#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/problem.h"

namespace pkb {

using namespace ref;

namespace {

/// Row block `rank` of the sum of every rank's matrix.
Tensor summed_rows(Context& ctx, const Tensor& partial) {
  const int ranks = ctx.world().size();
  require(partial.size(0) % ranks == 0, "gemm_reducescatter: {} rows do not split over {} ranks", partial.size(0),
          ranks);
  Tensor out = Tensor::empty({partial.size(0) / ranks, partial.size(1)}, partial.dtype(), partial.place());
  ctx.world().reduce_scatter_tensor(out, partial, Reduce::sum);
  return out;
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  return {{"C_local", summed_rows(ctx, matmul(in["A_local"], in["B_local"]))}};
}

// As for 013: W roundings of the sum over ranks, and K fp32 additions inside a product.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensor &a = in["A_local"], &b = in["B_local"];
  const Tensor products = summed_rows(ctx, abs(matmul(a, b)));
  const Tensor magnitudes = summed_rows(ctx, matmul(abs(a), abs(b)));
  return {{"C_local", sum_bound(ctx, products) + magnitudes * (0x1p-24 * static_cast<double>(a.size(1)))}};
}

}  // namespace pkb
