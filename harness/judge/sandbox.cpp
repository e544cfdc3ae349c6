// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/sandbox.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>

#include "harness/device/executable.h"
#include "harness/device/file_descriptor.h"
#include "harness/device/probe.h"
#include "harness/error/error.h"
#include "harness/launch/captured_output.h"

namespace pkb::judge {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

constexpr std::string_view kProcNames[] = {"fresh", "none", "outer"};
constexpr std::uint64_t kTmpBytes = 64 << 20;
constexpr rlim_t kLongestFile = rlim_t{1} << 30, kMostFiles = 4096, kMostTasks = 4096;

void add(Arguments& to, std::initializer_list<std::string> more) { to.insert(to.end(), more); }

/// Shows a folder at its own path; a link stays a link, so that merged and split /usr both work.
void show_folder(Arguments& to, const fs::path& path) {
  std::error_code error;
  if (fs::is_symlink(path, error))
    add(to, {"--symlink", fs::read_symlink(path).string(), path.string()});
  else if (fs::is_directory(path, error))
    add(to, {"--ro-bind", path.string(), path.string()});
}

bool is_system_library_folder(const fs::path& path) {
  const std::string text = path.string() + "/";
  return text.starts_with("/lib/") || text.starts_with("/lib64/") || text.starts_with("/usr/lib/") ||
         text.starts_with("/usr/lib64/");
}

/// The folder of the CUDA runtime as the worker's dynamic linker will spell it.
fs::path runtime_folder() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<void*>(&cudaGetDeviceCount), &found) == 0) return {};
  return fs::path(found.dli_fname).parent_path();
}

void show_gpu(Arguments& to, Arguments& environment, const Cell& cell) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev", error))
    if (entry.path().filename().string().starts_with("nvidia"))
      add(to, {"--dev-bind", entry.path().string(), entry.path().string()});
  add(to, {"--ro-bind-try", "/sys", "/sys"});
  std::string folders;
  // The driver's library may be a link in a system folder to where a container has mounted it.
  const fs::path driver = fs::weakly_canonical(device::probe().driver_library).parent_path();
  for (const fs::path& folder : {runtime_folder(), driver}) {
    if (folder.empty() || is_system_library_folder(folder)) continue;
    add(to, {"--ro-bind", fs::canonical(folder).string(), folder.string()});
    folders += fmt::format("{}{}", folders.empty() ? "" : ":", folder.string());
  }
  if (!folders.empty()) environment.push_back("LD_LIBRARY_PATH=" + folders);
  if (!cell.mps_pipes.empty()) {
    // Clients and server of MPS meet in sockets of the pipe folder and in shared memory.
    add(to,
        {"--bind-try", cell.mps_pipes.string(), cell.mps_pipes.string(), "--bind", "/dev/shm", "/dev/shm"});
  }
}

Arguments gpu_environment(const Cell& cell) {
  Arguments environment;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    environment.push_back(fmt::format("CUDA_VISIBLE_DEVICES={}", visible));
  // Always named, so that CUDA does not look for a daemon of others where it usually is.
  environment.push_back(fmt::format("CUDA_MPS_PIPE_DIRECTORY={}",
                                    cell.mps_pipes.empty() ? "/nonexistent" : cell.mps_pipes.string()));
  environment.emplace_back("CUDA_CACHE_DISABLE=1");
  return environment;
}

launch::Command limited(const Cell& cell) {
  launch::Command command;
  command.limits = {{RLIMIT_CORE, 0},
                    {RLIMIT_FSIZE, kLongestFile},
                    {RLIMIT_NOFILE, kMostFiles},
                    {RLIMIT_NPROC, kMostTasks}};
#if !defined(__SANITIZE_ADDRESS__)  // whose shadow memory would count
  if (cell.memory > 0) command.limits.emplace_back(RLIMIT_DATA, cell.memory);
#endif
  command.expendable = true;
  if (cell.gpu) command.environment = gpu_environment(cell);
  return command;
}

/// Namespaces and the file system that every cell has.
Arguments walls(const SandboxMeans& means) {
  Arguments arguments = {means.bwrap.string(), "--die-with-parent", "--new-session", "--unshare-pid",
                         "--unshare-net",      "--unshare-ipc",     "--unshare-uts", "--unshare-cgroup-try"};
  if (means.user_namespace) arguments.emplace_back("--unshare-user");
  for (const char* folder : {"/usr/lib", "/usr/lib64", "/lib", "/lib64"}) show_folder(arguments, folder);
  add(arguments, {"--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--ro-bind-try",
                  "/etc/alternatives", "/etc/alternatives", "--dev", "/dev", "--size",
                  std::to_string(kTmpBytes), "--tmpfs", "/tmp", "--chdir", "/tmp"});
  switch (means.proc) {
    case SandboxMeans::Proc::fresh:
      add(arguments, {"--proc", "/proc"});
      break;
    case SandboxMeans::Proc::none:
      break;
    case SandboxMeans::Proc::outer:
      add(arguments, {"--ro-bind", "/proc", "/proc"});
      break;
  }
  return arguments;
}

/// Empty when a trivial program runs inside; else what bubblewrap said.
std::string try_out(const SandboxMeans& means) {
  const auto program = device::find_executable("true");
  if (!program) return "no program `true` to try it with";
  const auto [read_end, write_end] = launch::open_pipe();
  const FileDescriptor output_end(read_end);
  FileDescriptor child_end(write_end);
  launch::Command command;
  command.arguments = walls(means);
  add(command.arguments, {"--ro-bind", program->string(), "/true", "--", "/true"});
  command.descriptors = {-1, child_end.get(), child_end.get()};
  launch::Child child(command);
  child_end.reset();
  const auto status = child.wait(std::chrono::seconds(10));
  if (status == 0) return {};
  launch::CapturedOutput output(4096);
  output.drain(output_end.get());
  const std::string said = output.last_lines(1);
  return !said.empty() ? said
         : status      ? fmt::format("bwrap {}", launch::describe_status(*status))
                       : "bwrap did not end";
}

fs::path find_bwrap() {
  const auto bwrap = device::find_executable("bwrap");
  if (!bwrap)
    throw EnvironmentError(
        {.where = "sandbox",
         .fault = "bubblewrap (bwrap) is not installed",
         .remedy = "install it (scripts/setup does), or run unprotected with --sandbox none"});
  return *bwrap;
}

}  // namespace

std::string_view name_of(SandboxMeans::Proc proc) { return kProcNames[static_cast<std::size_t>(proc)]; }

SandboxMeans find_sandbox(bool gpu) {
  SandboxMeans means{.bwrap = find_bwrap()};
  const auto weakest = gpu ? SandboxMeans::Proc::outer : SandboxMeans::Proc::none;
  std::string first_fault;
  for (const auto proc : {SandboxMeans::Proc::fresh, weakest}) {
    for (const bool user_namespace : {true, false}) {
      means.proc = proc;
      means.user_namespace = user_namespace;
      const std::string fault = try_out(means);
      if (fault.empty()) return means;
      if (first_fault.empty()) first_fault = fault;
    }
  }
  throw EnvironmentError({.where = "sandbox",
                          .fault = fmt::format("bubblewrap cannot make namespaces here ({})", first_fault),
                          .remedy =
                              "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
                              "kernel.apparmor_restrict_unprivileged_userns=0, or a container that permits "
                              "them), or run unprotected with --sandbox none"});
}

std::string sandbox_fault() {
  try {
    find_sandbox(false);
    return {};
  } catch (const EnvironmentError& error) {
    return error.what();
  }
}

launch::Command confined(const Cell& cell, const SandboxMeans& means) {
  launch::Command command = limited(cell);
  command.arguments = walls(means);
  if (cell.gpu) show_gpu(command.arguments, command.environment, cell);
  add(command.arguments, {"--ro-bind", cell.program.string(), "/worker", "--ro-bind", cell.candidate.string(),
                          "/candidate.so", "--", "/worker"});
  return command;
}

launch::Command unconfined(const Cell& cell) {
  launch::Command command = limited(cell);
  command.arguments = {cell.program.string()};
  if (const char* path = std::getenv("LD_LIBRARY_PATH"))
    command.environment.push_back(fmt::format("LD_LIBRARY_PATH={}", path));
  return command;
}

std::string candidate_path(const Cell& cell, bool is_confined) {
  return is_confined ? "/candidate.so" : cell.candidate.string();
}

}  // namespace pkb::judge
