// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/tensor.h"

/// Linear attention whose state is corrected, not only added to.
namespace pkb::ref {

/// The gated delta rule over a sequence, in the order of its positions (flash-linear-attention's
/// fused_recurrent_gated_delta_rule, without normalising or scaling q and k). For each batch and head, from a
/// state S of zeros (K, V):
///
///     S = decay[t] * S;   S = S + k[t] (beta[t] (v[t] - k[t]' S))';   out[t] = q[t]' S
///
/// q and k (B, L, H, K), v (B, L, H, V), beta (B, L, H); decay (B, L, H, K), a factor per row of the state,
/// or (B, L, H, 1), one for all of it. Result (B, L, H, V). fp32 or fp64 throughout. Throws ShapeError,
/// DTypeError.
Tensor gated_delta_rule(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& decay,
                        const Tensor& beta);

}  // namespace pkb::ref
