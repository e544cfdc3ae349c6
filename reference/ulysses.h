// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/context.h"

/// The exchanges of Ulysses sequence parallelism, under VeOmni's names: rank r has block r of the positions
/// and all heads outside, all positions and block r of the heads inside. Throw ShapeError.
namespace pkb::ref {

/// (B, S, H, D) to (B, W S, H/W, D).
Tensor gather_seq_scatter_heads(const Group& group, const Tensor& x);
/// (B, W S, H/W, D) to (B, S, H, D).
Tensor gather_heads_scatter_seq(const Group& group, const Tensor& x);

}  // namespace pkb::ref
