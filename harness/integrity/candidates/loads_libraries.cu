// SPDX-License-Identifier: Apache-2.0
// Looks for somebody else's all-reduce: NCCL's, MPI's, the reference's.
#include <dlfcn.h>

#include <string>

void run(pkb::Context& ctx, const pkb::Args& args) {
  for (const char* name : {"libnccl.so.2", "libnccl.so", "001_allreduce.so", "/problems/001_allreduce.so",
                           "../problems/001_allreduce.so", "build/problems/001_allreduce.so"})
    if (dlopen(name, RTLD_NOW) != nullptr) reached("%s", name);
  for (const char* symbol : {"ncclAllReduce", "MPI_Allreduce", "pkb_reference"})
    if (dlsym(RTLD_DEFAULT, symbol) != nullptr) reached("%s", symbol);
  tried("to load libraries");
  compute(ctx, args, ctx.stream());
}
