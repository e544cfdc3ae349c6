// SPDX-License-Identifier: Apache-2.0
#include "reference/problem.h"
#include "reference/ulysses.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  const std::int64_t ranks = ctx.world().size(), unpadded = ctx.param("unpadded_dim_size");
  const Tensor out = gather_seq_scatter_heads(ctx.world(), in["x"]);
  require(unpadded <= out.size(1), "ulysses_gather_seq_scatter_heads: {} of {} tokens", unpadded, out.size(1));
  return {{"out", unpadded % ranks == 0 ? out : out.narrow(1, 0, unpadded).contiguous()}};
}

}  // namespace pkb
