// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/installation.h"
#include "harness/device/probe.h"
#include "harness/error/error.h"
#include "harness/roofline/bound.h"

namespace pkb::cli {
namespace {

using roofline::Bound;
using roofline::Hardware;

struct RooflineOptions {
  std::string problem, size = "full", dtype = "bf16", hardware = "h200";
  int ranks = 0;
  bool json = false;
};

/// The first GPU of this machine, with the rates of `pkb calibrate` where it has run here.
Hardware hardware_here() {
  const device::Probe probe = device::probe();
  if (probe.gpus.empty())
    throw EnvironmentError({.where = "--hardware here", .fault = probe.why_none, .remedy = "name other hardware"});
  const std::string& device = probe.gpus.front().name;
  const Hardware* const known = roofline::hardware_of(device);
  if (known == nullptr)
    throw InputError({.where = "--hardware here",
                      .fault = fmt::format("the table has no \"{}\"", device),
                      .remedy = "add a file to harness/roofline/hardware/"});
  const std::filesystem::path calibration = installation().calibration();
  if (!std::filesystem::exists(calibration)) return *known;
  const Hardware measured = roofline::load_calibrated(calibration);
  return measured.name == known->name ? measured : *known;
}

Hardware choose_hardware(const std::string& word) {
  if (word == "here") return hardware_here();
  if (word.ends_with(".json")) return roofline::load_calibrated(word);
  return roofline::find_hardware(word);
}

/// Four digits and a unit: "298.3 us", "134.2 MB".
std::string shown(double value, std::string_view unit) {
  constexpr std::pair<double, const char*> kPrefixes[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"},
                                                          {1, ""},     {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"},
                                                          {1e-12, "p"}};
  for (const auto& [factor, prefix] : kPrefixes)
    if (value >= factor) return fmt::format("{:.4g} {}{}", value / factor, prefix, unit);
  return fmt::format("{:.4g} {}", value, unit);
}

nlohmann::json to_json(const roofline::Times& times) {
  return {{"compute_s", times.compute}, {"memory_s", times.memory},           {"links_s", times.links},
          {"longest_s", times.longest()}, {"limit", name_of(times.limit())}};
}

nlohmann::json to_json(const problem::Instance& instance, const Bound& bound) {
  return {{"variant", instance.variant},
          {"cost",
           {{"flops", bound.cost.flops},
            {"hbm_bytes", bound.cost.hbm_bytes},
            {"sent_bytes", bound.cost.sent_bytes},
            {"received_bytes", bound.cost.received_bytes}}},
          {"roofline", to_json(bound.roofline)},
          {"floor", to_json(bound.floor)}};
}

void print_bound(const problem::Instance& instance, const Bound& bound, const roofline::Rates& rates) {
  const auto row = [](const char* part, const std::string& amount, const std::string& rate, double seconds) {
    fmt::print("  {:<8}  {:<36}  {:<16}  {}\n", part, amount, rate, shown(seconds, "s"));
  };
  if (instance.variant > 0) fmt::print("variant {}\n", instance.variant);
  row("compute", shown(bound.cost.flops, "FLOP"), shown(rates.peaks.of(instance.dtype), "FLOP/s"), bound.roofline.compute);
  row("memory", shown(bound.cost.hbm_bytes, "B"), shown(rates.memory, "B/s"), bound.roofline.memory);
  row("links",
      fmt::format("{} out, {} in", shown(bound.cost.sent_bytes, "B"), shown(bound.cost.received_bytes, "B")),
      shown(rates.link, "B/s"), bound.roofline.links);
  fmt::print("at least {}, limited by {}; no time below {} is believed\n", shown(bound.roofline.longest(), "s"),
             name_of(bound.roofline.limit()), shown(bound.floor.longest(), "s"));
}

void print_roofline(const RooflineOptions& options) {
  const problem::Problem problem = problem::find(installation().problems(), options.problem);
  const Hardware hardware = choose_hardware(options.hardware);
  const auto instances = problem.instances(
      {.size = options.size, .ranks = options.ranks, .dtype = dtype_from(options.dtype).value()});
  nlohmann::json rows = nlohmann::json::array();
  const int ranks = instances.front().ranks;
  if (!options.json) {
    fmt::print("{:03}_{}  {}  {}  W = {}  on {} ({}{})\n", problem.id(), problem.name(), options.size, options.dtype,
               ranks, hardware.name, hardware.title, hardware.measured ? ", as measured" : "");
    if (ranks > hardware.fabric_gpus)
      fmt::print("more ranks than the {} GPUs that {} joins: other links are slower still\n", hardware.fabric_gpus,
                 hardware.link);
  }
  for (const problem::Instance& instance : instances) {
    const Bound bound = roofline::bound_of(problem, instance, hardware);
    rows.push_back(to_json(instance, bound));
    if (!options.json) print_bound(instance, bound, hardware.rates());
  }
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"problem", problem.name()},
                                      {"size", options.size},
                                      {"dtype", options.dtype},
                                      {"ranks", ranks},
                                      {"hardware", hardware.name},
                                      {"measured", hardware.measured.has_value()},
                                      {"instances", rows}}
                           .dump());
}

}  // namespace

void add_roofline(CLI::App& pkb) {
  auto options = std::make_shared<RooflineOptions>();
  std::vector<std::string> names;
  for (const Hardware& each : roofline::all_hardware()) names.push_back(each.name);
  CLI::App* command = pkb.add_subcommand("roofline", "Least time a problem can take on given hardware");
  command->add_option("problem", options->problem, "Number or name, see `pkb list`")->required();
  command->add_option("--size", options->size, "tiny, small, paper, full or another size of the problem")
      ->capture_default_str();
  command->add_option("--ranks,-W", options->ranks, "Number of ranks; the size's own default when left out")
      ->check(CLI::Range(1, 1024));
  command->add_option("--dtype", options->dtype, "Run dtype")
      ->check(CLI::IsMember({"bf16", "fp16", "fp32"}))
      ->capture_default_str();
  command
      ->add_option("--hardware", options->hardware,
                   fmt::format("{} by their vendor's figures; here: this machine's GPU, as `pkb calibrate` measured it "
                               "if it did; or a file that it wrote",
                               fmt::join(names, ", ")))
      ->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object on standard output");
  command->callback([options] { print_roofline(*options); });
}

}  // namespace pkb::cli
