// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "problems/061_gsplat_3d_gaussian_splatting/projection.h"
#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"
#include "reference/uneven.h"

namespace pkb {

using namespace ref;

namespace {

View view_of(Context& ctx) {
  return {.width = ctx.param("width"),
          .height = ctx.param("height"),
          .near_plane = ctx.param("near_plane"),
          .far_plane = ctx.param("far_plane"),
          .eps2d = ctx.param("eps2d")};
}

/// All ranks' cameras, in rank order.
Cameras all_gather_cameras(Context& ctx, const Tensors& in) {
  const Tensor &viewmats = in["viewmats"], &Ks = in["Ks"];
  const std::int64_t own = viewmats.size(0), all = ctx.world().size() * own;
  Tensor numbers = Tensor::empty({all, 25}, Ks.dtype(), Ks.place());
  ctx.world().all_gather_into_tensor(numbers, cat({viewmats.reshape({own, 16}), Ks.reshape({own, 9})}, 1));
  return {numbers.narrow(1, 0, 16).reshape({all, 4, 4}), numbers.narrow(1, 16, 9).reshape({all, 3, 3})};
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const Place place = in["means"].place();
  const std::int64_t gaussians = in["means"].size(0), own_cameras = in["Ks"].size(0);
  const Counts everyones = all_gather_counts(world, gaussians, place);
  const Cameras cameras = all_gather_cameras(ctx, in);
  const Projected projected = project({in["means"], in["quats"], in["scales"]}, cameras, view_of(ctx));

  // Pairs of a camera and a Gaussian that it sees, in this order, so that those for a rank are neighbours.
  const Tensor pairs = flatnonzero(projected.visible);
  const Tensor camera = floor_divide(pairs, std::max<std::int64_t>(1, gaussians));
  const Tensor gaussian = remainder(pairs, std::max<std::int64_t>(1, gaussians));
  const Counts sent = bincount(floor_divide(camera, own_cameras), world.size()).integers();
  const Counts received = all_to_all_counts(world, sent, place);
  const double before = static_cast<double>(total({everyones.begin(), everyones.begin() + world.rank()}));

  const auto of_pairs = [&](const Tensor& t, int width) { return index_select(t.reshape({-1, width}), 0, pairs); };
  const auto of_gaussians = [&](const Tensor& t, int width) { return index_select(t.view({gaussians, width}), 0, gaussian); };
  const Tensor radii = all_to_all_rows(world, of_pairs(ceil(projected.reach), 2).to(DType::i32), sent, received);
  const Tensor values = all_to_all_rows(
      world,
      cat({of_pairs(projected.means2d, 2), of_pairs(projected.depths, 1), of_pairs(projected.conics, 3),
           of_gaussians(in["opacities"], 1), of_gaussians(in["colors"], 3)},
          1),
      sent, received);
  const Tensor ids = all_to_all_rows(world, stack({remainder(camera, own_cameras), gaussian + before}, 1), sent, received);

  const auto columns = [](const Tensor& t, int first, int width) { return t.narrow(1, first, width).contiguous(); };
  const auto column = [](const Tensor& t, int at) { return t.select(1, at).contiguous(); };
  return {{"camera_ids", column(ids, 0)},
          {"gaussian_ids", column(ids, 1)},
          {"radii", radii},
          {"means2d", columns(values, 0, 2)},
          {"depths", column(values, 2)},
          {"conics", columns(values, 3, 3)},
          {"opacities_received", column(values, 6)},
          {"colors_received", columns(values, 7, 3)},
          {"received", tensor_of({total(received)}, place)},
          {"received_counts", tensor_of(received, place)}};
}

namespace {

/// A mask (N) of Gaussians about which fp32 and fp64 could disagree in some camera: too near its plane, a radius near an
/// integer, or an edge that nearly touches the image.
Tensor doubtful(const Projected& projected, const View& view) {
  const Tensor radii = ceil(projected.reach);
  Tensor doubt = lt(abs(projected.reach - round(projected.reach)), 1e-3);
  for (const Tensor& edge : {projected.means2d + radii, projected.means2d - radii})
    for (int axis = 0; axis < 2; ++axis) {
      const Tensor size = Tensor::full({}, axis == 0 ? view.width : view.height, edge.dtype());
      const Tensor at = edge.select(2, axis);
      doubt.select(2, axis).copy_(logical_or(doubt.select(2, axis), logical_or(lt(abs(at), 0.01), lt(abs(at - size), 0.01))));
    }
  const Tensor in_front = gt(projected.depths, 0), near = lt(abs(projected.depths), 0.5);
  const Tensor pair = logical_or(near, logical_and(in_front, amax(doubt, {.dimensions = {-1}})));
  return amax(pair, {.dimensions = {0}});
}

/// A world-to-camera matrix: turned around the vertical, then the horizontal axis, then moved.
std::vector<double> view_matrix(double yaw, double pitch, double x, double y, double z) {
  const double cy = std::cos(yaw), sy = std::sin(yaw), cp = std::cos(pitch), sp = std::sin(pitch);
  return {cy, 0, sy, x, sy * sp, cp, -cy * sp, y, -sy * cp, sp, cy * cp, z, 0, 0, 0, 1};
}

}  // namespace

// Gaussians before, beside and behind cameras that look in different directions; every eighth is large, so that some reach
// into an image from beyond the limit of the projection. In one trial of three no camera sees those of the last rank, in
// one the cameras of rank 0 see none. Doubtful ones go far behind all cameras: decided on the host in fp64, wherever the
// tensors are.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const int rank = ctx.world().rank(), ranks = ctx.world().size();
  const View view = view_of(ctx);
  Tensor means = in["means"], scales = in["scales"], viewmats = in["viewmats"], Ks = in["Ks"];
  const std::int64_t gaussians = means.size(0), cameras = Ks.size(0);
  const auto uniform = [&](Tensor t, int number, double low, double high) {
    Tensor numbers = Tensor::empty(t.shape(), DType::f64, t.place());
    random_fill(numbers, {.kind = Distribution::Kind::uniform, .low = low, .high = high}, request.key(number, rank));
    t.copy_(numbers);
  };
  uniform(means.narrow(1, 0, 1), 0, -3 + rank % 3, 3);
  uniform(means.narrow(1, 1, 1), 1, -2, 2);
  const bool unseen = request.trial % 3 == 1 && rank == ranks - 1;
  uniform(means.narrow(1, 2, 1), 2, unseen ? -9 : -1, unseen ? -6 : 5);
  uniform(scales, 3, 0, 0.02);
  const Tensor large = eq(remainder(arange(gaussians, DType::i64, scales.place()), 8), 0).unsqueeze(1);
  scales.copy_(where(large.expand(scales.shape()), scales * 16, scales));

  for (std::int64_t l = 0; l < cameras; ++l) {
    const std::int64_t camera = rank * cameras + l;
    const auto step = [&](std::int64_t factor) { return static_cast<double>(factor * camera % 5 - 2); };  // -2 to 2
    const double far_away = request.trial % 3 == 2 && rank == 0 ? -1000 : 0;
    const double focal = (0.8 + 0.05 * step(2)) * std::min(view.width, view.height);
    viewmats[l].copy_(Tensor::from_values(view_matrix(0.12 * step(3), 0.08 * step(4), 0.2 * step(1), 0.1 * step(2), far_away + 0.1 * step(3)), {4, 4}, DType::f32));
    Ks[l].copy_(Tensor::from_values({focal, 0, view.width / 2 + step(1), 0, 0.9 * focal, view.height / 2 + step(3), 0, 0, 1}, {3, 3}, DType::f32));
  }

  const auto on_host = [](const Tensor& t) { return t.to(Place::host).to(DType::f64); };
  const Cameras all = all_gather_cameras(ctx, in);
  const Tensor doubt = doubtful(project({on_host(means), on_host(in["quats"]), on_host(scales)}, {on_host(all.viewmats), on_host(all.Ks)}, view), view)
                           .unsqueeze(1);
  const Tensor behind = Tensor::from_values({0, 0, -50}, {1, 3}, DType::f32);
  means.copy_(where(doubt.expand(means.shape()), behind.expand(means.shape()), means.to(Place::host)));
}

}  // namespace pkb
