// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/worker_process.h"

#include <poll.h>
#include <sys/wait.h>

namespace pkb::judge {
namespace {

constexpr std::size_t kOutputKept = 64 << 10;
constexpr auto kQuitPatience = std::chrono::seconds(2);
constexpr int kShellSignalBase = 128;  // bubblewrap reports a signal as a shell does
constexpr int kLastSignal = 64;

}  // namespace

WorkerProcess::WorkerProcess(process::Command command, bool is_confined)
    : x_confined(is_confined), x_output(kOutputKept) {
  auto [mine, theirs] = worker::Channel::pair();
  const auto [read_end, write_end] = process::open_pipe();
  x_output_end = FileDescriptor(read_end);
  const FileDescriptor worker_output(write_end);
  command.descriptors = {-1, write_end, write_end, theirs.fd()};
  x_channel = std::move(mine);
  x_child = process::Child(command);
}

bool WorkerProcess::wait(int milliseconds) {
  pollfd ready[] = {{x_channel.fd(), POLLIN, 0}, {x_output_open ? x_output_end.get() : -1, POLLIN, 0}};
  if (::poll(ready, std::size(ready), milliseconds) <= 0) return false;
  if (ready[1].revents != 0) x_output_open = x_output.drain(x_output_end.get());
  return (ready[0].revents & POLLIN) != 0;
}

std::optional<std::string> WorkerProcess::death() {
  const std::optional<int> status = x_child.status();
  if (!status) return std::nullopt;
  x_exited_cleanly = *status == 0;
  if (x_confined && WIFEXITED(*status)) {
    const int signal = WEXITSTATUS(*status) - kShellSignalBase;
    if (signal > 0 && signal <= kLastSignal) return "was killed by " + process::describe_signal(signal);
  }
  return process::describe_status(*status);
}

void WorkerProcess::finish() {
  if (!x_child.wait(kQuitPatience)) x_child.kill();
}

std::string WorkerProcess::output() {
  if (x_output_open) x_output_open = x_output.drain(x_output_end.get());
  return x_output.text();
}

}  // namespace pkb::judge
