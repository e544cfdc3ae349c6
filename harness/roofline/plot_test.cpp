// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/plot.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "harness/process/executable.h"
#include "harness/process/run_limited.h"

namespace pkb::roofline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const char* const kCalibration = R"({
  "schema": "pkb-calibration-1", "gpus": [{"name": "It's a GPU"}], "loopback": true,
  "peaks": {"gemm": {}, "memory_gb_s": {"median": 4000}},
  "transfers": {
    "by_size": [
      {"mechanism": "copy_engine", "from": 0, "to": 0, "bytes": 128, "gb_s": {"median": 0.05, "low": 0.04, "high": 0.06}},
      {"mechanism": "copy_engine", "from": 0, "to": 0, "bytes": 1048576, "gb_s": {"median": 300}},
      {"mechanism": "bulk_store", "from": 0, "to": 0, "bytes": 128, "sms": 132, "gb_s": {"median": 0.07}}],
    "by_sms": [
      {"mechanism": "bulk_store", "from": 0, "to": 0, "bytes": 268435456, "sms": 1, "gb_s": {"median": 30}},
      {"mechanism": "bulk_store", "from": 0, "to": 0, "bytes": 268435456, "sms": 132, "gb_s": {"median": 2000}}]}})";

TEST(Plot, DrawsACurvePerMechanismWithItsSpread) {
  const std::string script = gnuplot_script(problem::parse_json("c.json", kCalibration), "it's.svg");
  EXPECT_THAT(script, AllOf(HasSubstr("set output 'it''s.svg'"), HasSubstr("'It''s a GPU, loopback: one GPU"),
                            HasSubstr("$size_copy_engine << EOD\n128 0.05 0.04 0.06\n1048576 300 300 300\nEOD\n"),
                            HasSubstr("$sms_bulk_store << EOD\n1 30 30 30\n132 2000 2000 2000\nEOD\n")));
}

TEST(Plot, IsAPictureToGnuplot) {
  const auto gnuplot = process::find_executable("gnuplot");
  if (!gnuplot) GTEST_SKIP() << "no gnuplot here";
  const auto folder = std::filesystem::temp_directory_path() / ("pkb-plot-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const auto svg = folder / "it's.svg";
  std::ofstream(folder / "script") << gnuplot_script(problem::parse_json("c.json", kCalibration), svg);
  const process::Result done = process::run_limited({*gnuplot, folder / "script"}, {}, folder, {});
  EXPECT_EQ(done.exit_code, 0) << done.text;
  EXPECT_EQ(done.text, "");
  std::ifstream in(svg);
  const std::string drawn{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(drawn, AllOf(HasSubstr("</svg>"), HasSubstr("It's a GPU"), HasSubstr("copy_engine")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace pkb::roofline
