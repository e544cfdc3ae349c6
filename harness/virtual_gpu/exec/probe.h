// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Probes of single instructions: the same PTX and inputs for a real GPU, which records results, and for the
/// virtual one, which must reproduce them.
namespace pkb::virtual_gpu {

enum class Kind : std::uint8_t { pred, b16, b32, b64, f16, bf16, f16x2, bf16x2, f32, f64, count };

struct Probe {
  std::string name;    ///< unique
  std::string opcode;  ///< as written
  Kind to;
  std::vector<Kind> from;
  std::string literal;  ///< a last operand that has to be a constant: ", 0x1b"
};

std::vector<Probe> probes();

inline constexpr std::uint32_t kProbeInputs = 2048;
/// Operand `which` (0 to 3) of all inputs, one 64-bit pattern each.
std::vector<std::uint64_t> probe_inputs(Kind kind, int which);
/// A module with one kernel a probe, which maps thread i's operands, taken from up to four arrays, to
/// results[i]: parameters results, a, b, c, d. Kernels are named k0, k1...; launch kProbeInputs / 128 blocks
/// of 128.
std::string probe_module(const std::vector<Probe>& probes);
/// FNV-1a over results.
std::uint64_t digest(const std::vector<std::uint64_t>& results);

}  // namespace pkb::virtual_gpu
