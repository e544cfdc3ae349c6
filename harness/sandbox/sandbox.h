// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/process/file_descriptor.h"

/// Bubblewrap: what the walls around a worker and around a compiler have in common.
namespace pkb::sandbox {

/// How bubblewrap can be used on this machine. Some containers refuse user namespaces or a fresh /proc.
struct Means {
  enum class Proc : std::uint8_t {
    fresh,  ///< of the sandbox's own process namespace
    none,
    outer,  ///< read-only; a GPU's driver cannot do without
  };
  std::filesystem::path bwrap;
  bool user_namespace = true;
  Proc proc = Proc::fresh;
};
std::string_view name_of(Means::Proc proc);

/// The first bubblewrap on the PATH. @throws EnvironmentError when there is none.
std::filesystem::path find_bwrap();
/// Finds by trial what works with `bwrap` here. Where a fresh /proc is refused, `weakest` takes its place.
/// @throws EnvironmentError that says what is missing and how to get it.
Means find_means(const std::filesystem::path& bwrap, Means::Proc weakest = Means::Proc::none);
/// Why `find_means` would throw; empty when a sandbox works.
std::string fault();

/// Which of the system's folders are shown, read-only.
enum class System : std::uint8_t {
  libraries,  ///< what programs need to start
  compilers,  ///< headers and programs too
};

/// What the program inside may see and keep.
struct View {
  System system = System::libraries;
  std::uint64_t tmp_bytes = 1 << 20;     ///< of /tmp, which is private and vanishes
  std::uint64_t shared_bytes = 1 << 20;  ///< of /dev/shm, the same
  std::vector<std::string> shown = {};   ///< options of bubblewrap that show more of the file system
  bool proc_is_written = false;  ///< a GPU's driver does; the kernel's settings there stay read-only
};

/// A command line of bubblewrap, to be followed by "--" and the program: no network, no other process
/// visible, no capability, `view` and nothing else of the file system, of which only /tmp, /dev/shm and what
/// `view` binds writable can be written. It ends with the process that starts it.
std::vector<std::string> walls(const Means& means, const View& view);

/// A file with a filter of system calls for programs that start others, for bubblewrap's option --seccomp.
/// @throws EnvironmentError
FileDescriptor filter_for_compilers();

}  // namespace pkb::sandbox
