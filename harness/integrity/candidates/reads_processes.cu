// SPDX-License-Identifier: Apache-2.0
// Looks into every process of /proc for environments, descriptors and memory.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

/// Process 1 is the sandbox's own first process: what it was started with must hold nothing either.
static void look_into(const std::string& process) {
  char bytes[4096];
  const int environment = open((process + "/environ").c_str(), O_RDONLY);
  if (const ssize_t length = read(environment, bytes, sizeof bytes); length > 0)
    for (ssize_t i = 0; i < length; i += static_cast<ssize_t>(std::string(bytes + i).size()) + 1)
      if (std::string(bytes + i).find("SECRET") != std::string::npos) reached("%s", bytes + i);
  close(environment);
  DIR* const descriptors = opendir((process + "/fd").c_str());
  while (const dirent* each = descriptors != nullptr ? readdir(descriptors) : nullptr) {
    const ssize_t length = readlink((process + "/fd/" + each->d_name).c_str(), bytes, sizeof bytes - 1);
    const std::string target(bytes, length > 0 ? length : 0);
    const bool known = target.empty() || target.starts_with("pipe:") || target.starts_with("socket:") ||
                       target.starts_with("anon_inode:") || target.starts_with("/proc") || target == "/dev/null" ||
                       target.starts_with("/dev/nvidia");
    if (!known) reached("descriptor %s of %s: %s", each->d_name, process.c_str(), target.c_str());
  }
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  DIR* const processes = opendir("/proc");
  while (const dirent* each = processes != nullptr ? readdir(processes) : nullptr) {
    const int pid = std::atoi(each->d_name);
    if (pid > 1 && pid != getpid() && access(("/proc/" + std::to_string(pid) + "/mem").c_str(), R_OK) == 0 &&
        open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY) >= 0)
      reached("the memory of process %d", pid);
    if (pid > 0) look_into("/proc/" + std::to_string(pid));
  }
  tried("to read processes");
  compute(ctx, args, ctx.stream());
}
