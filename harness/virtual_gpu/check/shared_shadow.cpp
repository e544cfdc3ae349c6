// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/shared_shadow.h"

namespace pkb::virtual_gpu::check {

SharedShadow::SharedShadow(std::uint64_t bytes) : x_writes((bytes + kGranule - 1) / kGranule) {}

SharedShadow::Read* SharedShadow::make_reads(std::uint32_t agent) {
  x_reads[agent].resize(granules());
  x_readers |= std::uint64_t{1} << agent;
  return x_reads[agent].data();
}

}  // namespace pkb::virtual_gpu::check
