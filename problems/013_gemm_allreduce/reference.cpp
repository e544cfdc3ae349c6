// SPDX-License-Identifier: Apache-2.0
#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/problem.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  Tensor c = matmul(in["A_local"], in["B_local"]);
  ctx.world().all_reduce(c, Reduce::sum);
  return {{"C", c}};
}

// The sum over ranks rounds to the run dtype at most W times; the fp32 sum over K inside a product errs by at
// most K * 2^-24 of the sum of magnitudes.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensor &a = in["A_local"], &b = in["B_local"];
  Tensor products = abs(matmul(a, b));
  Tensor magnitudes = matmul(abs(a), abs(b)) * (0x1p-24 * static_cast<double>(a.size(1)));
  ctx.world().all_reduce(products, Reduce::sum);
  ctx.world().all_reduce(magnitudes, Reduce::sum);
  return {{"C", sum_bound(ctx, products) + magnitudes}};
}

}  // namespace pkb
