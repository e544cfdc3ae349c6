// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/campaign/evaluations.h"
#include "harness/campaign/ledger.h"
#include "harness/campaign/prices.h"
#include "harness/campaign/source.h"
#include "harness/model/completion.h"

/// A model on many problems: prompt, reply, candidate, verdict, repair (DESIGN.md section 12).
namespace pkb::campaign {

struct Plan {
  std::vector<std::string> problems;  ///< "013_gemm_allreduce"
  int samples = 1, repairs = 0;
  int continuations = 0;  ///< how often a reply that was cut off is asked to go on
  model::Prompt prompt;  ///< all but the messages
  std::string system;    ///< may be empty
};

class Campaign;

/// What only the caller knows: about problems, templates and how a candidate is judged.
struct Hooks {
  std::function<std::string(const std::string& problem)> task;           ///< the first message
  std::function<std::string(const nlohmann::json& result)> repair;       ///< the answer to a verdict
  std::function<std::vector<std::string>(const Attempt&, const std::filesystem::path& candidate)> evaluation;
  std::string go_on;  ///< what a model is told whose reply was cut off
  std::function<void(const std::string& line)> tell = [](const std::string&) {};  ///< something has happened
  std::function<void(const Campaign&)> show = [](const Campaign&) {};             ///< several times a second
};

/// What has come of it so far.
struct Tally {
  int samples = 0, done = 0, correct = 0, failed = 0;  ///< failed: the server or the environment did
  model::Usage usage;
  double price = 0;
  bool priced = true;  ///< every reply had a price
};

class Campaign {
 public:
  /// Without `evaluations` replies are only collected.
  Campaign(Plan plan, Hooks hooks, Ledger& ledger, Source& source, const Prices& prices, Evaluations* evaluations);

  /// Until everything is done or `until` is true. What the ledger holds already is not asked or judged again.
  void run(const std::function<bool()>& until);
  const Tally& tally() const { return x_tally; }
  /// The best verdict of each problem's samples, in the plan's order; "missing" where there is none.
  std::vector<std::pair<std::string, std::string>> verdicts() const;

  /// "3/9 done, 2 correct; asking 4, ...; 12345 tokens, 0.31 spent; 7 min left".
  std::string summary() const;
  struct Standing {
    std::string problem;
    std::vector<std::string> samples;  ///< "asking", "judging", "asking, repair 1", a verdict, "failed"
    bool done = false;
  };
  /// Each problem, in the plan's order.
  std::vector<Standing> standing() const;

 private:
  struct Sample {
    std::string problem;
    int number = 0, attempt = 0;
    std::vector<model::Message> messages;
    std::vector<nlohmann::json> parts = {};  ///< of the reply under way
    std::string best = "missing", doing = {};
    bool done = false;
    Attempt which() const { return {problem, number, attempt, static_cast<int>(parts.size())}; }
  };
  void advance(Sample& sample);
  void ask(Sample& sample);
  void take_part(Sample& sample, const model::Outcome& outcome);
  void take_reply(Sample& sample);
  void go_on(Sample& sample, const nlohmann::json& attempt);
  void take_result(Sample& sample, const nlohmann::json& result, bool fresh);
  void finish(Sample& sample, const std::string& why);
  void count(const nlohmann::json& attempt);

  Plan x_plan;
  Hooks x_hooks;
  Ledger& x_ledger;
  Source& x_source;
  const Prices& x_prices;
  Evaluations* x_evaluations;
  std::vector<Sample> x_samples;
  Tally x_tally;
  std::chrono::steady_clock::time_point x_start = std::chrono::steady_clock::now();
};

}  // namespace pkb::campaign
