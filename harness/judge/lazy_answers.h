// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/oracle.h"

/// Answers that nobody has worked for, which every problem must refuse.
namespace pkb::judge {

struct LazyAnswer {
  std::string name;     ///< "zeros in C", the same on all ranks
  HostTensors outputs;  ///< this rank's, and its inputs as they were
};

/// This rank's tensors of one trial in host memory, each as large as problem.json says.
HostTensors to_host(const std::vector<problem::Tensor>& list, const ref::Tensors& tensors);

/// This rank's outputs as the reference has them, and the inputs that it changed.
HostTensors right_answer(const Oracle& oracle, const Expected& expected);

/// One output, or input that is to be changed, at a time made up, the others right: zeros, ones, the mean, each
/// input echoed, and, where `previous` holds another trial's of the same shapes, those. Collective, the same
/// answers on all ranks.
std::vector<LazyAnswer> made_up(const Oracle& oracle, const ref::Tensors& inputs, const Expected& expected,
                                const HostTensors& previous);

/// Inputs in a coarser format: those of the run dtype with as many significant bits as FP8 (e4m3) has, or
/// TF32 where the run dtype is fp32. `changed` says whether any differs on this rank.
ref::Tensors coarser(const ref::Tensors& inputs, DType run_dtype, bool& changed);

}  // namespace pkb::judge
