// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/attention.h"
#include "reference/tensor.h"

/// The gradient of softmax attention, for attention over blocks of keys.
namespace pkb::ref {

/// What the gradient needs to know of the forward pass over all keys, of which a call may see a block.
struct AttentionContext {
  Tensor q;      ///< (..., S, D)
  Tensor dout;   ///< (..., S, E): gradient of the output
  Tensor lse;    ///< (..., S, 1): the logarithm of the softmax's denominator
  Tensor delta;  ///< (..., S, 1): the sum of dout * out
};

struct AttentionGradient {
  Tensor dq, dk, dv;  ///< dq: this block's share
};

/// For keys k (..., U, D) and values v (..., U, E), with p = exp(scale q k^T - lse), not normalised anew, and
/// ds = p (dout v^T - delta): dq = scale ds k, dk = scale ds^T q, dv = p^T dout (the backward pass of FlashAttention).
/// All of one floating dtype, in which p and ds are kept, and the sums over blocks of queries.
AttentionGradient attention_backward(const AttentionContext& context, const Tensor& k, const Tensor& v,
                                     const AttentionOptions& options = {});

}  // namespace pkb::ref
