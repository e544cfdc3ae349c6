// SPDX-License-Identifier: Apache-2.0
// Anthropic's API reference: messages.
#include <algorithm>

#include "harness/model/json_member.h"
#include "harness/model/protocols.h"

namespace pkb::model {
namespace {

using nlohmann::json;

/// The API demands a limit.
constexpr int kMostTokens = 32000;

class Reader final : public ReplyReader {
 protected:
  void on_event(std::string_view, const json& event) override {
    const std::string type = text_of(member(event, {"type"}));
    if (type == "message_start") {
      x_completion.model = text_of(member(event, {"message", "model"}));
      take_usage(member(event, {"message", "usage"}));
    } else if (type == "content_block_delta") {
      x_completion.text += text_of(member(event, {"delta", "text"}));
    } else if (type == "message_delta") {
      finish(text_of(member(event, {"delta", "stop_reason"})));
      take_usage(member(event, {"usage"}));
    } else if (type == "message_stop") {
      x_over = true;
    }
  }
  void on_whole(const json& reply) override {
    x_completion.model = text_of(member(reply, {"model"}));
    for (const json& block : member(reply, {"content"}))
      if (text_of(member(block, {"type"})) == "text") x_completion.text += text_of(member(block, {"text"}));
    finish(text_of(member(reply, {"stop_reason"})));
    take_usage(member(reply, {"usage"}));
  }

 private:
  /// Later reports repeat what they know, so far.
  void take_usage(const json& usage) {
    const std::uint64_t read = count_of(member(usage, {"cache_read_input_tokens"}));
    const std::uint64_t input =
        count_of(member(usage, {"input_tokens"})) + count_of(member(usage, {"cache_creation_input_tokens"})) + read;
    Usage& known = x_completion.usage;
    known.input = std::max(known.input, input);
    known.cached = std::max(known.cached, read);
    known.output = std::max(known.output, count_of(member(usage, {"output_tokens"})));
  }
};

class Messages final : public Api {
 public:
  std::string_view name() const override { return "anthropic"; }
  std::string_view key_variable() const override { return "ANTHROPIC_API_KEY"; }
  std::string url(std::string_view endpoint, const Prompt&) const override {
    return join_url(endpoint, split(endpoint).base.ends_with("/v1") ? "messages" : "v1/messages", "/messages");
  }
  std::vector<std::string> headers(const std::string& key) const override {
    std::vector<std::string> headers = {"content-type: application/json", "anthropic-version: 2023-06-01"};
    if (!key.empty()) headers.push_back("x-api-key: " + key);
    return headers;
  }
  json body(const Prompt& prompt) const override {
    json messages = json::array();
    std::string system;
    for (const Message& each : prompt.messages) {
      if (each.role == Message::Role::system)
        system += (system.empty() ? "" : "\n\n") + each.text;
      else
        messages.push_back(
            {{"role", each.role == Message::Role::assistant ? "assistant" : "user"}, {"content", each.text}});
    }
    json body = {{"model", prompt.model},
                 {"messages", std::move(messages)},
                 {"max_tokens", prompt.max_tokens.value_or(kMostTokens)},
                 {"stream", prompt.stream}};
    if (!system.empty()) body["system"] = system;
    if (prompt.temperature) body["temperature"] = *prompt.temperature;
    if (!prompt.reasoning_effort.empty()) body["output_config"] = {{"effort", prompt.reasoning_effort}};
    if (prompt.extra.is_object()) body.update(prompt.extra);
    return body;
  }
  std::unique_ptr<ReplyReader> reader() const override { return std::make_unique<Reader>(); }
};

}  // namespace

std::unique_ptr<Api> anthropic_messages() { return std::make_unique<Messages>(); }

}  // namespace pkb::model
