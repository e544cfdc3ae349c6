// SPDX-License-Identifier: Apache-2.0
#include <pkb/allreduce.h>

__global__ void give_up() { __trap(); }

void run(pkb::Context& ctx, const pkb::Args&) { give_up<<<1, 32, 0, ctx.stream()>>>(); }
