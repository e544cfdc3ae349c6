// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "reference/dtype.h"

/// NumPy's .npy files, format 1.0 (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
namespace pkb::judge {

/// An array in row-major order. NumPy has no bf16 and no fp8: their bits are stored as unsigned integers.
struct Array {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

/// Written under another name, then renamed. @throws EnvironmentError
void write_npy(const std::filesystem::path& file, const Array& array);

/// Reads an array that must have this dtype and shape. @throws InputError that names the file and says what
/// it has.
Array read_npy(const std::filesystem::path& file, DType dtype, std::span<const std::int64_t> shape);

}  // namespace pkb::judge
