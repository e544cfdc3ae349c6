// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/check/audit.h"
#include "harness/problem/problem.h"
#include "reference/dtype.h"

/// Judges outputs against golden values (DESIGN.md section 9).
namespace pkb::check {

/// One output of one rank in one trial, in host memory, row-major.
struct Output {
  std::string_view name;
  DType dtype = DType::bf16;
  std::span<const std::int64_t> shape;
  std::span<const std::byte> got;  ///< the candidate's
  std::span<const std::byte>
      baseline;                    ///< the reference's in the run dtype; for `exact` this is what is expected
  std::span<const double> golden;  ///< the reference's in fp64; may be empty for `exact`
  std::span<const double>
      bound;  ///< per element, from the error model; for `custom` its error over the largest allowed; else empty
  bool integers = false;  ///< every floating input of the trial was integer-valued
  std::byte poison{};     ///< what every byte of the output held before the run
};

struct Result {
  std::int64_t count = 0;                 ///< elements
  std::int64_t mismatches = 0;            ///< beyond their bound
  std::int64_t first = -1;                ///< row-major index of the first mismatch
  double got = 0, golden = 0, bound = 0;  ///< at `first`; or where error / bound is largest when all pass
  double worst = 0;                       ///< largest error / bound
  std::int64_t unwritten = 0;             ///< mismatches that still hold the poison
  Accuracy accuracy;                      ///< of floating checks
  bool passes() const { return mismatches == 0; }
  /// "C: 12371 of 12416 elements out of bounds, first [0, 0]: got 1.75, golden 2.4375, bound 0.03". Empty
  /// when it passes.
  std::string text;
};

/// @throws std::invalid_argument if the sizes differ.
Result compare(const problem::Check& check, const Output& output);

/// The first byte at which `now` differs from `before`, as element index; for inputs that must stay
/// unchanged.
std::optional<std::int64_t> first_change(std::span<const std::byte> before, std::span<const std::byte> now,
                                         DType dtype);

}  // namespace pkb::check
