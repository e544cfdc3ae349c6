// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace pkb::roofline {
namespace {

using problem::Json;

/// A gnuplot string: between single quotes only these need care, and a line has to end.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') result += '\'';
    result += c == '\n' ? ' ' : c;
  }
  return result + "'";
}

/// The mechanisms of `rows`, in order of appearance.
std::vector<std::string> mechanisms(const Json& rows) {
  std::vector<std::string> names;
  for (const Json& row : rows)
    if (const auto name = row.at("mechanism").get<std::string>(); std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return names;
}

/// Data blocks of `rows` over their member `x`, and the command that draws them.
std::string curves(const Json& rows, const std::string& x, const std::string& block) {
  std::string data;
  std::vector<std::string> plots;
  for (const std::string& name : mechanisms(rows)) {
    data += fmt::format("${}_{} << EOD\n", block, name);
    for (const Json& row : rows)
      if (row.at("mechanism") == name) {
        const Json& rate = row.at("gb_s");
        const auto median = rate.at("median").get<double>();
        data += fmt::format("{} {} {} {}\n", row.at(x).get<std::int64_t>(), median, rate.value("low", median),
                            rate.value("high", median));
      }
    data += "EOD\n";
    // A colour of its own wherever a mechanism appears.
    plots.push_back(fmt::format("${}_{} using 1:2:3:4 with yerrorlines lw 2 pt 7 ps 0.4 lc rgb color_{} title {}", block,
                                name, name, quoted(name)));
  }
  return plots.empty() ? std::string() : fmt::format("{}plot {}\n", data, fmt::join(plots, ", "));
}

}  // namespace

std::string gnuplot_script(const problem::JsonFile& calibration, const std::filesystem::path& svg) {
  const Json& json = calibration.json;
  const auto device = json.at("gpus").at(0).at("name").get<std::string>();
  const Json& by_size = json.at("transfers").at("by_size");
  const Json& by_sms = json.at("transfers").at("by_sms");
  const std::string place = json.at("loopback").get<bool>()
                                ? "loopback: one GPU copies within its own memory, each byte is read and written there"
                                : "from GPU 0 to GPU 1";
  return fmt::format(R"(set terminal svg size 900,1000 noenhanced background rgb 'white' font 'sans-serif,13'
set output {}
color_copy_engine = '#555555'
color_bulk_store = '#d95f02'
color_bulk_load = '#e6ab02'
color_register_store = '#1b62b7'
color_register_load = '#66a6e0'
set multiplot layout 2,1 title {}
set grid
set key left top
set ylabel 'GB/s, one way'
set format y '%g'
set logscale y 10
set logscale x 2
set format x '%.0b %BB'
set xtics 128,16,2**30
set title 'Message size, all multiprocessors copying'
set xlabel 'bytes per message'
{}unset logscale
set format x '%g'
set xtics autofreq
set key right bottom
set yrange [0:*]
set xrange [0:*]
set title 'Multiprocessors that copy, 256 MiB per message'
set xlabel 'multiprocessors'
{}unset multiplot
)",
                     quoted(svg.string()), quoted(device + ", " + place), curves(by_size, "bytes", "size"),
                     curves(by_sms, "sms", "sms"));
}

}  // namespace pkb::roofline
