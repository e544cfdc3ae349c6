// SPDX-License-Identifier: Apache-2.0
// `pkb report` and `pkb results` as their users run them.
#include <gmock/gmock.h>

#include <fstream>

#include "harness/cli/process.h"
#include "harness/report/example.h"

namespace pkb::cli {
namespace {

namespace fs = std::filesystem;
namespace example = report::example;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Finished pkb(const std::vector<std::string>& arguments) {
  Command command{.words = {PKB_EXECUTABLE}};
  command.words.insert(command.words.end(), arguments.begin(), arguments.end());
  command.environment["XDG_CACHE_HOME"] = PKB_TEST_CACHE;
  return run(command);
}

class Results : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (x_folder.path() / name).string(); }
  TestFolder x_folder;
};

TEST_F(Results, AreReported) {
  example::write(path("in/1.json"), example::timed({.number = 1}, 2, 1));
  example::write(path("in/2.json"), example::result({.number = 2}));
  const Finished done = pkb({"report", path("in"), "--out", path("out"), "--title", "A title", "--json"});
  ASSERT_EQ(done.exit, 0) << done.errors;
  const json printed = json::parse(done.output);
  EXPECT_EQ(printed.at("evaluations"), 2);
  EXPECT_EQ(printed.at("leaderboard").size(), 2u) << "a timed board and one of verdicts";
  std::ifstream file(path("out/summary.md"));
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), HasSubstr("# `A title`"));
  EXPECT_TRUE(fs::exists(path("out/tables/leaderboard.csv")));
}

TEST_F(Results, AreInTablesAlsoWhereTheSiteLacksALibrary) {
  example::write(path("in/1.json"), example::result({.number = 1}));
  const Finished done = pkb({"report", path("in"), "--out", path("out"), "--libraries", path("nothing")});
  EXPECT_EQ(done.exit, 3);
  EXPECT_THAT(done.errors, HasSubstr("apt-get install libjs-jquery"));
  EXPECT_TRUE(fs::exists(path("out/summary.md")));
  EXPECT_TRUE(fs::exists(path("out/tables/evaluations.json")));
  EXPECT_FALSE(fs::exists(path("out/index.html")));
}

TEST_F(Results, AreComparedWithRegressionsFirst) {
  example::write(path("a/1.json"), example::result({.number = 1}));
  example::write(path("b/2.json"), example::result({.number = 2, .verdict = "race", .source = "// b"}));
  ASSERT_EQ(
      pkb({"report", path("a"), path("b"), "--out", path("out"), "--compare", path("a"), path("b")}).exit, 0);
  EXPECT_EQ(json::parse(std::ifstream(path("out/tables/comparison.json"))).at(0).at("change"), "regression");
  const Finished wrong =
      pkb({"report", path("a"), "--out", path("out"), "--compare", path("a"), path("nothing")});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("is no submitter's label and no path with results"));
}

TEST_F(Results, AreValidated) {
  example::write(path("1.json"), example::timed({.number = 1}, 2, 1));
  EXPECT_EQ(pkb({"results", "validate", path("")}).exit, 0);
  json impossible = example::timed({.number = 2}, 2, 1);
  impossible["timing"]["candidate"]["median_ms"] = 0;
  example::write(path("2.json"), impossible);
  const Finished done = pkb({"results", "validate", path("")});
  EXPECT_EQ(done.exit, 2);
  EXPECT_THAT(done.output, HasSubstr("2.json: timing.candidate.median_ms: 0 is not above 0"));
  EXPECT_EQ(json::parse(pkb({"results", "validate", "--json", path("")}).output).at("valid"), false);
}

TEST_F(Results, AreListedAndShownWithoutCommandingTheTerminal) {
  json result = example::result({.number = 1, .verdict = "race"});
  result["diagnoses"][0]["text"] = "\x1b[2J wiped";
  result["submission"] = {{"name", "Ada \x1b]0;x"}, {"kind", "person"}};
  example::write(path("1.json"), result);
  EXPECT_THAT(pkb({"results", "list", path("")}).output,
              AllOf(HasSubstr(example::id(1)), HasSubstr("001_allreduce"), HasSubstr("race"),
                    HasSubstr("Ada"), Not(HasSubstr("\x1b"))));
  for (const std::string& which : {path("1.json"), example::id(1)})
    EXPECT_THAT(pkb({"results", "show", which, path("")}).output,
                AllOf(HasSubstr("race on rank 1"), HasSubstr("wiped"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(json::parse(pkb({"results", "show", "--json", path("1.json")}).output).at("source"),
            "// a candidate");
  EXPECT_EQ(pkb({"results", "show", "nothing", path("")}).exit, 2);
}

TEST_F(Results, AreMerged) {
  example::write(path("in/a.json"), example::result({.number = 1}));
  example::write(path("in/b.json"), example::result({.number = 2}));
  EXPECT_THAT(pkb({"results", "merge", path("in"), "--out", path("out")}).output,
              HasSubstr("2 results written"));
  EXPECT_TRUE(fs::exists(path("out/" + example::id(1) + ".json")));
  example::write(path("in/a.json"), example::result({.number = 1, .verdict = "race"}));
  const Finished conflict = pkb({"results", "merge", path("in"), "--out", path("out")});
  EXPECT_EQ(conflict.exit, 2);
  EXPECT_THAT(conflict.errors, HasSubstr("conflict"));
  EXPECT_EQ(json::parse(std::ifstream(path("out/" + example::id(1) + ".json"))).at("verdict"), "correct");
}

TEST_F(Results, AreEvaluatedAgainFromSourceAndSeed) {
  const Finished judged =
      pkb({"eval", "1", PKB_SOURCE "/problems/001_allreduce/solutions/peer_load.cu", "--device", "virtual", "--trials",
           "1", "--submitter", "Ada", "--out", path("out"), "--json"});
  ASSERT_EQ(judged.exit, 0) << judged.errors;
  json result = json::parse(judged.output);
  EXPECT_EQ(result.at("submission").at("name"), "Ada");
  const std::string file = path("out/" + result.at("id").get<std::string>() + ".json");
  const Finished same = pkb({"results", "verify", file});
  EXPECT_EQ(same.exit, 0) << same.errors;
  EXPECT_THAT(same.output, HasSubstr("reproduces: correct"));
  // Someone claims to have found a race.
  result["verdict"] = "race";
  result["diagnoses"] = {{{"verdict", "race"}, {"rank", 0}, {"trial", 0}, {"text", "a race"}}};
  example::write(file, result);
  const Finished other = pkb({"results", "verify", file});
  EXPECT_EQ(other.exit, 1) << other.errors;
  EXPECT_THAT(other.output, HasSubstr("does NOT reproduce: correct, the file says race"));
}

}  // namespace
}  // namespace pkb::cli
