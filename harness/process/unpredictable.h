// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace pkb::process {

/// 64 bits from the kernel's generator, which nobody can predict from earlier ones.
std::uint64_t unpredictable();

}  // namespace pkb::process
