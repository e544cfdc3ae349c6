// SPDX-License-Identifier: Apache-2.0
#include "harness/report/site/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <vector>

#include "harness/candidate/digest.h"
#include "harness/error/error.h"
#include "harness/store/store.h"
#include "harness/store/verdict.h"

namespace pkb::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kTimedPairs = 40;
constexpr int kTrials = 5;

/// Skill and difficulty are log-odds: a candidate is right with probability 1 / (1 + exp(difficulty -
/// skill)).
struct Model {
  const char* name;
  double skill, speed;  ///< speed: middle of the logarithm of its speedups
  double price;         ///< of a million output tokens
};
constexpr Model kModels[] = {{"synthetic-large", 0.3, 0.15, 30},
                             {"synthetic-medium", -0.5, 0.0, 9},
                             {"synthetic-small", -1.5, -0.2, 1.5},
                             {"synthetic-coder", -0.2, 0.3, 12}};

struct Problem {
  int id = 0;
  std::string name, folder, statement;
  double difficulty = 0, baseline_ms = 1, least_ms = 0.5;
  std::vector<std::string> sources;
};

/// Where and how a campaign's candidates are judged.
struct Setting {
  std::string device, gpu, hardware, size, dtype;
  int ranks = 4, samples = 1, repairs = 0;
};

struct Failure {
  Verdict verdict;
  double share;
  const char *category, *what, *text, *explanation;
};
constexpr Failure kFailures[] = {
    {Verdict::compile_error, 22, "", "", "nvcc refused it; its output follows", ""},
    {Verdict::wrong_result, 14, "partitioning", "contribution_missing",
     "out: 12371 of 12416 elements out of bounds, first [0, 0]: got 1.75, golden 2.4375",
     "the share of rank 3 is missing"},
    {Verdict::wrong_result, 9, "partitioning", "permuted_blocks",
     "out: 9312 of 12416 elements out of bounds, first [0, 64]: got -0.5, golden 1.125",
     "the blocks of ranks 1 and 2 are exchanged"},
    {Verdict::wrong_result, 8, "synchronisation", "stale",
     "out: 640 of 12416 elements out of bounds, first [3, 0]: got 0.25, golden -1.5",
     "values of the previous iteration"},
    {Verdict::wrong_result, 7, "numerics", "coarse_rounding",
     "out: 118 of 12416 elements out of bounds, first [17, 5]: got 8.25, golden 8.17",
     "sums rounded to a coarser format"},
    {Verdict::wrong_result, 4, "memory_safety", "tail",
     "out: 3 of 12416 elements out of bounds, first [112, 56]: got 0, golden 0.75",
     "only what lies beyond a multiple of 8 elements"},
    {Verdict::race, 11, "synchronisation", "",
     "kernel allreduce, line 31: rank 1 loads 16 bytes that rank 0 stores without a release before it", ""},
    {Verdict::deadlock, 9, "synchronisation", "",
     "rank 2 waits in kernel exchange, line 44, for a flag that nobody sets", ""},
    {Verdict::crash, 6, "memory_safety", "", "the worker ended with signal 11 in run()", ""},
    {Verdict::memory_fault, 5, "memory_safety", "",
     "kernel gather, line 27: store of 16 bytes at offset 50832 of a segment of 50828", ""},
    {Verdict::nondeterministic, 2, "synchronisation", "", "two runs of trial 3 differ in 96 elements of out", ""},
    {Verdict::timeout, 2, "synchronisation", "", "no answer after 60 s", ""},
    {Verdict::disqualified, 1, "", "", "its own clock contradicts the judges' in 31 of 40 timed iterations", ""},
};
constexpr double kNoCodeShare = 0.04;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Thousands of files: not synced, unlike results that were paid for.
void write(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw EnvironmentError({.where = file.string(), .fault = "cannot be written", .remedy = {}});
}

std::vector<std::string> sources_in(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::exists(folder))
    for (const auto& each : fs::directory_iterator(folder))
      if (each.path().extension() == ".cu") files.push_back(each.path());
  std::ranges::sort(files);
  std::vector<std::string> sources;
  for (const fs::path& each : files) sources.push_back(read(each));
  return sources;
}

std::vector<Problem> load_problems(const fs::path& folder, int count) {
  std::vector<Problem> problems;
  std::mt19937_64 random(87);
  std::normal_distribution<> normal;
  const std::vector<std::string> any = sources_in(folder / "001_allreduce" / "solutions");
  for (int id = 1; id <= count; ++id) {
    Problem problem{.id = id, .name = fmt::format("problem_{:03}", id), .folder = {}, .statement = {}, .sources = {}};
    for (const auto& each : fs::directory_iterator(folder))
      if (each.path().filename().string().starts_with(fmt::format("{:03}_", id)))
        problem.name = each.path().filename().string().substr(4);
    problem.folder = fmt::format("{:03}_{}", id, problem.name);
    problem.statement = read(folder / problem.folder / "README.md");
    problem.sources = sources_in(folder / problem.folder / "solutions");
    if (problem.sources.empty()) problem.sources = any;
    problem.difficulty = 1.2 * normal(random) + id / 87.;
    problem.baseline_ms = std::exp(0.9 * normal(random) - 0.5);
    problem.least_ms = problem.baseline_ms / (1.3 + std::abs(normal(random)));
    problems.push_back(std::move(problem));
  }
  return problems;
}

class Writer {
 public:
  explicit Writer(std::string poison, std::uint64_t seed) : x_poison(std::move(poison)), x_random(seed) {}

  double normal() { return std::normal_distribution<>()(x_random); }
  double uniform() { return std::uniform_real_distribution<>()(x_random); }
  std::uint64_t bits() { return x_random(); }
  std::string text(std::string_view plain) const { return std::string(plain) + x_poison; }

  std::string source_of(const Problem& problem, const std::string& model) {
    return text(fmt::format("// Synthetic: written by no model, for tests of reports ({}).\n{}", model,
                            problem.sources[bits() % problem.sources.size()]));
  }

  json result(const Problem& problem, const Setting& setting, const Model& model, const std::string& source,
              int attempt) {
    const std::string created =
        fmt::format("2026-11-{:02}T{:02}:{:02}:{:02}Z", 1 + x_made / 1440 % 28, x_made / 60 % 24, x_made % 60, attempt);
    ++x_made;
    json result = {
        {"synthetic", true},
        {"schema", store::kSchema},
        {"id", fmt::format("202611{:02}T{:02}{:02}{:02}Z-{:016x}", 1 + x_made / 1440 % 28, x_made / 60 % 24,
                           x_made % 60, attempt, bits())},
        {"created", created},
        {"problem", {{"id", problem.id}, {"name", problem.name}, {"sha256", candidate::sha256(problem.folder)}}},
        {"size", setting.size},
        {"ranks", setting.ranks},
        {"dtype", setting.dtype},
        {"device", setting.device},
        {"chip", setting.device == "virtual" ? json("h200") : json()},
        {"seed", bits()},
        {"schedules", 1},
        {"checks", setting.device == "virtual"},
        {"sandbox", "bubblewrap"},
        {"sandbox_means", {{"proc", "fresh"}, {"user_namespace", true}}},
        {"inputs", "generated"},
        {"candidate",
         {{"file", text(fmt::format("attempt-{}.cu", attempt))},
          {"sha256", candidate::sha256(source)},
          {"source", source}}},
        {"environment",
         {{"commit", "0000000000000000000000000000000000000000"},
          {"cores", 64},
          {"cuda_toolkit", "13.0.88"},
          {"pkb", "0.1.0"},
          {"processor", text("synthetic processor")},
          {"system", "Linux 6.8.0 x86_64"}}},
        {"mps", ""}};
    const double right = 1 / (1 + std::exp(problem.difficulty - model.skill - 0.5 * attempt));
    judge(result, problem, setting, model, uniform() < right, attempt);
    return result;
  }

 private:
  void judge(json& result, const Problem& problem, const Setting& setting, const Model& model, bool right,
             int attempt) {
    result["diagnoses"] = json::array();
    result["trials"] = json::array();
    result["counters"] = json::array();
    result["worker_output"] = json::array();
    result["phases"] = {{"compile", 6000 + 500 * normal()}, {"run", 140.0}, {"check", 14.0}, {"launch", 370.0}};
    Verdict verdict = Verdict::correct;
    if (!right) {
      const Failure& failure = draw_failure();
      verdict = failure.verdict;
      result["diagnoses"].push_back(diagnosis(failure, setting));
    }
    result["verdict"] = name_of(verdict);
    const bool compiled = verdict != Verdict::compile_error;
    result["compile"] = {
        {"ok", compiled},
        {"cached", false},
        {"seconds", 6.1},
        {"text", compiled ? ""
                          : text("attempt-0.cu(41): error: identifier \"peer_ptr\" is undefined\n\n1 error "
                                 "detected in the compilation of \"attempt-0.cu\".\n")}};
    if (!compiled) return;
    result["device_facts"] =
        setting.device == "virtual"
            ? json{{"chip", "h200"}}
            : json{{"gpus", std::vector<std::string>(
                                static_cast<std::size_t>(setting.device == "shared" ? 1 : setting.ranks), setting.gpu)},
                   {"driver_version", 13000},
                   {"runtime_version", 13000}};
    add_trials(result, setting, right);
    if (verdict == Verdict::correct && setting.device == "cuda")
      result["timing"] = timing(problem, setting, model, attempt);
  }

  const Failure& draw_failure() {
    double sum = 0;
    for (const Failure& each : kFailures) sum += each.share;
    double left = uniform() * sum;
    for (const Failure& each : kFailures)
      if ((left -= each.share) < 0) return each;
    return kFailures[0];
  }

  json diagnosis(const Failure& failure, const Setting& setting) {
    json found = {{"verdict", name_of(failure.verdict)},
                  {"rank", failure.verdict == Verdict::compile_error
                               ? -1
                               : static_cast<int>(bits() % static_cast<unsigned>(setting.ranks))},
                  {"trial", failure.verdict == Verdict::compile_error ? -1 : 0},
                  {"text", text(failure.text)},
                  {"category", failure.category}};
    if (*failure.what != '\0')
      found.update({{"class", failure.what},
                    {"output", text("out")},
                    {"elements", 12416},
                    {"wrong", 12371},
                    {"first", 0},
                    {"explanation", text(failure.explanation)},
                    {"explained", 12371},
                    {"got_by_rank", {1.75, 1.75, 1.75, 1.75}},
                    {"golden_by_rank", {2.4375, 2.4375, 2.4375, 2.4375}}});
    return found;
  }

  void add_trials(json& result, const Setting& setting, bool right) {
    const double least = 50828,
                 moved = least * (1 + std::abs(normal()) * 0.6 + (uniform() < 0.3 ? setting.ranks - 2 : 0));
    for (int trial = 0; trial < kTrials; ++trial) {
      json one = {{"trial", trial},
                  {"variant", 0},
                  {"schedule", 0},
                  {"passes", right},
                  {"outputs",
                   {{{"name", text("out")},
                     {"elements", 25414},
                     {"mismatches", right ? 0 : 12371},
                     {"baseline_rms", 0.00256},
                     {"candidate_rms", 0.00256},
                     {"worst_error_over_bound", right ? 0.49 : 17.5}}}}};
      if (setting.device == "virtual")
        one["links"] = {{"least_received", least},
                        {"least_sent", least},
                        {"received", std::round(moved)},
                        {"sent", std::round(moved)}};
      result["trials"].push_back(std::move(one));
    }
    for (int rank = 0; rank < setting.ranks && setting.device == "virtual"; ++rank)
      result["counters"].push_back({{"warp_instructions", 19964},
                                    {"lane_instructions", 629990},
                                    {"global_read", 152508},
                                    {"global_written", 76254},
                                    {"shared_read", 0},
                                    {"shared_written", 0},
                                    {"read_from", std::vector<int>(static_cast<std::size_t>(setting.ranks), 76254)},
                                    {"written_to", std::vector<int>(static_cast<std::size_t>(setting.ranks), 0)}});
    result["worker_output"] = std::vector<std::string>(static_cast<std::size_t>(setting.ranks), text(""));
  }

  json timing(const Problem& problem, const Setting& setting, const Model& model, int attempt) {
    const double faster = setting.hardware == "h200" ? 1 : 0.93;
    const double speedup = std::clamp(std::exp(model.speed + 0.45 * normal() + 0.12 * attempt), 0.1,
                                      problem.baseline_ms / problem.least_ms * 0.97);
    std::vector<double> baseline, candidate;
    for (int i = 0; i < kTimedPairs; ++i) {
      baseline.push_back(problem.baseline_ms / faster * std::exp(0.01 * normal()));
      candidate.push_back(baseline.back() / speedup * std::exp(0.015 * normal()));
    }
    const auto series = [](std::vector<double> samples) {
      std::vector<double> sorted = samples;
      std::ranges::sort(sorted);
      const double median = (sorted[kTimedPairs / 2 - 1] + sorted[kTimedPairs / 2]) / 2;
      return json{{"median_ms", median},
                  {"interval_ms", {sorted[kTimedPairs / 2 - 6], sorted[kTimedPairs / 2 + 5]}},
                  {"samples_ms", samples},
                  {"host_ms", 0.011},
                  {"outside_beyond_ms", std::vector<double>(samples.size(), 0.004)}};
    };
    const json ours = series(baseline), theirs = series(candidate);
    const double base_ms = ours["median_ms"], candidate_ms = theirs["median_ms"], value = base_ms / candidate_ms,
                 least = problem.least_ms / faster;
    const char* const limits[] = {"links", "memory", "compute"};
    return {
        {"method", "synthetic: nothing was timed"},
        {"floor_ms", 0.006},
        {"warm_up_pairs", 31},
        {"baseline", ours},
        {"candidate", theirs},
        {"unstable",
         uniform() < 0.05 ? json(text("the 95 % interval is 4.1 % wide after 200 pairs: the times scatter")) : json()},
        {"gpu", {{"before", nullptr}, {"after", nullptr}}},
        {"below_floor", false},
        {"speedup", {{"value", value}, {"interval", {value * 0.985, value * 1.015}}}},
        {"roofline",
         {{"hardware", setting.hardware},
          {"limit", limits[problem.id % 3]},
          {"least_ms", least},
          {"possible_ms", least / 2},
          {"utilisation", {{"baseline", least / base_ms}, {"candidate", least / candidate_ms}}}}}};
  }

  std::string x_poison;
  std::mt19937_64 x_random;
  int x_made = 0;
};

json attempt_of(Writer& writer, const Problem& problem, const Model& model, int sample, int number, const json& result,
                const std::string& source) {
  const bool no_code = source.empty();
  const int output = static_cast<int>(6000 * std::exp(0.5 * writer.normal()));
  const std::string verdict = result.value("verdict", "");
  return {
      {"problem", problem.folder},
      {"sample", sample},
      {"attempt", number},
      {"asked", writer.text(model.name)},
      {"answered", writer.text(model.name)},
      {"prompt_sha256", candidate::sha256(problem.folder)},
      {"message",
       number == 0 ? writer.text("You write a fast, correct multi-GPU CUDA kernel.\n\n# Task\n\n" + problem.statement)
                   : writer.text("Your kernel was judged.\n\nThe verdict and what was found "
                                 "follow. Send the whole program again.\n")},
      {"text",
       no_code ? writer.text("I cannot do that without more information.")
               : writer.text(fmt::format("Every rank reads its peers' buffers directly, then signals with a release "
                                         "store.\n\n```cuda\n{}\n```\n\nThe barrier at the end keeps buffers alive.",
                                         source))},
      {"finish", no_code ? "length" : "stop"},
      {"finish_word", no_code ? "length" : "stop"},
      {"usage", {{"input", 5200}, {"output", output}, {"cached", 4100}, {"reasoning", output / 2}}},
      {"price", 0.003 + output * model.price / 1e6},
      {"candidate_sha256", no_code ? json() : json(candidate::sha256(source))},
      {"no_code", no_code ? json(writer.text("no fenced code block")) : json()},
      {"exchanges", json::array({{{"request", ""},
                                  {"status", 200},
                                  {"raw", ""},
                                  {"error", ""},
                                  {"seconds", 41.5},
                                  {"first_byte_seconds", 1.1},
                                  {"wait_seconds", 0.0}}})}};
}

void write_campaign(const fs::path& folder, std::span<const Problem> problems, const Setting& setting,
                    const Model& model, Writer& writer) {
  fs::create_directories(folder / "results");
  write(folder / "campaign.json", json{{"model", writer.text(model.name)},
                                       {"endpoint", "https://model.example/v1"},
                                       {"api", "openai"},
                                       {"device", setting.device},
                                       {"size", setting.size},
                                       {"dtype", setting.dtype},
                                       {"ranks", setting.ranks},
                                       {"repairs", setting.repairs},
                                       {"style", "zero-shot"},
                                       {"hardware", "h200x8"},
                                       {"primitives", false},
                                       {"system", ""},
                                       {"temperature", nullptr},
                                       {"max_tokens", nullptr},
                                       {"effort", ""},
                                       {"trials", kTrials}}
                                      .dump(1));
  for (const Problem& problem : problems)
    for (int sample = 0; sample < setting.samples; ++sample) {
      const fs::path place = folder / problem.folder / fmt::format("sample-{}", sample);
      fs::create_directories(place);
      for (int number = 0; number <= setting.repairs; ++number) {
        const std::string source = writer.uniform() < kNoCodeShare ? "" : writer.source_of(problem, model.name);
        const json result =
            source.empty() ? json{{"verdict", "no_code"}} : writer.result(problem, setting, model, source, number);
        const std::string name = fmt::format("attempt-{}", number);
        write(place / (name + ".json"), attempt_of(writer, problem, model, sample, number, result, source).dump(1));
        if (source.empty()) continue;
        write(place / (name + ".cu"), source);
        const std::string text = result.dump(1);
        write(place / (name + ".result.json"), text);
        write(folder / "results" / (result["id"].get<std::string>() + ".json"), text);
        if (result["verdict"] == "correct" && !result.contains("timing")) break;
      }
    }
}

const Setting kH200 = {.device = "cuda", .gpu = "NVIDIA H200", .hardware = "h200", .size = "paper", .dtype = "bf16"};
const Setting kH100 = {
    .device = "cuda", .gpu = "NVIDIA H100 80GB HBM3", .hardware = "h100", .size = "paper", .dtype = "bf16", .ranks = 8};
const Setting kShared = {
    .device = "shared", .gpu = "NVIDIA H200", .hardware = "h200", .size = "small", .dtype = "fp32", .ranks = 2};
const Setting kVirtual = {.device = "virtual", .gpu = {}, .hardware = "h200", .size = "tiny", .dtype = "bf16"};

}  // namespace

void write_synthetic_campaigns(const fs::path& folder, const fs::path& out, const SyntheticExtent& extent) {
  const std::vector<Problem> problems = load_problems(folder, extent.problems);
  Writer writer(extent.poison, 1);
  for (int i = 0; i < extent.models; ++i) {
    const Model& model = kModels[static_cast<std::size_t>(i) % std::size(kModels)];
    const auto campaign = [&](Setting setting, int samples, int repairs) {
      setting.samples = samples;
      setting.repairs = repairs;
      const std::string name = fmt::format("{}-{}-{}-{}", i, model.name, setting.device, setting.hardware);
      write_campaign(out / name, problems, setting, model, writer);
    };
    campaign(kH200, extent.samples, extent.repairs);
    campaign(kVirtual, 1, 0);
    if (i == 0) campaign(kH100, 1, 0);
    if (i == 0) campaign(kShared, 1, 0);
  }
}

void write_synthetic_results(const fs::path& folder, const fs::path& out, std::size_t count) {
  const std::vector<Problem> problems = load_problems(folder, 87);
  fs::create_directories(out);
  Writer writer({}, 2);
  for (std::size_t i = 0; i < count; ++i) {
    const Problem& problem = problems[i % problems.size()];
    const Model& model = kModels[i / problems.size() % std::size(kModels)];
    const json result =
        writer.result(problem, i % 5 == 0 ? kVirtual : kH200, model, writer.source_of(problem, model.name), 0);
    write(out / (result["id"].get<std::string>() + ".json"), result.dump(1));
  }
}

}  // namespace pkb::report
