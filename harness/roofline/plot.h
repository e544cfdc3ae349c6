// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "harness/problem/json_file.h"

namespace pkb::roofline {

/// A program for gnuplot that draws a calibration (from read_calibration) into `svg`: bandwidth over message size and
/// over the number of multiprocessors, a line per mechanism, whiskers from the lowest to the highest sample.
std::string gnuplot_script(const problem::JsonFile& calibration, const std::filesystem::path& svg);

}  // namespace pkb::roofline
