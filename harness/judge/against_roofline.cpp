// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/against_roofline.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/roofline/bound.h"

namespace pkb::judge {

std::string hold_against_roofline(nlohmann::json& timing, const problem::Problem& problem,
                                  const problem::Instance& instance, const std::string& device) {
  timing["roofline"] = nullptr;
  const roofline::Hardware* const hardware = roofline::hardware_of(device);
  if (hardware == nullptr) return {};
  const roofline::Bound bound = roofline::bound_of(problem, instance, *hardware);
  const double least_ms = 1000 * bound.roofline.longest(), floor_ms = 1000 * bound.floor.longest();
  nlohmann::json& against = timing["roofline"] = {{"hardware", hardware->name},
                                                  {"limit", name_of(bound.roofline.limit())},
                                                  {"least_ms", least_ms},
                                                  {"possible_ms", floor_ms}};
  std::string impossible;
  for (const char* const name : {"baseline", "candidate"}) {
    if (!timing.contains(name)) continue;
    const double median = timing.at(name).at("median_ms").get<double>();
    against["utilisation"][name] = least_ms / median;
    if (median < floor_ms && std::string_view(name) == "candidate")
      impossible = fmt::format(
          "a median of {:.4f} ms is impossible: {} alone takes {:.4f} ms on {}", median,
          bound.floor.limit() == roofline::Limit::compute  ? "computing"
          : bound.floor.limit() == roofline::Limit::memory ? "reading the inputs"
                                                           : "the traffic between GPUs",
          floor_ms, hardware->title);
  }
  return impossible;
}

}  // namespace pkb::judge
