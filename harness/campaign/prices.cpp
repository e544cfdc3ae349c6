// SPDX-License-Identifier: Apache-2.0
#include "harness/campaign/prices.h"

#include <fmt/format.h>

#include <fstream>

#include "harness/error/error.h"

namespace pkb::campaign {

Prices::Prices(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw InputError({.where = file.string(), .fault = "cannot be read", .remedy = {}});
  x_prices = nlohmann::json::parse(in, nullptr, false);
  const auto fail = [&](const std::string& fault) {
    throw InputError({.where = file.string(),
                      .fault = fault,
                      .remedy = R"(write {"MODEL": {"input": 3, "output": 15}}, per million tokens)"});
  };
  if (!x_prices.is_object()) fail("is no JSON object");
  for (const auto& [model, price] : x_prices.items()) {
    if (!price.is_object()) fail(fmt::format("{} is no object", model));
    for (const char* const name : {"input", "output"})
      if (!price.contains(name)) fail(fmt::format("{} has no \"{}\"", model, name));
    for (const auto& [name, value] : price.items())
      if (!value.is_number() || value.get<double>() < 0) fail(fmt::format("{}.{} is no price", model, name));
  }
}

std::optional<double> Prices::of(const std::string& model, const model::Usage& usage) const {
  const auto found = x_prices.find(model);
  if (found == x_prices.end()) return std::nullopt;
  const auto input = found->at("input").get<double>();
  const std::uint64_t fresh = usage.input - std::min(usage.input, usage.cached);
  return (static_cast<double>(fresh) * input +
          static_cast<double>(usage.cached) * found->value("cached", input) +
          static_cast<double>(usage.output) * found->at("output").get<double>()) / 1e6;
}

}  // namespace pkb::campaign
