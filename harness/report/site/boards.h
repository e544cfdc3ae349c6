// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

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
nlohmann::json to_json(const Report& report, Index evaluation);

}  // namespace pkb::report
