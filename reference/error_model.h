// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/context.h"
#include "reference/tensor.h"

/// Pieces of `error_bound`: how far a legitimate order of operations in the run dtype may be from the exact
/// result.
namespace pkb::ref {

/// The smallest positive number of a floating dtype: the step between subnormal ones.
double subnormal_step(DType dtype);

/// The result of one rounding to the run dtype of sums, of `terms` products each, whose terms have magnitudes that
/// add up to `magnitudes`: u |exact| + terms * 2^-24 * magnitudes + step, all fp64. fp32 accumulation in any order.
Tensor product_bound(Context& ctx, const Tensor& exact, const Tensor& magnitudes, std::int64_t terms);

/// For a sum over the ranks of the world whose terms have magnitudes that add up to `magnitudes` (fp64): each
/// of its at most W roundings errs by u times a partial sum, or by half a subnormal step. W * (u * magnitudes
/// + step).
Tensor sum_bound(Context& ctx, const Tensor& magnitudes);

}  // namespace pkb::ref
