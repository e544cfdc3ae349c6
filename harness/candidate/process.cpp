// SPDX-License-Identifier: Apache-2.0
#include "harness/candidate/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "harness/error/error.h"

namespace pkb::candidate {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long the pipe may stay open once the process itself has ended: only a process that escaped the group
/// and is about to die could hold it.
constexpr milliseconds kDrain{500};

/// Keeps the beginning and the end of a stream.
class BoundedText {
 public:
  explicit BoundedText(std::size_t limit) : x_half(limit / 2) {}

  void append(std::string_view bytes) {
    const std::size_t room = x_half - std::min(x_half, x_head.size());
    x_head += bytes.substr(0, room);
    bytes.remove_prefix(std::min(room, bytes.size()));
    x_tail += bytes;
    if (x_tail.size() > 2 * x_half) drop(x_tail.size() - x_half);
  }

  std::string text() && {
    if (x_tail.size() > x_half) drop(x_tail.size() - x_half);
    if (x_dropped == 0) return x_head + x_tail;
    return fmt::format("{}\n[{} bytes left out]\n{}", x_head, x_dropped, x_tail);
  }

 private:
  void drop(std::size_t bytes) {
    x_tail.erase(0, bytes);
    x_dropped += bytes;
  }

  std::size_t x_half, x_dropped = 0;
  std::string x_head, x_tail;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (const std::string& each : strings) all.push_back(const_cast<char*>(each.c_str()));
  all.push_back(nullptr);
  return all;
}

void set_limit(decltype(RLIMIT_AS) resource, rlim_t value) {
  const rlimit limit{value, value};
  setrlimit(resource, &limit);
}

EnvironmentError failure(const std::string& what) {
  return EnvironmentError({what, std::strerror(errno), ""});
}

/// Ends every process of the group and reaps its leader; safe to call again.
class Group {
 public:
  explicit Group(pid_t leader) : x_leader(leader) {}
  Group(const Group&) = delete;
  ~Group() {
    if (!x_reaped) {
      kill();
      int status = 0;
      while (waitpid(x_leader, &status, 0) < 0 && errno == EINTR) {
      }
    }
  }

  void kill() const { ::kill(-x_leader, SIGKILL); }

  /// True when the leader has ended, and so has the rest of the group now; its status is in `status` then.
  bool ended(int& status) {
    siginfo_t info{};
    if (x_reaped || waitid(P_PID, static_cast<id_t>(x_leader), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != x_leader)
      return x_reaped;
    kill();  // before the leader is reaped: until then its number belongs to this group
    x_reaped = waitpid(x_leader, &status, 0) == x_leader;
    return x_reaped;
  }

 private:
  pid_t x_leader;
  bool x_reaped = false;
};

/// Only async-signal-safe calls: the caller may have threads.
[[noreturn]] void become(char* const* argv, char* const* environment, const char* folder, int output,
                         pid_t parent, const ProcessLimits& limits) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  set_limit(RLIMIT_AS, limits.address_space);
  set_limit(RLIMIT_FSIZE, limits.file_size);
  set_limit(RLIMIT_CORE, 0);
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close_range(3, ~0U, 0);
  if (chdir(folder) == 0) execve(argv[0], argv, environment);
  constexpr char kMessage[] = "cannot start the process\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(127);
}

}  // namespace

ProcessResult run_limited(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                          const std::filesystem::path& folder, const ProcessLimits& limits) {
  const std::vector<char*> arguments = pointers(argv), variables = pointers(environment);
  const std::string start = folder.string();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw failure("pipe");
  const int reading = ends[0], writing = ends[1];
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    fcntl(writing, F_SETFL, 0);  // the writer may block, the reader must not
    become(arguments.data(), variables.data(), start.c_str(), writing, parent, limits);
  }
  close(writing);
  if (child < 0) {
    close(reading);
    throw failure("fork");
  }
  setpgid(child, child);  // here too, so that a kill finds the group however early it comes

  Group group(child);
  BoundedText text(limits.text);
  ProcessResult result;
  int status = 0;
  bool open = true;
  Clock::time_point deadline = Clock::now() + limits.time;
  for (bool ended = false; !ended || open;) {
    pollfd readable{.fd = open ? reading : -1, .events = POLLIN, .revents = 0};
    poll(&readable, 1, 20);
    std::array<char, 65536> bytes;
    for (ssize_t count = 0; open && (count = read(reading, bytes.data(), bytes.size())) != -1;) {
      if (count == 0) open = false;
      text.append({bytes.data(), static_cast<std::size_t>(count)});
      if (Clock::now() >= deadline) break;
    }
    if (!ended && group.ended(status)) {
      ended = true;
      deadline = std::min(deadline, Clock::now() + kDrain);
    }
    if (Clock::now() < deadline) continue;
    if (ended) break;
    result.timed_out = true;
    group.kill();
    deadline = Clock::now() + kDrain;
  }
  close(reading);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.text = std::move(text).text();
  return result;
}

}  // namespace pkb::candidate
