// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace pkb::virtual_gpu {

/// Reports Fault::unsupported for a runtime function; returns cudaErrorNotSupported.
int unsupported_call(const char* name);

}  // namespace pkb::virtual_gpu
