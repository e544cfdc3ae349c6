// SPDX-License-Identifier: Apache-2.0
#include "harness/report/site/pages.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/error/error.h"
#include "harness/report/site/boards.h"
#include "harness/report/site/data_file.h"

namespace pkb::report {
namespace {

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
  void add(JsonText& json, std::string text) {
    if (text.empty()) {
      json.add(nullptr);
      return;
    }
    const auto [place, fresh] = x_numbers.try_emplace(std::move(text), x_list.size());
    if (fresh) x_list.push_back(&place->first);
    json.add(place->second);
  }
  void write(JsonText& json) const {
    json.open('[');
    for (const std::string* const each : x_list) json.add(shortened(*each));
    json.close(']');
  }

 private:
  std::unordered_map<std::string, std::size_t> x_numbers;
  std::vector<const std::string*> x_list;
};

void add_rounded(JsonText& json, const std::vector<double>& values) {
  json.open('[');
  for (const double each : values) json.add_rounded(each);
  json.close(']');
}

void add_detail(JsonText& json, Detail&& detail, Texts& texts) {
  texts.add(json.key("source"), std::move(detail.source));
  json.key("compiler").add(shortened(std::move(detail.compiler_output)));
  texts.add(json.key("prompt"), std::move(detail.prompt));
  texts.add(json.key("reply"), std::move(detail.reply));
  json.key("findings").open('[');
  for (Detail::Finding& each : detail.findings)
    json.open('[')
        .add(static_cast<int>(each.verdict))
        .add(each.rank)
        .add(each.trial)
        .add(shortened(std::move(each.text)))
        .add(each.category)
        .add(each.what)
        .add(shortened(std::move(each.explanation)))
        .close(']');
  json.close(']').key("outputs").open('[');
  for (const Detail::Output& each : detail.outputs)
    json.open('[')
        .add(each.name)
        .add(each.elements)
        .add(each.mismatches)
        .add_rounded(each.error_over_bound)
        .add_rounded(each.rms)
        .add_rounded(each.baseline_rms)
        .close(']');
  json.close(']').key("worker").open('[');
  for (std::string& each : detail.worker_output) json.add(shortened(std::move(each)));
  json.close(']').key("trials").add(detail.trials).key("schedules").add(detail.schedules);
  add_rounded(json.key("samples").open('['), detail.baseline_ms);
  add_rounded(json, detail.candidate_ms);
  json.close(']').key("method").add(detail.timing_method).key("environment").open('[');
  for (const auto& [name, value] : detail.environment) json.open('[').add(name).add(value).close(']');
  json.close(']');
}

/// Evaluations of one submitter, problem and board stand one after the other: from, to.
using Range = std::pair<Index, Index>;

/// On each side; of more a page would be a list of links.
constexpr Index kMostSiblings = 30;

/// What else its submitter has tried there, itself included.
Range siblings_of(const Report& report, Index index) {
  const Evaluation& own = report.evaluations[index];
  const auto is_sibling = [&](Index i) {
    const Evaluation& each = report.evaluations[i];
    return each.board == own.board && each.submitter == own.submitter && each.problem == own.problem;
  };
  Index from = index, to = index + 1;
  while (from > 0 && index - from < kMostSiblings && is_sibling(from - 1)) --from;
  while (to < report.evaluations.size() && to - index <= kMostSiblings && is_sibling(to)) ++to;
  return {from, to};
}

void add_candidate(JsonText& json, const Report& report, Index index, DetailReader& reader, Texts& texts) {
  const Evaluation& each = report.evaluations[index];
  add_row(json.open('{').key("row"), report, index);
  json.key("id").add(each.id).key("problem").add(each.problem).key("candidate").add(each.candidate);
  json.key("candidate_sha256").add(each.candidate_sha256).key("problem_sha256").add(each.problem_sha256);
  json.key("commit").add(each.commit).key("seed").add(std::to_string(each.seed));
  json.key("link_bytes").open('[').add_rounded(each.link_bytes).add_rounded(each.least_link_bytes).close(']');
  if (each.times)
    json.key("times")
        .open('{')
        .key("floor_ms")
        .add_rounded(each.times->floor_ms)
        .key("least_ms")
        .add_rounded(each.times->least_ms)
        .key("limit")
        .add(each.times->limit)
        .close('}');
  if (each.usage)
    json.key("usage")
        .open('[')
        .add(each.usage->input)
        .add(each.usage->output)
        .add(each.usage->cached)
        .add(each.usage->reasoning)
        .add_rounded(each.usage->price)
        .close(']');
  const auto [from, to] = siblings_of(report, index);
  json.key("siblings").open('[').add(from).add(to).close(']');
  try {
    add_detail(json, reader.read(report, each), texts);
  } catch (const InputError& error) {
    json.key("gone").add(std::string_view(error.what()));
  }
  json.close('}');
}

/// One file of details, from evaluation `first` on.
JsonText details(const Report& report, Index first, DetailReader& reader) {
  const auto count = static_cast<Index>(report.evaluations.size());
  const Index end = std::min(count, first + static_cast<Index>(kDetailsPerFile));
  const Index from = siblings_of(report, first).first, to = siblings_of(report, end - 1).second;
  JsonText json(JsonText::Letters::ascii);
  Texts texts;
  json.open('{')
      .key("per_file")
      .add(kDetailsPerFile)
      .key("siblings")
      .open('{')
      .key("from")
      .add(from)
      .key("list")
      .open('[');
  for (Index i = from; i < to; ++i) {
    const Evaluation& each = report.evaluations[i];
    json.open('[')
        .add(each.sample)
        .add(each.attempt)
        .add(static_cast<int>(each.verdict))
        .add_rounded(each.speedup())
        .close(']');
  }
  json.close(']').close('}').key("candidates").open('[');
  for (Index i = first; i < end; ++i) add_candidate(json, report, i, reader, texts);
  texts.write(json.close(']').key("texts"));
  json.close('}');
  return json;
}

}  // namespace

void write_details(const Report& report, const Site& site) {
  const std::size_t files = (report.evaluations.size() + kDetailsPerFile - 1) / kDetailsPerFile;
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      DetailReader reader;
      for (std::size_t file; (file = next++) < files;)
        write_data(site.folder, fmt::format("details/{}", file),
                   details(report, static_cast<Index>(file * kDetailsPerFile), reader));
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = files;
    }
  };
  const unsigned wanted = site.threads > 0 ? static_cast<unsigned>(site.threads)
                                           : std::max(1u, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < wanted; ++i) threads.emplace_back(work);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pkb::report
