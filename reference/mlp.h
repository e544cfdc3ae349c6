// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/context.h"
#include "reference/random.h"
#include "reference/tensor.h"

/// A perceptron with one hidden layer, which problems train in data parallelism: its gradient, and inputs.
namespace pkb::ref {

struct MlpShape {
  std::int64_t in, hidden, out;
  std::int64_t parameters() const { return hidden * in + hidden + out * hidden + out; }
};

/// Parameters, or a gradient by them.
struct Mlp {
  Tensor w1, b1, w2, b2;  ///< (hidden, in), (hidden), (out, hidden), (out)
};

/// Views of a flat vector with w1, b1, w2, b2 in this order, row-major.
Mlp unflattened(const Tensor& flat, const MlpShape& shape);
Tensor flattened(const Mlp& model);

/// The gradient of torch.nn.functional.mse_loss(relu(x w1^T + b1) w2^T + b2, y), x (B, in), y (B, out), rounded by each
/// operator as eager autograd does.
Mlp mse_gradient(const Mlp& model, const Tensor& x, const Tensor& y);

/// How far a gradient in the run dtype may be from the exact one, `flat` (fp64): 4 roundings of it and of its tensor's root mean
/// square, as rows share errors.
Tensor mse_gradient_bound(Context& ctx, const Tensor& flat, const MlpShape& shape, std::int64_t batch);

/// Parameters and data for which rounding moves no hidden unit across 0, where gradients jump: the first input is
/// +-3, the first column of w1 +-1, and what the other columns add is small. Outputs and targets are of order 1.
void random_mlp(Tensor& flat, const MlpShape& shape, RandomKey key);
/// Targets whose mean depends on the rank, so that gradients do.
void random_batch(Tensor& x, Tensor& y, RandomKey key);
/// Moments as a few steps would have left them.
void random_moments(Tensor& exp_avg, Tensor& exp_avg_sq, const MlpShape& shape, std::int64_t batch, RandomKey key);

}  // namespace pkb::ref
