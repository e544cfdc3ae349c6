// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "reference/error_model.h"
#include "reference/fft.h"
#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"
#include "reference/sorting.h"

namespace pkb {

using namespace ref;

namespace {

Tensor exchanged(const Group& world, const Tensor& blocks) {
  const Tensor sent = blocks.contiguous();
  Tensor received = sent.empty_like();
  world.all_to_all_single(received, sent);
  return received;
}

/// The chunks of the sequence in the order in which ranks hold them: 0, 2W - 1, 1, 2W - 2, ... or 0, 1, ...
Tensor chunks_by_rank(Context& ctx, Place place) {
  const std::int64_t ranks = ctx.world().size();
  const int zigzag = ctx.param("zigzag");
  const Tensor first = arange(ranks, DType::i64, place), last = -first + static_cast<double>(2 * ranks - 1);
  return zigzag ? stack({first, last}, 1).view({2 * ranks}) : first;
}

/// (B, C, S), own positions of all channels, to (B, C/W, W S), all positions of own channels.
Tensor to_channels(Context& ctx, const Tensor& x) {
  const std::int64_t ranks = ctx.world().size(), batch = x.size(0), channels = x.size(1) / ranks,
                     own = x.size(2);
  const Tensor received = exchanged(ctx.world(), x.view({batch, ranks, channels, own}).transpose(0, 1));
  const Tensor held = chunks_by_rank(ctx, x.place());
  const Tensor chunks = received.permute({1, 2, 0, 3}).reshape({batch, channels, held.numel(), -1});
  return index_select(chunks, 2, argsort(held)).view({batch, channels, ranks * own});
}

/// And back.
Tensor to_sequence(Context& ctx, const Tensor& y) {
  const std::int64_t ranks = ctx.world().size(), batch = y.size(0), channels = y.size(1),
                     own = y.size(2) / ranks;
  const Tensor held = chunks_by_rank(ctx, y.place());
  const Tensor chunks = index_select(y.reshape({batch, channels, held.numel(), -1}), 2, held);
  const Tensor received =
      exchanged(ctx.world(), chunks.view({batch, channels, ranks, own}).permute({2, 0, 1, 3}));
  return received.transpose(0, 1).reshape({batch, ranks * channels, own});
}

/// sum over k of h[k] u[t - k], with zeros before the sequence; (B, c, L) and (c, taps).
Tensor causal_convolution(const Tensor& u, const Tensor& h) {
  const std::int64_t length = u.size(-1), padded = 2 * length;
  const auto spectrum = [&](const Tensor& a) { return rfft(pad(a, -1, 0, padded - a.size(-1))); };
  return irfft(complex_multiply(spectrum(u), spectrum(h)), padded).narrow(-1, 0, length);
}

/// This rank's channels: their filters (C/W, Lf) and biases (C/W, 1).
struct Own {
  Tensor filter, bias;
};
Own own_channels(Context& ctx, const Tensors& in) {
  const Tensor &h = in["h"], &bias = in["conv_bias"];
  const std::int64_t channels = bias.numel() / ctx.world().size(), first = ctx.world().rank() * channels;
  require(bias.numel() % h.size(0) == 0 && bias.numel() % ctx.world().size() == 0,
          "hyena_forward_cp: {} channels with filters {} on {} ranks", bias.numel(), h.shape(),
          ctx.world().size());
  const Tensor group =
      floor_divide(arange(first, first + channels, 1, DType::i64, h.place()), bias.numel() / h.size(0));
  return {as_float(index_select(h, 0, group)), as_float(bias.narrow(0, first, channels)).unsqueeze(1)};
}

}  // namespace

// The product x2*v is formed before, the gate x1 applied after the channels are convolved, so that only two
// tensors travel.
Tensors reference(Context& ctx, const Tensors& in) {
  const Own own = own_channels(ctx, in);
  const Tensor u = as_float(to_channels(ctx, in["x2_seq"] * in["v_seq"]));
  require(own.filter.size(1) <= u.size(2), "hyena_forward_cp: a filter of {} taps for {} positions",
          own.filter.size(1), u.size(2));
  const Tensor y = causal_convolution(u, own.filter) + own.bias * u;
  const Tensor z = in["x1_seq"] * to_sequence(ctx, y.to(in["x1_seq"].dtype()));
  return {{"out", z.transpose(1, 2).contiguous()}};
}

// x2*v, y and the result are rounded to T. Roundings of x2*v are independent, at most u of it each: four
// times the root of their squares' sum is out of reach. FFTs in fp32 err by 8 log2(n) roundings of the norms.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const Own own = own_channels(ctx, in);
  const Tensor u = to_channels(ctx, in["x2_seq"] * in["v_seq"]), out = reference(ctx, in)["out"];
  const auto norm = [](const Tensor& a) { return sqrt(sum(square(a), {.dimensions = {-1}, .keep = true})); };
  const double unit = unit_roundoff(ctx.run_dtype()), step = subnormal_step(ctx.run_dtype());
  const double fft = 8 * std::log2(2.0 * static_cast<double>(u.size(2))) * 0x1p-24;
  const Tensor y = causal_convolution(u, own.filter) + own.bias * u;
  const Tensor bound = sqrt(abs(causal_convolution(square(u), square(own.filter)))) * (4 * unit) +
                       norm(own.filter) * norm(u) * fft + abs(own.bias * u) * (unit + 0x1p-23) +
                       abs(y) * unit + step;
  return {{"out", (abs(in["x1_seq"]) * to_sequence(ctx, bound)).transpose(1, 2).contiguous() +
                      abs(out) * unit + step}};
}

// Random taps that decay to an eighth, with a norm of about 1.
void make_inputs(Context&, const InputRequest& request, Tensors& in) {
  Tensor h = in["h"];
  const std::int64_t taps = h.size(1);
  std::vector<double> decay;
  double energy = 0;
  for (std::int64_t t = 0; t < taps; ++t) {
    decay.push_back(std::exp2(-3.0 * static_cast<double>(t) / static_cast<double>(taps)));
    energy += decay.back() * decay.back();
  }
  for (double& each : decay) each /= std::sqrt(energy);
  random_fill(h, {}, request.key(0));
  h.copy_(h * Tensor::from_values(decay, {taps}, h.dtype(), h.place()));
}

}  // namespace pkb
