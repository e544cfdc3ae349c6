// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// What real GPUs this machine has, for `--device auto` and `pkb doctor`.
namespace pkb::device {

struct Gpu {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  std::size_t bytes = 0;
  bool exports_memory =
      false;  ///< virtual memory management with file descriptors, which `shared` and `cuda` need
};

struct Probe {
  std::vector<Gpu> gpus;       ///< as CUDA_VISIBLE_DEVICES lets them be seen
  std::string why_none;        ///< one sentence when `gpus` is empty
  int driver_version = 0;      ///< the newest CUDA the driver supports, for example 13000; 0 without a driver
  int runtime_version = 0;     ///< the CUDA runtime we run with
  std::string driver_library;  ///< path of libcuda.so.1; empty without
  bool mps_available = false;  ///< nvidia-cuda-mps-control is on the PATH
};

/// Creates no context on any GPU. Never throws: a machine without a GPU is an answer.
Probe probe();

}  // namespace pkb::device
