// SPDX-License-Identifier: Apache-2.0
#include "harness/candidate/sandbox.h"

#include <unistd.h>

#include "harness/candidate/toolkit.h"
#include "harness/error/error.h"

namespace pkb::candidate {
namespace {

/// Where a distribution keeps compilers, headers and libraries; on some of them the short ones are links.
constexpr const char* kSystem[] = {"/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin"};
/// Alternatives decide which compiler `g++` is; the cache of the loader where its libraries are.
constexpr const char* kConfiguration[] = {"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
                                          "/etc/ld.so.conf.d"};

}  // namespace

std::vector<std::string> bubblewrap(const CompilerView& view) {
  const std::filesystem::path program = find_program("bwrap");
  if (program.empty())
    throw EnvironmentError({"bubblewrap", "is not installed, and candidates are compiled in a sandbox",
                            "install the package bubblewrap, or give --sandbox none"});
  std::vector<std::string> line = {
      program.string(), "--unshare-all", "--die-with-parent", "--new-session", "--proc", "/proc", "--dev",
      "/dev",           "--size",        "1073741824",        "--tmpfs",       "/tmp"};
  const auto add = [&](std::initializer_list<std::string> words) { line.insert(line.end(), words); };
  for (const std::filesystem::path path : kSystem) {
    if (std::filesystem::is_symlink(path)) {
      add({"--symlink", std::filesystem::read_symlink(path).string(), path.string()});
    } else if (std::filesystem::exists(path)) {
      add({"--ro-bind", path.string(), path.string()});
    }
  }
  for (const char* path : kConfiguration)
    if (std::filesystem::exists(path)) add({"--ro-bind", path, path});
  add({"--ro-bind", view.toolkit.string(), view.toolkit.string()});
  for (const auto& [here, there] : view.read_only) add({"--ro-bind", here.string(), there});
  add({"--bind", view.output.first.string(), view.output.second});
  add({"--chdir", view.folder, "--"});
  return line;
}

}  // namespace pkb::candidate
