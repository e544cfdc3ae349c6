// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace pkb::roofline {

/// The best of cuBLASLt's algorithms for a large square product, in TFLOP/s, by the format of the operands. Formats
/// that the GPU or the library lacks are left out. Operands are uniform random numbers: zeros would need less power
/// and run at higher clocks.
nlohmann::json measure_gemm(int gpu);

}  // namespace pkb::roofline
