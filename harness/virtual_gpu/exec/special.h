// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "harness/virtual_gpu/exec/decode.h"
#include "harness/virtual_gpu/exec/warp.h"

namespace pkb::virtual_gpu {

/// Emits the reading of a special register and returns where its value stands. Throws Unsupported.
std::uint32_t read_special(Decoder& decoder, const std::string& name, Slot slot);

/// The address of a local variable at `in.immediate` in the present activation.
template <class T>
void local_address(Warp& warp, const Instruction& in);
extern template void local_address<std::uint32_t>(Warp&, const Instruction&);
extern template void local_address<std::uint64_t>(Warp&, const Instruction&);

}  // namespace pkb::virtual_gpu
