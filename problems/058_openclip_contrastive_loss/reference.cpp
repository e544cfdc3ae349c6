// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"

namespace pkb {

using namespace ref;

namespace {

/// Loss of all pairs of two blocks; the i-th image and the i-th text of one block belong together.
Tensor block_loss(Context& ctx, const Tensor& images, const Tensor& texts, bool own) {
  const double scale = ctx.param("logit_scale"), bias = ctx.param("logit_bias");
  const std::int64_t batch = images.size(0);
  const Tensor logits = matmul(as_float(images), as_float(texts).t()) * scale + bias;
  if (!own) return -sum(logsigmoid(-logits)) / static_cast<double>(batch);
  const Tensor number = arange(batch, DType::i64, images.place()), belongs = eq(number.unsqueeze(1), number);
  return -sum(logsigmoid(where(belongs, logits, -logits))) / static_cast<double>(batch);
}

}  // namespace

// Texts travel around the ring in both directions, so that each step brings two blocks.
Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const Tensor &images = in["image_features"], &texts = in["text_features"];
  const int rank = world.rank(), ranks = world.size();
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  const Tensor parts = Tensor::zeros({ranks}, as_float(images).dtype(), images.place());
  const auto add = [&](const Tensor& block, int owner) {
    parts.narrow(0, (owner + ranks) % ranks, 1).copy_(block_loss(ctx, images, block, owner == rank).view({1}));
  };
  add(texts, rank);
  Tensor to_right = texts, to_left = texts;  // what is passed on in either direction
  for (int step = 1; 2 * step <= ranks; ++step) {
    const Tensor from_left = texts.empty_like(), from_right = texts.empty_like();
    const bool both = 2 * step < ranks;  // the block opposite comes once
    if (both)
      world.batch_isend_irecv({isend(to_right, right), irecv(from_left, left), isend(to_left, left), irecv(from_right, right)});
    else
      world.batch_isend_irecv({isend(to_right, right), irecv(from_left, left)});
    add(from_left, rank - step);
    if (both) add(from_right, (rank + step) % ranks);
    to_right = from_left;
    to_left = from_right;
  }
  return {{"loss", sum(parts).view({1})}, {"parts", parts}};
}

// fp32: products of D terms and sums of B^2, relative to the terms' magnitudes.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const double scale = ctx.param("logit_scale");
  const auto largest = [&](const char* name) {
    Tensor norm = sqrt(amax(sum(square(in[name]), {.dimensions = {1}}))).view({1});
    ctx.world().all_reduce(norm, Reduce::max);
    return norm.item();
  };
  const Tensors exact = reference(ctx, in);
  const double batch = static_cast<double>(in["image_features"].size(0)), width = static_cast<double>(in["image_features"].size(1));
  const double logit = batch * (width + 8) * 0x1p-24 * std::fabs(scale) * largest("image_features") * largest("text_features");
  const Tensor parts = exact["parts"] * 1e-5 + logit + 1e-6;
  return {{"parts", parts}, {"loss", sum(parts).view({1})}};
}

// Images and texts of a pair are alike, and each rank's texts lean towards a direction of their own, in which all
// images have a share, so that no two blocks have the same loss.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const int rank = ctx.world().rank();
  const auto random = [&](const char* name, int number) {
    Tensor t = Tensor::empty(in[name].shape(), DType::f64, in[name].place());
    random_fill(t, {}, request.key(number, rank));
    return t;
  };
  Tensor images = in["image_features"], texts = in["text_features"];
  const double width = static_cast<double>(images.size(1));
  const Tensor image = random("image_features", 0), text = image + random("text_features", 1);
  image.narrow(1, 0, 1).fill_(std::sqrt(width) / 2);
  text.narrow(1, 0, 1).fill_(std::sqrt(width) * (0.25 + 0.25 * rank));
  images.copy_(image * (1 / std::sqrt(width)));
  texts.copy_(text * (0.75 / std::sqrt(width)));
}

}  // namespace pkb
