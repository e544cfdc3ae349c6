// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace pkb::roofline {

/// Microseconds of a flag's way to another GPU and back, and of a barrier of all GPUs. Where there is one GPU, thread
/// blocks stand for GPUs.
nlohmann::json measure_latency(int gpus);

}  // namespace pkb::roofline
