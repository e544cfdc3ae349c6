// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"
#include "reference/uneven.h"

namespace pkb {

using namespace ref;

namespace {

Counts lengths_of(const Tensor& row) {
  Counts lengths;
  for (const std::int64_t length : row.integers())
    if (length > 0) lengths.push_back(length);
  return lengths;
}

/// Square matrices, one after the other, as views.
std::vector<Tensor> matrices(const Tensor& flat, const Counts& lengths) {
  Counts squares;
  for (const std::int64_t length : lengths) squares.push_back(length * length);
  std::vector<Tensor> blocks = flat.split(squares);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = blocks[i].view({lengths[i], lengths[i]});
  return blocks;
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const Tensor &lambda = in["kalman_lambda"], &lengths_of_all = in["block_lengths"];
  const Counts lengths = lengths_of(lengths_of_all[world.rank()]);
  require(in["H"].numel() == total(lengths), "deepmd_kalman_filter_optimizer: H {} for blocks of {}", in["H"].shape(), lengths);

  const std::vector<Tensor> H = in["H"].split(lengths), P = matrices(in["P"], lengths);
  const Tensor gains = in["H"].empty_like();
  std::vector<Tensor> K = gains.split(lengths);
  Tensor normaliser = Tensor::zeros({1}, lambda.dtype(), lambda.place());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    K[i].copy_(matmul(P[i], H[i]));
    normaliser = normaliser + lambda + matmul(H[i], K[i]).view({1});
  }
  world.all_reduce(normaliser, Reduce::sum);
  const Tensor A = pow(normaliser, -1);

  const Tensor weights = in["weights"] + (A * in["error"]) * gains;
  const Tensor updated = in["P"].empty_like();
  std::vector<Tensor> updated_P = matrices(updated, lengths);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    updated_P[i].copy_(pow(lambda, -1) * (P[i] - A * (K[i].unsqueeze(1) * K[i])));

  const double nue = ctx.param("kalman_nue");
  return {{"all_weights", all_gather_rows(world, weights, sum(lengths_of_all, {.dimensions = {1}}).integers())},
          {"P", updated},
          {"next_lambda", nue * lambda + 1 - nue}};
}

// Covariances whose other elements are of the size of the diagonal; they and H differ in size between ranks.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const int rank = ctx.world().rank(), idle = ctx.param("idle");
  const std::int64_t equal = ctx.param("n"), first = ctx.param("c"), extra = ctx.param("extra");
  const double last = ctx.param("last");
  Tensor lengths = in["block_lengths"], H = in["H"];
  for (int r = 0; r < ctx.world().size(); ++r) {
    if (r == idle) continue;
    lengths[r].narrow(0, 0, equal).fill_(static_cast<double>(first + r * extra));
    lengths[r].narrow(0, equal, 1).fill_(last);
  }
  const auto key = [&](int number) { return request.key(number, rank); };
  Tensor sides = H.empty_like(), diagonals = H.empty_like();
  random_fill(H, {.stddev = 1 + 0.5 * rank}, key(0));
  random_fill(sides, {.stddev = 1.0 / (1 + rank)}, key(1));
  random_fill(diagonals, {.kind = Distribution::Kind::uniform, .low = 0.5, .high = 2}, key(2));
  const Counts own = lengths_of(lengths[rank]);
  const std::vector<Tensor> side = sides.split(own), diagonal = diagonals.split(own);
  std::vector<Tensor> P = matrices(in["P"], own);
  for (std::size_t i = 0; i < own.size(); ++i) {
    P[i].copy_(side[i].unsqueeze(1) * side[i]);
    Tensor on_diagonal = P[i].view({own[i] * own[i]}).unfold(0, 1, own[i] + 1);
    on_diagonal.copy_(on_diagonal + diagonal[i].unsqueeze(1));
  }
}

}  // namespace pkb
