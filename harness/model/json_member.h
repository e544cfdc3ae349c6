// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// Members of what a server sent, which may be there or not and of any type.
namespace pkb::model {

/// Null where `path` leads nowhere. A number in it is an index of an array.
inline const nlohmann::json& member(const nlohmann::json& from, std::initializer_list<std::string_view> path) {
  static const nlohmann::json kNull;
  const nlohmann::json* at = &from;
  for (const std::string_view name : path) {
    if (at->is_array() && !name.empty() && name.front() >= '0' && name.front() <= '9') {
      const std::size_t index = static_cast<std::size_t>(name.front() - '0');
      if (index >= at->size()) return kNull;
      at = &(*at)[index];
      continue;
    }
    if (!at->is_object()) return kNull;
    const auto found = at->find(name);
    if (found == at->end()) return kNull;
    at = &*found;
  }
  return *at;
}

inline std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}
inline std::uint64_t count_of(const nlohmann::json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return value.get<std::int64_t>() > 0 ? static_cast<std::uint64_t>(value.get<std::int64_t>()) : 0;
  return 0;
}

/// What a reply or event says went wrong; empty when nothing did.
inline std::string error_in(const nlohmann::json& reply) {
  for (const auto& value : {member(reply, {"error", "message"}), member(reply, {"error"}), member(reply, {"detail"}),
                            member(reply, {"response", "error", "message"})})
    if (value.is_string()) return value.get<std::string>();
  const nlohmann::json& error = member(reply, {"error"});
  return error.is_object() ? error.dump() : std::string();
}

}  // namespace pkb::model
