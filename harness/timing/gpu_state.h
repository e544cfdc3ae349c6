// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace pkb::timing {

/// What the driver says about a GPU at one moment. Read, never set.
struct GpuState {
  unsigned sm_mhz = 0, memory_mhz = 0, celsius = 0;
  bool throttled = false;      ///< by heat or power
  unsigned other_processes = 0;  ///< with a context on it, beside the `own` ones
};

/// Of the GPU that is current; `own` processes use it with our knowledge. Nothing without the management library
/// (libnvidia-ml) or where it does not answer.
std::optional<GpuState> gpu_state(unsigned own);

}  // namespace pkb::timing
