// SPDX-License-Identifier: Apache-2.0
#include "harness/report/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cmath>

#include "harness/cli/process.h"
#include "harness/error/error.h"
#include "harness/report/example.h"
#include "harness/report/files.h"
#include "harness/report/mechanisms.h"
#include "harness/report/record.h"

namespace pkb::report {
namespace {

using example::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ReportTest : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return x_folder.path() / name; }
  void add(const std::string& name, const json& value) const { example::write(path(name), value); }
  Report report() const { return make_report({x_folder.path()}, {}); }
  const Row& row(const Report& from, const std::string& label) const {
    for (const Board& board : from.boards)
      for (const Row& each : board.rows)
        if (from.submitters[each.submitter].label == label) return each;
    throw std::runtime_error("no row " + label);
  }

  cli::TestFolder x_folder;
};

auto notice(Notice::Kind kind, const std::string& file, const std::string& text) {
  return AllOf(Field(&Notice::kind, kind), Field(&Notice::file, HasSubstr(file)),
               Field(&Notice::text, HasSubstr(text)));
}

TEST(RecordReader, BringsEarlierVersionsToTheNewest) {
  // Made up: version 1 called the number of ranks "world".
  const store::Migration migration({[](json& result) {
    result["ranks"] = result.at("world");
    result.erase("world");
  }});
  const auto read = [&](const json& result) {
    std::string text = result.dump();
    text.reserve(text.size() + RecordReader::kPadding);
    return RecordReader(migration).read(text);
  };
  const auto refusal = [&](const json& result) {
    try {
      read(result);
    } catch (const Malformed& malformed) {
      return malformed.field + ": " + malformed.fault;
    }
    return std::string("taken");
  };
  json newest = example::result({.number = 1}), first = newest;
  newest["schema"] = 2;
  first["world"] = first.at("ranks");
  first.erase("ranks");
  EXPECT_EQ(read(first).place, read(newest).place);
  EXPECT_EQ(read(first).place.ranks, 4);
  EXPECT_EQ(read(first).digest, read(newest).digest) << "the same result in two versions is no conflict";
  first.erase("world");
  EXPECT_THAT(refusal(first), HasSubstr("schema: version 1 cannot be made version 2"));
  newest["schema"] = 3;
  EXPECT_EQ(refusal(newest), "schema: 3 is newer than this program, which knows up to 2");
}

TEST_F(ReportTest, PutsACampaignOnABoard) {
  add("camp/campaign.json", example::campaign("some-model"));
  example::write(path("camp"), {.problem = "001_allreduce"}, example::result({.number = 1}));
  example::write(path("camp"), {.problem = "001_allreduce", .sample = 1},
                 example::result({.number = 2, .verdict = "deadlock"}));
  example::write(path("camp"), {.problem = "002_allgather"},
                 example::result({.number = 3, .problem = 2, .name = "allgather"}));
  example::write(path("camp"), {.problem = "003_broadcast", .has_code = false}, {});
  const Report made = report();
  EXPECT_THAT(made.notices, IsEmpty()) << "the copies in results/ are a campaign's own";
  ASSERT_THAT(made.boards, SizeIs(1));
  EXPECT_EQ(made.boards.front().name, "virtual h200, W = 4, tiny, bf16");
  EXPECT_TRUE(made.boards.front().is_verdict_only());
  const Row& only = row(made, "some-model (effort high)");
  EXPECT_THAT(only.cells, SizeIs(3));
  EXPECT_EQ(only.figures.samples, 2);
  EXPECT_EQ(only.figures.solved, 2);
  EXPECT_DOUBLE_EQ(only.figures.correct.value, 1);  // half of 001, half of 002
  EXPECT_EQ(only.figures.evaluated, 4);
  EXPECT_EQ(only.figures.missing, 2 * 87 - 4);
  EXPECT_DOUBLE_EQ(only.figures.pass_at[0].value, 1. / 87);
  EXPECT_TRUE(std::isnan(only.figures.pass_at[1].value)) << "three of two samples";
  EXPECT_TRUE(std::isnan(only.figures.fast[0].value)) << "virtual GPUs have no speed";
  EXPECT_EQ(only.replies, 4);
  EXPECT_EQ(only.usage.input, 400u);
  EXPECT_DOUBLE_EQ(only.usage.price, 2);
  EXPECT_THAT(only.failures, SizeIs(2));
  EXPECT_EQ(only.cells[2].verdict, Verdict::no_code);
}

TEST_F(ReportTest, ComputesFiguresOfSpeed) {
  // Speedups 2 and 1.2; one as fast as the baseline, one wrong.
  add("1.json", example::timed({.number = 1}, 2, 1));
  add("2.json", example::timed({.number = 2, .problem = 2, .name = "allgather"}, 1.2, 1));
  add("3.json", example::timed({.number = 3, .problem = 3, .name = "broadcast"}, 1, 1));
  add("4.json",
      example::result({.number = 4, .problem = 4, .name = "reduce", .verdict = "race", .device = "cuda"}));
  const Report made = report();
  EXPECT_THAT(made.notices, IsEmpty());
  const Figures& figures = row(made, "unnamed").figures;
  EXPECT_EQ(made.boards.front().name, "NVIDIA H200, W = 4, tiny, bf16");
  EXPECT_EQ(figures.solved, 3);
  EXPECT_DOUBLE_EQ(figures.correct.value, 3);
  EXPECT_DOUBLE_EQ(figures.fast[0].value, 2. / 87) << "as fast is not faster";
  EXPECT_DOUBLE_EQ(figures.fast[1].value, 1. / 87);
  EXPECT_DOUBLE_EQ(figures.fast[2].value, 0) << "twice as fast is not more";
  EXPECT_NEAR(figures.speedup.value, std::cbrt(2.4), 1e-12);
  EXPECT_NEAR(figures.speedup_without_best, std::sqrt(1.2), 1e-12);
  EXPECT_DOUBLE_EQ(figures.utilisation.value, 0.5);
  EXPECT_DOUBLE_EQ(figures.fast_1_at[0].value, 2. / 87);
  EXPECT_DOUBLE_EQ(row(made, "unnamed").curve[0], 3. / 87);
}

TEST_F(ReportTest, NeverMixesWhatCannotBeCompared) {
  int number = 0;
  const auto vary = [&](const char* member, const json& value) {
    json result = example::timed({.number = ++number}, 2, 1);
    result[member] = value;
    add(fmt::format("{}.json", number), result);
  };
  vary("ranks", 4);
  vary("ranks", 8);
  vary("size", "paper");
  vary("dtype", "fp32");
  vary("device_facts", {{"gpus", {"NVIDIA H100"}}});
  vary("inputs", "imported");
  add("v.json", example::result({.number = 90}));
  add("s.json", example::result({.number = 91, .device = "shared"}));
  const Report made = report();
  EXPECT_THAT(made.boards, SizeIs(8));
  EXPECT_FALSE(made.boards[5].is_verdict_only());
  EXPECT_TRUE(made.boards[6].is_verdict_only() && made.boards[7].is_verdict_only());
}

TEST_F(ReportTest, LetsWhatNeverRanJoinItsSubmittersBoard) {
  add("1.json", example::timed({.number = 1}, 2, 1));
  json refused = example::result(
      {.number = 2, .problem = 2, .name = "allgather", .verdict = "compile_error", .device = "cuda"});
  refused.erase("device_facts");
  refused["trials"] = json::array();
  add("2.json", refused);
  const Report made = report();
  ASSERT_THAT(made.boards, SizeIs(1));
  EXPECT_EQ(made.boards.front().rows.front().figures.evaluated, 2);
}

TEST_F(ReportTest, CountsAttemptsOfAPersonAsOneSample) {
  add("1.json", example::result({.number = 1, .verdict = "race", .source = "// first"}));
  add("2.json", example::result({.number = 2, .source = "// second"}));
  const Report made = report();
  const Row& only = row(made, "unnamed");
  EXPECT_EQ(only.figures.samples, 1);
  EXPECT_EQ(only.figures.solved, 1);
  ASSERT_THAT(only.by_attempt, SizeIs(2));
  EXPECT_EQ(only.by_attempt[0].solved, 0);
  EXPECT_EQ(only.by_attempt[1].solved, 1);
}

TEST_F(ReportTest, JudgingUntilItFitsGainsNothing) {
  add("1.json", example::result({.number = 1}));
  add("2.json", example::result({.number = 2, .verdict = "race"}));
  add("3.json", example::result({.number = 3}));
  const Report made = report();
  EXPECT_EQ(row(made, "unnamed").figures.solved, 0);
  EXPECT_THAT(made.notices, ElementsAre(notice(Notice::Kind::repeated, "2.json", "race counts")));
}

TEST_F(ReportTest, OfRepeatedTimesTheMiddleCounts) {
  add("1.json", example::timed({.number = 1}, 2, 1));
  add("2.json", example::timed({.number = 2}, 9, 1));
  add("3.json", example::timed({.number = 3}, 3, 1));
  EXPECT_DOUBLE_EQ(row(report(), "unnamed").figures.speedup.value, 3);
}

TEST_F(ReportTest, SaysWhenAResultIsThereTwice) {
  add("a/1.json", example::result({.number = 1}));
  add("b/1.json", example::result({.number = 1}));
  // Attributed, but the same.
  json named = example::result({.number = 1});
  named["submission"] = {{"name", "Ada"}, {"kind", "person"}};
  add("c/1.json", named);
  const Report made = report();
  EXPECT_EQ(row(made, "Ada").figures.evaluated, 1);
  EXPECT_THAT(made.notices, ElementsAre(notice(Notice::Kind::duplicate, "a/1.json", "c/1.json once more"),
                                        notice(Notice::Kind::duplicate, "b/1.json", "c/1.json once more")));
}

TEST_F(ReportTest, CountsNeitherOfTwoThatContradict) {
  add("a.json", example::result({.number = 1}));
  add("b.json", example::result({.number = 1, .verdict = "race"}));
  json ada = example::result({.number = 2}), bob = ada;
  ada["submission"] = {{"name", "Ada"}, {"kind", "person"}};
  bob["submission"] = {{"name", "Bob"}, {"kind", "person"}};
  add("c.json", ada);
  add("d.json", bob);
  const Report made = report();
  EXPECT_THAT(made.evaluations, IsEmpty());
  EXPECT_THAT(made.notices, ElementsAre(notice(Notice::Kind::conflict, "a.json", "b.json, but other content"),
                                        notice(Notice::Kind::conflict, "b.json", "a.json, but other content"),
                                        notice(Notice::Kind::conflict, "c.json", "another submitter"),
                                        notice(Notice::Kind::conflict, "d.json", "another submitter")));
}

TEST_F(ReportTest, TellsVersionsOfAProblem) {
  add("1.json", example::result({.number = 1}));
  json changed = example::result({.number = 2});
  changed["problem"]["sha256"] = "4567";
  add("2.json", changed);
  EXPECT_THAT(report().notices,
              ElementsAre(notice(Notice::Kind::version, "1.json", "version 0123 of 001_allreduce, one of 2"),
                          notice(Notice::Kind::version, "2.json", "version 4567")));
}

TEST_F(ReportTest, SaysWhichRepliesWereNotJudged) {
  add("camp/campaign.json", example::campaign("m"));
  example::write(path("camp"), {}, {});
  example::write(path("camp"), {.problem = "002_allgather"},
                 example::result({.number = 3, .problem = 2, .name = "allgather"}));
  const Report made = report();
  EXPECT_THAT(made.notices, ElementsAre(notice(Notice::Kind::unjudged, "attempt-0.json", "not evaluated")));
  EXPECT_EQ(made.evaluations.size(), 1u);
  EXPECT_EQ(made.boards.front().rows.front().replies, 2);
}

TEST_F(ReportTest, PassesOverWhatIsNoResultAndSaysSo) {
  add("1.json", example::result({.number = 1}));
  add("other.json", {{"schema", "pkb-calibration-1"}});
  std::ofstream(path("half.json")) << R"({"schema": 1, "id": )";
  std::ofstream(path("empty.json"));
  std::ofstream(path("bytes.json")) << "{\"a\": \"\xff\"}";
  std::ofstream(path(".20261201T000000Z-1.new")) << "{";
  std::filesystem::create_symlink(path("1.json"), path("link.json"));
  std::filesystem::create_directory_symlink(path("."), path("loop"));
  ASSERT_EQ(::mkfifo(path("pipe.json").c_str(), 0600), 0);
  std::ofstream(path("huge.json"));
  std::filesystem::resize_file(path("huge.json"), std::uintmax_t{1} << 40);
  std::ofstream(path("deep.json")) << std::string(1 << 20, '[');
  const Report made = report();
  EXPECT_EQ(made.evaluations.size(), 1u);
  using Kind = Notice::Kind;
  EXPECT_THAT(made.notices, ElementsAre(notice(Kind::ignored, ".20261201T000000Z-1.new", "never finished"),
                                        notice(Kind::malformed, "bytes.json", "UTF-8"),
                                        notice(Kind::malformed, "deep.json", "is not JSON"),
                                        notice(Kind::malformed, "empty.json", "is not JSON"),
                                        notice(Kind::malformed, "half.json", "is not JSON"),
                                        notice(Kind::unreadable, "huge.json", "larger than 32 MiB"),
                                        notice(Kind::ignored, "link.json", "symbolic link"),
                                        notice(Kind::ignored, "loop", "symbolic link"),
                                        notice(Kind::ignored, "other.json", "is no result"),
                                        notice(Kind::ignored, "pipe.json", "no regular file")));
}

TEST_F(ReportTest, RefusesAPathThatIsNotThere) {
  EXPECT_THROW(make_report({path("nothing")}, {}), InputError);
}

/// A correct, timed result with one thing wrong: refused with the field's name.
struct Spoilt {
  const char* name;
  const char* place;  ///< JSON pointer
  json value;
  const char* field;
};
class SpoiltResult : public ReportTest, public testing::WithParamInterface<Spoilt> {};

TEST_P(SpoiltResult, IsRefusedByField) {
  json result = example::timed({.number = 1}, 2, 1);
  result[json::json_pointer(GetParam().place)] = GetParam().value;
  add("bad.json", result);
  add("good.json", example::timed({.number = 2, .problem = 2, .name = "allgather"}, 3, 1));
  const Report made = report();
  EXPECT_THAT(made.notices, ElementsAre(notice(Notice::Kind::malformed, "bad.json", GetParam().field)));
  ASSERT_EQ(made.evaluations.size(), 1u);
  EXPECT_DOUBLE_EQ(row(made, "unnamed").figures.speedup.value, 3);
}

INSTANTIATE_TEST_SUITE_P(
    Of, SpoiltResult,
    testing::Values(
        Spoilt{"NewerSchema", "/schema", 1000, "schema: 1000 is newer"},
        Spoilt{"IdOutOfTheFolder", "/id", "../../../etc/passwd0000000000000", "id: "},
        Spoilt{"UnknownVerdict", "/verdict", "splendid", "verdict: \"splendid\" is none"},
        Spoilt{"VerdictAgainstDiagnoses",
               "/diagnoses",
               {{{"verdict", "race"}}},
               "verdict: is correct, but the gravest diagnosis is race"},
        Spoilt{"FailedTrial", "/trials/0/passes", false, "trials[0].passes: "},
        Spoilt{"NoTrials", "/trials", json::array(), "trials: has none"},
        Spoilt{"OtherSource", "/candidate/source", "// another", "candidate.sha256: "},
        Spoilt{"NameWithMarkup", "/problem/name", "<script>", "problem.name: "},
        Spoilt{"NoRanks", "/ranks", 0, "ranks: 0 is not from 1"},
        Spoilt{"ZeroTime", "/timing/candidate/median_ms", 0, "timing.candidate.median_ms: 0 is not above 0"},
        Spoilt{"NegativeTime", "/timing/candidate/median_ms", -1, "timing.candidate.median_ms: "},
        Spoilt{"NoTime", "/timing/candidate/median_ms", nullptr, "timing.candidate.median_ms: missing"},
        Spoilt{"TimeOfNoSample", "/timing/candidate/median_ms", 1e-9,
               "timing.candidate.median_ms: 1e-09 contradicts"},
        Spoilt{"NegativeSample", "/timing/candidate/samples_ms/1", -1,
               "timing.candidate.samples_ms: number 1"},
        Spoilt{"NoSamples", "/timing/candidate/samples_ms", json::array(),
               "timing.candidate.samples_ms: is empty"},
        Spoilt{"MoreSpeedThanTimes", "/timing/speedup/value", 2000, "timing.speedup.value: "},
        Spoilt{"IntervalElsewhere", "/timing/speedup/interval", {5, 6}, "timing.speedup.interval: "},
        Spoilt{"ImpossibleTime", "/timing/roofline/possible_ms", 1.5,
               "timing.candidate.median_ms: 1 is less than the 1.5 ms"},
        Spoilt{"BelowTheFloor", "/timing/floor_ms", 1.1, "timing.candidate.median_ms: 1 is below the 1.1 ms"},
        Spoilt{"NoFloor", "/timing/floor_ms", 1e-9, "timing.floor_ms: "},
        Spoilt{"TimesOfAVirtualGpu", "/device", "shared", "timing: cannot come from"},
        Spoilt{"NamelessSubmitter",
               "/submission",
               {{"name", ""}, {"kind", "person"}},
               "submission.name: is empty"},
        Spoilt{"LongName",
               "/submission",
               {{"name", std::string(1000, 'a')}, {"kind", "person"}},
               "submission.name: is longer than"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ReportTest, RefusesNumbersThatJsonDoesNotHave) {
  for (const char* const number : {"NaN", "Infinity", "1e999"}) {
    std::string text = example::timed({.number = 1}, 2, 1).dump();
    const std::string place = "\"floor_ms\":";
    text.replace(text.find(place), place.size(), place + number + ",\"was\":");
    std::ofstream(path("bad.json")) << text;
    EXPECT_THAT(report().notices, ElementsAre(notice(Notice::Kind::malformed, "bad.json", "is not JSON")))
        << number;
  }
}

TEST_F(ReportTest, RefusesAMemberThatStandsTwice) {
  std::string text = example::result({.number = 1, .verdict = "race"}).dump();
  text.back() = ',';
  std::ofstream(path("bad.json")) << text << R"("verdict": "correct"})";
  EXPECT_THAT(report().notices,
              ElementsAre(notice(Notice::Kind::malformed, "bad.json", "verdict: stands there twice")));
}

TEST(MechanismsIn, ReadsCodeAndAssemblyButNoComments) {
  const auto bit = [](Mechanism mechanism) { return 1 << static_cast<int>(mechanism); };
  EXPECT_EQ(mechanisms_in("// cudaMemcpyAsync\n/* multimem.red */ int x;"), 0);
  EXPECT_EQ(mechanisms_in("cudaMemcpyAsync(a, b, n); // peer("), bit(Mechanism::copy_engine));
  EXPECT_EQ(mechanisms_in(R"(asm("multimem.ld_reduce" " // \" cp.async.bulk.commit_group;"); /*)"),
            bit(Mechanism::multicast) | bit(Mechanism::bulk_copy));
  EXPECT_EQ(mechanisms_in("\"open"), 0);
  EXPECT_EQ(mechanisms_in("//"), 0);
}

}  // namespace
}  // namespace pkb::report
