// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "reference/attention.h"
#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"

namespace pkb {

using namespace ref;

namespace {

/// Dimension 0 of `sent` counts ranks: block d goes to rank d, block s comes from rank s.
Tensor exchanged(Context& ctx, const Tensor& sent) {
  const Tensor dense = sent.contiguous();
  Tensor received = dense.empty_like();
  ctx.world().all_to_all_single(received, dense);
  return received;
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const Tensor& hidden = in["hidden_states"];  // (B, S, H)
  const std::int64_t ranks = ctx.world().size(), heads = ctx.param("num_heads"), own = heads / ranks;
  const std::int64_t batch = hidden.size(0), tokens = hidden.size(1), width = in["w_o"].size(1) / heads;
  const int causal = ctx.param("causal");
  require(heads % ranks == 0, "ulysses_attention_e2e: {} heads over {} ranks", heads, ranks);
  require(in["w_qkv"].size(0) == 3 * heads * width, "ulysses_attention_e2e: w_qkv {} beside w_o {} for {} heads",
          in["w_qkv"].shape(), in["w_o"].shape(), heads);

  // Own tokens and all heads become all tokens and own heads.
  const Tensor qkv = linear(hidden, in["w_qkv"]).view({batch, tokens, 3, ranks, own, width});
  const Tensor all = exchanged(ctx, qkv.permute({3, 0, 1, 2, 4, 5}))  // (W, B, S, 3, H/W, D)
                         .permute({3, 1, 4, 0, 2, 5})
                         .reshape({3, batch, own, ranks * tokens, width});
  const Tensor context =
      attention(as_float(all[0]), as_float(all[1]), as_float(all[2]), {.causal = causal == 1}).out.to(hidden.dtype());

  // And back.
  const Tensor back = exchanged(ctx, context.view({batch, own, ranks, tokens, width}).permute({2, 0, 3, 1, 4}));
  const Tensor joined = back.permute({1, 2, 0, 3, 4}).reshape({batch, tokens, heads * width});
  return {{"out", linear(joined, in["w_o"])}};
}

// Projections, weights and the context may be rounded to T, and every output adds up many such errors: taken as normal
// with a deviation below one rounding of an output of typical size, of which 8 are never reached.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensor out = reference(ctx, in)["out"];
  const Tensor typical = sqrt(mean(square(out), {.dimensions = {-1}, .keep = true}));
  return {{"out", (abs(out) + typical) * (8 * unit_roundoff(ctx.run_dtype()) + 1e-5) + subnormal_step(ctx.run_dtype())}};
}

// Weights that keep the size of what they multiply.
void make_inputs(Context&, const InputRequest& request, Tensors& in) {
  int number = 0;
  for (const char* name : {"w_qkv", "w_o"}) {
    Tensor weight = in[name];
    random_fill(weight, {.stddev = 1 / std::sqrt(static_cast<double>(weight.size(1)))}, request.key(number++));
  }
}

}  // namespace pkb
