// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/virtual_gpu/exec/decode.h"

namespace pkb::virtual_gpu {

/// The conversions of convert_narrow.cpp.
void add_convert_narrow(Table&);

}  // namespace pkb::virtual_gpu
