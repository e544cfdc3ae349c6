// SPDX-License-Identifier: Apache-2.0
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/error/error.h"
#include "harness/report/files.h"
#include "harness/report/report.h"

namespace pkb::report {
namespace {

namespace dom = simdjson::dom;

/// Anything in JSON. What is missing or of another type is nothing: reports have checked what they count, not
/// what they show.
class Any {
 public:
  Any() = default;
  explicit Any(dom::element element) : x_element(element) {}

  Any operator[](std::string_view name) const {
    dom::element found;
    if (!x_element || x_element->at_key(name).get(found) != simdjson::SUCCESS) return {};
    return Any(found);
  }
  bool exists() const { return x_element && !x_element->is_null(); }
  std::string text() const {
    std::string_view text;
    return x_element && x_element->get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
  }
  /// Any value as words.
  std::string words() const {
    if (!x_element) return {};
    return x_element->is_string() ? text() : simdjson::minify(*x_element);
  }
  double number() const {
    double number = 0;
    return x_element && x_element->get(number) == simdjson::SUCCESS ? number : kNone;
  }
  std::int64_t integer(std::int64_t otherwise) const {
    std::int64_t number = 0;
    return x_element && x_element->get(number) == simdjson::SUCCESS ? number : otherwise;
  }
  std::vector<Any> list() const {
    std::vector<Any> all;
    dom::array array;
    if (x_element && x_element->get(array) == simdjson::SUCCESS)
      for (const dom::element each : array) all.emplace_back(each);
    return all;
  }
  std::vector<std::pair<std::string, Any>> members() const {
    std::vector<std::pair<std::string, Any>> all;
    dom::object object;
    if (x_element && x_element->get(object) == simdjson::SUCCESS)
      for (const dom::key_value_pair& each : object) all.emplace_back(each.key, each.value);
    return all;
  }

 private:
  std::optional<dom::element> x_element;
};

std::vector<double> numbers(const Any& list) {
  std::vector<double> all;
  for (const Any& each : list.list()) all.push_back(each.number());
  return all;
}

Detail::Finding finding(const Any& diagnosis) {
  return {.verdict = verdict_from(diagnosis["verdict"].text()).value_or(Verdict::wrong_result),
          .rank = static_cast<int>(diagnosis["rank"].integer(-1)),
          .trial = static_cast<int>(diagnosis["trial"].integer(-1)),
          .text = diagnosis["text"].text(),
          .category = diagnosis["category"].text(),
          .what = diagnosis["class"].text(),
          .explanation = diagnosis["explanation"].text()};
}

/// The worst of all trials of each output.
std::vector<Detail::Output> outputs(const Any& trials) {
  std::map<std::string, Detail::Output> worst;
  for (const Any& trial : trials.list())
    for (const Any& each : trial["outputs"].list()) {
      Detail::Output& output = worst[each["name"].text()];
      output.name = each["name"].text();
      output.elements = std::max(output.elements, each["elements"].integer(0));
      output.mismatches = std::max(output.mismatches, each["mismatches"].integer(0));
      output.error_over_bound = std::fmax(output.error_over_bound, each["worst_error_over_bound"].number());
      output.rms = std::fmax(output.rms, each["candidate_rms"].number());
      output.baseline_rms = std::fmax(output.baseline_rms, each["baseline_rms"].number());
    }
  std::vector<Detail::Output> all;
  for (auto& [name, output] : worst) all.push_back(std::move(output));
  return all;
}

void take_result(Detail& detail, const Any& result) {
  detail.source = result["candidate"]["source"].text();
  detail.compiler_output = result["compile"]["text"].text();
  for (const Any& each : result["diagnoses"].list()) detail.findings.push_back(finding(each));
  std::ranges::stable_sort(detail.findings, {}, &Detail::Finding::verdict);
  detail.outputs = outputs(result["trials"]);
  for (const Any& each : result["worker_output"].list()) detail.worker_output.push_back(each.words());
  detail.trials = static_cast<int>(result["trials"].list().size());
  detail.schedules = static_cast<int>(result["schedules"].integer(0));
  const Any timing = result["timing"];
  detail.baseline_ms = numbers(timing["baseline"]["samples_ms"]);
  detail.candidate_ms = numbers(timing["candidate"]["samples_ms"]);
  detail.timing_method = timing["method"].text();
  for (const char* const part : {"environment", "device_facts"})
    for (const auto& [name, value] : result[part].members())
      detail.environment.emplace_back(name, value.words());
  for (const char* const name : {"sandbox", "mps", "checks"})
    if (result[name].exists()) detail.environment.emplace_back(name, result[name].words());
  detail.prompt = result["submission"]["prompt"].text();
  detail.reply = result["submission"]["reply"].text();
}

void take_reply(Detail& detail, const Any& reply) {
  detail.prompt = reply["message"].text();
  detail.reply = reply["text"].text();
  if (reply["no_code"].exists())
    detail.findings.push_back({.verdict = Verdict::no_code, .text = reply["no_code"].text()});
}

}  // namespace

struct DetailReader::File {
  const store::Migration& migration;
  std::string text{};
  dom::parser parser{};

  /// Stays as it is until the next.
  Any read(const std::string& name) {
    read_file(name, text, simdjson::SIMDJSON_PADDING);
    Any root = parsed();
    if (root["schema"].integer(migration.newest()) < migration.newest()) {
      text = migration.apply(text);
      text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
      root = parsed();
    }
    return root;
  }

  Any parsed() {
    dom::element root;
    if (parser.parse(text.data(), text.size(), false).get(root) != simdjson::SUCCESS || !root.is_object())
      throw std::runtime_error("is no longer JSON");
    return Any(root);
  }
};

DetailReader::DetailReader(const store::Migration& migration) : x_file(new File{migration}) {}
DetailReader::~DetailReader() = default;

Detail DetailReader::read(const Report& report, const Evaluation& evaluation) {
  constexpr std::string_view kResult = ".result.json";
  const std::string& name = report.files[evaluation.file];
  Detail detail;
  try {
    const Any value = x_file->read(name);
    if (value["exchanges"].exists()) {
      take_reply(detail, value);
      return detail;
    }
    if (value["id"].text() != evaluation.id) throw std::runtime_error("is another result now");
    take_result(detail, value);
    if (name.ends_with(kResult))
      take_reply(detail, x_file->read(name.substr(0, name.size() - kResult.size()) + ".json"));
  } catch (const std::runtime_error& error) {
    throw InputError({.where = name, .fault = error.what(), .remedy = "make the report again"});
  }
  return detail;
}

}  // namespace pkb::report
