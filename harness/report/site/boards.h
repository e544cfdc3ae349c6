// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "harness/report/json_text.h"
#include "harness/report/report.h"

namespace pkb::report {

/// What the leaderboard needs: who is on which board with which figures.
nlohmann::json boards_data(const Report& report);

/// What the plots and the heat map need of one board: a cell for each submitter and problem, curves, failures.
nlohmann::json cells_data(const Report& report, const Board& board);

/// The figures of a row, for the leaderboard and for comparisons.
nlohmann::json to_json(const Figures& figures);

nlohmann::json comparison_data(const Report& report, const Comparison& comparison);

/// An evaluation as tables list it, without its texts.
void add_row(JsonText& json, const Report& report, Index evaluation);
void add_rounded(JsonText& json, const Estimate& estimate);

}  // namespace pkb::report
