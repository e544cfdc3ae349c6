// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/tensor.h"

/// Steps of optimizers, elementwise, out of place.
namespace pkb::ref {

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;
  std::int64_t step = 1;  ///< number of this step, from 1 on
};

struct AdamState {
  Tensor parameter, exp_avg, exp_avg_sq;
};

/// torch.optim.Adam, or AdamW with a weight decay: it is decoupled, of the parameter as it was. All of one shape and
/// floating dtype, in which each statement rounds.
AdamState adam(const AdamState& state, const Tensor& gradient, const AdamOptions& options);

/// How far a step in fp32 may be from the exact one of `state` and `gradient` (fp64), if gradients err by up to `error`.
AdamState adam_bound(const AdamState& state, const Tensor& gradient, const Tensor& error, const AdamOptions& options);

}  // namespace pkb::ref
