// SPDX-License-Identifier: Apache-2.0
#include "harness/prompt/prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/error/error.h"
#include "harness/prompt/template.h"
#include "harness/roofline/bound.h"

namespace pkb::prompt {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The size whose bound the prompt names: what production runs.
constexpr const char* kSize = "full";
constexpr std::size_t kFewExamples = 3;
constexpr std::size_t kLongestCompilerText = 6000, kMostDiagnoses = 8;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError({.where = file.string(), .fault = "cannot be read", .remedy = {}});
  std::string text{std::istreambuf_iterator<char>(in), {}};
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string without_licence(std::string text) {
  constexpr std::string_view kLine = "// SPDX-License-Identifier: Apache-2.0\n";
  if (text.starts_with(kLine)) text.erase(0, kLine.size());
  return text;
}

std::string reference_of(const fs::path& folder) {
  const fs::path cuda = folder / "reference.cu";
  return without_licence(read(fs::exists(cuda) ? cuda : folder / "reference.cpp"));
}

json sizes_of(const problem::Problem& problem, DType dtype) {
  json sizes = json::array();
  for (const std::string& name : problem.sizes()) {
    std::vector<std::string> symbols;
    const problem::Instance instance = problem.instances({.size = name, .ranks = 0, .dtype = dtype}).front();
    for (const std::string& symbol : instance.parameter_names)
      symbols.push_back(fmt::format("{} = {}", symbol, instance.symbols.at(symbol)));
    sizes.push_back({{"name", name},
                     {"ranks", fmt::format("{}", fmt::join(problem.ranks(name), ", "))},
                     {"symbols", fmt::format("{}", fmt::join(symbols, ", "))}});
  }
  return sizes;
}

json gpu_of(const problem::Problem& problem, const Options& options) {
  const roofline::Hardware& hardware = *options.hardware;
  const roofline::Rates& rates = hardware.rates();
  const std::vector<std::string> sizes = problem.sizes();
  const std::string size = std::ranges::find(sizes, kSize) != sizes.end() ? kSize : sizes.back();
  const std::vector<int> ranks = problem.ranks(size);
  const int bound_ranks = std::ranges::find(ranks, options.gpus) != ranks.end() ? options.gpus : ranks.front();
  const problem::Instance instance =
      problem.instances({.size = size, .ranks = bound_ranks, .dtype = options.dtype}).front();
  const roofline::Bound bound = roofline::bound_of(problem, instance, hardware);
  return {{"gpus", options.gpus},
          {"title", hardware.title},
          {"link", hardware.link},
          {"sms", hardware.sms},
          {"l2_mb", fmt::format("{:.0f}", hardware.l2_bytes / (1 << 20))},
          {"memory_gbs", fmt::format("{:.0f}", rates.memory / 1e9)},
          {"link_gbs", fmt::format("{:.0f}", rates.link / 1e9)},
          {"peak_tflops", fmt::format("{:.0f}", rates.peaks.of(options.dtype) / 1e12)},
          {"in_fabric", rates.in_fabric > 0 ? "yes" : "no"},
          {"size", size},
          {"bound_ranks", bound_ranks},
          {"least_us", fmt::format("{:.1f}", 1e6 * bound.roofline.longest())},
          {"limit", name_of(bound.roofline.limit())}};
}

json examples_for(const problem::Problem& problem, const Options& options, const Sources& sources) {
  const fs::path own = sources.own / "examples.json";
  const fs::path list = !sources.own.empty() && fs::exists(own) ? own : sources.templates / "examples.json";
  const std::size_t wanted = options.style == Style::zero_shot ? 0 : options.style == Style::one_shot ? 1 : kFewExamples;
  json examples = json::array();
  const json all = json::parse(read(list), nullptr, false);
  if (!all.is_array()) throw InputError({.where = list.string(), .fault = "is no JSON array", .remedy = {}});
  for (const json& each : all) {
    if (examples.size() == wanted) break;
    const fs::path folder = sources.problems / each.value("problem", "");
    if (folder.filename() == problem.folder().filename()) continue;
    examples.push_back({{"title", problem::Problem::load(folder).title()},
                        {"reference", reference_of(folder)},
                        {"solution", without_licence(read(folder / "solutions" / each.value("solution", "")))}});
  }
  return examples;
}

/// The header and those of its parts that stand in files of their own, in the order in which it includes them.
std::string device_header(const fs::path& headers) {
  std::string text = read(headers / "pkb" / "device.cuh"), parts;
  for (std::size_t at = 0; (at = text.find("#include <pkb/device/", at)) != std::string::npos; ++at) {
    const std::size_t start = at + std::string_view("#include <").size(), end = text.find('>', start);
    parts += fmt::format("\n{}\n", without_licence(read(headers / text.substr(start, end - start))));
  }
  return without_licence(text) + parts;
}

/// The head says what went wrong first, the tail how it ended.
std::string shortened(const std::string& text, std::size_t longest) {
  if (text.size() <= longest) return text;
  return text.substr(0, longest * 3 / 4) + "\n[...]\n" + text.substr(text.size() - longest / 4);
}

json times_of(const json& result) {
  const auto found = result.find("timing");
  if (found == result.end() || !found->contains("candidate")) return nullptr;
  const json& timing = *found;
  const auto milliseconds = [](const json& value) { return fmt::format("{:.4f}", value.get<double>()); };
  json times = {{"candidate_ms", milliseconds(timing.at("candidate").at("median_ms"))},
                {"baseline_ms", milliseconds(timing.at("baseline").at("median_ms"))},
                {"speedup", timing.at("speedup").is_null()
                                ? "unknown, below what can be measured"
                                : fmt::format("{:.3f}", timing.at("speedup").at("value").get<double>())},
                {"least_ms", nullptr},
                {"limit", nullptr}};
  if (const json roofline = timing.value("roofline", json()); roofline.is_object()) {
    times["least_ms"] = milliseconds(roofline.at("least_ms"));
    times["limit"] = roofline.at("limit");
  }
  return times;
}

}  // namespace

std::string task(const problem::Problem& problem, const Options& options, const Sources& sources) {
  const json description = json::parse(problem.text());
  json examples = examples_for(problem, options, sources);
  const bool has_examples = !examples.empty();
  return render("task",
                {{"number", fmt::format("{:03}", problem.id())},
                 {"name", problem.name()},
                 {"title", problem.title()},
                 {"workload", problem.workload()},
                 {"parallelism", problem.parallelism()},
                 {"readme", read(problem.folder() / "README.md")},
                 {"reference", reference_of(problem.folder())},
                 {"header", without_licence(problem.candidate_header())},
                 {"context", without_licence(read(sources.headers / "pkb" / "candidate.h"))},
                 {"dtype", std::string(name_of(options.dtype))},
                 {"sizes", sizes_of(problem, options.dtype)},
                 {"check", description.at("check").dump(2)},
                 {"gpu", gpu_of(problem, options)},
                 {"with_primitives", options.primitives},
                 {"device_header", options.primitives ? device_header(sources.headers) : std::string()},
                 {"has_examples", has_examples},
                 {"examples", std::move(examples)},
                 {"solution", nullptr}},
                sources.templates, sources.own);
}

std::string repair(const json& result, const Sources& sources) {
  const std::string verdict = result.value("verdict", "");
  json diagnoses = json::array();
  for (const json& each : result.value("diagnoses", json::array())) {
    if (diagnoses.size() == kMostDiagnoses) break;
    const int rank = each.value("rank", -1);
    diagnoses.push_back({{"place", rank >= 0 ? fmt::format("rank {}: ", rank) : std::string()},
                         {"text", each.value("text", "")}});
  }
  const json compile = result.value("compile", json::object());
  const bool refused = verdict == "compile_error";
  json values = {{"verdict", verdict},
                 {"passed", verdict == "correct"},
                 {"failed", verdict != "correct"},
                 {"compile_errors", refused ? json(shortened(compile.value("text", ""), kLongestCompilerText)) : json()},
                 {"diagnoses", std::move(diagnoses)},
                 {"place", nullptr},
                 {"text", nullptr},
                 {"no_code", verdict == "no_code" ? json(result.value("reason", "")) : json()},
                 {"times", times_of(result)}};
  for (const char* const name : {"candidate_ms", "baseline_ms", "speedup", "least_ms", "limit"})
    if (values["times"].is_null()) values[name] = nullptr;
  for (const char* const name : {"link_bytes", "link_factor"}) {
    const json links = result.value("links", json::object());
    values[name] = links.contains(name) ? json(fmt::format("{:.4g}", links.at(name).get<double>())) : json();
  }
  return render("repair", values, sources.templates, sources.own);
}

std::string go_on(const Sources& sources) { return render("continue", json::object(), sources.templates, sources.own); }

}  // namespace pkb::prompt
