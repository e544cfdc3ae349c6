// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/communicator.h"
#include "reference/dtype.h"

namespace pkb::ref {

/// into[i] = op(into[i], with[i]) for `count` elements in host memory, rounded to the dtype each time.
/// @throws DTypeError for fp8.
void combine(DType dtype, Reduce op, std::byte* into, const std::byte* with, std::int64_t count);

/// to[i] = from[i] / ranks, as each rank's share of Reduce::avg enters: multiplied by 1/ranks in the dtype.
void scale_for_average(DType dtype, std::byte* to, const std::byte* from, std::int64_t count, int ranks);

}  // namespace pkb::ref
