// SPDX-License-Identifier: Apache-2.0
#include "reference/problem.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  const Tensor& x = in["x"];  // (B, S, H, D): this rank's tokens, all heads
  const std::int64_t ranks = ctx.world().size(), unpadded = ctx.param("unpadded_dim_size");
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = x.size(2), width = x.size(3);
  require(heads % ranks == 0, "ulysses_gather_seq_scatter_heads: {} heads over {} ranks", heads, ranks);
  require(unpadded <= ranks * tokens, "ulysses_gather_seq_scatter_heads: {} of {} tokens", unpadded, ranks * tokens);

  const Tensor sent = x.view({batch, tokens, ranks, heads / ranks, width}).permute({2, 0, 1, 3, 4}).contiguous();
  Tensor received = sent.empty_like();  // (W, B, S, H/W, D): a block from each rank
  ctx.world().all_to_all_single(received, sent);
  const Tensor out = received.permute({1, 0, 2, 3, 4}).reshape({batch, ranks * tokens, heads / ranks, width});
  return {{"out", unpadded % ranks == 0 ? out : out.narrow(1, 0, unpadded).contiguous()}};
}

}  // namespace pkb
