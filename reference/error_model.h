// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/context.h"
#include "reference/tensor.h"

/// Pieces of `error_bound`: how far a legitimate order of operations in the run dtype may be from the exact
/// result.
namespace pkb::ref {

/// For a sum over the ranks of the world whose terms have magnitudes that add up to `magnitudes` (fp64): each
/// of its at most W roundings errs by u times a partial sum, or by half a subnormal step. W * (u * magnitudes
/// + step).
Tensor sum_bound(Context& ctx, const Tensor& magnitudes);

}  // namespace pkb::ref
