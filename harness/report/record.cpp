// SPDX-License-Identifier: Apache-2.0
#include "harness/report/record.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "harness/candidate/digest.h"
#include "harness/report/mechanisms.h"
#include "harness/store/store.h"
#include "harness/timing/series.h"

namespace pkb::report {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kLongestName = 200;
constexpr double kEventResolution_ms = 0.0005;  // of CUDA events: nothing is measured below it
constexpr double kAgreement = 1e-6;             // between a figure and what it is computed from

[[noreturn]] void refuse(std::string field, std::string fault) {
  throw Malformed{std::move(field), std::move(fault)};
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

bool fits(std::string_view text, std::string_view pattern) {
  if (text.size() != pattern.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool digit = c >= '0' && c <= '9';
    if (pattern[i] == '9' ? !digit : pattern[i] == 'x' ? !digit && (c < 'a' || c > 'f') : c != pattern[i])
      return false;
  }
  return true;
}

/// An object and its members, in errors "WHERE.NAME".
class Object {
 public:
  Object(dom::element element, std::string where) : x_where(std::move(where)) {
    if (element.get(x_json) != simdjson::SUCCESS) refuse(x_where, "is no object");
    // Readers differ in which of two members counts.
    std::vector<std::string_view> names;
    for (const dom::key_value_pair& member : x_json) names.push_back(member.key);
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
      refuse(field(*twice), "stands there twice");
  }

  std::string field(std::string_view name) const {
    return x_where.empty() ? std::string(name) : fmt::format("{}.{}", x_where, name);
  }

  std::optional<dom::element> find(std::string_view name) const {
    dom::element element;
    if (x_json.at_key(name).get(element) != simdjson::SUCCESS || element.is_null()) return std::nullopt;
    return element;
  }
  dom::element element(std::string_view name) const {
    if (const std::optional<dom::element> found = find(name)) return *found;
    refuse(field(name), "missing");
  }
  Object object(std::string_view name) const { return {element(name), field(name)}; }
  std::optional<Object> find_object(std::string_view name) const {
    const std::optional<dom::element> found = find(name);
    return found ? std::optional<Object>(Object(*found, field(name))) : std::nullopt;
  }
  template <class T>
  T value(std::string_view name, const char* kind) const {
    T value;
    if (element(name).get(value) != simdjson::SUCCESS) refuse(field(name), fmt::format("is no {}", kind));
    return value;
  }

  /// Of any length.
  std::string_view text(std::string_view name) const { return value<std::string_view>(name, "text"); }
  std::string_view text_or_nothing(std::string_view name) const {
    return find(name) ? text(name) : std::string_view();
  }
  std::string label(std::string_view name) const {
    const std::string_view found = text(name);
    if (found.size() > kLongestName)
      refuse(field(name), fmt::format("is longer than {} bytes", kLongestName));
    return std::string(found);
  }
  std::string label_or_nothing(std::string_view name) const {
    return find(name) ? label(name) : std::string();
  }
  std::string identifier(std::string_view name) const {
    std::string found = label(name);
    if (!is_identifier(found))
      refuse(field(name), "is no name of letters, digits, dots, dashes and underscores");
    return found;
  }
  std::string shaped(std::string_view name, std::string_view pattern) const {
    std::string found = label(name);
    if (!fits(found, pattern)) refuse(field(name), fmt::format("does not look like {}", pattern));
    return found;
  }
  std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most) const {
    const auto found = value<std::int64_t>(name, "whole number");
    if (found < least || found > most)
      refuse(field(name), fmt::format("{} is not from {} to {}", found, least, most));
    return found;
  }
  double number(std::string_view name) const { return value<double>(name, "number"); }
  double positive(std::string_view name) const {
    const double found = number(name);
    if (!(found > 0)) refuse(field(name), fmt::format("{} is not above 0", found));
    return found;
  }
  dom::array array(std::string_view name) const { return value<dom::array>(name, "list"); }
  dom::object members() const { return x_json; }

 private:
  dom::object x_json;
  std::string x_where;
};

/// Any value as words.
std::string words(dom::element element) {
  std::string_view text;
  return element.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(element);
}

void require_agreement(const Object& object, std::string_view name, double stated, double computed) {
  if (std::abs(stated - computed) > kAgreement * std::abs(computed))
    refuse(object.field(name), fmt::format("{} contradicts the samples, which give {}", stated, computed));
}

std::vector<double> samples(const Object& series) {
  std::vector<double> samples;
  for (const dom::element each : series.array("samples_ms")) {
    double value = 0;
    if (each.get(value) != simdjson::SUCCESS || !(value > 0))
      refuse(series.field("samples_ms"), fmt::format("number {} is no time", samples.size()));
    samples.push_back(value);
  }
  if (samples.empty()) refuse(series.field("samples_ms"), "is empty");
  return samples;
}

/// A figure between the ends of its interval.
Estimate interval(const Object& object, std::string_view name, double value) {
  const dom::array ends = object.array(name);
  Estimate estimate{.value = value};
  if (ends.size() != 2 || ends.at(0).get(estimate.low) != simdjson::SUCCESS ||
      ends.at(1).get(estimate.high) != simdjson::SUCCESS)
    refuse(object.field(name), "is no pair of numbers");
  if (!(estimate.low > 0) || estimate.low > value * (1 + kAgreement) ||
      estimate.high < value * (1 - kAgreement))
    refuse(object.field(name), fmt::format("{} to {} does not hold {}", estimate.low, estimate.high, value));
  return estimate;
}

Estimate median_of(const Object& series) {
  const double median = series.positive("median_ms");
  require_agreement(series, "median_ms", median, timing::median(samples(series)));
  return interval(series, "interval_ms", median);
}

/// Of a correct candidate. A time that cannot be must not move a board's means.
Times read_times(const Object& timing) {
  Times times;
  const Object baseline = timing.object("baseline"), candidate = timing.object("candidate");
  times.baseline_ms = median_of(baseline).value;
  times.candidate_ms = median_of(candidate);
  times.floor_ms = timing.positive("floor_ms");
  if (times.floor_ms < kEventResolution_ms)
    refuse(timing.field("floor_ms"), fmt::format("{} ms is below what events resolve", times.floor_ms));
  if (const std::optional<Object> speedup = timing.find_object("speedup")) {
    if (times.candidate_ms.value < times.floor_ms)
      refuse(candidate.field("median_ms"), fmt::format("{} is below the {} ms that nothing at all takes",
                                                       times.candidate_ms.value, times.floor_ms));
    const double value = speedup->positive("value");
    require_agreement(*speedup, "value", value, times.baseline_ms / times.candidate_ms.value);
    times.speedup = interval(*speedup, "interval", value);
  }
  times.unstable = timing.text_or_nothing("unstable").substr(0, kLongestName);
  if (const std::optional<Object> roofline = timing.find_object("roofline")) {
    times.least_ms = roofline->positive("least_ms");
    times.limit = roofline->label("limit");
    times.utilisation = times.least_ms / times.candidate_ms.value;
    if (const double possible = roofline->number("possible_ms"); times.candidate_ms.value < possible)
      refuse(candidate.field("median_ms"), fmt::format("{} is less than the {} ms that the work takes at all",
                                                       times.candidate_ms.value, possible));
  }
  return times;
}

Verdict read_verdict(const Object& object) {
  const std::string_view name = object.text("verdict");
  const std::optional<Verdict> verdict = verdict_from(name);
  if (!verdict) refuse(object.field("verdict"), fmt::format("\"{}\" is none", name.substr(0, 40)));
  return *verdict;
}

void read_diagnoses(const Object& result, Evaluation& evaluation) {
  Verdict gravest = Verdict::correct;
  int number = 0;
  for (const dom::element each : result.array("diagnoses")) {
    const Object diagnosis(each, fmt::format("diagnoses[{}]", number++));
    const Verdict verdict = read_verdict(diagnosis);
    if (verdict > gravest || (verdict == gravest && !evaluation.what.empty())) continue;
    gravest = verdict;
    evaluation.category = diagnosis.label_or_nothing("category");
    evaluation.what = diagnosis.label_or_nothing("class");
  }
  if (gravest != evaluation.verdict)
    refuse("verdict", fmt::format("is {}, but the gravest diagnosis is {}", name_of(evaluation.verdict),
                                  name_of(gravest)));
}

/// Returns how many there are.
int read_trials(const Object& result, Evaluation& evaluation) {
  int number = 0;
  for (const dom::element each : result.array("trials")) {
    const Object trial(each, fmt::format("trials[{}]", number++));
    if (!trial.value<bool>("passes", "true or false") && evaluation.is_correct())
      refuse(trial.field("passes"), "is false, but the verdict is correct");
    const std::optional<Object> links = trial.find_object("links");
    if (!links) continue;
    const double moved = std::max(links->number("sent"), links->number("received"));
    const double least = std::max(links->number("least_sent"), links->number("least_received"));
    if (!(moved >= 0) || !(least >= 0)) refuse(trial.field("links"), "has a negative number of bytes");
    if (least > 0 && !(moved <= evaluation.link_bytes)) {
      evaluation.link_bytes = moved;
      evaluation.least_link_bytes = least;
    }
  }
  return number;
}

std::string hardware_of(const Object& result, launch::Device device) {
  if (device == launch::Device::virtual_gpu) return result.identifier("chip");
  const std::optional<Object> facts = result.find_object("device_facts");
  if (!facts) return {};
  std::set<std::string> names;
  for (const dom::element each : facts->array("gpus")) {
    std::string_view name;
    if (each.get(name) != simdjson::SUCCESS || name.empty() || name.size() > kLongestName)
      refuse(facts->field("gpus"), "has something that is no name");
    names.emplace(name);
  }
  return fmt::format("{}", fmt::join(names, " + "));
}

launch::Device read_device(const Object& result) {
  const std::string_view word = result.text("device");
  for (const auto device : {launch::Device::virtual_gpu, launch::Device::shared, launch::Device::cuda})
    if (launch::name_of(device) == word) return device;
  refuse(result.field("device"), fmt::format("\"{}\" is none", word.substr(0, 40)));
}

Usage read_usage(const Object& from, std::optional<dom::element> price) {
  const auto tokens = [&](std::string_view name) {
    return static_cast<std::uint64_t>(from.find(name) ? from.integer(name, 0, std::int64_t{1} << 40) : 0);
  };
  Usage usage{.input = tokens("input"),
              .output = tokens("output"),
              .cached = tokens("cached"),
              .reasoning = tokens("reasoning")};
  if (price && (price->get(usage.price) != simdjson::SUCCESS || !(usage.price >= 0)))
    refuse("price", "is no amount");
  return usage;
}

Submission read_submission(const Object& from, Evaluation& evaluation) {
  Submission submission{.name = from.label("name"), .is_model = from.text("kind") == "model"};
  if (submission.name.empty()) refuse(from.field("name"), "is empty");
  if (const std::optional<Object> settings = from.find_object("settings"))
    for (const dom::key_value_pair& each : settings->members())
      submission.settings.emplace(std::string(each.key.substr(0, kLongestName)),
                                  words(each.value).substr(0, kLongestName));
  if (submission.is_model) {
    submission.campaign = from.identifier("campaign");
    submission.sample = static_cast<int>(from.integer("sample", 0, 100'000));
    submission.attempt = static_cast<int>(from.integer("attempt", 0, 1'000));
    if (const std::optional<Object> usage = from.find_object("usage"))
      evaluation.usage = read_usage(*usage, from.find("price"));
  }
  return submission;
}

/// A reply without code, as `pkb results merge` keeps it: nothing ran, so it does not say where.
Record read_no_code(const Object& result, Record record) {
  record.kind = Record::Kind::reply;
  record.evaluation.verdict = Verdict::no_code;
  record.problem_name = fmt::format("{:03}_{}", record.problem, record.problem_name);
  read_diagnoses(result, record.evaluation);
  record.place.size = result.find("size") ? result.identifier("size") : std::string();
  record.place.dtype = result.identifier("dtype");
  record.submission = read_submission(result.object("submission"), record.evaluation);
  return record;
}

Record read_result(const Object& result) {
  Record record{.kind = Record::Kind::result};
  Evaluation& evaluation = record.evaluation;
  evaluation.id = result.shaped("id", "99999999T999999Z-xxxxxxxxxxxxxxxx");
  const Object problem = result.object("problem");
  record.problem = static_cast<int>(problem.integer("id", 1, 999));
  record.problem_name = problem.identifier("name");
  evaluation.problem_sha256 = problem.label_or_nothing("sha256");
  evaluation.verdict = read_verdict(result);
  if (evaluation.verdict == Verdict::no_code) return read_no_code(result, std::move(record));
  evaluation.created = result.shaped("created", "9999-99-99T99:99:99Z");
  const launch::Device device = read_device(result);
  record.place = {.device = device,
                  .hardware = hardware_of(result, device),
                  .size = result.identifier("size"),
                  .dtype = result.identifier("dtype"),
                  .ranks = static_cast<int>(result.integer("ranks", 1, 4096)),
                  .generated_inputs = result.text("inputs") == "generated"};
  read_diagnoses(result, evaluation);
  evaluation.seed = result.value<std::uint64_t>("seed", "whole number");
  const Object candidate = result.object("candidate");
  evaluation.candidate = candidate.label("file");
  evaluation.candidate_sha256 = candidate.label("sha256");
  const std::string_view source = candidate.text("source");
  if (evaluation.candidate_sha256 != candidate::sha256(source))
    refuse("candidate.sha256", "is not that of candidate.source");
  evaluation.mechanisms = mechanisms_in(source);
  const int trials = result.find("trials") ? read_trials(result, evaluation) : 0;
  if (evaluation.is_correct() && trials == 0) refuse("trials", "has none, but the verdict is correct");
  evaluation.synthetic = result.find("synthetic") && result.value<bool>("synthetic", "true or false");
  if (const std::optional<Object> environment = result.find_object("environment"))
    evaluation.commit = environment->label_or_nothing("commit");
  if (const std::optional<Object> timing = result.find_object("timing"); timing && evaluation.is_correct()) {
    if (device != launch::Device::cuda)
      refuse("timing", fmt::format("cannot come from a {} device", launch::name_of(device)));
    evaluation.times = read_times(*timing);
  }
  if (const std::optional<Object> submission = result.find_object("submission"))
    record.submission = read_submission(*submission, evaluation);
  return record;
}

/// Settings that say where and on what was judged, not who made the candidates.
constexpr std::string_view kPlaceSettings[] = {"id",   "model", "endpoint", "api",   "device",
                                               "size", "ranks", "dtype",    "trials"};

Record read_campaign(const Object& settings) {
  Record record{.kind = Record::Kind::campaign};
  Submission submission{
      .name = settings.label("model"), .is_model = true, .campaign = settings.label_or_nothing("id")};
  for (const dom::key_value_pair& each : settings.members())
    if (std::ranges::find(kPlaceSettings, each.key) == std::end(kPlaceSettings))
      submission.settings.emplace(std::string(each.key.substr(0, kLongestName)),
                                  words(each.value).substr(0, kLongestName));
  record.place.dtype = settings.identifier("dtype");
  if (settings.find("device")) {
    if (settings.text("device") != "auto") record.place.device = read_device(settings);
    record.place.size = settings.identifier("size");
    record.place.ranks = static_cast<int>(settings.integer("ranks", 0, 4096));
  }
  record.submission = std::move(submission);
  return record;
}

Record read_reply(const Object& reply) {
  Record record{.kind = Record::Kind::reply};
  record.problem_name = reply.identifier("problem");  // "013_gemm_allreduce"
  record.submission = {.name = reply.label_or_nothing("answered"),
                       .is_model = true,
                       .sample = static_cast<int>(reply.integer("sample", 0, 100'000)),
                       .attempt = static_cast<int>(reply.integer("attempt", 0, 1'000))};
  record.has_candidate = !reply.find("no_code");
  record.evaluation.candidate_sha256 = reply.label_or_nothing("candidate_sha256");
  record.evaluation.usage = read_usage(reply.object("usage"), reply.find("price"));
  return record;
}

/// Whether its version is an earlier one.
bool is_earlier(const Object& result, const store::Migration& migration) {
  const std::int64_t schema = result.integer("schema", 1, 1'000'000);
  if (schema > migration.newest())
    refuse("schema",
           fmt::format("{} is newer than this program, which knows up to {}", schema, migration.newest()));
  return schema < migration.newest();
}

}  // namespace

struct RecordReader::Parser {
  dom::parser parser;
  std::vector<char> minified;
};

const std::size_t RecordReader::kPadding = simdjson::SIMDJSON_PADDING;

RecordReader::RecordReader(const store::Migration& migration)
    : x_migration(migration), x_parser(std::make_unique<Parser>()) {}
RecordReader::~RecordReader() = default;

Record RecordReader::read_earlier(const std::string& text) {
  std::string newest;
  try {
    newest = x_migration.apply(text);
  } catch (const std::exception& error) {
    refuse("schema", error.what());
  }
  newest.reserve(newest.size() + kPadding);
  return read(newest);
}

Record RecordReader::read(const std::string& text) {
  constexpr std::size_t kUsual = 4 << 20;
  dom::element root;
  const simdjson::error_code error = x_parser->parser.parse(text.data(), text.size(), false).get(root);
  if (error != simdjson::SUCCESS) refuse("", fmt::format("is not JSON: {}", simdjson::error_message(error)));
  Record record;
  if (!root.is_object()) return record;
  const Object object(root, "");
  if (object.find("verdict") && object.find("schema")) {
    if (is_earlier(object, x_migration)) return read_earlier(text);
    record = read_result(object);
    x_parser->minified.resize(text.size() + kPadding);
    std::size_t size = 0;
    if (simdjson::minify(text.data(), text.size(), x_parser->minified.data(), size) != simdjson::SUCCESS)
      refuse("", "is not JSON");
    record.digest = candidate::sha256({x_parser->minified.data(), size});
  } else if (object.find("exchanges") && object.find("attempt")) {
    record = read_reply(object);
  } else if (object.find("repairs") && object.find("model")) {
    record = read_campaign(object);
  }
  if (text.size() > kUsual) x_parser = std::make_unique<Parser>();  // it keeps what the largest took
  return record;
}

}  // namespace pkb::report
