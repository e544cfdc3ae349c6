// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/shared_shadow.h"

namespace pkb::virtual_gpu::check {

SharedShadow::SharedShadow(std::uint64_t bytes, std::uint32_t warps)
    : x_writes((bytes + kGranule - 1) / kGranule), x_reads(warps) {}

}  // namespace pkb::virtual_gpu::check
