// SPDX-License-Identifier: Apache-2.0
// Takes memory of every kind that a limit on private data might miss, a little of each; and address space for data
// until it is refused, without touching it.
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

void run(pkb::Context& ctx, const pkb::Args& args) {
  constexpr std::size_t kLittle = 1 << 20, kChunk = std::size_t{1} << 30;
  if (mmap(nullptr, kLittle, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
    reached("shared memory without a file");
  if (memfd_create("bomb", 0) >= 0) reached("a file in memory");
  if (shmget(IPC_PRIVATE, kLittle, IPC_CREAT | 0600) >= 0) reached("System V shared memory");
  int gibibytes = 0;
  const long machine = sysconf(_SC_PHYS_PAGES) / (1 << 18);
  while (gibibytes < 2 * machine &&
         mmap(nullptr, kChunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
    ++gibibytes;
  if (gibibytes >= machine) reached("%d GiB", gibibytes);
  tried("to take memory");
  compute(ctx, args, ctx.stream());
}
