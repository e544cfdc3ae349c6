// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "reference/attention_backward.h"
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

/// What goes around the ring: to the rank after this one, from the one before.
std::vector<Tensor> passed_on(const Group& ring, const std::vector<Tensor>& tensors) {
  std::vector<Tensor> received;
  std::vector<P2POp> messages;
  for (const Tensor& each : tensors) {
    received.push_back(each.empty_like());
    messages.push_back(isend(each, (ring.rank() + 1) % ring.size()));
    messages.push_back(irecv(received.back(), (ring.rank() + ring.size() - 1) % ring.size()));
  }
  ring.batch_isend_irecv(messages);
  return received;
}

/// The gradients of this rank's queries, keys and values, (B, H, S, D). In step n rank c has the keys of rank c - n. Their
/// gradients travel with them and come home one hop after the last step; the owner's own share has stayed there.
AttentionGradient ring_attention_backward(Context& ctx, const Tensors& in) {
  const Group& ring = ctx.group("cp");
  const int causal = ctx.param("causal");
  const Tensor dout = heads_first(in["dout"]), out = heads_first(in["out"]);
  const AttentionContext context{.q = heads_first(in["q"]),
                                 .dout = dout,
                                 .lse = as_float(in["softmax_lse"]).unsqueeze(-1),
                                 .delta = sum(dout * out, {.dimensions = {-1}, .keep = true})};
  const double scale = scale_of(ctx, in["q"]);
  std::vector<Tensor> kv{in["k"], in["v"]};
  const auto gradient_of_block = [&](bool diagonal) {
    return attention_backward(context, heads_first(kv[0]), heads_first(kv[1]), {.scale = scale, .causal = diagonal});
  };
  AttentionGradient own = gradient_of_block(causal == 1);
  if (ring.size() == 1) return own;

  std::vector<Tensor> away;  // dk and dv of the block at hand, without its owner's share
  for (const Tensor& each : {own.dk, own.dv}) away.push_back(Tensor::zeros(each.shape(), each.dtype(), each.place()));
  for (int step = 1; step < ring.size(); ++step) {
    kv = passed_on(ring, kv);
    if (step > 1) away = passed_on(ring, away);
    if (causal && step > ring.rank()) continue;  // the block lies in the future
    const AttentionGradient block = gradient_of_block(false);
    own.dq = own.dq + block.dq;
    away = {away[0] + block.dk, away[1] + block.dv};
  }
  away = passed_on(ring, away);
  return {own.dq, own.dk + away[0], own.dv + away[1]};
}

/// (B, S, H, D) in the run dtype, averaged over the replicas.
Tensor averaged(Context& ctx, const Tensor& gradient, DType dtype) {
  Tensor mean = gradient.transpose(1, 2).to(dtype).contiguous();
  const Group& replicas = ctx.group("dp");
  if (replicas.size() == 1) return mean;
  replicas.all_reduce(mean, Reduce::sum);
  return mean / replicas.size();
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const AttentionGradient own = ring_attention_backward(ctx, in);
  const DType dtype = in["q"].dtype();
  return {{"dq", averaged(ctx, own.dq, dtype)}, {"dk", averaged(ctx, own.dk, dtype)}, {"dv", averaged(ctx, own.dv, dtype)}};
}

// The result may be rounded, probabilities and scores' gradients too (as 16-bit operands of products), and the mean over
// replicas: 4 roundings of an element and of its row's root mean square. Where a row cancels to nothing, fp32 errors of the
// size of the whole tensor remain.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const double u = unit_roundoff(ctx.run_dtype());
  Tensors bound;
  for (const auto& [name, exact] : reference(ctx, in)) {
    const Tensor typical = sqrt(mean(square(exact), {.dimensions = {-1}, .keep = true}));
    const Tensor everywhere = sqrt(mean(square(exact))) * (u / 4 + 1e-5);
    bound.set(name, (abs(exact) + typical) * (4 * u + 1e-5) + everywhere + subnormal_step(ctx.run_dtype()));
  }
  return bound;
}

// Every query is noise plus as much of a key that it may see as gives that key about half of its attention; the ranks that
// hold these keys take turns, so that each block of keys decides about some outputs. The forward pass is done on the host
// wherever the tensors are, so that it has the same bits.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const Group& ring = ctx.group("cp");
  Tensor q = in["q"], dout = in["dout"], out = in["out"], lse = in["softmax_lse"];
  const std::int64_t batch = q.size(0), tokens = q.size(1), heads = q.size(2), width = q.size(3), rank = ring.rank();
  const int causal = ctx.param("causal");
  const double scale = scale_of(ctx, q);
  const auto key = [&](int number) { return request.key(number, ctx.world().rank()); };
  random_fill(dout, {.stddev = 1 + 0.5 * ctx.world().rank()}, key(0));
  random_fill(q, {}, key(1));
  const auto whole = [&](const char* name) {
    Tensor all = Tensor::empty({ring.size(), batch, tokens, heads, width}, q.dtype(), q.place());
    ring.all_gather_into_tensor(all, in[name]);
    return all;
  };
  const Tensor keys = whole("k"), values = whole("v");
  std::vector<double> chosen;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t t = 0; t < tokens; ++t)
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t block = (t + b + h + request.trial) % (causal ? rank + 1 : ring.size());
        const std::int64_t token = (7 * t + 3 * h + b) % (causal && block == rank ? t + 1 : tokens);
        chosen.push_back(static_cast<double>(((block * batch + b) * tokens + token) * heads + h));
      }
  const Tensor index = Tensor::from_values(chosen, {q.numel() / width}, DType::i64, q.place());
  const double share = std::log(static_cast<double>(ring.size() * tokens)) / (scale * static_cast<double>(width));
  q.copy_(q + index_select(keys.view({-1, width}), 0, index).view(q.shape()) * share);

  const auto on_host = [](const Tensor& t) { return t.to(Place::host).to(DType::f64); };
  const auto sequence = [&](const Tensor& all) {
    return on_host(all).permute({1, 3, 0, 2, 4}).reshape({batch, heads, ring.size() * tokens, width});
  };
  const Tensor queries = on_host(q).transpose(1, 2), all_keys = sequence(keys), all_values = sequence(values);
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto head = [&](const Tensor& t) { return t.narrow(1, h, 1).contiguous(); };
    const Attention exact = attention(head(queries), head(all_keys), head(all_values),
                                      {.scale = scale, .causal = causal == 1, .diagonal = rank * tokens});
    out.narrow(2, h, 1).copy_(exact.out.transpose(1, 2));
    lse.narrow(1, h, 1).copy_(exact.lse.squeeze(-1));
  }
}

}  // namespace pkb
