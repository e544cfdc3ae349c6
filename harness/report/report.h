// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/launch/job.h"
#include "harness/store/migration.h"
#include "harness/store/verdict.h"

/// Result files as boards, tables and pages (DESIGN.md section 13). Every string that comes from a result or
/// a reply is whatever its author made of it: who prints it escapes it.
namespace pkb::report {

inline constexpr int kProblems =
    87;  ///< of the benchmark, whether this tree has them or not: what counts are out of

/// What is undefined or was not measured. Never 0.
inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

using Index = std::uint32_t;  ///< into one of the lists of Report
inline constexpr Index kNoIndex = ~Index{0};

/// A number with its 95 % interval; `kNone` where undefined.
struct Estimate {
  double value = kNone, low = kNone, high = kNone;
};

/// How bytes move and how work is shared, as far as the candidate's source names it.
enum class Mechanism : std::uint8_t {
  copy_engine,  ///< cudaMemcpyAsync and the like
  peer_memory,  ///< loads and stores to another rank's memory
  bulk_copy,    ///< cp.async.bulk, tensor maps
  multicast,    ///< multimem: the fabric replicates and reduces
  signals,      ///< counters and flags across ranks
  tensor_core,
  split_blocks,  ///< warps of one block compute and communicate
  split_grid,    ///< blocks of one grid compute and communicate
  cooperative,   ///< cooperative launches, clusters
};
inline constexpr std::string_view kMechanismNames[] = {"copy_engine",  "peer_memory", "bulk_copy",
                                                       "multicast",    "signals",     "tensor_core",
                                                       "split_blocks", "split_grid",  "cooperative"};
using Mechanisms = std::uint16_t;  ///< bit i: kMechanismNames[i]

/// Times of a correct candidate beside the baseline's, both medians.
struct Times {
  double baseline_ms = kNone;
  Estimate candidate_ms, speedup;  ///< no speedup: below the floor of the method
  double floor_ms = kNone;         ///< what nothing at all takes
  double least_ms = kNone;         ///< by the roofline of this hardware, where that is known
  double utilisation = kNone;      ///< least_ms over the candidate's time
  std::string limit{};             ///< "compute", "memory", "link"
  std::string unstable{};          ///< why the times are doubtful; empty when they are not
};

struct Usage {
  std::uint64_t input = 0, output = 0, cached = 0, reasoning = 0;  ///< tokens
  double price = kNone;
};

/// One result file, or one reply that held no code, reduced to what boards and tables need.
struct Evaluation {
  std::string id{};  ///< of the result: "20261130T183000Z-0123456789abcdef". A reply without code gets one
  Index file = kNoIndex;  ///< Report::files
  Index problem = 0, submitter = 0, board = 0;
  Index sample = 0;  ///< 0, 1, ... within submitter, problem and board
  Index attempt =
      0;  ///< 0, 1, ... within the sample: repair rounds of a model, later submissions of a person
  /// False for all but one of several evaluations of the same attempt. The gravest verdict counts, of equal
  /// ones the one with the middle speedup: judging until it fits gains nothing.
  bool counted = true;
  Verdict verdict = Verdict::no_code;
  std::string category{};  ///< of the gravest diagnosis: "synchronisation", "partitioning"...; may be empty
  std::string what{};      ///< its class: "stale", "not_reduced"...; may be empty
  std::string created{};   ///< "2026-11-30T18:30:00Z"
  std::string candidate{}, candidate_sha256{}, problem_sha256{}, commit{};
  std::uint64_t seed = 0;
  std::optional<Times> times{};
  double link_bytes = kNone,
         least_link_bytes = kNone;  ///< of the busiest rank, where that is the most over the least
  Mechanisms mechanisms = 0;
  std::optional<Usage> usage{};
  bool synthetic = false;  ///< made up, to try reports with

  bool is_correct() const { return verdict == Verdict::correct; }
  double speedup() const { return is_correct() && times ? times->speedup.value : kNone; }
};

/// Who made the candidates. Two settings of one model are two submitters.
struct Submitter {
  std::string name{};   ///< the model, or the person
  std::string label{};  ///< unique; the name and the settings that are not the usual ones
  bool is_model = false;
  std::vector<std::pair<std::string, std::string>> settings{};
};

struct Problem {
  int id = 0;
  std::string name{}, title{}, family{};
  std::string folder{};   ///< "013_gemm_allreduce"
  bool is_known = false;  ///< this tree has it; else only results name it
};

/// What a submitter's samples came to on one problem of a board.
struct Cell {
  Index problem = 0;
  int samples = 0, correct = 0;  ///< how many there are, and how many of them end correct
  Index best = kNoIndex;         ///< Report::evaluations: of all counted attempts the best; kNoIndex: missing
  std::optional<Verdict> verdict{};  ///< of `best`; nothing: missing
  double speedup = kNone;            ///< of `best`
};

/// k of pass@k and fast_1@k, and p of fast_p.
inline constexpr int kDraws[] = {1, 3, 5, 10};
inline constexpr double kThresholds[] = {1, 1.5, 2};

/// The numbers of a row; formulas in statistics.h. Everything is out of all kProblems problems, or of a
/// family's, and what is missing has failed.
struct Figures {
  int problems = kProblems;
  int samples = 0;                 ///< n of each problem: the most that any problem has
  int evaluated = 0, missing = 0;  ///< samples; together problems * samples
  int solved = 0;                  ///< problems of which some sample is correct
  Estimate correct{};  ///< problems that one sample solves, on average: with n = 1 just how many are solved
  std::vector<Estimate> fast{};                  ///< one for each of kThresholds, fractions
  std::vector<Estimate> fast_1_at{}, pass_at{};  ///< one for each of kDraws, fractions; undefined where k > n
  Estimate speedup{};  ///< geometric mean over problems solved, of the best sample of each
  double speedup_without_best = kNone, speedup_without_worst = kNone;  ///< the same with one problem left out
  Estimate utilisation{};                                              ///< median over problems solved
  int timed = 0, untimed = 0;  ///< problems solved with and without a speedup
};

struct Failures {
  Verdict verdict = Verdict::no_code;
  std::string category{}, what{};
  int count = 0;  ///< evaluations that count
};

/// A submitter on a board.
struct Row {
  Index submitter = 0;
  Figures figures{};                  ///< with all attempts: a sample is as good as its best
  std::vector<Figures> by_attempt{};  ///< [a]: had there been no attempt after a; ten at most. The first is
                                      ///< what a model does unaided
  std::vector<Figures> by_family{};   ///< one for each of Report::families, out of its problems
  std::vector<double> curve{};        ///< fast_p, one for each of Report::curve_p
  std::vector<Cell> cells{};          ///< one for each of Report::problems, in their order
  std::vector<Failures> failures{};   ///< most frequent first
  Usage usage{};                      ///< of all replies
  int replies = 0, unpriced = 0;  ///< price is kNone when none has one, and a lower bound when some have not
  int unstable = 0;               ///< correct evaluations whose times are doubtful
  std::string first{}, last{};    ///< created
  std::vector<Index> evaluations{};  ///< by problem, sample, attempt
};

/// Rows that may be compared. Times of different hardware, W, size or dtype never share one.
struct Board {
  launch::Device device = launch::Device::cuda;
  std::string hardware{};  ///< "4 x NVIDIA H200", "h200 (virtual)"
  std::string size{}, dtype{};
  int ranks = 0;
  bool generated_inputs = true;  ///< else the evaluator brought inputs of his own
  std::string name{};            ///< unique, "4 x NVIDIA H200, W = 4, paper, bf16"
  std::vector<Row> rows{};       ///< best first: by `correct`, then fast_1, then label

  /// Says nothing of speed.
  bool is_verdict_only() const { return device != launch::Device::cuda; }
};

/// What was not taken, or was, with a doubt.
struct Notice {
  enum class Kind : std::uint8_t {
    malformed,  ///< no result: not JSON, another schema, a field that cannot be; not counted
    unreadable,
    conflict,   ///< the id of another result, but other content; neither is counted
    duplicate,  ///< the same result once more; counted once
    version,    ///< results of different versions of one problem on one board
    repeated,   ///< one attempt evaluated several times with different verdicts
    unjudged,   ///< a reply with code that was not evaluated: missing
    ignored,    ///< JSON that is no result and no part of a campaign
  };
  Kind kind = Kind::malformed;
  std::string file{}, text{};
};
inline constexpr std::string_view kNoticeNames[] = {"malformed", "unreadable", "conflict", "duplicate",
                                                    "version",   "repeated",   "unjudged", "ignored"};
constexpr std::string_view name_of(Notice::Kind kind) { return kNoticeNames[static_cast<std::size_t>(kind)]; }

/// Figures that others have published. Shown beside ours, never ranked with them.
struct Published {
  std::string label{}, source{};  ///< "best published model, one attempt"; where it is from
  std::optional<int> correct{};   ///< of kProblems
  std::optional<double> fast_1_at_3{};
};

struct Report {
  std::string title{}, created{};
  std::vector<Problem> problems{};      ///< by id
  std::vector<std::string> families{};  ///< of `problems`, sorted
  std::vector<Submitter> submitters{};
  std::vector<Board> boards{};  ///< timed ones first
  std::vector<Evaluation> evaluations{};  ///< by board, submitter, problem, sample, attempt
  std::vector<std::string> files{};  ///< paths
  std::vector<Notice> notices{};
  std::vector<Published> published{};
  std::vector<double> curve_p{};  ///< 0, 0.05, ... 4
};

struct Options {
  std::string title = "ParallelKernelBench";
  std::filesystem::path problems{};  ///< the tree's; empty: only what results name
  int threads = 0;                   ///< 0: as many as there are cores
};
/// Reads files and folders, these to any depth. What cannot be taken becomes a notice.
/// @throws InputError for a path that does not exist.
Report make_report(const std::vector<std::filesystem::path>& paths, const Options& options);

/// What a candidate's own page shows beyond its Evaluation; read from its files when asked for.
struct Detail {
  struct Finding {
    Verdict verdict = Verdict::wrong_result;
    int rank = -1, trial = -1;
    std::string text{}, category{}, what{}, explanation{};
  };
  struct Output {
    std::string name{};
    std::int64_t elements = 0, mismatches = 0;
    double error_over_bound = kNone, rms = kNone, baseline_rms = kNone;  ///< the worst of all trials
  };
  std::string source{}, compiler_output{};
  std::string prompt{},
      reply{};  ///< the message that asked for this attempt and its answer; empty for a person's
  std::vector<Finding> findings{};
  std::vector<Output> outputs{};
  std::vector<std::string> worker_output{};  ///< by rank
  int trials = 0, schedules = 0;
  std::vector<double> baseline_ms{}, candidate_ms{};  ///< samples, in pairs
  std::string timing_method{};
  std::vector<std::pair<std::string, std::string>>
      environment{};  ///< commit, toolkit, processor, GPUs, sandbox...
};

/// Reads details one after the other. Not for use by several threads.
class DetailReader {
 public:
  explicit DetailReader(const store::Migration& migration = store::migration());
  ~DetailReader();
  /// @throws InputError when the file has gone or changed since.
  Detail read(const Report& report, const Evaluation& evaluation);

 private:
  struct File;
  std::unique_ptr<File> x_file;
};

/// Two runs side by side.
struct Comparison {
  struct Change {
    enum class Kind : std::uint8_t { regression, slower, improvement, faster, same, missing };
    Kind kind = Kind::same;
    Index problem = 0;
    Cell before, after;
  };
  std::string before{}, after{};  ///< as they were asked for
  struct Part {
    Index board = 0;
    Figures before, after;
    std::vector<Change> changes{};  ///< regressions first
  };
  std::vector<Part> parts{};  ///< one for each board that has both
};
inline constexpr std::string_view kChangeNames[] = {"regression", "slower", "improvement",
                                                    "faster",     "same",   "missing"};
constexpr std::string_view name_of(Comparison::Change::Kind kind) {
  return kChangeNames[static_cast<std::size_t>(kind)];
}

/// `before` and `after` are labels of submitters, or paths below which the results of a run lie.
/// @throws InputError when one has no results, or no board has both.
Comparison compare(const Report& report, const std::string& before, const std::string& after);

}  // namespace pkb::report
