// SPDX-License-Identifier: Apache-2.0
// A model on problems, from the prompt to the verdict: recorded replies, and a server of the test's own.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/cli/process.h"
#include "harness/model/scripted_server.h"

namespace pkb::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kReplay = PKB_SOURCE "/prompts/replay/nine_problems.jsonl";

Command pkb(const std::vector<std::string>& arguments) {
  Command command{.words = {PKB_EXECUTABLE}};
  command.words.insert(command.words.end(), arguments.begin(), arguments.end());
  command.environment["XDG_CACHE_HOME"] = PKB_TEST_CACHE;
  return command;
}

Command replay(const fs::path& out) {
  return pkb({"run", "--replay", kReplay, "--problems", "1-8,13", "--device", "virtual", "--repair", "1", "--trials", "2",
              "--out", out.string()});
}

std::string whole_text(const fs::path& folder) {
  std::string text;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    if (!each.is_regular_file()) continue;
    std::ifstream file(each.path());
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

TEST(Run, TakesNineRecordedProblemsFromPromptToVerdict) {
  const TestFolder folder;
  // Interrupted as soon as something is judged, it goes on where it was.
  {
    Process first(replay(folder.path() / "out"));
    while (first.errors().find(": correct") == std::string::npos) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ::kill(first.pid(), SIGINT);
    EXPECT_EQ(first.wait(), 3);
    EXPECT_THAT(first.output(), HasSubstr("the same command goes on"));
    EXPECT_THAT(descendants(first.pid()), testing::IsEmpty());
  }
  Process second(replay(folder.path() / "out"));
  ASSERT_EQ(second.wait(std::chrono::seconds(300)), 0) << second.errors();
  for (const char* const line :
       {"001_allreduce                            correct", "002_allgather                            correct",
        "003_broadcast                            correct", "004_reduce                               correct",
        "005_scatter                              correct", "006_gather                               deadlock",
        "007_reducescatter                        correct", "008_alltoall                             correct",
        "013_gemm_allreduce                       correct", "9 of 9 samples done, 8 correct"})
    EXPECT_THAT(second.output(), HasSubstr(line));
  EXPECT_THAT(second.errors(), AllOf(HasSubstr("004_reduce sample 0 attempt 0: compile_error"),
                                     HasSubstr("005_scatter sample 0 attempt 0: wrong_result"),
                                     HasSubstr("002_allgather sample 0 attempt 0: no_code")));
  // What the model was told of its first attempt.
  const json repaired = json::parse(std::ifstream(folder.path() / "out/004_reduce/sample-0/attempt-1.json"));
  EXPECT_THAT(repaired.at("message").get<std::string>(), HasSubstr("error"));
  EXPECT_TRUE(fs::exists(folder.path() / "out/report/summary.md"));
  // Where the site lacks its libraries, the campaign is done all the same.
  fs::remove_all(folder.path() / "out/report");
  Command again = replay(folder.path() / "out");
  again.words.insert(again.words.end(), {"--libraries", folder.path().string()});
  const Finished third = run(again);
  EXPECT_EQ(third.exit, 0);
  EXPECT_THAT(third.errors, HasSubstr("apt-get install libjs-jquery"));
  EXPECT_TRUE(fs::exists(folder.path() / "out/report/summary.md"));
  EXPECT_EQ(third.errors.find(": correct"), std::string::npos) << "judged again";
  EXPECT_THAT(third.output, HasSubstr("9 of 9 samples done, 8 correct"));
}

TEST(Generate, AsksAServerAndKeepsTheKeyToItself) {
  const std::string code = "void run(pkb::Context& ctx, const pkb::Args& args) {}\n";
  const json whole = {{"choices", {{{"message", {{"content", "```cuda\n" + code + "```"}}}, {"finish_reason", "stop"}}}},
                      {"usage", {{"prompt_tokens", 12}, {"completion_tokens", 34}}}};
  model::ScriptedServer server({{{model::http(200, whole.dump())}}});
  const TestFolder folder;
  Command command = pkb({"generate", "--endpoint", server.address(), "--model", "m", "--problems", "1,2", "--samples", "2",
                         "--out", (folder.path() / "out").string()});
  command.environment["OPENAI_API_KEY"] = "sk-do-not-tell";
  const Finished done = run(command);
  EXPECT_EQ(done.exit, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("4 of 4 samples done; 48 input tokens (0 cached), 136 output tokens"));
  EXPECT_EQ(server.requests().size(), 4u);
  EXPECT_THAT(server.requests().front(), HasSubstr("Bearer sk-do-not-tell"));
  EXPECT_THAT(whole_text(folder.path()), AllOf(HasSubstr(code), Not(HasSubstr("do-not-tell"))));
  EXPECT_THAT(done.output + done.errors, Not(HasSubstr("do-not-tell")));
  // Paid once.
  EXPECT_EQ(run(command).exit, 0);
  EXPECT_EQ(server.requests().size(), 4u);
}

// Of servers that repeat what they were sent, in addresses, errors and replies.
TEST(Generate, StoresNoKeyThatComesBack) {
  const json echo = {{"error", {{"message", "Incorrect API key provided: sk-do-not-tell. header: Bearer sk-do-not-tell"}}}};
  model::ScriptedServer server({{{model::http(401, echo.dump())}}});
  const TestFolder folder;
  std::string address = server.address();
  address.insert(address.find("://") + 3, "user:sk-do-not-tell-either@");
  Command command = pkb({"generate", "--endpoint", address + "?key=sk-do-not-tell-either", "--model", "m", "--problems", "1", "--out",
                         (folder.path() / "out").string()});
  command.environment["OPENAI_API_KEY"] = "sk-do-not-tell";
  const Finished done = run(command);
  EXPECT_EQ(done.exit, 3);
  EXPECT_THAT(done.errors, HasSubstr("Incorrect API key provided: (key). header: Bearer (key)"));
  EXPECT_THAT(server.requests().front(), HasSubstr("/chat/completions?key=sk-do-not-tell-either"));
  EXPECT_THAT(whole_text(folder.path()) + done.output + done.errors, Not(HasSubstr("do-not-tell")));
}

TEST(Generate, KilledItPaysForNothingTwice) {
  const std::string code = "```cuda\nvoid run(pkb::Context& ctx, const pkb::Args& args) {}\n```";
  const std::string whole = model::http(200, json{{"choices", {{{"message", {{"content", code}}}, {"finish_reason", "stop"}}}}}.dump());
  using std::chrono::milliseconds;
  model::ScriptedServer server({{{whole}}, {{whole}}, {{.bytes = whole, .before = milliseconds(60'000)}}, {{whole}}});
  const TestFolder folder;
  const Command command = pkb({"generate", "--endpoint", server.address(), "--model", "m", "--problems", "1-4", "--concurrency", "1",
                               "--out", (folder.path() / "out").string()});
  {
    Process first(command);
    while (server.requests().size() < 3) std::this_thread::sleep_for(milliseconds(20));
    ::kill(first.pid(), SIGKILL);
    EXPECT_EQ(first.wait(), 128 + SIGKILL);
  }
  const Finished done = run(command);
  EXPECT_EQ(done.exit, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("4 of 4 samples done"));
  EXPECT_EQ(server.requests().size(), 3u + 2u) << "the first two replies were asked for again";
}

TEST(Generate, SaysWhatTheServerRefuses) {
  model::ScriptedServer server({{{model::http(401, R"({"error": {"message": "no such key"}})")}}});
  const TestFolder folder;
  const Finished done = run(pkb({"generate", "--endpoint", server.address(), "--model", "m", "--problems", "1", "--out",
                                 folder.path().string()}));
  EXPECT_EQ(done.exit, 3);
  EXPECT_THAT(done.errors, HasSubstr("HTTP 401: no such key"));
}

TEST(Generate, RefusesBadInput) {
  const TestFolder folder;
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"generate", "--out", folder.path().string()};
    words.insert(words.end(), more.begin(), more.end());
    return run(pkb(words));
  };
  EXPECT_THAT(with({}).errors, HasSubstr("--endpoint: missing"));
  EXPECT_THAT(with({"--problems", "family:nothing"}).errors, HasSubstr("no such family"));
  EXPECT_THAT(with({"--problems", "900-999"}).errors, HasSubstr("no problem has a number from 900 to 999"));
  EXPECT_EQ(with({"--api", "telepathy"}).exit, 2);
}

}  // namespace
}  // namespace pkb::cli
