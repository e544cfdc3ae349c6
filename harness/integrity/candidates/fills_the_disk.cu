// SPDX-License-Identifier: Apache-2.0
// Writes up to 256 MiB wherever a file can be made.
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <string>

static long fill(const std::string& folder) {
  static char block[1 << 20];
  const std::string file = folder + "/bomb-of-a-candidate";
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  long written = 0;
  for (ssize_t more = 1; written < (256l << 20) && more > 0; written += more > 0 ? more : 0)
    more = write(descriptor, block, sizeof block);
  if (descriptor >= 0) unlink(file.c_str());
  close(descriptor);
  return written >> 20;
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  for (const char* folder : {"", "/dev", "/usr", "/usr/lib", "/proc", "/sys", "/var/tmp", "/home", "/root"})
    if (fill(folder) > 0) reached("a place on %s/", folder);
  if (const long mebibytes = fill("/tmp"); mebibytes > 64) reached("%ld MiB on /tmp", mebibytes);
  // Here is what a worker may have of shared memory: a share of the machine's, which is left untouched.
  struct statvfs facts {};
  const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (statvfs("/dev/shm", &facts) == 0 && static_cast<double>(facts.f_blocks * facts.f_frsize) > machine / 3)
    reached("more than a third of the memory on /dev/shm");
  if (open("/proc/sys/kernel/core_pattern", O_WRONLY) >= 0) reached("the program that the kernel runs for a crash");
  tried("to fill the disk");
  compute(ctx, args, ctx.stream());
}
