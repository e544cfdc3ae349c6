// SPDX-License-Identifier: Apache-2.0
#include "reference/attention.h"

#include <cmath>
#include <limits>

#include "reference/indexing.h"
#include "reference/normalize.h"
#include "reference/ops.h"
#include "reference/pointwise.h"

namespace pkb::ref {

Attention attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  Tensor scores = matmul(q, k.transpose(-2, -1)) * scale;
  if (options.causal) {
    const Tensor visible = tril_mask(q.size(-2), k.size(-2), options.diagonal, q.place());
    scores = masked_fill(scores, logical_not(visible), -std::numeric_limits<double>::infinity());
  }
  return {matmul(softmax(scores), v), logsumexp(scores).unsqueeze(-1)};
}

Attention merged(const Attention& a, const Attention& b) {
  return {a.out - sigmoid(b.lse - a.lse) * (a.out - b.out), a.lse - logsigmoid(a.lse - b.lse)};
}

}  // namespace pkb::ref
