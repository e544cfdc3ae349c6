// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pkb::prompt {

/// What becomes of values on their way into a text.
enum class Escape : std::uint8_t { none, html };

/// Renders `name`.mustache, found in `own` or else in `folder`, as are the templates that it takes in. Strings are taken
/// literally, objects and arrays open sections, false and null close them.
/// @throws InputError that names the file
std::string render(const std::string& name, const nlohmann::json& values, const std::filesystem::path& folder,
                   const std::filesystem::path& own, Escape escape = Escape::none);

}  // namespace pkb::prompt
