// SPDX-License-Identifier: Apache-2.0
#include "harness/report/tables.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "harness/cli/process.h"
#include "harness/error/error.h"
#include "harness/report/example.h"
#include "harness/report/merge.h"
#include "harness/report/plain.h"

namespace pkb::report {
namespace {

using example::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Table one(const Value& value) {
  return {.name = "t", .columns = {"a", "b"}, .size = 1, .row = [value](std::size_t) {
            return std::vector<Value>{value, std::int64_t{1}};
          }};
}

TEST(Csv, KeepsTextFromBeingAFormula) {
  const auto field = [](const std::string& text) { return csv_of(one(text)); };
  EXPECT_EQ(field("=HYPERLINK(\"http://x\")"), "a,b\r\n\"'=HYPERLINK(\"\"http://x\"\")\",1\r\n");
  for (const char* const text : {"+1", "-1", "@SUM(A1)", "\tx", "\rx", " =1", "|cmd", "%x"})
    EXPECT_THAT(field(text), HasSubstr(std::string("\"'") + text)) << text;
  EXPECT_EQ(field("plain, with \"quotes\"\nand lines"),
            "a,b\r\n\"plain, with \"\"quotes\"\"\nand lines\",1\r\n");
  EXPECT_EQ(csv_of(one(-1.5)), "a,b\r\n-1.5,1\r\n") << "numbers are numbers";
}

TEST(Csv, LeavesEmptyWhatIsUndefined) {
  EXPECT_EQ(csv_of(one(kNone)), "a,b\r\n,1\r\n");
  EXPECT_EQ(csv_of(one(std::monostate())), "a,b\r\n,1\r\n");
  EXPECT_EQ(json::parse(json_of(one(kNone)))[0]["a"], nullptr);
  EXPECT_EQ(json::parse(json_of(one(std::string("\xff"))))[0]["b"], 1) << "bytes that are no text";
}

TEST(Plain, CommandsNoTerminalAndTurnsNoText) {
  EXPECT_EQ(plain("\x1b[31mred\r\nnext\x7f"), " [31mred  next ");
  EXPECT_EQ(plain("a\u202Eb\u2066c\u200Fd\u2028e\u0085f"), "a b c d e f");
  EXPECT_EQ(plain("Grüße – naïve"), "Grüße – naïve");
  EXPECT_EQ(plain("äöü", 3), "ä...") << "between characters";
}

class TablesTest : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return x_folder.path() / name; }
  void add(const std::string& name, const json& value) const { example::write(path(name), value); }
  void add_by(const std::string& who, json result) const {
    result["submission"] = {{"name", who}, {"kind", "person"}};
    add(result.at("id").get<std::string>() + ".json", result);
  }
  Report report() const { return make_report({x_folder.path()}, {}); }

  cli::TestFolder x_folder;
};

json table(const Report& report, const std::string& name,
           const std::optional<Comparison>& comparison = std::nullopt) {
  for (const Table& each : tables(report, comparison))
    if (each.name == name) return json::parse(json_of(each));
  throw std::runtime_error("no table " + name);
}

TEST_F(TablesTest, HoldWhatBoardsSay) {
  add_by("Ada", example::timed({.number = 1, .source = "cudaMemcpyAsync"}, 3, 1));
  add_by("Ada", example::timed({.number = 2, .problem = 2, .name = "allgather"}, 1, 2));
  const Report made = report();
  const json row = table(made, "leaderboard").at(0);
  EXPECT_EQ(row.at("submitter"), "Ada");
  EXPECT_EQ(row.at("correct"), 2);
  EXPECT_EQ(row.at("problems"), 87);
  EXPECT_DOUBLE_EQ(row.at("fast_1").get<double>(), 1. / 87);
  EXPECT_NEAR(row.at("geometric_mean_speedup").get<double>(), std::sqrt(1.5), 1e-12);
  EXPECT_EQ(row.at("pass_at_3"), nullptr);
  EXPECT_EQ(table(made, "evaluations").size(), 2u);
  EXPECT_EQ(table(made, "mechanisms").at(0).at("mechanism"), "copy_engine");
  EXPECT_EQ(table(made, "fast_p").size(), 81u);
  EXPECT_EQ(table(made, "published").at(0).at("correct"), 28);
  EXPECT_EQ(table(made, "families").at(0).at("problems"), 2);
}

TEST_F(TablesTest, EveryColumnHasAValueInEveryRow) {
  add_by("Ada", example::timed({.number = 1, .source = "cudaMemcpyAsync"}, 3, 1));
  add_by("Bob", example::timed({.number = 2}, 2, 1));
  add("other.json", json::object());
  json with_settings = example::result({.number = 9, .verdict = "race", .device = "cuda"});
  with_settings["submission"] = {{"name", "m"}, {"kind", "model"}, {"campaign", "c"},
                                 {"sample", 0}, {"attempt", 0},    {"settings", {{"effort", "high"}}}};
  add("9.json", with_settings);
  const Report made = report();
  for (const Table& each : tables(made, compare(made, "Ada", "Bob"))) {
    EXPECT_GT(each.size, 0u) << each.name;
    for (std::size_t i = 0; i < each.size; ++i)
      EXPECT_EQ(each.row(i).size(), each.columns.size()) << each.name;
  }
}

TEST_F(TablesTest, CompareTwoWithRegressionsFirst) {
  add_by("old", example::timed({.number = 1}, 2, 1));
  add_by("old", example::timed({.number = 2, .problem = 2, .name = "allgather"}, 2, 1));
  add_by("old", example::timed({.number = 3, .problem = 3, .name = "broadcast"}, 2, 1));
  add_by("old", example::timed({.number = 4, .problem = 4, .name = "reduce"}, 2, 1));
  add_by("new", example::timed({.number = 11}, 3, 1));
  add_by("new", example::timed({.number = 12, .problem = 2, .name = "allgather"}, 2.1, 1));
  add_by("new", example::result(
                    {.number = 13, .problem = 3, .name = "broadcast", .verdict = "race", .device = "cuda"}));
  const Report made = report();
  const Comparison comparison = compare(made, "old", "new");
  ASSERT_THAT(comparison.parts, SizeIs(1));
  std::vector<std::string> changes;
  for (const Comparison::Change& each : comparison.parts.front().changes)
    changes.emplace_back(made.problems[each.problem].folder + " " + std::string(name_of(each.kind)));
  EXPECT_THAT(changes, ElementsAre("003_broadcast regression", "001_allreduce faster", "002_allgather same",
                                   "004_reduce missing"));
  EXPECT_THAT(summary(made, comparison),
              AllOf(HasSubstr("`003_broadcast` | regression | correct, 1 of 1, 2.00 times | race, 0 of 1 |"),
                    Not(HasSubstr("`002_allgather`"))));
  EXPECT_EQ(table(made, "comparison", comparison).at(0).at("verdict_after"), "race");
}

TEST_F(TablesTest, CompareRunsByTheirPaths) {
  add("a/1.json", example::result({.number = 1}));
  add("b/2.json", example::result({.number = 2, .verdict = "race", .source = "// changed"}));
  const Report made = make_report({path("a"), path("b")}, {});
  EXPECT_EQ(compare(made, path("a"), path("b")).parts.at(0).changes.at(0).kind,
            Comparison::Change::Kind::regression);
  EXPECT_THROW(compare(made, path("a"), path("nothing")), InputError);
  EXPECT_THROW(compare(made, "Ada", path("b")), InputError);
}

TEST_F(TablesTest, SummaryHoldsForeignTextAsCode) {
  add_by("<img src=x onerror=alert(1)> `|` [a](javascript:b) @everyone #1", example::result({.number = 1}));
  const std::string text = summary(report(), std::nullopt);
  EXPECT_THAT(text, HasSubstr("| `<img src=x onerror=alert(1)> '\\|' [a](javascript:b) @everyone #1` |"));
}

TEST_F(TablesTest, SummarySaysWhatIsMissingAndPublished) {
  add_by("Ada", example::result({.number = 1}));
  std::ofstream(path("half.json")) << "{";
  EXPECT_THAT(summary(report(), std::nullopt),
              AllOf(HasSubstr("Verdicts only"), HasSubstr("| `Ada` | 1 | 1 ("), HasSubstr("| 86 |"),
                    HasSubstr("not ranked with ours"), HasSubstr("28"), HasSubstr("1 malformed")));
}

TEST_F(TablesTest, ShowAnOutlierForWhatItIs) {
  for (int i = 1; i <= 4; ++i)
    add_by("Ada", example::timed({.number = i, .problem = i, .name = "p"}, i == 4 ? 1000 : 1.2, 1));
  EXPECT_THAT(summary(report(), std::nullopt), HasSubstr("; 1.20 without the best problem"));
}

TEST_F(TablesTest, WrittenBesideResultsAreNoResults) {
  add_by("Ada", example::result({.number = 1}));
  write_tables(report(), std::nullopt, path("report"));
  const Report made = report();
  ASSERT_THAT(made.notices, SizeIs(1));
  EXPECT_EQ(made.notices.front().text, "is a report");
  EXPECT_EQ(made.evaluations.size(), 1u);
}

TEST_F(TablesTest, MergedResultsStandAlone) {
  add("camp/campaign.json", example::campaign("some-model"));
  example::write(path("camp"), {}, example::result({.number = 1}));
  example::write(path("camp"), {.sample = 1}, example::result({.number = 2, .verdict = "race"}));
  example::write(path("camp"), {.problem = "002_allgather", .has_code = false}, {});
  example::write(path("camp"), {.problem = "003_broadcast"}, {});
  const Merged merged = merge({path("camp")}, path("out"));
  EXPECT_EQ(merged.written, 3);
  EXPECT_EQ(merged.unjudged, 1);
  const json before = table(make_report({path("camp")}, {}), "leaderboard"),
             after = table(make_report({path("out")}, {}), "leaderboard");
  // What nobody judged was dropped, and so was what it had cost.
  for (const char* const figure :
       {"submitter", "board", "evaluated", "solved", "correct", "pass_at_1", "missing"})
    EXPECT_EQ(before[0][figure], after[0][figure]) << figure;
  const Report both = make_report({path("camp"), path("out")}, {});
  EXPECT_EQ(both.evaluations.size(), 3u);
  EXPECT_THAT(both.notices,
              testing::Each(testing::Field(&Notice::kind,
                                           testing::AnyOf(Notice::Kind::duplicate, Notice::Kind::unjudged))));
  EXPECT_EQ(merge({path("camp")}, path("out")).written, 3) << "again, the same";
  const Report out = make_report({path("out")}, {});
  EXPECT_THAT(out.notices, IsEmpty());
  for (const Evaluation& each : out.evaluations) {
    const Detail detail = DetailReader().read(out, each);
    EXPECT_EQ(detail.prompt, "write it");
    EXPECT_EQ(detail.reply, "here");
    if (each.verdict == Verdict::no_code) {
      EXPECT_EQ(detail.findings.at(0).text, "the reply has no code");
    }
  }
}

TEST_F(TablesTest, DetailsComeFromTheFilesOfACampaign) {
  add("camp/campaign.json", example::campaign("m"));
  example::write(path("camp"), {}, example::timed({.number = 1}, 2, 1));
  example::write(path("camp"), {.problem = "002_allgather"},
                 example::result({.number = 2, .problem = 2, .name = "allgather", .verdict = "race"}));
  const Report made = make_report({path("camp")}, {});
  const Detail timed = DetailReader().read(made, made.evaluations.at(0)),
               raced = DetailReader().read(made, made.evaluations.at(1));
  EXPECT_EQ(timed.source, "// a candidate");
  EXPECT_EQ(timed.prompt, "write it");
  EXPECT_THAT(timed.candidate_ms, ElementsAre(0.98, 1, 1.02));
  ASSERT_THAT(raced.findings, SizeIs(1));
  EXPECT_EQ(raced.findings.front().text, "it is wrong");
  std::ofstream(made.files[made.evaluations.at(0).file]) << "{}";
  EXPECT_THROW(DetailReader().read(made, made.evaluations.at(0)), InputError);
}

}  // namespace
}  // namespace pkb::report
