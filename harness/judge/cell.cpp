// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/cell.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "harness/device/probe.h"

namespace pkb::judge {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

constexpr std::uint64_t kTmpBytes = 64 << 20;
constexpr rlim_t kLongestFile = rlim_t{1} << 30, kMostFiles = 4096, kMostTasks = 4096;

void add(Arguments& to, std::initializer_list<std::string> more) { to.insert(to.end(), more); }

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

constexpr const char* kFoldersOfLibraries[] = {"/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu",
                                               "/usr/lib/aarch64-linux-gnu"};

/// A candidate replaces NCCL: where a folder that is shown has it, nothing is in its place.
void hide_nccl(Arguments& to, const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with("libnccl") && !entry.is_symlink())
      add(to, {"--ro-bind", "/dev/null", entry.path().string()});
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
    hide_nccl(to, folder);
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

process::Command limited(const Cell& cell) {
  process::Command command;
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

}  // namespace

sandbox::Means find_means(const fs::path& bwrap, bool gpu) {
  using Proc = sandbox::Means::Proc;
  return sandbox::find_means(bwrap, gpu ? Proc::outer : Proc::none);
}

process::Command confined(const Cell& cell, const sandbox::Means& means) {
  process::Command command = limited(cell);
  Arguments shown = {"--ro-bind", cell.program.string(), "/worker", "--ro-bind", cell.candidate.string(),
                     "/candidate.so"};
  for (const char* folder : kFoldersOfLibraries) hide_nccl(shown, folder);
  if (cell.gpu) show_gpu(shown, command.environment, cell);
  command.arguments =
      sandbox::walls(means, {.system = sandbox::System::libraries,
                             .tmp_bytes = kTmpBytes,
                             .shared_bytes = std::max<std::uint64_t>(cell.memory / 2, kTmpBytes),
                             .shown = std::move(shown),
                             .proc_is_written = cell.gpu});
  add(command.arguments, {"--chdir", "/tmp", "--", "/worker"});
  return command;
}

process::Command unconfined(const Cell& cell) {
  process::Command command = limited(cell);
  command.arguments = {cell.program.string()};
  if (const char* path = std::getenv("LD_LIBRARY_PATH"))
    command.environment.push_back(fmt::format("LD_LIBRARY_PATH={}", path));
  return command;
}

std::string candidate_path(const Cell& cell, bool is_confined) {
  return is_confined ? "/candidate.so" : cell.candidate.string();
}

}  // namespace pkb::judge
