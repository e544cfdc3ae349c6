// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "reference/tensor.h"

/// Jagged tensors: rows of different lengths, one after the other in dimension 0. Lengths, starts and orders
/// are 1-d int64 tensors. Throw ShapeError.
namespace pkb::ref {

/// starts[i], starts[i] + 1, ..., starts[i] + lengths[i] - 1, for all i one after the other; int64. Waits for
/// cuda, since the result's extent depends on the data, unless `output_size` says what `lengths` add up to.
Tensor segment_indices(const Tensor& starts, const Tensor& lengths,
                       std::optional<std::int64_t> output_size = {});
/// The sum of each segment of integer `values`; int64 (torch.segment_reduce with "sum").
Tensor segment_sum(const Tensor& values, const Tensor& lengths);
/// Segment order[0] of `values`, then segment order[1] and so on (fbgemm's permute_1D_sparse_data). Waits for
/// cuda, unless `output_size` says how long they are together.
Tensor permute_segments(const Tensor& values, const Tensor& lengths, const Tensor& order,
                        std::optional<std::int64_t> output_size = {});

}  // namespace pkb::ref
