// SPDX-License-Identifier: Apache-2.0
#include "reference/fft.h"
#include "reference/problem.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const Tensor& x = in["x"];  // (B, H, N/W)
  const std::int64_t batch = x.size(0), height = x.size(1), columns = x.size(2), ranks = world.size();
  require(height % ranks == 0, "physicsnemo_distributed_rfft: {} rows over {} ranks", height, ranks);

  // Columns first: every rank has whole ones. Complex numbers are pairs in a last dimension.
  const Tensor real = x.transpose(1, 2);
  const Tensor by_column = fft(stack({real, Tensor::zeros(real.shape(), x.dtype(), x.place())}, -1), FftNorm::ortho);

  // (B, N/W, H) to (B, H/W, N): frequency rows of rank d go to rank d.
  const Tensor sent = by_column.view({batch, columns, ranks, height / ranks, 2}).permute({2, 0, 3, 1, 4}).contiguous();
  Tensor received = sent.empty_like();
  world.all_to_all_single(received, sent);
  const Tensor rows = received.permute({1, 2, 0, 3, 4}).reshape({batch, height / ranks, ranks * columns, 2});

  const Tensor spectrum = fft(rows, FftNorm::ortho);
  return {{"out", spectrum.narrow(2, 0, ranks * columns / 2 + 1).contiguous()}};
}

}  // namespace pkb
