// SPDX-License-Identifier: Apache-2.0
#include "harness/sandbox/sandbox.h"

#include <fmt/format.h>
#include <unistd.h>

#include <span>

#include "harness/error/error.h"
#include "harness/process/captured_output.h"
#include "harness/process/executable.h"
#include "harness/process/memory_file.h"
#include "harness/process/run_limited.h"
#include "harness/sandbox/system_calls.h"

namespace pkb::sandbox {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

constexpr std::string_view kProcNames[] = {"fresh", "none", "outer"};

/// Where a distribution keeps them; on some of them the short ones are links.
constexpr const char* kLibraries[] = {"/usr/lib", "/usr/lib64", "/lib", "/lib64"};
constexpr const char* kCompilers[] = {"/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin"};
/// The cache of the loader says where libraries are; alternatives decide which of several one name means.
constexpr const char* kLibraryConfiguration[] = {"/etc/ld.so.cache", "/etc/alternatives"};
/// Read by the linker.
constexpr const char* kCompilerConfiguration[] = {"/etc/ld.so.conf", "/etc/ld.so.conf.d"};

void add(Arguments& to, std::initializer_list<std::string> more) { to.insert(to.end(), more); }

/// What in /proc is not about processes.
constexpr const char* kSettingsInProc[] = {"/proc/acpi", "/proc/bus",  "/proc/fs",  "/proc/irq",
                                           "/proc/scsi", "/proc/sys",  "/proc/sysrq-trigger"};

/// Shows a folder at its own path; a link stays a link, so that merged and split /usr both work.
void show_folder(Arguments& to, const fs::path& path) {
  std::error_code error;
  if (fs::is_symlink(path, error))
    add(to, {"--symlink", fs::read_symlink(path).string(), path.string()});
  else if (fs::is_directory(path, error))
    add(to, {"--ro-bind", path.string(), path.string()});
}

/// Empty when a trivial program runs inside; else what bubblewrap said.
std::string try_out(const Means& means) {
  const auto program = process::find_executable("true");
  if (!program) return "no program `true` to try it with";
  Arguments line = walls(means, {.shown = {"--ro-bind", program->string(), "/true"}});
  add(line, {"--", "/true"});
  const process::Result ended = process::run_limited(line, {}, "/", {.time = std::chrono::seconds(10)});
  if (ended.timed_out) return "bwrap did not end";
  if (ended.exit_code == 0) return {};
  process::CapturedOutput output(ended.text.size());
  output.append(ended.text);
  const std::string said = output.last_lines(1);
  return !said.empty() ? said : fmt::format("bwrap ended with status {}", ended.exit_code);
}

}  // namespace

std::string_view name_of(Means::Proc proc) { return kProcNames[static_cast<std::size_t>(proc)]; }

fs::path find_bwrap() {
  const auto bwrap = process::find_executable("bwrap");
  if (!bwrap)
    throw EnvironmentError(
        {.where = "sandbox",
         .fault = "bubblewrap (bwrap) is not installed",
         .remedy = "install it (scripts/setup does), or run unprotected with --sandbox none"});
  return *bwrap;
}

Means find_means(const fs::path& bwrap, Means::Proc weakest) {
  Means means{.bwrap = bwrap};
  std::string first_fault;
  for (const auto proc : {Means::Proc::fresh, weakest}) {
    for (const bool user_namespace : {true, false}) {
      means.proc = proc;
      means.user_namespace = user_namespace;
      const std::string found = try_out(means);
      if (found.empty()) return means;
      if (first_fault.empty()) first_fault = found;
    }
  }
  throw EnvironmentError({.where = "sandbox",
                          .fault = fmt::format("bubblewrap cannot make namespaces here ({})", first_fault),
                          .remedy =
                              "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
                              "kernel.apparmor_restrict_unprivileged_userns=0, or a container that permits "
                              "them), or run unprotected with --sandbox none"});
}

std::string fault() {
  try {
    find_means(find_bwrap());
    return {};
  } catch (const EnvironmentError& error) {
    return error.what();
  }
}

std::vector<std::string> walls(const Means& means, const View& view) {
  // Started by root, bubblewrap would leave all capabilities to the program.
  Arguments line = {
      means.bwrap.string(), "--die-with-parent", "--new-session",        "--unshare-pid", "--unshare-net",
      "--unshare-ipc",      "--unshare-uts",     "--unshare-cgroup-try", "--cap-drop",    "ALL"};
  if (means.user_namespace) line.emplace_back("--unshare-user");
  const auto show_files = [&](std::span<const char* const> paths) {
    for (const char* path : paths) add(line, {"--ro-bind-try", path, path});
  };
  show_files(kLibraryConfiguration);
  if (view.system == System::libraries) {
    for (const char* folder : kLibraries) show_folder(line, folder);
  } else {
    for (const char* folder : kCompilers) show_folder(line, folder);
    show_files(kCompilerConfiguration);
  }
  add(line, {"--dev", "/dev", "--size", std::to_string(view.shared_bytes), "--tmpfs", "/dev/shm", "--size",
             std::to_string(view.tmp_bytes), "--tmpfs", "/tmp"});
  switch (means.proc) {
    case Means::Proc::fresh:
      // To root's processes the kernel's settings are files like any other, capabilities or not.
      add(line, {"--proc", "/proc"});
      if (!view.proc_is_written)
        add(line, {"--remount-ro", "/proc"});
      else
        for (const char* settings : kSettingsInProc) add(line, {"--ro-bind-try", settings, settings});
      break;
    case Means::Proc::none:
      break;
    case Means::Proc::outer:
      add(line, {"--ro-bind", "/proc", "/proc"});
      break;
  }
  line.insert(line.end(), view.shown.begin(), view.shown.end());
  // Bubblewrap's own root and /dev are file systems in memory, as large as half of it.
  add(line, {"--remount-ro", "/dev", "--remount-ro", "/"});
  return line;
}

FileDescriptor filter_for_compilers() {
  const std::string program = filter_program({.programs = true});
  FileDescriptor file = process::memory_file(program.size());
  if (!file ||
      ::pwrite(file.get(), program.data(), program.size(), 0) != static_cast<ssize_t>(program.size()))
    throw EnvironmentError(
        {.where = "sandbox", .fault = "no file can be made in memory", .remedy = "free some"});
  return file;
}

}  // namespace pkb::sandbox
