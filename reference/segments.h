// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/tensor.h"

/// Jagged tensors: rows of different lengths, one after the other in dimension 0. Lengths, starts and orders
/// are 1-d int64 tensors. Throw ShapeError.
namespace pkb::ref {

/// starts[i], starts[i] + 1, ..., starts[i] + lengths[i] - 1, for all i one after the other; int64. Waits for
/// cuda, since the result's extent depends on the data.
Tensor segment_indices(const Tensor& starts, const Tensor& lengths);
/// The sum of each segment of integer `values`; int64 (torch.segment_reduce with "sum").
Tensor segment_sum(const Tensor& values, const Tensor& lengths);
/// Segment order[0] of `values`, then segment order[1] and so on (fbgemm's permute_1D_sparse_data). Waits for
/// cuda.
Tensor permute_segments(const Tensor& values, const Tensor& lengths, const Tensor& order);

}  // namespace pkb::ref
