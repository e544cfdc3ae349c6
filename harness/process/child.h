// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pkb::process {

/// A program to start. It inherits nothing but what is listed here.
struct Command {
  std::vector<std::string> arguments = {};      ///< the first is the program's absolute path
  std::vector<std::string> environment = {};    ///< NAME=value
  std::string folder = {};                      ///< where it starts; empty for ours
  std::vector<int> descriptors = {-1, -1, -1};  ///< which of ours become 0, 1, 2...; -1 is /dev/null
  std::vector<std::pair<__rlimit_resource_t, rlim_t>> limits = {};
  int death_signal = SIGKILL;  ///< what it gets when the thread that started it ends
  bool expendable = false;     ///< the first to go when the machine is out of memory
};

/// A process we started, leader of its own process group. What is left of the group is killed when the leader
/// ends, and both when the object ends.
class Child {
 public:
  Child() = default;
  /// @throws EnvironmentError when the program cannot be executed.
  explicit Child(const Command& command);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return x_pid; }
  bool running() { return x_pid > 0 && !status(); }
  /// The wait status once it has ended, and its group with it. Never blocks.
  std::optional<int> status();
  /// Waits at most `patience`.
  std::optional<int> wait(std::chrono::milliseconds patience);
  /// Asks with SIGTERM, insists with SIGKILL after `patience`.
  void end(std::chrono::milliseconds patience);
  /// SIGKILL to the group.
  void kill();

 private:
  pid_t x_pid = -1;
  std::optional<int> x_status;
};

/// "exited with status 3" or "was killed by signal 11 (Segmentation fault)".
std::string describe_status(int wait_status);
/// "signal 11 (Segmentation fault)"
std::string describe_signal(int signal);

/// A pipe whose read end does not block; both ends close on exec.
std::pair<int, int> open_pipe();

}  // namespace pkb::process
