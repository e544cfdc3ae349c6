// SPDX-License-Identifier: Apache-2.0
// Google's Gemini API reference: generateContent and streamGenerateContent.
#include <fmt/format.h>

#include "harness/model/json_member.h"
#include "harness/model/protocols.h"

namespace pkb::model {
namespace {

using nlohmann::json;

class Reader final : public ReplyReader {
 protected:
  // Every piece of a stream has the form of a whole reply.
  void on_event(std::string_view, const json& event) override { on_whole(event); }
  void on_whole(const json& reply) override {
    if (const std::string model = text_of(member(reply, {"modelVersion"})); !model.empty()) x_completion.model = model;
    const json& candidate = member(reply, {"candidates", "0"});
    for (const json& part : member(candidate, {"content", "parts"}))
      if (member(part, {"thought"}) != true) x_completion.text += text_of(member(part, {"text"}));
    finish(text_of(member(candidate, {"finishReason"})));
    // A prompt that is refused has no candidate.
    if (!text_of(member(reply, {"promptFeedback", "blockReason"})).empty()) finish("SAFETY");
    // Counts are those so far.
    if (const json& usage = member(reply, {"usageMetadata"}); usage.is_object()) {
      const std::uint64_t thoughts = count_of(member(usage, {"thoughtsTokenCount"}));
      x_completion.usage = {.input = count_of(member(usage, {"promptTokenCount"})),
                            .output = count_of(member(usage, {"candidatesTokenCount"})) + thoughts,
                            .cached = count_of(member(usage, {"cachedContentTokenCount"})),
                            .reasoning = thoughts};
    }
  }
};

class GenerateContent final : public Api {
 public:
  std::string_view name() const override { return "gemini"; }
  std::string_view key_variable() const override { return "GEMINI_API_KEY"; }
  std::string url(std::string_view endpoint, const Prompt& prompt) const override {
    const auto [base, query] = split(endpoint);
    std::string url = fmt::format("{}/models/{}:{}{}", base, prompt.model,
                                  prompt.stream ? "streamGenerateContent" : "generateContent", query);
    if (prompt.stream) url += query.empty() ? "?alt=sse" : "&alt=sse";
    return url;
  }
  std::vector<std::string> headers(const std::string& key) const override {
    std::vector<std::string> headers = {"content-type: application/json"};
    if (!key.empty()) headers.push_back("x-goog-api-key: " + key);
    return headers;
  }
  json body(const Prompt& prompt) const override {
    json contents = json::array(), system = json::array();
    for (const Message& each : prompt.messages) {
      const json part = {{"text", each.text}};
      if (each.role == Message::Role::system)
        system.push_back(part);
      else
        contents.push_back({{"role", each.role == Message::Role::assistant ? "model" : "user"}, {"parts", {part}}});
    }
    json body = {{"contents", std::move(contents)}};
    if (!system.empty()) body["systemInstruction"] = {{"parts", system}};
    json settings = json::object();
    if (prompt.temperature) settings["temperature"] = *prompt.temperature;
    if (prompt.max_tokens) settings["maxOutputTokens"] = *prompt.max_tokens;
    if (!prompt.reasoning_effort.empty()) settings["thinkingConfig"] = {{"thinkingLevel", prompt.reasoning_effort}};
    if (!settings.empty()) body["generationConfig"] = settings;
    if (prompt.extra.is_object()) body.update(prompt.extra, true);
    return body;
  }
  std::unique_ptr<ReplyReader> reader() const override { return std::make_unique<Reader>(); }
};

}  // namespace

std::unique_ptr<Api> gemini_generate_content() { return std::make_unique<GenerateContent>(); }

}  // namespace pkb::model
