// SPDX-License-Identifier: Apache-2.0
#include "harness/integrity/evaluation.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace pkb::integrity {
namespace {

const std::filesystem::path kHere = PKB_SOURCE "/harness/integrity";

}  // namespace

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
  cli::Command command{
      .words = {PKB_EXECUTABLE, "eval", "1", source, "--device", settings.device, "--ranks",
                std::to_string(settings.ranks), "--trials", std::to_string(settings.trials), "--seed", "7",
                "--timeout", std::to_string(settings.timeout), "--sandbox", settings.sandbox, "--out", out},
      .environment = {
          {"XDG_CACHE_HOME", PKB_TEST_CACHE}, {"TMPDIR", machine.temporary()}, {"PKB_TEST_KEY", "SECRET"}}};
  if (settings.choice >= 0)
    command.words.insert(command.words.begin(),
                         {"prlimit", "--msgqueue=" + std::to_string(settings.choice) + ":"});
  return command;
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

std::string trick(const std::string& name) {
  const std::string text = read(kHere / "candidates" / (name + ".cu"));
  if (text.empty()) throw std::runtime_error("no candidate " + name);
  return text;
}

std::filesystem::path join(const std::string& name, const cli::TestFolder& folder) {
  const std::filesystem::path file = folder.path() / (name + ".cu");
  std::ofstream(file) << read(kHere / "honest.cuh") << "#line 1\n" << trick(name);
  return file;
}

std::filesystem::path join_all(const std::vector<std::string>& names, const cli::TestFolder& folder) {
  struct Function {
    std::string name, parameters, arguments, cases = {};
  };
  Function functions[] = {{"setup", "pkb::Context& ctx, const pkb::Args& args", "ctx, args"},
                          {"run", "pkb::Context& ctx, const pkb::Args& args", "ctx, args"},
                          {"teardown", "pkb::Context& ctx", "ctx"}};
  std::string includes, spaces;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string body;
    std::istringstream lines(trick(names[i]));
    for (std::string line; std::getline(lines, line);)
      (line.starts_with("#include") ? includes : body) += line + "\n";
    spaces += "namespace " + names[i] + " {\n" + body + "}\n";
    for (Function& each : functions)
      if (body.find("void " + each.name + "(pkb::Context&") != std::string::npos)
        each.cases += "    case " + std::to_string(i) + ": return " + names[i] + "::" + each.name + "(" +
                      each.arguments + ");\n";
  }
  const std::filesystem::path file = folder.path() / "all.cu";
  std::ofstream out(file);
  out << read(kHere / "honest.cuh") << "#include <sys/resource.h>\n"
      << includes << spaces
      << "static rlim_t choice() {\n  rlimit limit{};\n  getrlimit(RLIMIT_MSGQUEUE, &limit);\n  return "
         "limit.rlim_cur;\n}\n";
  for (const Function& each : functions)
    out << "void " << each.name << "(" << each.parameters << ") {\n  switch (choice()) {\n"
        << each.cases << "  }\n}\n";
  return file;
}

std::filesystem::path good_candidate() { return PKB_SOURCE "/problems/001_allreduce/solutions/peer_load.cu"; }

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace pkb::integrity
