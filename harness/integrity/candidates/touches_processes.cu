// SPDX-License-Identifier: Apache-2.0
// Traces, reads and signals whatever process number it can think of; only in ways that change nothing.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string>

void run(pkb::Context& ctx, const pkb::Args& args) {
  char byte = 0;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
  for (int pid = 1; pid < 5'000; ++pid) {
    // A thread of ours is no process of others.
    if (access(("/proc/self/task/" + std::to_string(pid)).c_str(), F_OK) == 0) continue;
    if (pid > 1 && kill(pid, 0) == 0) reached("process %d with a signal", pid);
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) == 1) reached("the memory of process %d", pid);
    if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0) {
      reached("process %d with ptrace", pid);
      ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    }
  }
  tried("to touch processes");
  compute(ctx, args, ctx.stream());
}
