// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/virtual_gpu/exec/exec.h"
#include "harness/virtual_gpu/exec/probe.h"
#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu {

/// The probes on the virtual GPU.
class ProbeRun {
 public:
  explicit ProbeRun(const std::vector<Probe>& probes);
  /// Results of one probe for all inputs. Throws std::runtime_error with the fault's text.
  std::vector<std::uint64_t> operator()(std::size_t index);

 private:
  const std::vector<Probe>& x_probes;
  ptx::Module x_module;
  Memory x_memory;
  std::map<std::pair<Kind, int>, std::vector<std::uint64_t>> x_inputs;
  std::vector<std::uint64_t> x_results;
};

}  // namespace pkb::virtual_gpu
