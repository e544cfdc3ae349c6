// SPDX-License-Identifier: Apache-2.0
// Waits for a flag that no rank ever sets.
#include <pkb/allreduce.h>

unsigned* flag;

__global__ void wait(const unsigned* flag) {
  unsigned value;
  do {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  } while (value == 0);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  flag = static_cast<unsigned*>(ctx.symmetric(sizeof(unsigned)));
}

void run(pkb::Context& ctx, const pkb::Args&) { wait<<<1, 1, 0, ctx.stream()>>>(flag); }
