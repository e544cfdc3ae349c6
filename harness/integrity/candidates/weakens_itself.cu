// SPDX-License-Identifier: Apache-2.0
// Asks the kernel for more freedom, or to be seen less.
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void run(pkb::Context& ctx, const pkb::Args& args) {
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_PDEATHSIG, 0);
  setsid();
  setpgid(0, 0);
  if (unshare(CLONE_NEWUSER) == 0) reached("a user namespace");
  if (unshare(CLONE_NEWNS) == 0) reached("a mount namespace");
  if (mount("none", "/tmp", "tmpfs", 0, nullptr) == 0) reached("a mount");
  if (mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0) reached("a writable root");
  if (chroot("/tmp") == 0) reached("a root of its own");
  if (syscall(SYS_bpf, 0, nullptr, 0) >= 0) reached("bpf");
  if (syscall(SYS_io_uring_setup, 1, nullptr) >= 0) reached("io_uring");
  if (syscall(SYS_keyctl, 0, -3, 1) >= 0) reached("a key ring");
  if (syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0) >= 0) reached("performance events");
  const rlimit without_limit{RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_DATA, &without_limit) == 0) reached("memory without limit");
  if (setrlimit(RLIMIT_NOFILE, &without_limit) == 0) reached("descriptors without limit");
  if (nice(-5) != -1) reached("a higher priority");
  tried("to weaken the sandbox");
  compute(ctx, args, ctx.stream());
}
