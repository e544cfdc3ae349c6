// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "reference/problem_library.h"
#include "reference/testing/ranks.h"

/// For `problems/NNN_name/reference_test.cpp`: a problem's library on values written out by hand.
namespace pkb::ref::testing {

using Row = std::vector<double>;

/// What one rank gives and must get.
struct Exchange {
  Tensors in, out;
};

/// Runs the reference on `ranks` ranks, once on its inputs and once with floating ones promoted to fp64, and expects
/// the same output values both times, bit for bit in the dtype, and inputs that did not change. `exchange(r)`
/// is rank r's.
void expect_outputs(std::string_view problem, int ranks, const ContextOptions& options,
                    const std::function<Exchange(int rank)>& exchange);

}  // namespace pkb::ref::testing
