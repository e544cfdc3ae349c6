// SPDX-License-Identifier: Apache-2.0
#include "harness/model/client.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <regex>

#include "harness/model/scripted_server.h"

namespace pkb::model {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kStreamHead = "content-type: text/event-stream\r\n";

std::string piece(const std::string& text) {
  return "data: " + nlohmann::json{{"choices", {{{"delta", {{"content", text}}}}}}}.dump() + "\n\n";
}
const std::string kLast =
    "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}]}\n\n"
    "data: {\"choices\": [], \"usage\": {\"prompt_tokens\": 5, \"completion_tokens\": 2}}\n\ndata: [DONE]\n\n";
const std::string kGood = http(200, piece("he") + piece("llo") + kLast, kStreamHead);

ClientOptions options_for(const ScriptedServer& server) {
  return {.endpoint = server.address(),
          .api = &find_api("openai"),
          .key = "very-secret",
          .idle_timeout = Seconds(1),
          .total_timeout = Seconds(20),
          .longest_wait = Seconds(3),
          .patience = Seconds(30)};
}

Outcome ask(const ClientOptions& options) {
  Client client(options);
  Outcome outcome;
  client.ask({.messages = {{Message::Role::user, "hi"}}, .model = "m", .temperature = 1, .max_tokens = 9},
             [&](Outcome each) { outcome = std::move(each); });
  client.run();
  return outcome;
}

struct Case {
  const char* name;
  std::vector<ScriptedServer::Reply> script;
  std::size_t requests;
};
class Recovers : public testing::TestWithParam<Case> {};

TEST_P(Recovers, AndHasTheWholeReply) {
  ScriptedServer server(GetParam().script);
  const Outcome outcome = ask(options_for(server));
  EXPECT_EQ(outcome.failure, "");
  EXPECT_EQ(outcome.completion.text, "hello");
  EXPECT_EQ(outcome.completion.finish, Finish::stop);
  EXPECT_EQ(outcome.completion.usage, (Usage{.input = 5, .output = 2}));
  EXPECT_EQ(outcome.exchanges.size(), GetParam().requests);
  EXPECT_EQ(server.requests().size(), GetParam().requests);
}

const std::string kWhole = R"({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 2}})";

INSTANTIATE_TEST_SUITE_P(
    Servers, Recovers,
    testing::Values(
        Case{"Plain", {{{kGood}}}, 1}, Case{"SlowDrip", {{{kGood, 0ms, 3}}}, 1},
        Case{"WithoutTheLastEmptyLine", {{{kGood.substr(0, kGood.size() - 2)}}}, 1},
        Case{"CarriageReturns",
             {{{http(200, std::regex_replace(piece("hello") + kLast, std::regex("\n"), "\r\n"), kStreamHead)}}},
             1},
        Case{"TooManyRequests", {{{http(429, "{}", "retry-after: 1\r\n")}}, {{kGood}}}, 2},
        Case{"TooManyRequestsWithoutAWish", {{{http(429, "{}")}}, {{kGood}}}, 2},
        Case{"ServerErrors", {{{http(500, "oops")}}, {{http(503, "<html>", "content-type: text/html\r\n")}}, {{kGood}}}, 3},
        Case{"ResetBeforeAnything", {{{"", 0ms, 0, true}}, {{kGood}}}, 2},
        Case{"ResetMidStream", {{{http(200, piece("he"), kStreamHead), 0ms, 0, false}, {"", 50ms, 0, true}}, {{kGood}}}, 2},
        Case{"EndMidStream", {{{http(200, piece("he"), kStreamHead)}}, {{kGood}}}, 2},
        Case{"StallMidStream", {{{http(200, piece("he"), kStreamHead)}, {"", 2500ms}}, {{kGood}}}, 2},
        Case{"MalformedStream", {{{http(200, "data: {\"choices\": [\n\ndata: nonsense\n\n", kStreamHead)}}, {{kGood}}}, 2},
        Case{"ErrorWithinTheStream", {{{http(200, "data: {\"error\": {\"message\": \"overloaded\"}}\n\n", kStreamHead)}}, {{kGood}}}, 2},
        Case{"StreamUnderAWrongContentType", {{{http(200, piece("hello") + kLast, "content-type: text/html\r\n")}}}, 1},
        Case{"WholeReplyInsteadOfAStream", {{{http(200, kWhole)}}}, 1},
        Case{"WholeReplyCalledAStream", {{{http(200, kWhole, kStreamHead)}}}, 1},
        Case{"HtmlInsteadOfAReply", {{{http(200, "<html>log in</html>", "content-type: text/html\r\n")}}, {{kGood}}}, 2},
        Case{"DuplicateUsage", {{{http(200, piece("hello") + kLast.substr(0, kLast.find("data: [")) + kLast, kStreamHead)}}}, 1},
        Case{"OldHttp", {{{"HTTP/1.0 200 OK\r\n\r\n" + piece("hello") + kLast}}}, 1},
        Case{"RefusesWhatReasoningModelsRefuse",
             {{{http(400, R"({"error": {"message": "'max_tokens' is not supported, use 'max_completion_tokens'"}})")}},
              {{http(400, R"({"error": {"message": "Unsupported value: 'temperature'"}})")}},
              {{kGood}}},
             3}),
    [](const auto& test) { return test.param.name; });

TEST(Client, WaitsAsTold) {
  ScriptedServer server({{{http(429, "{}", "retry-after: 1\r\n")}}, {{kGood}}});
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = ask(options_for(server));
  EXPECT_EQ(outcome.exchanges.at(0).wait, Seconds(1));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 1s);
}

TEST(Client, GivesUpAtOnceWhatCannotPass) {
  for (const int status : {400, 401, 403, 404}) {
    ScriptedServer server({{{http(status, R"({"error": {"message": "no such model"}})")}}});
    const Outcome outcome = ask(options_for(server));
    EXPECT_EQ(outcome.failure, "HTTP " + std::to_string(status) + ": no such model");
    EXPECT_TRUE(outcome.is_final);
    EXPECT_EQ(outcome.exchanges.size(), 1u);
  }
}

TEST(Client, GivesUpWhenItsPatienceEnds) {
  ScriptedServer server({{{http(429, "{}", "retry-after: 0.05\r\n")}}});
  ClientOptions options = options_for(server);
  options.patience = Seconds(0.5);
  const Outcome outcome = ask(options);
  EXPECT_THAT(outcome.failure, HasSubstr("given up"));
  EXPECT_FALSE(outcome.is_final);
  EXPECT_GE(outcome.exchanges.size(), 5u);
}

TEST(Client, GivesUpAServerThatIsNotThere) {
  ClientOptions options;
  {
    ScriptedServer gone({{{""}}});
    options = options_for(gone);
  }
  options.most_failures = 2;
  EXPECT_THAT(ask(options).failure, HasSubstr("no whole reply"));
}

TEST(Client, NeverRepeatsTheKey) {
  ScriptedServer server({{{http(401, "{\"error\": \"bad key\"}")}}});
  const Outcome outcome = ask(options_for(server));
  EXPECT_THAT(server.requests().at(0), HasSubstr("very-secret"));
  for (const Exchange& each : outcome.exchanges) {
    EXPECT_THAT(each.request.dump(), testing::Not(HasSubstr("very-secret")));
    EXPECT_THAT(each.error, testing::Not(HasSubstr("very-secret")));
  }
}

TEST(Client, TakesLongReplies) {
  std::string body;
  const std::string part(100'000, 'x');
  for (int i = 0; i < 100; ++i) body += piece(part);
  ScriptedServer server({{{http(200, body + kLast, kStreamHead)}}});
  EXPECT_EQ(ask(options_for(server)).completion.text.size(), 10'000'000u);
}

TEST(Client, RefusesEndlessReplies) {
  ScriptedServer server({{{http(200, "data: " + std::string(70 << 20, 'x'), kStreamHead)}}});
  EXPECT_THAT(ask(options_for(server)).failure, HasSubstr("longer than"));
}

TEST(Client, KeepsToItsConcurrency) {
  ScriptedServer server({{{kGood, 50ms}}});
  ClientOptions options = options_for(server);
  options.concurrency = 3;
  Client client(options);
  int done = 0;
  for (int i = 0; i < 12; ++i)
    client.ask({.messages = {{Message::Role::user, "hi"}}, .model = "m"}, [&](Outcome outcome) {
      EXPECT_EQ(outcome.failure, "");
      ++done;
    });
  client.run();
  EXPECT_EQ(done, 12);
  EXPECT_LE(server.most_at_once(), 4);  // the server learns of an end a moment later
}

TEST(Client, StopsWhenTold) {
  ScriptedServer server({{{kGood, 5000ms}}});
  Client client(options_for(server));
  client.ask({.messages = {{Message::Role::user, "hi"}}, .model = "m"}, [](Outcome) { FAIL(); });
  const auto start = std::chrono::steady_clock::now();
  client.run([&] { return std::chrono::steady_clock::now() - start > 300ms; });
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

TEST(Client, ManyStreamsCostLittle) {
  // 64 streams of 3 s, a token each 50 ms: what a model of 20 tokens/s sends.
  ScriptedServer::Reply reply = {{http(200, "", kStreamHead)}};
  for (int i = 0; i < 60; ++i) reply.push_back({piece("token "), 50ms});
  reply.push_back({kLast});
  ScriptedServer server({reply});
  ClientOptions options = options_for(server);
  options.concurrency = 64;
  Client client(options);
  int done = 0;
  for (int i = 0; i < 64; ++i)
    client.ask({.messages = {{Message::Role::user, "hi"}}, .model = "m"}, [&](Outcome outcome) {
      EXPECT_EQ(outcome.completion.text.size(), 360u);
      ++done;
    });
  const auto cpu = [] {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const double before = cpu();
  const auto start = std::chrono::steady_clock::now();
  client.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(done, 64);
  EXPECT_GT(server.most_at_once(), 32);
  EXPECT_LT(wall.count(), 15);  // one after the other they would take 192 s
  // The aim is 0.05; a busy machine stretches both, not always alike.
  EXPECT_LT((cpu() - before) / wall.count(), 0.1);
  RecordProperty("share_of_a_core", std::to_string((cpu() - before) / wall.count()));
}

}  // namespace
}  // namespace pkb::model
