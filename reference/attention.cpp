// SPDX-License-Identifier: Apache-2.0
#include "reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/indexing.h"
#include "reference/normalize.h"
#include "reference/ops.h"
#include "reference/pointwise.h"

namespace pkb::ref {

namespace {

/// Of all queries at once.
Attention of_block(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  Tensor scores = matmul(q, k.transpose(-2, -1)) * scale;
  if (options.causal) {
    const Tensor visible = tril_mask(q.size(-2), k.size(-2), options.diagonal, q.place());
    scores = masked_fill(scores, logical_not(visible), -std::numeric_limits<double>::infinity());
  }
  return {matmul(softmax(scores), v), logsumexp(scores).unsqueeze(-1)};
}

}  // namespace

std::vector<QueryBlock> query_blocks(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  const std::int64_t queries = q.size(-2),
                     of_one = q.numel() / std::max<std::int64_t>(1, queries * q.size(-1)) * k.size(-2);
  const std::int64_t most =
      std::max<std::int64_t>(1, options.scores_at_once / std::max<std::int64_t>(1, of_one));
  if (queries <= most) return {{.length = queries, .options = options}};
  std::vector<QueryBlock> blocks;
  for (std::int64_t start = 0; start < queries; start += most) {
    blocks.push_back({.start = start, .length = std::min(most, queries - start), .options = options});
    blocks.back().options.diagonal += start;
  }
  return blocks;
}

Attention attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const std::vector<QueryBlock> blocks = query_blocks(q, k, options);
  if (blocks.size() == 1) return of_block(q, k, v, options);
  std::vector<Tensor> out, lse;
  for (const QueryBlock& block : blocks) {
    const Attention part = of_block(block.of(q), k, v, block.options);
    out.push_back(part.out);
    lse.push_back(part.lse);
  }
  return {cat(out, -2), cat(lse, -2)};
}

Attention merged(const Attention& a, const Attention& b) {
  return {a.out - sigmoid(b.lse - a.lse) * (a.out - b.out), a.lse - logsigmoid(a.lse - b.lse)};
}

}  // namespace pkb::ref
