// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/process/file_descriptor.h"

namespace pkb::process {

/// A file of `bytes` zeros in memory that no name leads to, closed on exec; none, with errno, when that is
/// impossible. Where the sandbox refuses memfd_create, whose memory no limit counts, it lies in /dev/shm,
/// which has a limit.
FileDescriptor memory_file(std::size_t bytes);

}  // namespace pkb::process
