// SPDX-License-Identifier: Apache-2.0
// OpenAI's API reference: chat completions, and responses.
#include <fmt/format.h>

#include <algorithm>

#include "harness/model/json_member.h"
#include "harness/model/protocols.h"

namespace pkb::model {
namespace {

using nlohmann::json;

const char* role_name(Message::Role role) {
  switch (role) {
    case Message::Role::system:
      return "system";
    case Message::Role::user:
      return "user";
    case Message::Role::assistant:
      return "assistant";
  }
  return "user";
}

std::vector<std::string> bearer(const std::string& key) {
  std::vector<std::string> headers = {"content-type: application/json"};
  if (!key.empty()) headers.push_back("authorization: Bearer " + key);
  return headers;
}

/// Counts that a stream reports more than once. Servers disagree: most repeat the count so far, some send what each piece
/// adds, which never grows for long.
class Repeated {
 public:
  void add(std::uint64_t count) {
    x_grows &= count >= x_last;
    x_all_equal &= x_reports == 0 || count == x_last;
    x_last = count;
    x_sum += count;
    ++x_reports;
  }
  std::uint64_t total() const {
    const bool so_far = x_grows && (x_reports <= 2 || !x_all_equal);
    return so_far ? x_last : x_sum;
  }

 private:
  std::uint64_t x_last = 0, x_sum = 0;
  int x_reports = 0;
  bool x_grows = true, x_all_equal = true;
};

class ChatReader final : public ReplyReader {
 protected:
  void on_event(std::string_view, const json& event) override {
    take(event, "delta");
    const json& usage = member(event, {"usage"});
    if (!usage.is_object()) return;
    x_output.add(count_of(member(usage, {"completion_tokens"})));
    take_usage(usage);
    x_completion.usage.output = x_output.total();
  }
  void on_whole(const json& reply) override {
    take(reply, "message");
    take_usage(member(reply, {"usage"}));
  }

 private:
  void take(const json& from, const char* part) {
    if (const std::string model = text_of(member(from, {"model"})); !model.empty()) x_completion.model = model;
    const json& choice = member(from, {"choices", "0"});
    const json& content = member(choice, {part, "content"});
    x_completion.text += text_of(content);
    // Some send a list of parts.
    if (content.is_array())
      for (const json& each : content) x_completion.text += text_of(member(each, {"text"}));
    finish(text_of(member(choice, {"finish_reason"})));
  }
  void take_usage(const json& usage) {
    x_completion.usage = {.input = count_of(member(usage, {"prompt_tokens"})),
                          .output = count_of(member(usage, {"completion_tokens"})),
                          .cached = count_of(member(usage, {"prompt_tokens_details", "cached_tokens"})),
                          .reasoning = count_of(member(usage, {"completion_tokens_details", "reasoning_tokens"}))};
  }

  Repeated x_output;
};

class Chat final : public Api {
 public:
  std::string_view name() const override { return "openai"; }
  std::string_view key_variable() const override { return "OPENAI_API_KEY"; }
  std::string url(std::string_view endpoint, const Prompt&) const override {
    return join_url(endpoint, "chat/completions", "chat/completions");
  }
  std::vector<std::string> headers(const std::string& key) const override { return bearer(key); }
  json body(const Prompt& prompt) const override {
    json messages = json::array();
    for (const Message& each : prompt.messages)
      messages.push_back({{"role", role_name(each.role)}, {"content", each.text}});
    json body = {{"model", prompt.model}, {"messages", std::move(messages)}, {"stream", prompt.stream}};
    if (prompt.stream) body["stream_options"] = {{"include_usage", true}};
    if (prompt.temperature) body["temperature"] = *prompt.temperature;
    if (prompt.max_tokens) body["max_tokens"] = *prompt.max_tokens;
    if (!prompt.reasoning_effort.empty()) body["reasoning_effort"] = prompt.reasoning_effort;
    if (prompt.extra.is_object()) body.update(prompt.extra);
    return body;
  }
  std::unique_ptr<ReplyReader> reader() const override { return std::make_unique<ChatReader>(); }
};

class ResponsesReader final : public ReplyReader {
 protected:
  void on_event(std::string_view, const json& event) override {
    const std::string type = text_of(member(event, {"type"}));
    if (type == "response.output_text.delta") x_completion.text += text_of(member(event, {"delta"}));
    if (type == "response.completed" || type == "response.incomplete" || type == "response.failed") {
      close(member(event, {"response"}));
      x_over = true;
    }
  }
  void on_whole(const json& reply) override {
    for (const json& item : member(reply, {"output"}))
      for (const json& part : member(item, {"content"}))
        if (text_of(member(part, {"type"})) == "output_text") x_completion.text += text_of(member(part, {"text"}));
    close(reply);
  }

 private:
  void close(const json& response) {
    x_completion.model = text_of(member(response, {"model"}));
    const json& usage = member(response, {"usage"});
    x_completion.usage = {.input = count_of(member(usage, {"input_tokens"})),
                          .output = count_of(member(usage, {"output_tokens"})),
                          .cached = count_of(member(usage, {"input_tokens_details", "cached_tokens"})),
                          .reasoning = count_of(member(usage, {"output_tokens_details", "reasoning_tokens"}))};
    const std::string reason = text_of(member(response, {"incomplete_details", "reason"}));
    finish(reason.empty() ? text_of(member(response, {"status"})) : reason);
  }
};

class Responses final : public Api {
 public:
  std::string_view name() const override { return "openai-responses"; }
  std::string_view key_variable() const override { return "OPENAI_API_KEY"; }
  std::string url(std::string_view endpoint, const Prompt&) const override {
    return join_url(endpoint, "responses", "responses");
  }
  std::vector<std::string> headers(const std::string& key) const override { return bearer(key); }
  json body(const Prompt& prompt) const override {
    json input = json::array();
    for (const Message& each : prompt.messages)
      input.push_back({{"role", role_name(each.role)}, {"content", each.text}});
    json body = {{"model", prompt.model}, {"input", std::move(input)}, {"stream", prompt.stream}, {"store", false}};
    if (prompt.temperature) body["temperature"] = *prompt.temperature;
    if (prompt.max_tokens) body["max_output_tokens"] = *prompt.max_tokens;
    if (!prompt.reasoning_effort.empty()) body["reasoning"] = {{"effort", prompt.reasoning_effort}};
    if (prompt.extra.is_object()) body.update(prompt.extra);
    return body;
  }
  std::unique_ptr<ReplyReader> reader() const override { return std::make_unique<ResponsesReader>(); }
};

}  // namespace

std::unique_ptr<Api> openai_chat() { return std::make_unique<Chat>(); }
std::unique_ptr<Api> openai_responses() { return std::make_unique<Responses>(); }

Endpoint split(std::string_view endpoint) {
  const std::size_t end = std::min(endpoint.find('?'), endpoint.size());
  Endpoint parts{.base = endpoint.substr(0, end), .query = endpoint.substr(end)};
  while (parts.base.ends_with('/')) parts.base.remove_suffix(1);
  return parts;
}

std::string join_url(std::string_view endpoint, std::string_view path, std::string_view last) {
  const auto [base, query] = split(endpoint);
  return fmt::format("{}{}{}{}", base, base.ends_with(last) ? "" : "/", base.ends_with(last) ? "" : path, query);
}

}  // namespace pkb::model
