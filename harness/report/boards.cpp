// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "harness/problem/problem.h"
#include "harness/report/collect.h"
#include "harness/report/figures.h"
#include "harness/report/report.h"
#include "harness/store/store.h"

namespace pkb::report {
namespace {

constexpr int kMostByAttempt = 10;
constexpr double kCurveStep = 0.05, kCurveEnd = 4;

const std::string kUnnamed = "unnamed", kUnknownHardware = "unknown hardware";

/// What `pkb run` asks for when it is not told otherwise: not worth a word in a label.
const std::map<std::string, std::string> kUsualSettings = {{"hardware", "h200x8"}, {"style", "zero-shot"},
                                                           {"repairs", "0"},       {"primitives", "false"},
                                                           {"effort", ""},         {"system", ""}};

std::string label_of(const Submission& submission) {
  std::vector<std::string> unusual;
  for (const auto& [name, value] : submission.settings) {
    const auto usual = kUsualSettings.find(name);
    const bool is_usual = value == "null" || (usual != kUsualSettings.end() && usual->second == value);
    if (!is_usual) unusual.push_back(fmt::format("{} {}", name, value.substr(0, 24)));
  }
  return unusual.empty() ? submission.name
                         : fmt::format("{} ({})", submission.name, fmt::join(unusual, ", "));
}

std::string board_name(const Place& place) {
  const char* const form = place.device == launch::Device::cuda     ? "{}"
                           : place.device == launch::Device::shared ? "{}, one shared by all ranks"
                                                                    : "virtual {}";
  const std::string ranks = place.ranks > 0 ? fmt::format("W = {}", place.ranks) : "any W";
  return fmt::format("{}, {}, {}, {}{}", fmt::format(fmt::runtime(form), place.hardware), ranks, place.size,
                     place.dtype, place.generated_inputs ? "" : ", imported inputs");
}

/// Turns records into boards, step by step.
class Builder {
 public:
  Builder(Collection collection, const Options& options) : x_collection(std::move(collection)) {
    x_report.title = options.title;
    x_report.created = store::now();
    x_report.published = {
        {.label = "best published model, one attempt", .source = kPaper, .correct = 28, .fast_1_at_3 = {}},
        {.label = "best published model, more attempts",
         .source = kPaper,
         .correct = 36,
         .fast_1_at_3 = 0.31}};
    for (int i = 0; i * kCurveStep <= kCurveEnd + kCurveStep / 2; ++i)
      x_report.curve_p.push_back(i * kCurveStep);
    if (!options.problems.empty())
      for (const problem::Problem& each : problem::load_all(options.problems))
        x_report.problems.push_back({.id = each.id(),
                                     .name = each.name(),
                                     .title = each.title(),
                                     .family = each.family(),
                                     .folder = each.folder().filename(),
                                     .is_known = true});
    x_report.notices = std::move(x_collection.notices);
    x_report.files = std::move(x_collection.files);
  }

  Report build() {
    name_problems();
    name_submitters();
    find_homes();
    number_samples();
    take_evaluations();
    choose_among_repeated();
    make_rows();
    look_for_versions();
    std::ranges::stable_sort(x_report.notices, {}, &Notice::file);
    return std::move(x_report);
  }

 private:
  static constexpr const char* kPaper =
      "Chan, Paek, Guo, Arora, Fu: ParallelKernelBench, 2026, "
      "https://nathanjpaek.github.io/parallel-kernel-bench/";

  void note(Notice::Kind kind, const Evaluation& about, std::string text) {
    x_report.notices.push_back({.kind = kind, .file = x_report.files[about.file], .text = std::move(text)});
  }

  static std::string folder_of(const Record& record) {
    return record.kind == Record::Kind::reply ? record.problem_name
                                              : fmt::format("{:03}_{}", record.problem, record.problem_name);
  }

  void name_problems() {
    std::set<std::string> folders;
    for (const Problem& each : x_report.problems) folders.insert(each.folder);
    for (const Record& each : x_collection.records)
      if (const std::string folder = folder_of(each); folders.insert(folder).second) {
        const std::size_t dash = folder.find('_');
        x_report.problems.push_back({.id = std::atoi(folder.c_str()),
                                     .name = folder.substr(dash + 1),
                                     .title = folder.substr(dash + 1),
                                     .family = "unknown",
                                     .folder = folder});
      }
    std::ranges::sort(x_report.problems, {},
                      [](const Problem& each) { return std::tuple(each.id, each.folder); });
    std::map<std::string, Index> numbers;
    for (Index i = 0; i < x_report.problems.size(); ++i) numbers[x_report.problems[i].folder] = i;
    std::set<std::string> families;
    for (const Problem& each : x_report.problems) families.insert(each.family);
    x_report.families.assign(families.begin(), families.end());
    for (Record& each : x_collection.records) each.evaluation.problem = numbers.at(folder_of(each));
  }

  void name_submitters() {
    const auto key = [](const Submission& of) { return std::tuple(of.is_model, of.name, of.settings); };
    std::map<std::tuple<bool, std::string, std::map<std::string, std::string>>, Index> numbers;
    for (Record& each : x_collection.records) {
      if (!each.submission) each.submission = {.name = kUnnamed};
      if (each.submission->name.empty()) each.submission->name = kUnnamed;
      numbers.try_emplace(key(*each.submission), 0);
    }
    std::map<std::string, int> labels;
    for (auto& [who, number] : numbers) {
      const auto& [is_model, name, settings] = who;
      number = static_cast<Index>(x_report.submitters.size());
      std::string label = label_of({.name = name, .is_model = is_model, .settings = settings});
      if (const int times = ++labels[label]; times > 1) label += fmt::format(" #{}", times);
      x_report.submitters.push_back({.name = name,
                                     .label = std::move(label),
                                     .is_model = is_model,
                                     .settings = {settings.begin(), settings.end()}});
    }
    for (Record& each : x_collection.records) each.evaluation.submitter = numbers.at(key(*each.submission));
  }

  /// Whether a record that does not say all may be at home in `place`.
  static bool may_be(const Record& record, const Place& place) {
    const Place& own = record.place;
    const bool says_where = record.kind == Record::Kind::result;
    return (own.hardware.empty() || own.hardware == place.hardware) &&
           (own.ranks == 0 || own.ranks == place.ranks) && (own.size.empty() || own.size == place.size) &&
           own.dtype == place.dtype &&
           (!says_where || (own.device == place.device && own.generated_inputs == place.generated_inputs));
  }

  /// What never reached a GPU (no code, a compile error) says less of where it would have run. It belongs to
  /// what its submitter has otherwise, of the same campaign where there is one.
  void find_homes() {
    std::map<std::pair<Index, std::string>, std::map<Place, int>> places;
    const auto is_complete = [](const Record& each) {
      return each.kind == Record::Kind::result && !each.place.hardware.empty();
    };
    for (const Record& each : x_collection.records)
      if (is_complete(each)) ++places[{each.evaluation.submitter, each.submission->campaign}][each.place];
    std::map<Place, Index> boards;
    for (Record& each : x_collection.records) {
      if (!is_complete(each)) {
        const Place* home = nullptr;
        int most = 0;
        for (const auto& [place, count] : places[{each.evaluation.submitter, each.submission->campaign}])
          if (count > most && may_be(each, place)) {
            home = &place;
            most = count;
          }
        if (home != nullptr) each.place = *home;
      }
      if (each.place.hardware.empty()) each.place.hardware = kUnknownHardware;
      if (each.place.size.empty()) each.place.size = "any size";
      boards.try_emplace(each.place, 0);
    }
    std::vector<std::pair<bool, Place>> order;
    for (const auto& [place, number] : boards)
      order.emplace_back(place.device != launch::Device::cuda, place);
    std::ranges::sort(order);
    for (const auto& [untimed, place] : order) {
      boards[place] = static_cast<Index>(x_report.boards.size());
      x_report.boards.push_back({.device = place.device,
                                 .hardware = place.hardware,
                                 .size = place.size,
                                 .dtype = place.dtype,
                                 .ranks = place.ranks,
                                 .generated_inputs = place.generated_inputs,
                                 .name = board_name(place)});
    }
    for (Record& each : x_collection.records) each.evaluation.board = boards.at(each.place);
  }

  /// A model's samples are what a campaign calls so. A person has one, and each new source is an attempt
  /// more.
  void number_samples() {
    using Owner = std::tuple<Index, Index, Index>;
    std::map<Owner, std::vector<Record*>> owners;
    for (Record& each : x_collection.records)
      owners[{each.evaluation.board, each.evaluation.submitter, each.evaluation.problem}].push_back(&each);
    for (auto& [owner, records] : owners) {
      std::ranges::sort(records, {}, [](const Record* each) {
        return std::tie(each->evaluation.created, each->evaluation.id);
      });
      std::map<std::pair<std::string, int>, Index> samples;
      for (const Record* each : records)
        samples.try_emplace({each->submission->campaign, each->submission->sample}, 0);
      Index next = 0;
      for (auto& [which, number] : samples) number = next++;
      std::map<std::string, Index> sources;
      for (Record* each : records) {
        each->evaluation.sample = samples.at({each->submission->campaign, each->submission->sample});
        each->evaluation.attempt =
            each->submission->is_model
                ? static_cast<Index>(each->submission->attempt)
                : sources.try_emplace(each->evaluation.candidate_sha256, static_cast<Index>(sources.size()))
                      .first->second;
      }
      int& most = x_samples[{std::get<0>(owner), std::get<1>(owner)}];
      most = std::max(most, static_cast<int>(samples.size()));
    }
  }

  void take_evaluations() {
    for (Record& each : x_collection.records) {
      if (each.evaluation.usage) {
        Row& row = x_rows[{each.evaluation.board, each.evaluation.submitter}];
        add(row, *each.evaluation.usage);
      }
      // A reply with code that nobody judged is missing; it has been noted.
      if (each.kind == Record::Kind::reply && each.has_candidate) continue;
      x_report.evaluations.push_back(std::move(each.evaluation));
    }
    std::ranges::sort(x_report.evaluations, {}, [](const Evaluation& each) {
      return std::tie(each.board, each.submitter, each.problem, each.sample, each.attempt, each.created,
                      each.id);
    });
  }

  static void add(Row& row, const Usage& usage) {
    ++row.replies;
    row.usage.input += usage.input;
    row.usage.output += usage.output;
    row.usage.cached += usage.cached;
    row.usage.reasoning += usage.reasoning;
    if (std::isnan(usage.price))
      ++row.unpriced;
    else
      row.usage.price = (std::isnan(row.usage.price) ? 0 : row.usage.price) + usage.price;
  }

  void choose_among_repeated() {
    std::vector<Evaluation>& all = x_report.evaluations;
    const auto key = [](const Evaluation& of) {
      return std::tie(of.board, of.submitter, of.problem, of.sample, of.attempt);
    };
    for (auto first = all.begin(); first != all.end();) {
      const auto last =
          std::find_if(first, all.end(), [&](const Evaluation& each) { return key(each) != key(*first); });
      if (last - first > 1) choose(first, last);
      first = last;
    }
  }

  void choose(std::vector<Evaluation>::iterator first, std::vector<Evaluation>::iterator last) {
    const Verdict gravest = std::min_element(first, last, [](const Evaluation& a, const Evaluation& b) {
                              return a.verdict < b.verdict;
                            })->verdict;
    std::vector<Evaluation*> candidates;
    for (auto each = first; each != last; ++each) {
      each->counted = false;
      if (each->verdict == gravest) candidates.push_back(&*each);
      if (each->verdict != first->verdict)
        note(Notice::Kind::repeated, *each,
             fmt::format("says {}, {} says {} of the same candidate; {} counts", name_of(each->verdict),
                         x_report.files[first->file], name_of(first->verdict), name_of(gravest)));
    }
    std::ranges::stable_sort(candidates,
                             [](const Evaluation* a, const Evaluation* b) { return is_better(*b, *a); });
    candidates[(candidates.size() - 1) / 2]->counted = true;
  }

  void make_rows() {
    for (Index i = 0; i < x_report.evaluations.size(); ++i) {
      const Evaluation& each = x_report.evaluations[i];
      x_rows[{each.board, each.submitter}].evaluations.push_back(i);
    }
    const Resampling resampling(strata(x_report));
    for (auto& [where, row] : x_rows) {
      row.submitter = where.second;
      fill(row, x_report.boards[where.first], x_samples.at(where), resampling);
      x_report.boards[where.first].rows.push_back(std::move(row));
    }
    const auto fast = [](const Row& row) {
      return std::isnan(row.figures.fast.front().value) ? 0 : row.figures.fast.front().value;
    };
    for (Board& board : x_report.boards)
      std::ranges::sort(board.rows, [&](const Row& a, const Row& b) {
        return std::tuple(-a.figures.correct.value, -fast(a), x_report.submitters[a.submitter].label) <
               std::tuple(-b.figures.correct.value, -fast(b), x_report.submitters[b.submitter].label);
      });
  }

  void fill(Row& row, const Board& board, int samples, const Resampling& resampling) const {
    const Entries entries(x_report, row.evaluations, samples);
    const bool timed = !board.is_verdict_only();
    const int attempts = std::max(1, entries.most_attempts());
    row.figures = entries.figures(resampling, {.last_attempt = attempts - 1, .timed = timed});
    for (int attempt = 0; attempt < std::min(attempts, kMostByAttempt); ++attempt)
      row.by_attempt.push_back(entries.figures(resampling, {.last_attempt = attempt, .timed = timed}));
    for (const std::string& family : x_report.families)
      row.by_family.push_back(
          entries.figures(resampling, {.last_attempt = attempts - 1, .timed = timed, .family = family}));
    if (timed) row.curve = entries.curve(x_report.curve_p);
    row.cells = entries.cells();
    std::map<std::tuple<Verdict, std::string, std::string>, int> failures;
    for (const Index i : row.evaluations) {
      const Evaluation& each = x_report.evaluations[i];
      if (row.first.empty() || (!each.created.empty() && each.created < row.first)) row.first = each.created;
      row.last = std::max(row.last, each.created);
      if (!each.counted) continue;
      if (!each.is_correct()) ++failures[{each.verdict, each.category, each.what}];
      row.unstable += each.times && !each.times->unstable.empty();
    }
    for (const auto& [kind, count] : failures)
      row.failures.push_back({.verdict = std::get<0>(kind),
                              .category = std::get<1>(kind),
                              .what = std::get<2>(kind),
                              .count = count});
    std::ranges::stable_sort(row.failures, std::ranges::greater{}, &Failures::count);
  }

  /// Verdicts of different versions of a problem are not quite of the same thing.
  void look_for_versions() {
    std::map<std::pair<Index, Index>, std::map<std::string, const Evaluation*>> versions;
    for (const Evaluation& each : x_report.evaluations)
      if (!each.problem_sha256.empty())
        versions[{each.board, each.problem}].try_emplace(each.problem_sha256, &each);
    for (const auto& [where, of] : versions)
      if (of.size() > 1)
        for (const auto& [sha256, example] : of)
          note(Notice::Kind::version, *example,
               fmt::format("is one of those on {} that judge version {} of {}, one of {}",
                           x_report.boards[where.first].name, sha256.substr(0, 12),
                           x_report.problems[where.second].folder, of.size()));
  }

  Collection x_collection;
  Report x_report;
  std::map<std::pair<Index, Index>, int> x_samples;  ///< by board and submitter
  std::map<std::pair<Index, Index>, Row> x_rows;
};

}  // namespace

Report make_report(const std::vector<std::filesystem::path>& paths, const Options& options) {
  return Builder(collect(paths, options.threads), options).build();
}

}  // namespace pkb::report
