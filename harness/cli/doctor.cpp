// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "harness/candidate/toolkit.h"
#include "harness/cli/commands.h"
#include "harness/cli/environment.h"
#include "harness/cli/installation.h"
#include "harness/device/probe.h"
#include "harness/error/error.h"
#include "harness/process/executable.h"
#include "harness/sandbox/sandbox.h"

namespace pkb::cli {
namespace {

struct Finding {
  std::string what;
  bool ok = false;
  bool required = true;  ///< for evaluating on virtual GPUs
  std::string text;      ///< what is there, or what is missing and how to get it
};

Finding program(const std::string& name, const std::string& purpose, const std::string& package,
                bool required) {
  const auto path = process::find_executable(name);
  return {name, path.has_value(), required,
          path ? path->string() : fmt::format("not found; {}: apt-get install {}", purpose, package)};
}

Finding compiler() {
  try {
    return {"nvcc", true, true,
            (candidate::resolve_toolkit(candidate::default_toolkit()) / "bin" / "nvcc").string()};
  } catch (const EnvironmentError& error) {
    return {"nvcc", false, true, error.what()};
  }
}

Finding sandbox() {
  const std::string fault = sandbox::fault();
  return {"sandbox", fault.empty(), true,
          fault.empty() ? "bubblewrap starts programs in namespaces of their own; their memory is limited by process "
                          "(rlimit), not by a control group"
                        : fault + "; or use --sandbox none at your own risk"};
}

std::vector<Finding> gpus() {
  const device::Probe probe = device::probe();
  if (probe.gpus.empty()) return {{"gpu", false, false, probe.why_none + "; virtual GPUs work without"}};
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < probe.gpus.size(); ++i) {
    const device::Gpu& gpu = probe.gpus[i];
    findings.push_back(
        {fmt::format("gpu {}", i), gpu.exports_memory, false,
         fmt::format("{}, compute capability {}.{}, {} GiB, driver for CUDA {}.{}{}", gpu.name, gpu.major,
                     gpu.minor, gpu.bytes >> 30, probe.driver_version / 1000,
                     probe.driver_version % 1000 / 10,
                     gpu.exports_memory ? "" : ": it cannot export memory to other processes")});
  }
  findings.push_back({"mps", probe.mps_available, false,
                      probe.mps_available
                          ? "nvidia-cuda-mps-control is there: ranks that share a GPU run at once"
                          : "no nvidia-cuda-mps-control: ranks that share a GPU take turns, which is slow"});
  return findings;
}

Exit examine(bool json) {
  const Installation here = installation();
  std::vector<Finding> findings = {compiler(), program("g++", "nvcc needs it", "g++", true),
                                   program("mpirun", "it starts the judges", "openmpi-bin", true), sandbox(),
                                   program("ccache", "builds of pkb are faster with it", "ccache", false),
                                   program("gnuplot", "calibrate draws with it", "gnuplot-nox", false)};
  findings.push_back({"processor", true, true, fmt::format("{} cores", std::thread::hardware_concurrency())});
  for (Finding& each : gpus()) findings.push_back(std::move(each));

  bool works = true;
  nlohmann::json rows = nlohmann::json::array();
  for (const Finding& each : findings) {
    works = works && (each.ok || !each.required);
    rows.push_back({{"what", each.what}, {"ok", each.ok}, {"required", each.required}, {"text", each.text}});
    if (!json)
      fmt::print("{:<8} {:<10} {}\n",
                 each.ok         ? "ok"
                 : each.required ? "MISSING"
                                 : "absent",
                 each.what, each.text);
  }
  if (json)
    fmt::print(
        "{}\n",
        nlohmann::json{{"works", works}, {"findings", rows}, {"environment", environment(here)}}.dump());
  else
    fmt::print("{}\n", works ? "This machine can evaluate candidates."
                             : "This machine cannot evaluate candidates yet.");
  return works ? Exit::done : Exit::environment_failed;
}

}  // namespace

void add_doctor(CLI::App& pkb, Exit& exit) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      pkb.add_subcommand("doctor", "What this machine can do, and what to install for the rest");
  command->add_flag("--json", *json, "One JSON object on standard output");
  command->callback([json, &exit] { exit = examine(*json); });
}

}  // namespace pkb::cli
