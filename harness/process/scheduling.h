// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>

namespace pkb::process {

/// How long a process or one of its descendants has been ready to run while others had the processors: of the
/// thread that waited longest. Zero where the kernel does not tell (Linux, /proc/PID/task/TID/schedstat).
std::chrono::nanoseconds kept_from_processor(pid_t process);

}  // namespace pkb::process
