// SPDX-License-Identifier: Apache-2.0
#include "harness/campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/candidate/digest.h"
#include "harness/model/extract.h"
#include "harness/store/verdict.h"

namespace pkb::campaign {
namespace {

using nlohmann::json;

json to_json(const model::Usage& usage) {
  return {{"input", usage.input}, {"output", usage.output}, {"cached", usage.cached}, {"reasoning", usage.reasoning}};
}

json to_json(const model::Exchange& exchange) {
  return {{"request", exchange.request},
          {"status", exchange.status},
          {"raw", exchange.raw},
          {"error", exchange.error},
          {"seconds", exchange.duration.count()},
          {"first_byte_seconds", exchange.first_byte.count()},
          {"wait_seconds", exchange.wait.count()}};
}

/// A reply, or a part of one.
json to_json(const model::Outcome& outcome) {
  json exchanges = json::array();
  for (const model::Exchange& each : outcome.exchanges) exchanges.push_back(to_json(each));
  return {{"answered", outcome.completion.model},
          {"text", outcome.completion.text},
          {"finish", name_of(outcome.completion.finish)},
          {"finish_word", outcome.completion.finish_word},
          {"usage", to_json(outcome.completion.usage)},
          {"exchanges", std::move(exchanges)}};
}

std::string joined_text(const std::vector<json>& parts) {
  std::string text;
  for (const json& part : parts) text += part.at("text").get<std::string>();
  return text;
}

void add(model::Usage& usage, const json& more) {
  usage.input += more.value("input", std::uint64_t{0});
  usage.output += more.value("output", std::uint64_t{0});
  usage.cached += more.value("cached", std::uint64_t{0});
  usage.reasoning += more.value("reasoning", std::uint64_t{0});
}

/// Why there is no code in a reply, with what the server said of its end.
std::string no_code_reason(const json& last_part, const model::Usage& usage, const std::string& reason) {
  const std::string finish = last_part.at("finish");
  if (finish == name_of(model::Finish::length))
    return fmt::format("the reply was cut off at {} tokens ({} of them reasoning): {}; raise --max-tokens", usage.output,
                       usage.reasoning, reason);
  if (finish == name_of(model::Finish::filtered))
    return fmt::format("the server's filter ended the reply ({}): {}", last_part.at("finish_word").get<std::string>(), reason);
  return reason;
}

/// Later in the order of verdicts is better; what is none is worst.
bool is_better(const std::string& verdict, const std::string& than) {
  const auto rank = [](const std::string& name) {
    const std::optional<Verdict> known = verdict_from(name);
    return known ? static_cast<int>(*known) : -1;
  };
  return rank(verdict) > rank(than);
}

}  // namespace

Campaign::Campaign(Plan plan, Hooks hooks, Ledger& ledger, Source& source, const Prices& prices, Evaluations* evaluations)
    : x_plan(std::move(plan)),
      x_hooks(std::move(hooks)),
      x_ledger(ledger),
      x_source(source),
      x_prices(prices),
      x_evaluations(evaluations) {
  for (int number = 0; number < x_plan.samples; ++number)
    for (const std::string& problem : x_plan.problems) x_samples.push_back({.problem = problem, .number = number, .messages = {}});
  x_tally.samples = static_cast<int>(x_samples.size());
}

void Campaign::run(const std::function<bool()>& until) {
  for (Sample& each : x_samples) {
    if (!x_plan.system.empty()) each.messages.push_back({model::Message::Role::system, x_plan.system});
    each.messages.push_back({model::Message::Role::user, x_hooks.task(each.problem)});
    advance(each);
  }
  const auto look = [&] {
    if (x_evaluations != nullptr) x_evaluations->collect(false);
    x_hooks.show(*this);
    return until();
  };
  while (!until() && !std::ranges::all_of(x_samples, &Sample::done)) {
    x_source.work(look);
    x_hooks.show(*this);
    if (x_evaluations != nullptr && x_evaluations->open() > 0) x_evaluations->collect(true);
    x_hooks.show(*this);
  }
}

void Campaign::advance(Sample& sample) {
  sample.parts.clear();
  if (const std::optional<json> known = x_ledger.attempt(sample.which())) return go_on(sample, *known);
  while (std::optional<json> part = x_ledger.part(sample.which())) sample.parts.push_back(std::move(*part));
  ask(sample);
}

void Campaign::ask(Sample& sample) {
  sample.doing = "asking";
  model::Prompt prompt = x_plan.prompt;
  prompt.messages = sample.messages;
  if (!sample.parts.empty()) {
    prompt.messages.push_back({model::Message::Role::assistant, joined_text(sample.parts)});
    prompt.messages.push_back({model::Message::Role::user, x_hooks.go_on});
  }
  x_source.ask(sample.which(), std::move(prompt), [this, &sample](model::Outcome outcome) { take_part(sample, outcome); });
}

void Campaign::take_part(Sample& sample, const model::Outcome& outcome) {
  if (!outcome.failure.empty()) {
    ++x_tally.failed;
    return finish(sample, "no reply: " + outcome.failure);
  }
  const Attempt which = sample.which();
  sample.parts.push_back(to_json(outcome));
  const bool goes_on = outcome.completion.finish == model::Finish::length && which.part < x_plan.continuations;
  if (!goes_on) return take_reply(sample);
  x_ledger.keep_part(which, sample.parts.back());
  ask(sample);
}

void Campaign::take_reply(Sample& sample) {
  const json& last = sample.parts.back();
  const std::string text = joined_text(sample.parts);
  model::Usage usage;
  json exchanges = json::array();
  for (const json& part : sample.parts) {
    add(usage, part.at("usage"));
    for (const json& each : part.at("exchanges")) exchanges.push_back(each);
  }
  const model::Extraction found = model::extract_candidate(text);
  const std::optional<double> price = x_prices.of(x_plan.prompt.model, usage);
  const json attempt = {
      {"problem", sample.problem},
      {"sample", sample.number},
      {"attempt", sample.attempt},
      {"asked", x_plan.prompt.model},
      {"answered", last.at("answered")},
      {"prompt_sha256", candidate::sha256(sample.messages.front().text)},
      {"message", sample.messages.back().text},
      {"text", text},
      {"parts", sample.parts.size()},
      {"finish", last.at("finish")},
      {"finish_word", last.at("finish_word")},
      {"usage", to_json(usage)},
      {"price", price ? json(*price) : json()},
      {"candidate_sha256", found.code.empty() ? json() : json(candidate::sha256(found.code))},
      {"no_code", found.code.empty() ? json(no_code_reason(last, usage, found.reason)) : json()},
      {"exchanges", std::move(exchanges)}};
  x_ledger.keep_attempt(sample.which(), attempt, found.code);
  go_on(sample, attempt);
}

void Campaign::go_on(Sample& sample, const json& attempt) {
  count(attempt);
  sample.messages.push_back({model::Message::Role::assistant, attempt.value("text", "")});
  if (const json& reason = attempt.at("no_code"); reason.is_string())
    return take_result(sample, {{"verdict", name_of(Verdict::no_code)}, {"reason", reason}}, true);
  if (x_evaluations == nullptr) return finish(sample, "has a candidate");
  sample.doing = "judging";
  if (const std::optional<json> known = x_ledger.result(sample.which())) return take_result(sample, *known, false);
  x_evaluations->add(x_hooks.evaluation(sample.which(), x_ledger.candidate(sample.which())),
                     [this, &sample](const Evaluations::Finished& finished) {
                       if (!finished.failure.empty()) {
                         ++x_tally.failed;
                         return finish(sample, "not judged: " + finished.failure);
                       }
                       x_ledger.keep_result(sample.which(), finished.result);
                       take_result(sample, finished.result, true);
                     });
}

void Campaign::take_result(Sample& sample, const json& result, bool fresh) {
  const std::string verdict = result.value("verdict", "");
  if (is_better(verdict, sample.best)) sample.best = verdict;
  if (fresh)
    x_hooks.tell(fmt::format("{} sample {} attempt {}: {}", sample.problem, sample.number, sample.attempt, verdict));
  // A correct candidate is worth another round where there is a time to better.
  const bool improvable = verdict != name_of(Verdict::correct) || result.contains("timing");
  if (x_evaluations == nullptr || sample.attempt >= x_plan.repairs || !improvable) return finish(sample, {});
  sample.messages.push_back({model::Message::Role::user, x_hooks.repair(result)});
  ++sample.attempt;
  advance(sample);
}

void Campaign::finish(Sample& sample, const std::string& why) {
  sample.done = true;
  sample.doing.clear();
  ++x_tally.done;
  x_tally.correct += sample.best == name_of(Verdict::correct);
  if (!why.empty()) x_hooks.tell(fmt::format("{} sample {} attempt {}: {}", sample.problem, sample.number, sample.attempt, why));
}

void Campaign::count(const json& attempt) {
  add(x_tally.usage, attempt.value("usage", json::object()));
  if (const json price = attempt.value("price", json()); price.is_number())
    x_tally.price += price.get<double>();
  else
    x_tally.priced = false;
}

std::string Campaign::summary() const {
  const model::Client::State asked = x_source.state();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - x_start;
  std::string text = fmt::format("{}/{} done, {} correct; asking {}, waiting {}, paused {}, judging {}; {} tokens", x_tally.done,
                                 x_tally.samples, x_tally.correct, asked.running, asked.waiting, asked.paused,
                                 x_evaluations != nullptr ? x_evaluations->open() : 0,
                                 x_tally.usage.input + x_tally.usage.output);
  if (x_tally.priced && x_tally.price > 0) text += fmt::format(", {:.2f} spent", x_tally.price);
  if (x_tally.done > 0 && x_tally.done < x_tally.samples)
    text += fmt::format("; {:.0f} min left", spent.count() / x_tally.done * (x_tally.samples - x_tally.done) / 60);
  return text;
}

std::vector<Campaign::Standing> Campaign::standing() const {
  std::vector<Standing> all;
  for (const std::string& problem : x_plan.problems) {
    Standing& standing = all.emplace_back(Standing{.problem = problem, .samples = {}, .done = true});
    for (const Sample& each : x_samples) {
      if (each.problem != problem) continue;
      const bool failed = each.done && each.best == "missing" && x_evaluations != nullptr;
      std::string& text = standing.samples.emplace_back(!each.done ? each.doing : failed ? "failed" : each.best);
      if (!each.done && each.attempt > 0) text += fmt::format(", repair {}", each.attempt);
      standing.done = standing.done && each.done;
    }
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> Campaign::verdicts() const {
  std::vector<std::pair<std::string, std::string>> best;
  for (const std::string& problem : x_plan.problems) {
    best.emplace_back(problem, "missing");
    for (const Sample& each : x_samples)
      if (each.problem == problem && is_better(each.best, best.back().second)) best.back().second = each.best;
  }
  return best;
}

}  // namespace pkb::campaign
