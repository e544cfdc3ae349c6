// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

/// The subcommands of `pkb`, one file each. A command's callback stores what the process exits with.
namespace pkb::cli {

enum class Exit : int { done = 0, candidate_failed = 1, bad_input = 2, environment_failed = 3 };

void add_list(CLI::App& pkb);
void add_show(CLI::App& pkb);
void add_eval(CLI::App& pkb, Exit& exit);
void add_baseline(CLI::App& pkb, Exit& exit);
void add_audit(CLI::App& pkb, Exit& exit);
void add_export(CLI::App& pkb);
void add_doctor(CLI::App& pkb, Exit& exit);
void add_prompt(CLI::App& pkb);
void add_generate(CLI::App& pkb, Exit& exit);
void add_run(CLI::App& pkb, Exit& exit);
void add_report(CLI::App& pkb);
void add_results(CLI::App& pkb, Exit& exit);
void add_roofline(CLI::App& pkb);
void add_calibrate(CLI::App& pkb);

}  // namespace pkb::cli
