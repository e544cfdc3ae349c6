// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/environment.h"
#include "harness/cli/job_options.h"
#include "harness/cli/report_lines.h"
#include "harness/device/probe.h"
#include "harness/error/error.h"
#include "harness/process/executable.h"
#include "harness/process/run_limited.h"
#include "harness/roofline/calibrate/calibrate.h"
#include "harness/roofline/hardware.h"
#include "harness/roofline/plot.h"
#include "harness/store/store.h"

namespace pkb::cli {
namespace {

struct CalibrateOptions {
  std::string out, plot;
  bool multicast = false, json = false;
};

const roofline::Calibrator& load_calibrator(const Installation& here) {
  const std::filesystem::path path = here.build / "lib" / "libpkb_calibrate.so";
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const void* const found = module == nullptr ? nullptr : ::dlsym(module, roofline::kCalibratorSymbol);
  if (found == nullptr)
    throw EnvironmentError({.where = path.string(), .fault = ::dlerror(), .remedy = "build the project"});
  return *static_cast<const roofline::Calibrator*>(found);
}

nlohmann::json calibrate(const CalibrateOptions& options, const Installation& here) {
  const device::Probe machine = device::probe();
  if (machine.gpus.empty())
    throw EnvironmentError({.where = "calibrate",
                            .fault = machine.why_none,
                            .remedy = "run it on a machine with a GPU; virtual GPUs have no times"});
  ProgressLine progress(!options.json);
  const auto start = std::chrono::steady_clock::now();
  nlohmann::json result = load_calibrator(here).measure({.multicast = options.multicast},
                                                        [&](std::string_view text) { progress.show(text); });
  result["schema"] = "pkb-calibration-1";
  result["created"] = store::now();
  result["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result["multicast"] = options.multicast;
  result["environment"] = environment(here);
  result["environment"]["driver_version"] = machine.driver_version;
  result["environment"]["runtime_version"] = machine.runtime_version;
  return result;
}

/// Empty when there is a plot now, otherwise why not.
std::string draw(const std::filesystem::path& calibration, const std::filesystem::path& svg) {
  const auto gnuplot = process::find_executable("gnuplot");
  if (!gnuplot) return "no gnuplot (apt-get install gnuplot-nox)";
  const PrivateFolder folder;
  const std::filesystem::path script = folder.path() / "plot";
  store::write_whole(script, roofline::gnuplot_script(roofline::read_calibration(calibration),
                                                      std::filesystem::absolute(svg)));
  const process::Result done = process::run_limited({gnuplot->string(), script.string()}, {}, folder.path(), {});
  return done.exit_code == 0 ? "" : "gnuplot failed: " + done.text;
}

void print(const nlohmann::json& result) {
  const auto figure = [](const nlohmann::json& spread, std::string_view unit) {
    return fmt::format("{:.4g} {} ({:.4g} to {:.4g})", spread.at("median").get<double>(), unit,
                       spread.at("low").get<double>(), spread.at("high").get<double>());
  };
  const nlohmann::json &peaks = result.at("peaks"), &latency = result.at("latency");
  const bool loopback = result.at("loopback");
  fmt::print("{} x {}\n", result.at("gpus").size(), result.at("gpus").at(0).at("name").get<std::string>());
  for (const auto& [format, spread] : peaks.at("gemm").items())
    fmt::print("  {:<18} {}\n", "gemm " + format, figure(spread, "TFLOP/s"));
  fmt::print("  {:<18} {}\n", "memory", figure(peaks.at("memory_gb_s"), "GB/s"));
  if (peaks.contains("link_gb_s")) fmt::print("  {:<18} {}\n", "link", figure(peaks.at("link_gb_s"), "GB/s"));
  if (peaks.contains("in_fabric_gb_s"))
    fmt::print("  {:<18} {}\n", "in-fabric reduce", figure(peaks.at("in_fabric_gb_s"), "GB/s"));
  fmt::print("  {:<18} {}\n", "flag round trip", figure(latency.at("flag_round_trip_us"), "us"));
  fmt::print("  {:<18} {}\n", fmt::format("barrier of {}", latency.at("barrier_us").at("participants").get<int>()),
             figure(latency.at("barrier_us"), "us"));
  if (loopback)
    fmt::print("loopback: with one GPU, transfers and latencies are those between its own thread blocks; no link was measured\n");
}

void calibrate_and_draw(const CalibrateOptions& options) {
  const Installation here = installation();
  const std::filesystem::path out = options.out.empty() ? here.calibration().parent_path() : std::filesystem::path(options.out);
  const std::filesystem::path svg = out / "calibration.svg";
  std::filesystem::path file = options.plot;
  if (options.plot.empty()) {
    store::require_writable(out);
    file = out / "calibration.json";
    const nlohmann::json result = calibrate(options, here);
    store::write_whole(file, result.dump(1) + "\n");
    if (options.json)
      fmt::print("{}\n", result.dump());
    else
      print(result);
  } else {
    roofline::read_calibration(file);  // a wrong file is an error also where nothing can be drawn
    store::require_writable(out);
  }
  const std::string fault = draw(file, svg);
  if (!fault.empty() && !options.plot.empty())
    throw EnvironmentError({.where = svg.string(), .fault = "not drawn: " + fault, .remedy = ""});
  if (!fault.empty()) spdlog::warn("no plot: {}; later `pkb calibrate --plot {}` draws it", fault, file.string());
  if (!options.json) fmt::print("{}{}\n", options.plot.empty() ? file.string() + "\n" : "", fault.empty() ? svg.string() : "");
}

}  // namespace

void add_calibrate(CLI::App& pkb) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command = pkb.add_subcommand(
      "calibrate", "Measure this machine's GPUs: matrix products, memory, every way to move data, latencies");
  command->add_option("--out", options->out,
                      "Folder for calibration.json and calibration.svg; results/local/calibration/ when left out, where "
                      "`pkb roofline --hardware here` finds it");
  command->add_flag("--multicast", options->multicast,
                    "Measure in-fabric reduction too: uses multicast objects over all GPUs");
  command->add_option("--plot", options->plot, "Measure nothing: draw this calibration.json again")
      ->check(CLI::ExistingFile);
  command->add_flag("--json", options->json, "One JSON object on standard output");
  command->callback([options] { calibrate_and_draw(*options); });
}

}  // namespace pkb::cli
