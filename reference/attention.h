// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/tensor.h"

/// Softmax attention and its parts, for attention over blocks of keys.
namespace pkb::ref {

struct AttentionOptions {
  std::optional<double> scale{};  ///< of the scores; none: 1 / sqrt(D)
  /// Query i sees keys 0 to i + diagonal.
  bool causal = false;
  std::int64_t diagonal = 0;
  /// How many scores are in memory at once: those of so many queries. Changes the order of no sum over keys
  /// or D.
  std::int64_t scores_at_once = std::int64_t{1} << 26;
};

struct Attention {
  Tensor out;  ///< (..., S, D): softmax(scale q k^T) v
  Tensor lse;  ///< (..., S, 1): the logarithm of the softmax's denominator
};

/// q (..., S, D), k (..., U, D), v (..., U, E), all of one floating dtype, in which scores and probabilities
/// are kept: widen 16-bit inputs first where the mathematics is to be fp32. The layout and meaning of
/// torch.nn.functional.scaled_dot_product_attention; a query must see a key.
Attention attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});

/// Consecutive queries whose scores are in memory at once.
struct QueryBlock {
  std::int64_t start = 0, length = 0;
  AttentionOptions options{};  ///< with the diagonal of this block
  /// These queries' part of (..., S, any).
  Tensor of(const Tensor& whole) const { return whole.narrow(-2, start, length); }
};
/// All queries, in one block where the options allow it.
std::vector<QueryBlock> query_blocks(const Tensor& q, const Tensor& k, const AttentionOptions& options);

/// Attention over the keys of both, from that over each: with the old lse,
/// out - sigmoid(lse' - lse) (out - out') and lse - logsigmoid(lse - lse').
Attention merged(const Attention& a, const Attention& b);

}  // namespace pkb::ref
