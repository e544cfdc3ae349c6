// SPDX-License-Identifier: Apache-2.0
#include "harness/integrity/evaluation.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace pkb::integrity {

Machine::Machine() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<std::string> Machine::leftovers() const {
  for (int i = 0; i < 300 && !cli::descendants(::getpid()).empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::vector<std::string> all;
  for (const pid_t each : cli::descendants(::getpid())) all.push_back("process " + std::to_string(each));
  for (const auto& each : x_temporary.files()) all.push_back("file " + each.filename().string());
  return all;
}

cli::Command command(const std::filesystem::path& source, const Settings& settings, const Machine& machine,
                     const std::filesystem::path& out) {
  return {.words = {PKB_EXECUTABLE, "eval", "1", source, "--device", settings.device, "--ranks",
                    std::to_string(settings.ranks), "--trials", std::to_string(settings.trials), "--seed", "7",
                    "--timeout", "3", "--sandbox", settings.sandbox, "--out", out},
          .environment = {{"XDG_CACHE_HOME", PKB_TEST_CACHE},
                          {"TMPDIR", machine.temporary()},
                          {"PKB_TEST_KEY", "SECRET"}}};
}

Evaluated evaluate(const std::filesystem::path& source, const Settings& settings, const Machine& machine) {
  const cli::TestFolder out;
  const cli::Finished done = cli::run(command(source, settings, machine, out.path()));
  const auto files = out.files();
  if (files.size() != 1) throw std::runtime_error("no result: " + done.output + done.errors);
  const nlohmann::json result = nlohmann::json::parse(read(files.front()));
  return {.exit = done.exit,
          .verdict = result.at("verdict"),
          .diagnoses = result.at("diagnoses").dump(1),
          .worker_output = result.value("worker_output", nlohmann::json()).dump(1)};
}

std::filesystem::path join(const std::string& name, const cli::TestFolder& folder) {
  const std::filesystem::path here = PKB_SOURCE "/harness/integrity", file = folder.path() / (name + ".cu");
  const std::string honest = read(here / "honest.cuh"), trick = read(here / "candidates" / (name + ".cu"));
  if (honest.empty() || trick.empty()) throw std::runtime_error("no candidate " + name);
  std::ofstream(file) << honest << "#line 1\n" << trick;
  return file;
}

std::filesystem::path good_candidate() { return PKB_SOURCE "/problems/001_allreduce/solutions/peer_load.cu"; }

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace pkb::integrity
