// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace pkb::virtual_gpu {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// Why a kernel stopped. One per launch: the first.
struct Fault {
  enum class Kind : std::uint8_t {
    unsupported,      ///< an instruction or call that the virtual GPU lacks
    illegal_address,  ///< outside every allocation, or beyond the one the pointer meant
    misaligned,
    trap,
    assertion,
    barrier_divergence,
    invalid_instruction,  ///< operands that PTX does not allow
    // The kernel goes on after these, and several are reported.
    uninitialised,  ///< a read of what nothing has written
    input_written,
    race,           ///< two accesses that nothing orders
    late_write,     ///< a peer may still write when a rank ends its run
  };
  Kind kind = Kind::illegal_address;
  std::string text;    ///< one sentence: what happened, with the address or name
  std::string kernel;  ///< demangled
  std::string file;
  std::uint32_t line = 0;
  std::string inner = {};  ///< "b.cuh:7" where the line calls what was inlined from there
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  std::uint64_t address = 0;
};

/// "b.cuh" of "/usr/include/b.cuh".
std::string without_folders(const std::string& path);
/// "kernel k (a.cu:12), block (0,0,0), thread (3,0,0): text"; the text alone outside kernels.
std::string to_string(const Fault& fault);

}  // namespace pkb::virtual_gpu
