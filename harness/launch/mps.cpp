// SPDX-License-Identifier: Apache-2.0
#include "harness/launch/mps.h"

#include <fmt/format.h>

#include <cstdlib>
#include <thread>

#include "harness/error/error.h"
#include "harness/process/executable.h"
#include "harness/process/file_descriptor.h"

namespace pkb::launch {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartPatience = 3s, kQuitPatience = 5s;
constexpr std::size_t kLongestSocketPath = 100;  // sockaddr_un holds 108, the daemon appends names of its own

/// Where a daemon that is not ours would listen.
std::filesystem::path foreign_control() {
  const char* const folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return std::filesystem::path(folder != nullptr ? folder : "/tmp/nvidia-mps") / "control";
}

std::vector<std::string> environment_of(const std::filesystem::path& pipes,
                                        const std::filesystem::path& logs) {
  std::vector<std::string> environment = {"CUDA_MPS_PIPE_DIRECTORY=" + pipes.string(),
                                          "CUDA_MPS_LOG_DIRECTORY=" + logs.string()};
  for (const char* name : {"PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"})
    if (const char* value = std::getenv(name)) environment.push_back(fmt::format("{}={}", name, value));
  return environment;
}

}  // namespace

Mps::Mps(const std::filesystem::path& run_folder)
    : x_control(process::find_executable("nvidia-cuda-mps-control").value_or("")),
      x_pipes(run_folder / "mps"),
      x_logs(run_folder / "mps-log") {
  std::error_code ignored;
  if (x_control.empty()) {
    x_note = "ranks take turns on the GPU: nvidia-cuda-mps-control is not installed";
  } else if (std::filesystem::exists(foreign_control(), ignored)) {
    x_note = fmt::format("ranks take turns on the GPU: another MPS daemon is in use ({})",
                         foreign_control().parent_path().string());
  } else if (x_pipes.string().size() > kLongestSocketPath) {
    x_note = "ranks take turns on the GPU: the run folder's path is too long for MPS";
  }
  if (!x_note.empty()) return;
  std::filesystem::create_directory(x_pipes);
  std::filesystem::create_directory(x_logs);
  try {
    x_daemon = process::Child({.arguments = {x_control.string(), "-f"},
                               .environment = environment_of(x_pipes, x_logs),
                               .death_signal = SIGTERM});
  } catch (const EnvironmentError& error) {
    x_note = fmt::format("ranks take turns on the GPU: {}", error.what());
    return;
  }
  const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
  while (x_daemon.running() && !std::filesystem::exists(x_pipes / "control", ignored) &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(5ms);
  if (x_daemon.running() && std::filesystem::exists(x_pipes / "control", ignored)) {
    x_note = "ranks share the GPU through a private MPS daemon";
  } else {
    x_daemon.end(1s);
    x_note = "ranks take turns on the GPU: the MPS daemon did not start";
  }
}

Mps::~Mps() {
  if (!x_daemon.running()) return;
  try {
    FileDescriptor quit_read, quit_write;
    const auto [read_end, write_end] = process::open_pipe();
    quit_read = FileDescriptor(read_end);
    quit_write = FileDescriptor(write_end);
    process::Child control({.arguments = {x_control.string()},
                            .environment = environment_of(x_pipes, x_logs),
                            .descriptors = {quit_read.get(), -1, -1}});
    constexpr std::string_view kQuit = "quit -t 1\n";
    if (::write(quit_write.get(), kQuit.data(), kQuit.size()) > 0) {
      quit_write.reset();
      control.wait(kQuitPatience);
    }
    x_daemon.wait(kQuitPatience);
  } catch (const std::exception&) {
    // The daemon is ended by its destructor all the same.
  }
  x_daemon.end(1s);
}

}  // namespace pkb::launch
