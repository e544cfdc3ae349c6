// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "reference/iteration.h"

namespace pkb::ref {

/// Divides numbers below 2^31 by one that is known before: a multiplication and a shift, where a GPU divides
/// in some twenty instructions (Granlund and Montgomery, Division by invariant integers using multiplication,
/// 1994).
class Divider {
 public:
  Divider() = default;
  /// @param divisor from 1 to 2^31
  explicit Divider(std::uint32_t divisor)
      : x_shift(static_cast<std::uint32_t>(std::bit_width(divisor - 1))),
        x_factor(
            static_cast<std::uint32_t>((((std::uint64_t{1} << x_shift) - divisor) << 32) / divisor + 1)) {}
  PKB_HD std::uint32_t quotient(std::uint32_t number) const {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{number} * x_factor) >> 32);
    return (high + number) >> x_shift;
  }

 private:
  std::uint32_t x_shift = 0, x_factor = 1;
};

/// A Walk whose numbers all fit into 32 bits.
template <int N>
struct ShortWalk {
  using Index = std::uint32_t;
  int dims = 0;
  Index count = 0;
  Index extents[kMaxDims] = {};
  Divider dividers[kMaxDims] = {};
  Index strides[N][kMaxDims] = {};

  /// Nothing when they do not.
  static std::optional<ShortWalk> of(const Walk<N>& walk) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 31;
    if (walk.count >= kLimit) return std::nullopt;
    ShortWalk result;
    result.dims = walk.dims;
    result.count = static_cast<Index>(walk.count);
    for (int d = 0; d < walk.dims; ++d) {
      result.extents[d] = static_cast<Index>(walk.extents[d]);
      result.dividers[d] = Divider(result.extents[d]);
    }
    for (int n = 0; n < N; ++n) {
      std::int64_t last = 0;  // the largest offset
      for (int d = 0; d < walk.dims; ++d) {
        if (walk.strides[n][d] < 0 || walk.strides[n][d] >= kLimit) return std::nullopt;
        last += (walk.extents[d] - 1) * walk.strides[n][d];
        if (last >= kLimit) return std::nullopt;
        result.strides[n][d] = static_cast<Index>(walk.strides[n][d]);
      }
    }
    return result;
  }

  PKB_HD void offsets(Index index, Index (&out)[N]) const {
    for (int n = 0; n < N; ++n) out[n] = 0;
    for (int d = dims - 1; d > 0; --d) {
      const Index rest = dividers[d].quotient(index), here = index - rest * extents[d];
      for (int n = 0; n < N; ++n) out[n] += here * strides[n][d];
      index = rest;
    }
    if (dims > 0)
      for (int n = 0; n < N; ++n) out[n] += index * strides[n][0];
  }
};

}  // namespace pkb::ref
