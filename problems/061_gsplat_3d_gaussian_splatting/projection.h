// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/tensor.h"

/// The projection of 3-D Gaussians into pinhole cameras, as gsplat's fully_fused_projection does it.
namespace pkb {

struct Cameras {
  ref::Tensor viewmats;  ///< (C, 4, 4): world to camera
  ref::Tensor Ks;        ///< (C, 3, 3): intrinsics, in pixels
};

struct Gaussians {
  ref::Tensor means;   ///< (N, 3)
  ref::Tensor quats;   ///< (N, 4): w, x, y, z, of any length
  ref::Tensor scales;  ///< (N, 3): standard deviations along the axes
};

struct View {
  double width, height;  ///< of the image, in pixels
  double near_plane, far_plane;
  double eps2d;  ///< added to the variances in the image
};

/// Of every Gaussian in every camera; (C, N, ...).
struct Projected {
  ref::Tensor means2d;  ///< (C, N, 2), pixels
  ref::Tensor depths;   ///< (C, N)
  ref::Tensor conics;   ///< (C, N, 3): the upper triangle of the inverse covariance
  ref::Tensor reach;    ///< (C, N, 2): 3.33 standard deviations; rounded up they are the radii
  ref::Tensor visible;  ///< (C, N), a mask
};

Projected project(const Gaussians& gaussians, const Cameras& cameras, const View& view);

}  // namespace pkb
