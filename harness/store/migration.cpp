// SPDX-License-Identifier: Apache-2.0
#include "harness/store/migration.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/store/store.h"

namespace pkb::store {

using nlohmann::json;

void Migration::apply(json& value) const {
  const auto schema = value.is_object() ? value.find("schema") : value.end();
  if (schema == value.end() || !schema->is_number_integer() || *schema < 1) return;
  for (int version = schema->get<int>(); version < newest(); ++version) {
    try {
      x_steps[static_cast<std::size_t>(version - 1)](value);
    } catch (const json::exception& error) {
      throw std::runtime_error(
          fmt::format("version {} cannot be made version {}: {}", version, version + 1, error.what()));
    }
    value["schema"] = version + 1;
  }
}

std::string Migration::apply(std::string_view text) const {
  json value = json::parse(text);
  apply(value);
  return value.dump();
}

const Migration& migration() {
  static const Migration steps({});
  return steps;
}

}  // namespace pkb::store
