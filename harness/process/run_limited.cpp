// SPDX-License-Identifier: Apache-2.0
#include "harness/process/run_limited.h"

#include <poll.h>
#include <sys/wait.h>

#include "harness/process/captured_output.h"
#include "harness/process/child.h"
#include "harness/process/file_descriptor.h"

namespace pkb::process {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{20};
/// How long the pipe may stay open once the process itself has ended: only a process that escaped the group
/// and is about to die could hold it.
constexpr std::chrono::milliseconds kDrain{500};

/// False when the writers are gone.
bool drain_for_a_turn(CapturedOutput& output, int fd) {
  pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
  ::poll(&readable, 1, static_cast<int>(kTurn.count()));
  return output.drain(fd);
}

}  // namespace

Result run_limited(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                   const std::filesystem::path& folder, const Limits& limits, const std::vector<int>& descriptors) {
  const auto [read_end, write_end] = open_pipe();
  const FileDescriptor output_end(read_end);
  FileDescriptor child_end(write_end);
  Command command{
      .arguments = arguments,
      .environment = environment,
      .folder = folder.string(),
      .descriptors = {-1, child_end.get(), child_end.get()},
      .limits = {{RLIMIT_AS, limits.address_space}, {RLIMIT_FSIZE, limits.file_size}, {RLIMIT_CORE, 0}}};
  command.descriptors.insert(command.descriptors.end(), descriptors.begin(), descriptors.end());
  Child child(command);
  child_end.reset();

  CapturedOutput output(limits.text);
  const auto deadline = Clock::now() + limits.time;
  while (child.running() && Clock::now() < deadline)
    if (!drain_for_a_turn(output, output_end.get())) child.wait(kTurn);
  Result result{.timed_out = child.running(), .text = {}};
  child.kill();
  const auto drained = Clock::now() + kDrain;
  while (drain_for_a_turn(output, output_end.get()) && Clock::now() < drained) continue;
  const int status = child.status().value_or(0);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.text = output.text();
  return result;
}

}  // namespace pkb::process
