// SPDX-License-Identifier: Apache-2.0
#include "harness/model/api.h"

#include <fmt/format.h>

#include "harness/error/error.h"
#include "harness/model/json_member.h"
#include "harness/model/protocols.h"

namespace pkb::model {
namespace {

constexpr std::string_view kFinishNames[] = {"none", "stop", "length", "filtered", "other"};
constexpr std::size_t kLongestMessage = 2000;

/// The words that servers use, all four families together.
Finish finish_from(std::string_view word) {
  for (const std::string_view each : {"stop", "end_turn", "stop_sequence", "STOP", "completed", "eos"})
    if (word == each) return Finish::stop;
  for (const std::string_view each : {"length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_context_window_exceeded"})
    if (word == each) return Finish::length;
  for (const std::string_view each : {"content_filter", "refusal", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT",
                                      "SPII", "safety"})
    if (word == each) return Finish::filtered;
  return Finish::other;
}

}  // namespace

std::string_view name_of(Finish finish) { return kFinishNames[static_cast<std::size_t>(finish)]; }

bool ReplyReader::feed_event(std::string_view type, std::string_view data) {
  // OpenAI's last word, which many imitate.
  if (data == "[DONE]") {
    x_over = true;
    return true;
  }
  const nlohmann::json event = nlohmann::json::parse(data, nullptr, false);
  if (event.is_discarded()) return false;
  if (std::string error = error_in(event); !error.empty()) x_completion.error = std::move(error);
  on_event(type, event);
  return true;
}

bool ReplyReader::feed_whole(std::string_view body) {
  const nlohmann::json reply = nlohmann::json::parse(body, nullptr, false);
  if (reply.is_discarded()) return false;
  if (std::string error = error_in(reply); !error.empty()) x_completion.error = std::move(error);
  on_whole(reply);
  x_over = true;
  return true;
}

void ReplyReader::finish(std::string_view word) {
  if (word.empty()) return;
  x_completion.finish_word = word;
  x_completion.finish = finish_from(word);
}

namespace {

const std::vector<std::unique_ptr<Api>>& apis() {
  static const auto all = all_apis();
  return all;
}

}  // namespace

std::vector<std::string_view> key_variables() {
  std::vector<std::string_view> all;
  for (const auto& each : apis()) all.push_back(each->key_variable());
  return all;
}

std::string public_endpoint(std::string_view endpoint) {
  const std::string_view address = split(endpoint).base;
  const std::size_t scheme = address.find("://"), host = scheme == std::string_view::npos ? 0 : scheme + 3;
  // The last one: a password may have an @ of its own.
  const std::size_t at = address.substr(0, address.find('/', host)).rfind('@');
  return fmt::format("{}{}", address.substr(0, host), address.substr(at == std::string_view::npos ? host : at + 1));
}

const Api& find_api(std::string_view name) {
  std::string names;
  for (const auto& each : apis()) {
    if (each->name() == name) return *each;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each->name());
  }
  throw InputError({.where = fmt::format("--api {}", name), .fault = "unknown", .remedy = "use one of " + names});
}

std::string error_message(std::string_view body) {
  const nlohmann::json reply = nlohmann::json::parse(body, nullptr, false);
  // Gemini wraps its errors into an array.
  const nlohmann::json& first = reply.is_array() && !reply.empty() ? reply.front() : reply;
  if (std::string error = error_in(first); !error.empty()) return error;
  return std::string(body.substr(0, kLongestMessage));
}

bool adapt(nlohmann::json& body, std::string_view refusal) {
  const auto names = [&](std::string_view member) { return refusal.find(member) != std::string_view::npos; };
  if (body.contains("max_tokens") && names("max_tokens") && names("max_completion_tokens")) {
    body["max_completion_tokens"] = body["max_tokens"];
    body.erase("max_tokens");
    return true;
  }
  for (const char* const optional : {"temperature", "reasoning_effort", "stream_options"})
    if (body.contains(optional) && names(optional)) {
      body.erase(optional);
      return true;
    }
  return false;
}

}  // namespace pkb::model
