// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/candidate/compile.h"
#include "harness/cli/commands.h"
#include "harness/cli/environment.h"
#include "harness/cli/job_options.h"
#include "harness/cli/report_lines.h"
#include "harness/error/error.h"
#include "harness/sandbox/sandbox.h"
#include "harness/store/store.h"
#include "harness/store/verdict.h"

namespace pkb::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// CLI::Range would let NaN through.
std::string refuse_timeout(const std::string& word) {
  char* end = nullptr;
  const double seconds = std::strtod(word.c_str(), &end);
  return *end == '\0' && seconds >= 0.1 && seconds <= 86400 ? "" : "must be from 0.1 to 86400 seconds";
}

struct EvalOptions : JobOptions {
  std::string file, out, submitter;
};

constexpr std::size_t kLongestName = 200;

std::string refuse_submitter(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName ? "" : fmt::format("must have 1 to {} bytes", kLongestName);
}

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The fields that say what was evaluated, before anything is known about it.
nlohmann::json description(const PreparedJob& prepared, const candidate::CompileResult& compiled,
                           const EvalOptions& options) {
  const launch::Job& job = prepared.job;
  return {
      {"schema", store::kSchema},
      {"id", store::new_id()},
      {"created", store::now()},
      {"problem",
       {{"id", prepared.problem.id()},
        {"name", prepared.problem.name()},
        {"sha256", problem_hash(prepared.problem)}}},
      {"size", job.size},
      {"ranks", job.ranks},
      {"dtype", name_of(job.dtype)},
      {"device", name_of(job.device)},
      {"chip", job.device == launch::Device::virtual_gpu ? nlohmann::json(job.chip) : nlohmann::json()},
      {"seed", job.seed},
      {"seed_origin", options.seed ? "given" : "drawn"},
      {"schedules", job.schedules},
      {"checks", job.checks && job.device == launch::Device::virtual_gpu},
      {"sandbox", name_of(job.sandbox)},
      {"inputs", job.import_folder.empty() ? "generated" : "imported"},
      {"candidate",
       {{"file", std::filesystem::path(options.file).filename().string()},
        {"sha256", compiled.source_hash},
        {"source", compiled.source}}},
      {"compile",
       {{"ok", compiled.ok},
        {"cached", compiled.cached},
        {"seconds", compiled.seconds},
        {"text", compiled.text}}},
      {"environment", environment(prepared.installation)},
  };
}

/// Line information holds the folder that the compiler saw; a reader knows the candidate by its name alone.
std::string without_folder(std::string text, const std::string& name) {
  const std::string path_end = "/" + name;
  for (std::size_t at = 0; (at = text.find(path_end, at)) != std::string::npos;) {
    const std::size_t before = text.find_last_of(" (", at);
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    text.erase(start, at + 1 - start);
    at = start + name.size();
  }
  return text;
}

nlohmann::json compile_failure(const candidate::CompileResult& compiled) {
  const std::string text = compiled.limit.empty() ? "nvcc refused it; its output follows" : compiled.limit;
  return {{"verdict", name_of(Verdict::compile_error)},
          {"diagnoses",
           {{{"verdict", name_of(Verdict::compile_error)}, {"rank", -1}, {"trial", -1}, {"text", text}}}}};
}

void print(const nlohmann::json& result, const PreparedJob& prepared, const std::filesystem::path& file,
           const EvalOptions& options) {
  if (options.json) {
    fmt::print("{}\n", result.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  fmt::print("{}\n", headline(prepared));
  const auto verdict = result.at("verdict").get<std::string>();
  if (verdict == name_of(Verdict::correct))
    fmt::print("correct: {} trials on {} ranks\n", prepared.job.trials, prepared.job.ranks);
  fmt::print("{}", diagnosis_lines(result));
  fmt::print("{}", link_line(result));
  if (verdict == name_of(Verdict::compile_error))
    fmt::print("{}", result.at("compile").at("text").get<std::string>());
  if (const auto mps = result.value("mps", ""); !mps.empty()) fmt::print("{}\n", mps);
  fmt::print("{}", timing_lines(result));
  if (prepared.job.device != launch::Device::cuda) fmt::print("{}", cannot_tell(prepared.job.device));
  if (options.verbose) fmt::print("{}{}", output_lines(result), phase_table(result.at("phases")));
  if (!file.empty()) fmt::print("result: {}\n", file.string());
}

Exit evaluate(const EvalOptions& options) {
  const PrivateFolder folder;
  PreparedJob prepared = prepare(options, folder);
  const std::filesystem::path out =
      options.out.empty() ? prepared.installation.results() : std::filesystem::path(options.out);
  store::require_writable(out);
  // Once for compiler and workers: mpirun gives judges a PATH of its own.
  if (prepared.job.sandbox == launch::Sandbox::bubblewrap) prepared.job.bwrap = sandbox::find_bwrap();

  auto progress = std::make_unique<ProgressLine>(!options.json);
  progress->show("compiling");
  auto start = Clock::now();
  const candidate::CompileResult compiled = candidate::compile(compile_request(prepared, options.file));
  nlohmann::json phases = {{"compile", milliseconds_since(start)}};
  nlohmann::json result = description(prepared, compiled, options);
  if (!options.submitter.empty()) result["submission"] = {{"name", options.submitter}, {"kind", "person"}};
  if (compiled.ok) {
    start = Clock::now();
    prepared.job.library = compiled.library;
    const nlohmann::json verdict =
        launch::run_judges(prepared.job, [&](std::string_view text) { progress->show(text); });
    double judged = 0;
    for (const auto& [name, milliseconds] : verdict.at("phases").items()) {
      phases[name] = milliseconds;
      judged += milliseconds.get<double>();
    }
    phases["launch"] = milliseconds_since(start) - judged;
    result.update(verdict);
    for (nlohmann::json& diagnosis : result["diagnoses"])
      diagnosis["text"] =
          without_folder(diagnosis.at("text"), std::filesystem::path(options.file).filename());
  } else {
    result.update(compile_failure(compiled));
  }
  result["phases"] = phases;

  std::filesystem::path file;
  try {
    file = store::write_result(result, out);
  } catch (const EnvironmentError& error) {
    result["unwritten"] = error.what();
  }
  progress.reset();
  print(result, prepared, file, options);
  if (file.empty()) {
    fmt::print(stderr, "pkb: {}\n", result.at("unwritten").get<std::string>());
    return Exit::environment_failed;
  }
  return result.at("verdict") == name_of(Verdict::correct) ? Exit::done : Exit::candidate_failed;
}

}  // namespace

void add_eval(CLI::App& pkb, Exit& exit) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* command = pkb.add_subcommand(
      "eval", "Evaluate a candidate kernel: compile, run on every rank, check, write a result");
  add_job_options(*command, *options);
  command->add_option("candidate", options->file, "The candidate, a .cu file")->required();
  command->add_option("--trials", options->trials, "Runs with different inputs")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--schedules", options->schedules, "Schedules of the virtual GPU tried per trial")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--checks", options->checks, "on: virtual GPUs look for races, uninitialised reads and late writes")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  add_timing_option(*command, *options);
  command->add_option("--timeout", options->timeout, "Seconds that one run may take, or teardown; setup may take twice as long")
      ->check(refuse_timeout)
      ->capture_default_str();
  command->add_option("--out", options->out, "Folder for the result file; results/local/ when left out");
  command->add_option("--submitter", options->submitter, "Whose candidate it is, for reports and shared boards")
      ->check(refuse_submitter);
  command
      ->add_option("--sandbox", options->sandbox,
                   "bubblewrap, or none: the candidate then runs with your rights")
      ->check(CLI::IsMember({"bubblewrap", "none"}))
      ->capture_default_str();
  command->callback([options, &exit] { exit = evaluate(*options); });
}

}  // namespace pkb::cli
