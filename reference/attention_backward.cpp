// SPDX-License-Identifier: Apache-2.0
#include "reference/attention_backward.h"

#include <cmath>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"

namespace pkb::ref {

AttentionGradient attention_backward(const AttentionContext& context, const Tensor& k, const Tensor& v,
                                     const AttentionOptions& options) {
  const Tensor &q = context.q, &dout = context.dout;
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  Tensor p = exp(matmul(q, k.transpose(-2, -1)) * scale - context.lse);
  if (options.causal) {
    const Tensor visible = tril_mask(q.size(-2), k.size(-2), options.diagonal, q.place());
    p = masked_fill(p, logical_not(visible), 0);
  }
  const Tensor ds = p * (matmul(dout, v.transpose(-2, -1)) - context.delta);
  return {matmul(ds, k) * scale, matmul(ds.transpose(-2, -1), q) * scale, matmul(p.transpose(-2, -1), dout)};
}

}  // namespace pkb::ref
