// SPDX-License-Identifier: Apache-2.0
#include "harness/process/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "harness/error/error.h"
#include "harness/process/file_descriptor.h"

namespace pkb::process {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(2);

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (const std::string& each : strings) all.push_back(const_cast<char*>(each.c_str()));
  all.push_back(nullptr);
  return all;
}

void report_errno(int fd) {
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(fd, &error, sizeof error);
}

/// Between fork and exec: only what is safe after fork in a process with threads. Returns on failure.
void become(const Command& command, char* const* arguments, char* const* environment, int error_pipe,
            pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, command.death_signal);
  if (::getppid() != parent) ::_exit(127);
  // First out of the way of the numbers wanted, then into place.
  const int count = static_cast<int>(command.descriptors.size());
  int moved[16];
  if (count > static_cast<int>(std::size(moved))) return;
  for (int i = 0; i < count; ++i) {
    const int fd = command.descriptors[static_cast<std::size_t>(i)];
    moved[i] = fd >= 0 ? ::fcntl(fd, F_DUPFD, 64) : ::open("/dev/null", O_RDWR);
    if (moved[i] >= 0 && moved[i] < 64) moved[i] = ::fcntl(moved[i], F_DUPFD, 64);
    if (moved[i] < 0) return;
  }
  const int report = ::fcntl(error_pipe, F_DUPFD, 64);
  for (int i = 0; i < count; ++i) ::dup2(moved[i], i);
  ::dup3(report, count, O_CLOEXEC);
  ::syscall(SYS_close_range, static_cast<unsigned>(count) + 1, ~0u, 0u);
  for (const auto& [resource, value] : command.limits) {
    const rlimit limit{value, value};
    ::setrlimit(resource, &limit);
  }
  if (!command.folder.empty() && ::chdir(command.folder.c_str()) != 0) {
    report_errno(count);
    return;
  }
  if (command.expendable) {
    ::prctl(PR_SET_DUMPABLE, 1);  // a process that is not dumpable does not own its /proc files
    const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0 && ::write(score, "1000", 4) > 0) ::close(score);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execve(arguments[0], arguments, environment);
  report_errno(count);
}

}  // namespace

Child::Child(const Command& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw EnvironmentError({.where = command.arguments[0], .fault = std::strerror(errno), .remedy = {}});
  FileDescriptor read_end(ends[0]), write_end(ends[1]);
  const auto arguments = pointers(command.arguments), environment = pointers(command.environment);
  const pid_t parent = ::getpid();
  x_pid = ::fork();
  if (x_pid == 0) {
    become(command, arguments.data(), environment.data(), write_end.get(), parent);
    ::_exit(127);
  }
  const int fork_error = errno;
  write_end.reset();
  int error = x_pid < 0 ? fork_error : 0;
  if (x_pid > 0) {
    ::setpgid(x_pid, x_pid);
    // Ends at once: exec closes the pipe.
    while (::read(read_end.get(), &error, sizeof error) < 0 && errno == EINTR) continue;
  }
  if (error == 0) return;
  if (x_pid > 0) kill();
  throw EnvironmentError({.where = command.arguments[0],
                          .fault = fmt::format("cannot be started: {}", std::strerror(error)),
                          .remedy = {}});
}

Child::Child(Child&& other) noexcept
    : x_pid(std::exchange(other.x_pid, -1)), x_status(std::exchange(other.x_status, std::nullopt)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(x_pid, other.x_pid);
  std::swap(x_status, other.x_status);
  return *this;
}

Child::~Child() { kill(); }

std::optional<int> Child::status() {
  if (x_pid <= 0 || x_status) return x_status;
  siginfo_t ended{};
  if (::waitid(P_PID, static_cast<id_t>(x_pid), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      ended.si_pid != x_pid)
    return x_status;
  ::kill(-x_pid, SIGKILL);  // before the leader is reaped: until then its number belongs to this group
  int status = 0;
  if (::waitpid(x_pid, &status, 0) == x_pid) x_status = status;
  return x_status;
}

std::optional<int> Child::wait(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (x_pid > 0 && !status() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(kPollInterval);
  return x_status;
}

void Child::end(std::chrono::milliseconds patience) {
  if (!running()) return;
  ::kill(-x_pid, SIGTERM);
  wait(patience);
  kill();
}

void Child::kill() {
  if (!running()) return;
  ::kill(-x_pid, SIGKILL);
  ::kill(x_pid, SIGKILL);
  int status = 0;
  while (::waitpid(x_pid, &status, 0) < 0 && errno == EINTR) continue;
  x_status = status;
}

std::string describe_signal(int signal) { return fmt::format("signal {} ({})", signal, ::strsignal(signal)); }

std::string describe_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "was killed by " + describe_signal(WTERMSIG(wait_status));
  return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
}

std::pair<int, int> open_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw EnvironmentError({.where = "pipe", .fault = std::strerror(errno), .remedy = {}});
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {ends[0], ends[1]};
}

}  // namespace pkb::process
