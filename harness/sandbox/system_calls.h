// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace pkb::sandbox {

/// What a process keeps under the filter.
struct Freedoms {
  bool driver =
      false;  ///< what a GPU's driver and its MPS clients use: UNIX and netlink sockets, shared memory
  bool programs =
      false;  ///< to start processes and programs, as compilers do, but not in namespaces of their own
};

/// Takes from this process, all its threads and for ever, the system calls that start processes or programs,
/// reach into other processes, make namespaces, sockets or memory that no limit counts, and parts of the
/// kernel that no candidate needs and many exploits do. They fail with EPERM, or ENOSYS where libraries then
/// do without.
/// @throws EnvironmentError
void forbid_system_calls(const Freedoms& freedoms);

/// The same filter as bubblewrap's option --seccomp reads it from a file.
std::string filter_program(const Freedoms& freedoms);

}  // namespace pkb::sandbox
