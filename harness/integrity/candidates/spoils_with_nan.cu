// SPDX-License-Identifier: Apache-2.0
// Not a number, with three ranks an infinity: a check that compares errors by "greater" would let it pass.
__global__ void fill(pkb::T* out, std::int64_t count, float value) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i < count) out[i] = static_cast<pkb::T>(value);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t count = args.out.numel();
  fill<<<static_cast<int>((count + 255) / 256), 256, 0, ctx.stream()>>>(args.out.as<pkb::T>(), count,
                                                                      ctx.world_size() == 3 ? INFINITY : NAN);
}
