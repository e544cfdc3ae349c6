// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

/// Measures what the GPUs of this machine reach. The code is a module of its own, which `pkb calibrate` alone loads: it
/// brings cuBLASLt, and that costs every process that links it 0.1 s.
namespace pkb::roofline {

struct CalibrateOptions {
  /// Also lets the fabric reduce, through a multicast object over all GPUs. A fault there can concern every GPU of
  /// the machine, so it is for who asks.
  bool multicast = false;
};

struct Calibrator {
  /// Returns "gpus", "loopback", "peaks", "transfers" and "latency" of a calibration (see README.md). `tell` hears
  /// what is being measured. @throws EnvironmentError
  nlohmann::json (*measure)(const CalibrateOptions& options, const std::function<void(std::string_view)>& tell);
};

/// The name of a `const Calibrator` in the module libpkb_calibrate.so.
inline constexpr const char* kCalibratorSymbol = "pkb_calibrator";

}  // namespace pkb::roofline
