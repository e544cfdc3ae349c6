// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/problem/json_file.h"
#include "reference/dtype.h"

/// What GPUs and their links can do at most: the vendors' figures, which are built in, or what `pkb calibrate` measured.
namespace pkb::roofline {

/// Dense peaks in floating-point operations per second, by the format of the operands; a multiply-add is two.
/// 0: the chip has no such instruction.
struct Peaks {
  double fp64 = 0, fp32 = 0, tf32 = 0, fp16 = 0, bf16 = 0, fp8 = 0, int8 = 0;

  /// What a problem in `dtype` is held against. fp32 means the fp32 units, as in the references: tf32 is too coarse
  /// to pass. Where a chip lacks a format, its values are computed in fp16.
  double of(DType dtype) const;
  double fastest() const;
};

struct Rates {
  double memory = 0;     ///< bytes/s of the GPU's own memory, reads and writes together
  double link = 0;       ///< bytes/s of one GPU's links, each direction
  double in_fabric = 0;  ///< bytes/s at which the fabric reduces for one GPU; 0: it does not
  Peaks peaks = {};
};

struct Hardware {
  std::string name;                  ///< "h200"
  std::string title;                 ///< "NVIDIA H200 SXM 141 GB, HGX board"
  std::vector<std::string> devices;  ///< names under which the CUDA driver knows it
  std::string link;                  ///< "NVLink 4, 18 links"
  int fabric_gpus = 1;               ///< how many GPUs these links join
  int sms = 0;
  double l2_bytes = 0;
  Rates nominal;                          ///< the vendor's
  std::optional<Rates> measured = {};     ///< the nominal ones where they were not measured

  /// What a roofline is drawn from. Whether something is possible at all only `nominal` tells.
  const Rates& rates() const { return measured ? *measured : nominal; }
};

/// Checks `file` against the schema. @throws InputError that names file and field
Hardware parse_hardware(const problem::JsonFile& file);

/// The built-in table, by name.
const std::vector<Hardware>& all_hardware();

/// The one that is called `name`. @throws InputError that lists the names
const Hardware& find_hardware(std::string_view name);

/// The one that the driver calls `device`, for example "NVIDIA H200"; null where the table has none.
const Hardware* hardware_of(std::string_view device);

/// A file that `pkb calibrate` wrote. @throws InputError when it is none
problem::JsonFile read_calibration(const std::filesystem::path& file);

/// The hardware on which a calibration ran, with the rates that it measured.
/// @throws InputError when the file is no calibration, or one of a GPU that the table lacks
Hardware load_calibrated(const std::filesystem::path& calibration);

}  // namespace pkb::roofline
