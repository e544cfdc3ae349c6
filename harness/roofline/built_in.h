// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

/// The files of hardware/ as the build found them.
namespace pkb::roofline {

struct BuiltIn {
  const char* file;  ///< "harness/roofline/hardware/h200.json"
  const char* text;
};
extern const std::span<const BuiltIn> kHardwareFiles;
extern const char* const kHardwareSchema;
extern const char* const kCalibrationSchema;

}  // namespace pkb::roofline
