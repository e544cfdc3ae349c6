// SPDX-License-Identifier: Apache-2.0
// An instruction that the virtual GPU does not have.
#include <pkb/allreduce.h>

__global__ void differ(unsigned* out) {
  unsigned d;
  asm volatile("vadd.u32.u32.u32 %0, %1, %1;" : "=r"(d) : "r"(threadIdx.x));
  out[0] = d;
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  differ<<<1, 32, 0, ctx.stream()>>>(args.out.as<unsigned>());
}
