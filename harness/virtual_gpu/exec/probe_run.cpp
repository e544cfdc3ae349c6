// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/probe_run.h"

#include <cstring>
#include <memory>
#include <stdexcept>

namespace pkb::virtual_gpu {
namespace {

Allocation allocation(const std::vector<std::uint64_t>& values, const std::string& name) {
  return {reinterpret_cast<std::uint64_t>(values.data()), 8 * values.size(), name, 0, false};
}

}  // namespace

ProbeRun::ProbeRun(const std::vector<Probe>& probes)
    : x_probes(probes), x_module(ptx::parse(probe_module(probes))), x_results(kProbeInputs) {
  x_memory.add(allocation(x_results, "results"));
}

std::vector<std::uint64_t> ProbeRun::operator()(std::size_t index) {
  const Probe& probe = x_probes[index];
  std::uint64_t parameters[5] = {reinterpret_cast<std::uint64_t>(x_results.data())};
  for (std::size_t i = 0; i < probe.from.size(); ++i) {
    const std::pair key(probe.from[i], static_cast<int>(i));
    if (!x_inputs.contains(key)) {
      x_inputs[key] = probe_inputs(key.first, key.second);
      x_memory.add(allocation(x_inputs[key], "operand"));
    }
    parameters[i + 1] = reinterpret_cast<std::uint64_t>(x_inputs[key].data());
  }
  Launch launch;
  launch.kernel = std::make_shared<Kernel>(decode(x_module, x_module.functions.at(index), {}));
  launch.grid = {kProbeInputs / 128, 1, 1};
  launch.block = {128, 1, 1};
  launch.parameters.resize(sizeof parameters);
  std::memcpy(launch.parameters.data(), parameters, sizeof parameters);
  for (std::uint32_t i = 0; i < launch.grid.x; ++i) {
    Block block(launch, x_memory, i, 0);
    if (block.run(100000) != Block::Outcome::finished) throw std::runtime_error(to_string(block.fault()));
  }
  return x_results;
}

}  // namespace pkb::virtual_gpu
