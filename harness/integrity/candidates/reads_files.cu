// SPDX-License-Identifier: Apache-2.0
// Opens what is none of its business. The test has put a secret of its own at the first paths.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

void run(pkb::Context& ctx, const pkb::Args& args) {
  constexpr const char* kSecrets = "/tmp/pkb-integrity-secrets";
  for (const std::string file : {"/key", "/result.json", "/candidate.cu", "/prompt.md"})
    for (const std::string root : {"", "/proc/self/root", "/proc/1/root", "/proc/1/cwd/..", "/../.."})
      if (open((root + kSecrets + file).c_str(), O_RDONLY) >= 0) reached("%s", file.c_str());
  for (const char* file : {"/etc/passwd", "/etc/shadow", "/etc/hostname", "/root/.ssh", "/root/.bashrc", "/var/log"})
    if (open(file, O_RDONLY) >= 0) reached("%s", file);
  DIR* const root = opendir("/");
  while (const dirent* each = root != nullptr ? readdir(root) : nullptr) {
    const std::string name = each->d_name;
    for (const char* hidden : {"home", "root", "var", "work", "opt", "srv", "mnt", "media", "run", "boot", "bin", "sbin"})
      if (name == hidden) reached("/%s", hidden);
  }
  tried("to read files");
  compute(ctx, args, ctx.stream());
}
