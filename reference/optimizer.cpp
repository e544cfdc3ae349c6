// SPDX-License-Identifier: Apache-2.0
#include "reference/optimizer.h"

#include <cmath>

#include "reference/fused.h"
#include "reference/ops.h"
#include "reference/pointwise.h"

namespace pkb::ref {
namespace {

double correction(double beta, std::int64_t step) { return 1 - std::pow(beta, static_cast<double>(step)); }

}  // namespace

AdamState adam(const AdamState& state, const Tensor& gradient, const AdamOptions& options) {
  require(options.step >= 1, "adam: step {}, which count from 1", options.step);
  require(gradient.shape() == state.parameter.shape(), "adam: parameter {} but gradient {}", state.parameter.shape(), gradient.shape());
  const Tensor exp_avg = add(state.exp_avg * options.beta1, gradient, 1 - options.beta1);
  const Tensor exp_avg_sq = addcmul(state.exp_avg_sq * options.beta2, gradient, gradient, 1 - options.beta2);
  const Tensor mean = exp_avg / correction(options.beta1, options.step);
  const Tensor scale = sqrt(exp_avg_sq / correction(options.beta2, options.step)) + options.eps;
  Tensor parameter = addcdiv(state.parameter, mean, scale, -options.lr);
  if (options.weight_decay != 0) parameter = add(parameter, state.parameter, -options.lr * options.weight_decay);
  return {parameter, exp_avg, exp_avg_sq};
}

AdamState adam_bound(const AdamState& state, const Tensor& gradient, const Tensor& error, const AdamOptions& options) {
  constexpr double kRoundings = 4 * 0x1p-24;
  const double corrected = correction(options.beta1, options.step), squared = correction(options.beta2, options.step);
  const AdamState exact = adam(state, gradient, options);
  const Tensor exp_avg = error * (1 - options.beta1) + (abs(exact.exp_avg) + abs(state.exp_avg)) * kRoundings;
  const Tensor exp_avg_sq = (abs(gradient) * 2 + error) * error * (1 - options.beta2) + exact.exp_avg_sq * kRoundings;
  // With q = mean / scale: dq = dmean / scale + |q| dscale / scale, and scale is a square root.
  const Tensor root = sqrt(exact.exp_avg_sq / squared), scale = root + options.eps;
  const Tensor of_scale = exp_avg_sq / squared / (root + scale);
  const Tensor q = abs(exact.exp_avg) / corrected / scale;
  const Tensor of_q = exp_avg / corrected / scale + q * (of_scale / scale + kRoundings);
  return {of_q * (2 * options.lr) + abs(exact.parameter) * kRoundings, exp_avg, exp_avg_sq};
}

}  // namespace pkb::ref
