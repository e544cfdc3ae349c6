// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/context.h"
#include "reference/random.h"
#include "reference/tensor.h"

/// What a problem's folder defines. The build adds the exported table `pkb_problem` from these.
namespace pkb {

/// The problem's operator on one rank: inputs by name in, outputs by name out. Must not change its inputs.
/// Run in the run dtype it is the baseline; run on inputs promoted to fp64 it gives the golden values.
ref::Tensors reference(ref::Context& ctx, const ref::Tensors& in);

/// Optional: the largest error that a legitimate summation order and rounding in the run dtype can cause, per
/// element of each output (fp64), from the inputs promoted to fp64.
[[gnu::weak]] ref::Tensors error_bound(ref::Context& ctx, const ref::Tensors& in);

/// Which trial's random numbers.
struct InputRequest {
  std::uint64_t seed = 0;
  std::uint32_t trial = 0;

  /// Of custom tensor `number`; rank 0 for what all ranks share. Tensors of problem.json have other keys.
  ref::RandomKey key(std::int64_t number, std::int64_t rank = 0) const {
    constexpr std::int64_t kCustomTensors = 0x8000;
    return {.seed = seed,
            .trial = trial,
            .tensor = static_cast<std::uint16_t>(kCustomTensors + number),
            .rank = static_cast<std::uint16_t>(rank)};
  }
};

/// Optional, collective: makes the inputs of this rank whose values are "custom". `in` holds every input in its
/// shape and dtype; what problem.json makes is made already, a custom tensor is zero, and to be written in place.
/// The same bits for equal requests wherever it runs: use `random_fill` with keys of the request, and exact or
/// integer arithmetic.
[[gnu::weak]] void make_inputs(ref::Context& ctx, const InputRequest& request, ref::Tensors& in);

/// What `check_outputs` judges: one rank's inputs, the reference's outputs in fp64 and in the run dtype, and the
/// candidate's, of which it may believe nothing.
struct Judged {
  const ref::Tensors &in, &golden, &baseline, &got;
};

/// Optional, collective: for each output whose check is "custom" a tensor (fp64) of its shape, the element's
/// error divided by the largest that is allowed. An element above 1, or NaN, is wrong.
[[gnu::weak]] ref::Tensors check_outputs(ref::Context& ctx, const Judged& judged);

/// The entry point of `build/problems/NNN_name.so`, exported as the symbol `pkb_problem`.
struct ProblemEntry {
  ref::Tensors (*reference)(ref::Context&, const ref::Tensors&);
  ref::Tensors (*error_bound)(ref::Context&, const ref::Tensors&);  ///< null when the problem has none
  void (*make_inputs)(ref::Context&, const InputRequest&, ref::Tensors&);  ///< null when the problem has none
  ref::Tensors (*check_outputs)(ref::Context&, const Judged&);      ///< null when the problem has none
};

}  // namespace pkb
