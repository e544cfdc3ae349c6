// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pkb::model {

struct Message {
  enum class Role : std::uint8_t { system, user, assistant } role = Role::user;
  std::string text;
};

/// What is asked of a model.
struct Prompt {
  std::vector<Message> messages;
  std::string model;
  std::optional<double> temperature = {};
  std::optional<int> max_tokens = {};
  std::string reasoning_effort = {};      ///< empty: the model's own
  nlohmann::json extra = {};              ///< members that are added to the request as they are
  bool stream = true;
};

struct Usage {
  std::uint64_t input = 0;      ///< tokens, cached ones included
  std::uint64_t output = 0;     ///< reasoning included
  std::uint64_t cached = 0;     ///< of `input`
  std::uint64_t reasoning = 0;  ///< of `output`
  bool operator==(const Usage&) const = default;
};

/// Why a reply ended.
enum class Finish : std::uint8_t {
  none,     ///< it did not: the stream broke off
  stop,     ///< the model was done
  length,   ///< a limit of tokens
  filtered, ///< content filters, refusals
  other,
};
std::string_view name_of(Finish finish);

struct Completion {
  std::string text;
  Finish finish = Finish::none;
  std::string finish_word;  ///< as the server put it
  Usage usage;
  std::string model;  ///< as the server named it
  std::string error;  ///< what the server said went wrong within a reply; empty else
};

}  // namespace pkb::model
