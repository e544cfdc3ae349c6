// SPDX-License-Identifier: Apache-2.0
#include "harness/campaign/campaign.h"

#include <gmock/gmock.h>

#include <fstream>

#include "harness/error/error.h"

namespace pkb::campaign {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string reply(const std::string& marker) {
  return "Here:\n```cuda\n// " + marker + "\nvoid run(pkb::Context& ctx, const pkb::Args& args) {}\n```\n";
}

class CampaignTest : public testing::Test {
 protected:
  void SetUp() override {
    x_folder = fs::path(testing::TempDir()) / ("campaign-" + std::to_string(::getpid()));
    fs::remove_all(x_folder);
    fs::create_directories(x_folder);
    // `wrong` is repaired at the first attempt, `hopeless` never, `mute` says nothing until it is asked again.
    std::ofstream file(recording());
    for (const auto& [problem, attempt, text] : std::initializer_list<std::tuple<const char*, int, std::string>>{
             {"right", 0, reply("correct")},       {"wrong", 0, reply("wrong_result")},
             {"wrong", 1, reply("correct")},       {"hopeless", 0, reply("crash")},
             {"hopeless", 1, reply("deadlock")},   {"hopeless", 2, reply("crash")},
             {"mute", 0, "I would rather not."},   {"mute", 1, reply("correct")}})
      file << json{{"problem", problem}, {"attempt", attempt}, {"text", text}, {"usage", {{"input", 1000}, {"output", 100}}}}.dump()
           << '\n';
  }
  void TearDown() override { fs::remove_all(x_folder); }

  fs::path recording() const { return x_folder / "recording"; }
  fs::path out() const { return x_folder / "out"; }

  /// A judge that believes what a candidate says of itself.
  json judge(const std::vector<std::string>& arguments) {
    ++x_judged;
    std::ifstream file(arguments.at(0));
    std::string slashes, marker;
    file >> slashes >> marker;
    if (marker.empty()) throw EnvironmentError({.where = arguments.at(0), .fault = "is empty", .remedy = {}});
    return {{"verdict", marker}};
  }

  struct Ran {
    Tally tally;
    std::vector<std::pair<std::string, std::string>> verdicts;
  };
  Ran run(std::vector<std::string> problems, int repairs, const std::function<bool()>& until = [] { return false; }) {
    Plan plan{.problems = std::move(problems), .samples = 1, .repairs = repairs, .continuations = x_continuations, .prompt = {.messages = {}, .model = "m"}, .system = {}};
    const Hooks hooks{.task = [](const std::string& problem) { return "solve " + problem; },
                      .repair = [this](const json& result) {
                        x_repairs.push_back(result.at("verdict"));
                        return "repair " + result.at("verdict").get<std::string>();
                      },
                      .evaluation = [](const Attempt&, const fs::path& candidate) {
                        return std::vector<std::string>{candidate.string()};
                      },
                      .go_on = "go on",
                      .show = x_show};
    Ledger ledger(out(), {{"model", "m"}, {"repairs", repairs}});
    const auto source = from_recording(recording());
    const Prices prices(price_file());
    Evaluations evaluations([this](const auto& arguments, const auto&) { return judge(arguments); }, 2);
    Campaign campaign(std::move(plan), hooks, ledger, *source, prices, &evaluations);
    campaign.run(until);
    return {campaign.tally(), campaign.verdicts()};
  }
  fs::path price_file() const {
    std::ofstream(x_folder / "prices") << R"({"m": {"input": 3, "output": 15}})";
    return x_folder / "prices";
  }

  fs::path x_folder;
  std::atomic<int> x_judged{0};
  int x_continuations = 0;
  std::function<void(const Campaign&)> x_show = [](const Campaign&) {};
  std::vector<std::string> x_repairs;
};

TEST_F(CampaignTest, AsksJudgesAndRepairs) {
  const Ran ran = run({"right", "wrong", "hopeless", "mute"}, 2);
  EXPECT_THAT(ran.verdicts, ElementsAre(Pair("right", "correct"), Pair("wrong", "correct"), Pair("hopeless", "deadlock"),
                                        Pair("mute", "correct")));
  EXPECT_EQ(ran.tally.done, 4);
  EXPECT_EQ(ran.tally.correct, 3);
  EXPECT_THAT(x_repairs, testing::UnorderedElementsAre("wrong_result", "crash", "deadlock", "no_code"));
  // 8 replies of 1000 and 100 tokens at 3 and 15 per million.
  EXPECT_EQ(ran.tally.usage.input, 8000u);
  EXPECT_NEAR(ran.tally.price, 8 * 0.0045, 1e-12);
  EXPECT_EQ(x_judged, 6 + 1);
  const json attempt = json::parse(std::ifstream(out() / "wrong/sample-0/attempt-1.json"));
  EXPECT_EQ(attempt.at("message"), "repair wrong_result");
}

TEST_F(CampaignTest, AsksAndJudgesNothingTwice) {
  run({"right", "wrong", "hopeless", "mute"}, 2);
  x_judged = 0;
  fs::remove(recording());
  std::ofstream(recording()) << "";
  const Ran again = run({"right", "wrong", "hopeless", "mute"}, 2);
  EXPECT_EQ(x_judged, 0);
  EXPECT_EQ(again.tally.correct, 3);
  EXPECT_NEAR(again.tally.price, 8 * 0.0045, 1e-12);
}

TEST_F(CampaignTest, GoesOnWhereItWasStopped) {
  int looks = 0;
  const Ran stopped = run({"right", "wrong", "hopeless", "mute"}, 2, [&] { return ++looks > 4; });
  EXPECT_LT(stopped.tally.done, 4);
  const Ran whole = run({"right", "wrong", "hopeless", "mute"}, 2);
  EXPECT_EQ(whole.tally.correct, 3);
  EXPECT_NEAR(whole.tally.price, 8 * 0.0045, 1e-12);
}

TEST_F(CampaignTest, JudgesAgainWhatWasAskedButNotJudged) {
  run({"right"}, 0);
  fs::remove(out() / "right/sample-0/attempt-0.result.json");
  x_judged = 0;
  EXPECT_EQ(run({"right"}, 0).tally.correct, 1);
  EXPECT_EQ(x_judged, 1);
}

TEST_F(CampaignTest, RefusesToMixSettings) {
  run({"right"}, 0);
  try {
    run({"right"}, 1);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("repairs = 0, not 1"));
  }
}

TEST_F(CampaignTest, CountsWhatTheServerOrTheEnvironmentFailed) {
  const Ran ran = run({"right", "unrecorded"}, 0);
  EXPECT_EQ(ran.tally.failed, 1);
  EXPECT_THAT(ran.verdicts, ElementsAre(Pair("right", "correct"), Pair("unrecorded", "missing")));
  EXPECT_FALSE(fs::exists(out() / "unrecorded/sample-0/attempt-0.json"));  // to be asked again
}

TEST_F(CampaignTest, SaysWhyThereIsNoCode) {
  std::ofstream(recording()) << json{{"problem", "p"}, {"text", ""}, {"finish", "length"},
                                     {"usage", {{"input", 10}, {"output", 4096}, {"reasoning", 4096}}}}.dump();
  run({"p"}, 0);
  const json attempt = json::parse(std::ifstream(out() / "p/sample-0/attempt-0.json"));
  EXPECT_THAT(attempt.at("no_code").get<std::string>(), HasSubstr("cut off at 4096 tokens (4096 of them reasoning)"));
  EXPECT_THAT(attempt.at("no_code").get<std::string>(), HasSubstr("raise --max-tokens"));
}

TEST_F(CampaignTest, ACutReplyGoesOnAndItsPartsArePaidOnce) {
  const std::string whole = reply("correct");
  const auto record = [&](int part, const std::string& text, const char* finish) {
    return json{{"problem", "p"}, {"part", part}, {"text", text}, {"finish", finish}, {"usage", {{"input", 1000}, {"output", 100}}}}.dump() + "\n";
  };
  const std::string first = record(0, whole.substr(0, 20), "length"), second = record(1, whole.substr(20), "stop");
  x_continuations = 2;
  std::ofstream(recording()) << first;
  EXPECT_EQ(run({"p"}, 0).tally.failed, 1);  // as if it were killed between the parts
  std::ofstream(recording()) << second;
  const Ran ran = run({"p"}, 0);
  EXPECT_THAT(ran.verdicts, ElementsAre(Pair("p", "correct")));
  EXPECT_EQ(ran.tally.usage.output, 200u);
  const json attempt = json::parse(std::ifstream(out() / "p/sample-0/attempt-0.json"));
  EXPECT_EQ(attempt.at("text"), whole);
  EXPECT_EQ(attempt.at("parts"), 2);
}

TEST_F(CampaignTest, ContinuationsEnd) {
  std::ofstream file(recording());
  for (int part = 0; part < 4; ++part)
    file << json{{"problem", "p"}, {"part", part}, {"text", "on and on "}, {"finish", "length"}}.dump() << "\n";
  file.close();
  x_continuations = 2;
  run({"p"}, 0);
  const json attempt = json::parse(std::ifstream(out() / "p/sample-0/attempt-0.json"));
  EXPECT_EQ(attempt.at("parts"), 3);
  EXPECT_THAT(attempt.at("no_code").get<std::string>(), HasSubstr("cut off"));
}

TEST_F(CampaignTest, TellsHowEachProblemStands) {
  std::vector<std::string> seen;
  x_show = [&](const Campaign& now) {
    for (const Campaign::Standing& each : now.standing())
      if (seen.empty() || seen.back() != each.samples.at(0)) seen.push_back(each.samples.at(0));
  };
  run({"wrong"}, 1);
  EXPECT_EQ(seen.back(), "correct");
  EXPECT_THAT(seen, testing::IsSupersetOf({"judging", "judging, repair 1"}));
}

TEST(PricesTest, RefusesWhatIsNone) {
  const fs::path file = fs::path(testing::TempDir()) / "prices.json";
  for (const char* const text : {"", "[]", R"({"m": 3})", R"({"m": {"input": 1}})", R"({"m": {"input": 1, "output": -2}})"}) {
    std::ofstream(file) << text;
    EXPECT_THROW(Prices{file}, InputError) << text;
  }
  std::ofstream(file) << R"({"m": {"input": 2, "output": 10, "cached": 0.5}})";
  const Prices prices(file);
  EXPECT_NEAR(prices.of("m", {.input = 3'000'000, .output = 1'000'000, .cached = 1'000'000}).value(), 2 * 2 + 0.5 + 10, 1e-9);
  EXPECT_FALSE(prices.of("other", {}));
}

}  // namespace
}  // namespace pkb::campaign
