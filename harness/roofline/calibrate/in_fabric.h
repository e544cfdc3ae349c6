// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace pkb::roofline {

/// All-reduces of bf16 by the fabric, over all GPUs at once: a list of {"bytes", "gb_s"}, by which one GPU's tensor is
/// reduced. Creates a multicast object. Empty where the fabric has none. @throws EnvironmentError
nlohmann::json measure_in_fabric(int gpus);

}  // namespace pkb::roofline
