// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace pkb::device {

/// What a candidate owes to a piece of memory that ranks share.
enum class Role : std::uint8_t { input, in_out, output, symmetric };

}  // namespace pkb::device
