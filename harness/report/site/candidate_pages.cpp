// SPDX-License-Identifier: Apache-2.0
#include "harness/report/site/pages.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "harness/error/error.h"
#include "harness/report/site/boards.h"
#include "harness/report/site/data_file.h"

namespace pkb::report {
namespace {

using nlohmann::json;

/// No page grows without end because a candidate prints without end.
constexpr std::size_t kLongestText = 64 << 10;

std::string shortened(std::string text) {
  if (text.size() <= kLongestText) return text;
  const std::size_t whole = text.size();
  text.resize(kLongestText);
  return text + fmt::format("\n... {} of {} bytes; the result file has the rest", kLongestText, whole);
}

/// Prompts and sources that several evaluations share are written once.
class Texts {
 public:
  json put(std::string text) {
    if (text.empty()) return nullptr;
    const auto [place, fresh] = x_numbers.try_emplace(std::move(text), x_list.size());
    if (fresh) x_list.push_back(shortened(place->first));
    return place->second;
  }
  json take() { return std::move(x_list); }

 private:
  std::unordered_map<std::string, std::size_t> x_numbers;
  json x_list = json::array();
};

json rounded(const std::vector<double>& values) {
  json list = json::array();
  for (const double each : values) list.push_back(number(each));
  return list;
}

json detail_json(Detail&& detail, Texts& texts) {
  json findings = json::array(), outputs = json::array(), worker = json::array();
  for (const Detail::Finding& each : detail.findings)
    findings.push_back({static_cast<int>(each.verdict), each.rank, each.trial, shortened(each.text), each.category,
                        each.what, shortened(each.explanation)});
  for (const Detail::Output& each : detail.outputs)
    outputs.push_back({each.name, each.elements, each.mismatches, number(each.error_over_bound), number(each.rms),
                       number(each.baseline_rms)});
  for (std::string& each : detail.worker_output) worker.push_back(shortened(std::move(each)));
  return {{"source", texts.put(std::move(detail.source))},
          {"compiler", shortened(std::move(detail.compiler_output))},
          {"prompt", texts.put(std::move(detail.prompt))},
          {"reply", texts.put(std::move(detail.reply))},
          {"findings", std::move(findings)},
          {"outputs", std::move(outputs)},
          {"worker", std::move(worker)},
          {"trials", detail.trials},
          {"schedules", detail.schedules},
          {"samples", {rounded(detail.baseline_ms), rounded(detail.candidate_ms)}},
          {"method", detail.timing_method},
          {"environment", detail.environment}};
}

/// Where each evaluation's neighbours are: all of one submitter on one problem and board, in their order.
using Siblings = std::vector<std::pair<const Index*, std::size_t>>;

Siblings siblings_of(const Report& report) {
  Siblings siblings(report.evaluations.size(), {nullptr, 0});
  for (const Board& board : report.boards)
    for (const Row& row : board.rows)
      for (std::size_t first = 0, end = 0; first < row.evaluations.size(); first = end) {
        const Index problem = report.evaluations[row.evaluations[first]].problem;
        while (end < row.evaluations.size() && report.evaluations[row.evaluations[end]].problem == problem) ++end;
        for (std::size_t i = first; i < end; ++i) siblings[row.evaluations[i]] = {&row.evaluations[first], end - first};
      }
  return siblings;
}

constexpr std::size_t kMostSiblings = 60;

json siblings_json(const Report& report, Index index, const Siblings& siblings) {
  json list = json::array();
  const auto& [first, count] = siblings[index];
  std::size_t from = 0;
  while (from + kMostSiblings / 2 < count && first[from + kMostSiblings / 2] != index) ++from;
  if (count <= kMostSiblings) from = 0;
  for (std::size_t i = from; i < std::min(count, from + kMostSiblings); ++i) {
    const Evaluation& each = report.evaluations[first[i]];
    list.push_back(
        {page_of(first[i]), each.sample, each.attempt, static_cast<int>(each.verdict), number(each.speedup())});
  }
  return list;
}

json candidate_json(const Report& report, Index index, const Siblings& siblings, Texts& texts) {
  const Evaluation& each = report.evaluations[index];
  json candidate = {{"row", to_json(report, index)},
                    {"id", each.id},
                    {"problem", each.problem},
                    {"candidate", each.candidate},
                    {"candidate_sha256", each.candidate_sha256},
                    {"problem_sha256", each.problem_sha256},
                    {"commit", each.commit},
                    {"seed", std::to_string(each.seed)},
                    {"link_bytes", {number(each.link_bytes), number(each.least_link_bytes)}},
                    {"siblings", siblings_json(report, index, siblings)}};
  if (each.times)
    candidate["times"] = {{"floor_ms", number(each.times->floor_ms)},
                          {"least_ms", number(each.times->least_ms)},
                          {"limit", each.times->limit}};
  if (each.usage)
    candidate["usage"] = {each.usage->input, each.usage->output, each.usage->cached, each.usage->reasoning,
                          number(each.usage->price)};
  try {
    candidate.update(detail_json(detail_of(report, each), texts));
  } catch (const InputError& error) {
    candidate["gone"] = error.what();
  }
  return candidate;
}

}  // namespace

void write_details(const Report& report, const Site& site) {
  const std::size_t count = report.evaluations.size(), files = (count + kDetailsPerFile - 1) / kDetailsPerFile;
  const Siblings siblings = siblings_of(report);
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::size_t file; (file = next++) < files;) {
        Texts texts;
        json candidates = json::array();
        for (std::size_t i = file * kDetailsPerFile; i < std::min(count, (file + 1) * kDetailsPerFile); ++i)
          candidates.push_back(candidate_json(report, static_cast<Index>(i), siblings, texts));
        write_data(site.folder, fmt::format("details/{}", file),
                   {{"candidates", std::move(candidates)}, {"texts", texts.take()}});
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = files;
    }
  };
  const unsigned wanted =
      site.threads > 0 ? static_cast<unsigned>(site.threads) : std::max(1u, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < wanted; ++i) threads.emplace_back(work);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pkb::report
