// SPDX-License-Identifier: Apache-2.0
#include "problems/061_gsplat_3d_gaussian_splatting/projection.h"

#include <limits>

#include "reference/ops.h"
#include "reference/pointwise.h"

namespace pkb {

using namespace ref;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Rotations (N, 3, 3) of quaternions (N, 4).
Tensor rotations(const Tensor& quats) {
  const Tensor norm = sqrt(sum(square(quats), {.dimensions = {-1}, .keep = true}));
  const Tensor unit = quats / clamp(norm, 1e-12, kInfinity);
  const Tensor w = unit.select(1, 0), x = unit.select(1, 1), y = unit.select(1, 2), z = unit.select(1, 3);
  return stack({1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),  //
                2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),  //
                2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)},
               -1)
      .view({quats.size(0), 3, 3});
}

/// Covariances (N, 3, 3): A A^T, A being the rotation with its columns scaled.
Tensor covariances(const Gaussians& gaussians) {
  const Tensor A = rotations(gaussians.quats) * gaussians.scales.unsqueeze(1);
  return sum(A.unsqueeze(2) * A.unsqueeze(1), {.dimensions = {-1}});
}

/// V S V^T for every pair, (C, N, 3, 3), S being symmetric.
Tensor turned(const Tensor& S, const Tensor& V) {
  const std::int64_t cameras = V.size(0), count = S.size(0);
  const Tensor half = matmul(S.view({1, 3 * count, 3}), V.transpose(1, 2)).view({cameras, count, 3, 3});
  return matmul(half.transpose(2, 3).reshape({cameras, 3 * count, 3}), V.transpose(1, 2)).view({cameras, count, 3, 3});
}

/// A number of each camera, (C, 1).
Tensor intrinsic(const Tensor& Ks, int row, int column) { return Ks.select(1, row).select(1, column).unsqueeze(1); }

/// The slope x / z of a point, limited to 0.3 half images beyond the image's edges, times z.
Tensor limited(const Tensor& x, const Tensor& z, const Tensor& focal, const Tensor& center, double size) {
  const Tensor margin = 0.3 * (Tensor::full({}, 0.5 * size, z.dtype(), z.place()) / focal);
  const Tensor most = (size - center) / focal + margin, least = -(center / focal + margin);
  return z * minimum(maximum(x / z, least), most);
}

}  // namespace

Projected project(const Gaussians& gaussians, const Cameras& cameras, const View& view) {
  const Tensor V = cameras.viewmats.narrow(1, 0, 3).narrow(2, 0, 3), &Ks = cameras.Ks;
  const Tensor translation = cameras.viewmats.narrow(1, 0, 3).select(2, 3).unsqueeze(1);  // (C, 1, 3)
  const Tensor points = matmul(gaussians.means, V.transpose(1, 2)) + translation;         // (C, N, 3)
  const Tensor x = points.select(2, 0), y = points.select(2, 1), z = points.select(2, 2);
  const Tensor S = turned(covariances(gaussians), V);
  const auto s = [&](int row, int column) { return S.select(2, row).select(2, column); };

  // The projection is taken as linear around the limited point: J = (a 0 b; 0 c d), and the covariance is J S J^T.
  const Tensor fx = intrinsic(Ks, 0, 0), fy = intrinsic(Ks, 1, 1);
  const Tensor a = fx / z, b = -(fx * limited(x, z, fx, intrinsic(Ks, 0, 2), view.width)) / (z * z);
  const Tensor c = fy / z, d = -(fy * limited(y, z, fy, intrinsic(Ks, 1, 2), view.height)) / (z * z);
  const Tensor xx = a * a * s(0, 0) + 2 * (a * b * s(0, 2)) + b * b * s(2, 2) + view.eps2d;
  const Tensor yy = c * c * s(1, 1) + 2 * (c * d * s(1, 2)) + d * d * s(2, 2) + view.eps2d;
  const Tensor xy = a * c * s(0, 1) + a * d * s(0, 2) + b * c * s(1, 2) + b * d * s(2, 2);
  const Tensor determinant = clamp(xx * yy - xy * xy, 1e-10, kInfinity);

  const Tensor means2d = matmul(points, Ks.narrow(1, 0, 2).transpose(1, 2)) / z.unsqueeze(-1);
  const Tensor reach = 3.33 * sqrt(stack({xx, yy}, -1)), radii = ceil(reach);
  const auto in_image = [&](int axis, double size) {
    const Tensor at = means2d.select(2, axis), radius = radii.select(2, axis);
    return logical_and(gt(at + radius, 0), lt(at - radius, size));
  };
  const Tensor in_depth = logical_and(gt(z, view.near_plane), lt(z, view.far_plane));
  return {.means2d = means2d,
          .depths = z,
          .conics = stack({yy / determinant, -xy / determinant, xx / determinant}, -1),
          .reach = reach,
          .visible = logical_and(in_depth, logical_and(in_image(0, view.width), in_image(1, view.height)))};
}

}  // namespace pkb
