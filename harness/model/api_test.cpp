// SPDX-License-Identifier: Apache-2.0
#include "harness/model/api.h"

#include <gmock/gmock.h>

#include "harness/error/error.h"

namespace pkb::model {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const Prompt kPrompt{.messages = {{Message::Role::system, "be fast"},
                                  {Message::Role::user, "write"},
                                  {Message::Role::assistant, "done"},
                                  {Message::Role::user, "repair"}},
                     .model = "m",
                     .temperature = 0.5,
                     .max_tokens = 100,
                     .extra = {{"seed", 7}}};

Completion stream(std::string_view api, const std::vector<std::string>& events) {
  const auto reader = find_api(api).reader();
  for (const std::string& each : events) EXPECT_TRUE(reader->feed_event("", each)) << each;
  return reader->completion();
}

TEST(OpenAi, AsksAsDocumented) {
  const Api& api = find_api("openai");
  EXPECT_EQ(api.url("http://host/v1/", kPrompt), "http://host/v1/chat/completions");
  EXPECT_EQ(api.url("http://host/v1/chat/completions", kPrompt), "http://host/v1/chat/completions");
  EXPECT_THAT(api.headers("secret"), testing::Contains("authorization: Bearer secret"));
  EXPECT_EQ(api.headers("").size(), 1u);
  const json body = api.body(kPrompt);
  EXPECT_EQ(body, json::parse(R"({"model": "m", "stream": true, "stream_options": {"include_usage": true},
      "temperature": 0.5, "max_tokens": 100, "seed": 7, "messages": [{"role": "system", "content": "be fast"},
      {"role": "user", "content": "write"}, {"role": "assistant", "content": "done"}, {"role": "user", "content": "repair"}]})"));
}

TEST(OpenAi, ReadsAStream) {
  const Completion read = stream(
      "openai", {R"({"model": "m-1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})",
                 R"({"choices": [{"delta": {"content": "a"}, "unknown": [1, {"x": 2}]}]})",
                 R"({"choices": [{"delta": {"content": "b"}, "finish_reason": "stop"}]})",
                 R"({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 7,
                     "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 5}}})",
                 "[DONE]"});
  EXPECT_EQ(read.text, "ab");
  EXPECT_EQ(read.finish, Finish::stop);
  EXPECT_EQ(read.model, "m-1");
  EXPECT_EQ(read.usage, (Usage{.input = 10, .output = 7, .cached = 4, .reasoning = 5}));
}

std::string usage_event(int completion) {
  return json{{"choices", json::array()}, {"usage", {{"prompt_tokens", 10}, {"completion_tokens", completion}}}}.dump();
}

TEST(OpenAi, CountsTokensHoweverTheServerReportsThem) {
  EXPECT_EQ(stream("openai", {usage_event(9)}).usage.output, 9u);
  // So far, the last one twice.
  EXPECT_EQ(stream("openai", {usage_event(1), usage_event(4), usage_event(9), usage_event(9)}).usage.output, 9u);
  // What each piece adds.
  EXPECT_EQ(stream("openai", {usage_event(3), usage_event(1), usage_event(2), usage_event(3)}).usage.output, 9u);
  EXPECT_EQ(stream("openai", {usage_event(3), usage_event(3), usage_event(3)}).usage.output, 9u);
  EXPECT_EQ(stream("openai", {usage_event(3), usage_event(3), usage_event(3)}).usage.input, 10u);
}

TEST(OpenAi, ReadsAWholeReplyAndItsParts) {
  const auto reader = find_api("openai").reader();
  ASSERT_TRUE(reader->feed_whole(R"({"model": "m", "choices": [{"message": {"content": [{"type": "text", "text": "a"},
      {"type": "text", "text": "b"}]}, "finish_reason": "length"}], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})"));
  EXPECT_EQ(reader->completion().text, "ab");
  EXPECT_EQ(reader->completion().finish, Finish::length);
}

TEST(OpenAi, SurvivesTypesThatAreNotWhatTheyShouldBe) {
  for (const char* const odd :
       {"null", "[]", "3", R"({"choices": 3})", R"({"choices": [null]})", R"({"choices": [{"delta": 3}]})",
        R"({"choices": [{"delta": {"content": null}}]})", R"({"usage": {"completion_tokens": -1}})", R"({"usage": 3})"})
    EXPECT_EQ(stream("openai", {odd}).text, "") << odd;
  EXPECT_FALSE(find_api("openai").reader()->feed_event("", "{not json"));
}

TEST(Responses, ReadsAStream) {
  const Completion read = stream(
      "openai-responses",
      {R"({"type": "response.created", "response": {"id": "r"}})",
       R"({"type": "response.output_text.delta", "delta": "a"})", R"({"type": "response.output_text.delta", "delta": "b"})",
       R"({"type": "response.incomplete", "response": {"model": "m", "status": "incomplete", "incomplete_details":
           {"reason": "max_output_tokens"}, "usage": {"input_tokens": 3, "output_tokens": 5, "output_tokens_details":
           {"reasoning_tokens": 4}}}})"});
  EXPECT_EQ(read.text, "ab");
  EXPECT_EQ(read.finish, Finish::length);
  EXPECT_EQ(read.usage, (Usage{.input = 3, .output = 5, .cached = 0, .reasoning = 4}));
  EXPECT_EQ(find_api("openai-responses").body(kPrompt).at("max_output_tokens"), 100);
}

TEST(Anthropic, AsksAsDocumented) {
  const Api& api = find_api("anthropic");
  EXPECT_EQ(api.url("https://host", kPrompt), "https://host/v1/messages");
  EXPECT_EQ(api.url("https://host/v1", kPrompt), "https://host/v1/messages");
  EXPECT_THAT(api.headers("secret"), testing::IsSupersetOf({"x-api-key: secret", "anthropic-version: 2023-06-01"}));
  const json body = api.body(kPrompt);
  EXPECT_EQ(body.at("system"), "be fast");
  EXPECT_EQ(body.at("messages").size(), 3u);
  EXPECT_EQ(body.at("max_tokens"), 100);
}

TEST(Anthropic, ReadsAStream) {
  const Completion read = stream(
      "anthropic",
      {R"({"type": "message_start", "message": {"model": "c", "usage": {"input_tokens": 10, "cache_read_input_tokens": 30,
           "cache_creation_input_tokens": 2, "output_tokens": 1}}})",
       R"({"type": "ping"})", R"({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})",
       R"({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}})",
       R"({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ab"}})",
       R"({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 25}})",
       R"({"type": "message_stop"})"});
  EXPECT_EQ(read.text, "ab");
  EXPECT_EQ(read.finish, Finish::stop);
  EXPECT_EQ(read.usage, (Usage{.input = 42, .output = 25, .cached = 30, .reasoning = 0}));
}

TEST(Anthropic, ReportsAnErrorWithinAStream) {
  const Completion read =
      stream("anthropic", {R"({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})"});
  EXPECT_EQ(read.error, "Overloaded");
  EXPECT_EQ(read.finish, Finish::none);
}

TEST(Gemini, AsksAndReads) {
  const Api& api = find_api("gemini");
  EXPECT_EQ(api.url("https://host/v1beta", kPrompt), "https://host/v1beta/models/m:streamGenerateContent?alt=sse");
  const json body = api.body(kPrompt);
  EXPECT_EQ(body.at("systemInstruction").at("parts")[0].at("text"), "be fast");
  EXPECT_EQ(body.at("contents")[1].at("role"), "model");
  EXPECT_EQ(body.at("generationConfig").at("maxOutputTokens"), 100);
  const Completion read = stream(
      "gemini", {R"({"candidates": [{"content": {"parts": [{"text": "thinking", "thought": true}, {"text": "a"}]}}],
                     "usageMetadata": {"promptTokenCount": 8, "thoughtsTokenCount": 3}})",
                 R"({"candidates": [{"content": {"parts": [{"text": "b"}]}, "finishReason": "STOP"}], "modelVersion": "g",
                     "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 2, "thoughtsTokenCount": 4}})"});
  EXPECT_EQ(read.text, "ab");
  EXPECT_EQ(read.finish, Finish::stop);
  EXPECT_EQ(read.usage, (Usage{.input = 8, .output = 6, .cached = 0, .reasoning = 4}));
  EXPECT_EQ(stream("gemini", {R"({"promptFeedback": {"blockReason": "SAFETY"}})"}).finish, Finish::filtered);
}

TEST(Errors, AreTheServersOwnWords) {
  EXPECT_EQ(error_message(R"({"error": {"message": "no such model", "code": 404}})"), "no such model");
  EXPECT_EQ(error_message(R"({"error": "plain"})"), "plain");
  EXPECT_EQ(error_message(R"({"detail": "Not Found"})"), "Not Found");
  EXPECT_EQ(error_message(R"([{"error": {"message": "wrapped"}}])"), "wrapped");
  EXPECT_EQ(error_message("<html>502</html>"), "<html>502</html>");
}

TEST(Adapt, FollowsWhatTheServerRefuses) {
  json body = find_api("openai").body(kPrompt);
  EXPECT_TRUE(adapt(body, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."));
  EXPECT_FALSE(body.contains("max_tokens"));
  EXPECT_EQ(body.at("max_completion_tokens"), 100);
  EXPECT_TRUE(adapt(body, "'temperature' does not support 0.5 with this model"));
  EXPECT_FALSE(body.contains("temperature"));
  EXPECT_FALSE(adapt(body, "'temperature' does not support 0.5 with this model"));
  EXPECT_FALSE(adapt(body, "the model does not exist"));
}

TEST(Endpoint, KeepsItsQueryBehindThePath) {
  EXPECT_EQ(find_api("openai").url("https://host/deployments/d/?api-version=1", kPrompt),
            "https://host/deployments/d/chat/completions?api-version=1");
  EXPECT_EQ(find_api("openai").url("https://host/chat/completions?api-version=1", kPrompt),
            "https://host/chat/completions?api-version=1");
  EXPECT_EQ(find_api("anthropic").url("https://host/v1?a=b", kPrompt), "https://host/v1/messages?a=b");
}

TEST(Endpoint, IsToldWithoutPasswordAndQuery) {
  EXPECT_EQ(public_endpoint("https://user:p@ss@host:8443/v1/?key=secret"), "https://host:8443/v1");
  EXPECT_EQ(public_endpoint("http://127.0.0.1:8080/v1"), "http://127.0.0.1:8080/v1");
  EXPECT_EQ(public_endpoint("http://host/a@b"), "http://host/a@b");
  EXPECT_EQ(public_endpoint(""), "");
}

TEST(FindApi, NamesThoseThatThereAre) {
  try {
    find_api("cohere");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("openai, openai-responses, anthropic, gemini"));
  }
}

}  // namespace
}  // namespace pkb::model
