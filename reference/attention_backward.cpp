// SPDX-License-Identifier: Apache-2.0
#include "reference/attention_backward.h"

#include <cmath>
#include <vector>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"

namespace pkb::ref {

namespace {

/// Of all queries at once.
AttentionGradient of_block(const AttentionContext& context, const Tensor& k, const Tensor& v,
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

}  // namespace

AttentionGradient attention_backward(const AttentionContext& context, const Tensor& k, const Tensor& v,
                                     const AttentionOptions& options) {
  AttentionGradient whole;
  std::vector<Tensor> dq;
  for (const QueryBlock& block : query_blocks(context.q, k, options)) {
    const AttentionGradient part = of_block(
        {block.of(context.q), block.of(context.dout), block.of(context.lse), block.of(context.delta)}, k, v,
        block.options);
    dq.push_back(part.dq);
    whole.dk = block.start == 0 ? part.dk : whole.dk + part.dk;
    whole.dv = block.start == 0 ? part.dv : whole.dv + part.dv;
  }
  whole.dq = dq.size() == 1 ? dq[0] : cat(dq, -2);
  return whole;
}

}  // namespace pkb::ref
