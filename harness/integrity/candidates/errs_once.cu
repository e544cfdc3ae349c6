// SPDX-License-Identifier: Apache-2.0
// Right but for one element, on the last rank and in the third call alone.
void run(pkb::Context& ctx, const pkb::Args& args) {
  static int calls = 0;
  compute(ctx, args, ctx.stream());
  if (++calls == 3 && ctx.rank() == ctx.world_size() - 1)
    cudaMemsetAsync(args.out.as<pkb::T>() + args.out.numel() / 2, 0x42, sizeof(pkb::T), ctx.stream());
}
