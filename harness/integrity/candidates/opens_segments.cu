// SPDX-License-Identifier: Apache-2.0
// Opens everything that its descriptors name, and asks for the memory of ranks that do not exist.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <string>

void run(pkb::Context& ctx, const pkb::Args& args) {
  for (int descriptor = 0; descriptor < 4096; ++descriptor) {
    struct stat facts {};
    if (fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
      void* const memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
      if (memory != MAP_FAILED) reached("a segment by descriptor %d", descriptor);
    }
  }
  for (const int rank : {-1, ctx.world_size()}) try {
      if (ctx.peer(args.tensor.as<pkb::T>(), rank) != nullptr) reached("rank %d", rank);
    } catch (const std::exception&) {
    }
  tried("to open segments");
  compute(ctx, args, ctx.stream());
}
