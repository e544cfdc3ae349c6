// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "reference/attention.h"
#include "reference/error_model.h"
#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"

namespace pkb {

using namespace ref;

namespace {

/// (B, S, H, D) to (B, H, S, D), in which attention computes.
Tensor heads_first(const Tensor& t) { return as_float(t).transpose(1, 2); }

double scale_of(Context& ctx, const Tensor& q) {
  const double scale = ctx.param("softmax_scale");
  return scale > 0 ? scale : 1 / std::sqrt(static_cast<double>(q.size(-1)));
}

/// Attention of this rank's queries to all keys they may see, (B, H, S, D). Keys and values of rank j come to rank r
/// in step (r - j) mod W.
Tensor ring_attention(Context& ctx, const Tensor& q, Tensor k, Tensor v) {
  const Group& world = ctx.world();
  const int rank = world.rank(), ranks = world.size(), after = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  const int causal = ctx.param("causal");
  Attention seen;
  for (int step = 0; step < ranks; ++step) {
    const bool last = step + 1 == ranks;
    const Tensor next_k = last ? k : k.empty_like(), next_v = last ? v : v.empty_like();
    if (!last)
      world.batch_isend_irecv({isend(k, after), irecv(next_k, before), isend(v, after), irecv(next_v, before)});
    if (!causal || step <= rank) {  // beyond, the block lies in the future
      const Attention block = attention(heads_first(q), heads_first(k), heads_first(v),
                                        {.scale = scale_of(ctx, q), .causal = causal && step == 0});
      seen = step == 0 ? block : merged(seen, block);
    }
    k = next_k;
    v = next_v;
  }
  return seen.out;
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const Tensor out = ring_attention(ctx, in["q"], in["k"], in["v"]);
  return {{"out", out.transpose(1, 2).to(in["q"].dtype()).contiguous()}};
}

// The output is an average of values: it may be rounded, its weights too (as 16-bit operands of a second product),
// and scores in fp32 err by D + 8 roundings of at most their largest magnitude, which moves a weight by as much.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const auto longest = [](const Tensor& t) { return sqrt(amax(sum(square(t), {.dimensions = {-1}}))).view({1}); };
  Tensor query = longest(in["q"]), key = longest(in["k"]);
  ctx.world().all_reduce(key, Reduce::max);
  const double u = unit_roundoff(ctx.run_dtype()), width = static_cast<double>(in["q"].size(-1));
  const double score = query.item() * key.item() * scale_of(ctx, in["q"]);
  const Tensor out = ring_attention(ctx, in["q"], in["k"], in["v"]);
  const Tensor magnitudes = ring_attention(ctx, in["q"], in["k"], abs(in["v"]));
  const Tensor bound = abs(out) * u + magnitudes * (2 * u + 2 * (width + 8) * 0x1p-24 * (score + 1)) +
                       subnormal_step(ctx.run_dtype());
  return {{"out", bound.transpose(1, 2).contiguous()}};
}

// Every query is noise plus twice a key that it may see; the ranks that hold these keys take turns, so that each
// block of keys decides about some outputs.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const Group& world = ctx.world();
  Tensor q = in["q"];
  const Tensor& k = in["k"];
  const std::int64_t batch = q.size(0), tokens = q.size(1), heads = q.size(2), width = q.size(3), rank = world.rank();
  const int causal = ctx.param("causal");
  Tensor keys = Tensor::empty({world.size() * batch * tokens * heads, width}, k.dtype(), k.place());
  world.all_gather_into_tensor(keys, k);
  std::vector<double> chosen;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t t = 0; t < tokens; ++t)
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t block = (t + b + h + request.trial) % (causal ? rank + 1 : world.size());
        const std::int64_t token = (7 * t + 3 * h + b) % (causal && block == rank ? t + 1 : tokens);
        chosen.push_back(static_cast<double>(((block * batch + b) * tokens + token) * heads + h));
      }
  const Tensor index = Tensor::from_values(chosen, {q.numel() / width}, DType::i64, q.place());
  random_fill(q, {.stddev = 0.5}, request.key(0, rank));
  q.copy_(q + index_select(keys, 0, index).view(q.shape()) * 2);
}

}  // namespace pkb
