// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "harness/cli/commands.h"
#include "harness/error/error.h"

namespace {

/// CLI11 would only say that a subcommand is required.
void require_known_command(const CLI::App& pkb, const std::string& word) {
  if (word.starts_with('-')) return;
  std::vector<std::string> names;
  for (const CLI::App* command : pkb.get_subcommands({})) names.push_back(command->get_name());
  if (std::ranges::find(names, word) != names.end()) return;
  throw pkb::InputError({.where = word,
                         .fault = "no such command",
                         .remedy = fmt::format("choose one of {}", fmt::join(names, ", "))});
}

/// A program that asked for one JSON object gets one.
void print_error_object(std::span<char* const> words, const std::string& text, int exit) {
  if (std::ranges::find(words, std::string_view("--json"), [](const char* word) { return std::string_view(word); }) ==
      words.end())
    return;
  const nlohmann::json object = {{"error", text}, {"exit", exit}};
  fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Files opened later must not take the place of a standard stream that the caller has closed.
void hold_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", O_RDWR);
}

/// A result that standard output did not take must not look delivered.
int delivered(int exit) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit;
  fmt::print(stderr, "pkb: standard output: cannot be written; a result file, if any, is complete\n");
  return static_cast<int>(pkb::cli::Exit::environment_failed);
}

}  // namespace

int main(int argc, char** argv) {
  using pkb::cli::Exit;
  hold_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not cost an evaluation
  // Standard output is the result; everything else goes to standard error.
  spdlog::set_default_logger(spdlog::stderr_color_mt("pkb"));
  spdlog::set_pattern("pkb: %v");

  CLI::App pkb{"Judges kernels that move data between GPUs: right on every rank, and how fast.", "pkb"};
  pkb.require_subcommand(1);
  pkb.footer(
      "Exit codes: 0 done (eval: correct), 1 the candidate failed, 2 bad usage or input, 3 the environment "
      "failed.\n"
      "A problem is named by its number or name: 1, 001, allreduce, 001_allreduce.");
  Exit exit = Exit::done;
  pkb::cli::add_list(pkb);
  pkb::cli::add_show(pkb);
  pkb::cli::add_prompt(pkb);
  pkb::cli::add_generate(pkb, exit);
  pkb::cli::add_run(pkb, exit);
  pkb::cli::add_eval(pkb, exit);
  pkb::cli::add_baseline(pkb, exit);
  pkb::cli::add_audit(pkb, exit);
  pkb::cli::add_export(pkb);
  pkb::cli::add_doctor(pkb, exit);
  pkb::cli::add_report(pkb);
  pkb::cli::add_results(pkb, exit);
  pkb::cli::add_roofline(pkb);
  pkb::cli::add_calibrate(pkb);

  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  const auto failed = [&](const std::exception& error, Exit code) {
    fmt::print(stderr, "pkb: {}\n", error.what());
    print_error_object(words, error.what(), static_cast<int>(code));
    return static_cast<int>(code);
  };
  try {
    if (argc > 1) require_known_command(pkb, argv[1]);
    pkb.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (pkb.exit(error, std::cout, std::cerr) == 0) return delivered(0);
    print_error_object(words, error.what(), static_cast<int>(Exit::bad_input));
    return static_cast<int>(Exit::bad_input);
  } catch (const pkb::InputError& error) {
    return failed(error, Exit::bad_input);
  } catch (const std::exception& error) {
    return failed(error, Exit::environment_failed);
  }
  return delivered(static_cast<int>(exit));
}
