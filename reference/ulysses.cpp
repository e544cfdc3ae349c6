// SPDX-License-Identifier: Apache-2.0
#include "reference/ulysses.h"

namespace pkb::ref {
namespace {

/// Dimension 0 counts ranks.
Tensor exchanged(const Group& group, const Tensor& blocks) {
  const Tensor sent = blocks.contiguous();
  Tensor received = sent.empty_like();
  group.all_to_all_single(received, sent);
  return received;
}

}  // namespace

Tensor gather_seq_scatter_heads(const Group& group, const Tensor& x) {
  const std::int64_t ranks = group.size();
  require(x.dim() == 4 && x.size(2) % ranks == 0, "gather_seq_scatter_heads: {} over {} ranks", x.shape(),
          ranks);
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = x.size(2) / ranks, width = x.size(3);
  const Tensor received =
      exchanged(group, x.view({batch, tokens, ranks, heads, width}).permute({2, 0, 1, 3, 4}));
  return received.transpose(0, 1).reshape({batch, ranks * tokens, heads, width});  // from (W, B, S, H/W, D)
}

Tensor gather_heads_scatter_seq(const Group& group, const Tensor& x) {
  const std::int64_t ranks = group.size();
  require(x.dim() == 4 && x.size(1) % ranks == 0, "gather_heads_scatter_seq: {} over {} ranks", x.shape(),
          ranks);
  const std::int64_t batch = x.size(0), tokens = x.size(1) / ranks, heads = x.size(2), width = x.size(3);
  const Tensor received = exchanged(group, x.view({batch, ranks, tokens, heads, width}).transpose(0, 1));
  return received.permute({1, 2, 0, 3, 4})
      .reshape({batch, tokens, ranks * heads, width});  // from (W, B, S, H/W, D)
}

}  // namespace pkb::ref
