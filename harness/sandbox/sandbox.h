// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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

/// Finds by trial what works here. Where a fresh /proc is refused, `weakest` takes its place.
/// @throws EnvironmentError that says what is missing and how to get it.
Means find_means(Means::Proc weakest = Means::Proc::none);
/// Why `find_means` would throw; empty when a sandbox works.
std::string fault();

/// Which of the system's folders are shown, read-only.
enum class System : std::uint8_t {
  libraries,  ///< what programs need to start
  compilers,  ///< headers and programs too
};

/// The start of a command line of bubblewrap: no network, no other process visible, `system` and nothing else
/// of the file system, a private /tmp of `tmp_bytes` that vanishes. More options may follow, and after "--"
/// the program. It ends with the process that starts it.
std::vector<std::string> walls(const Means& means, System system, std::uint64_t tmp_bytes);

}  // namespace pkb::sandbox
