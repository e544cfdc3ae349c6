// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>

#include "harness/campaign/campaign.h"
#include "harness/candidate/digest.h"
#include "harness/cli/commands.h"
#include "harness/cli/judge_candidate.h"
#include "harness/cli/live_view.h"
#include "harness/cli/prompt_options.h"
#include "harness/cli/report_files.h"
#include "harness/cli/report_lines.h"
#include "harness/error/error.h"
#include "harness/model/api.h"

namespace pkb::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct GenerateOptions : PromptOptions {
  std::string model, endpoint, api = "openai", problems = "all", system, effort, extra_file, price_file, key_file, replay, out,
      libraries = report::Site().libraries;
  int samples = 1, repairs = 0, continuations = 0, concurrency = 8, max_tokens = 0, jobs = 1;
  double rate = 0, temperature = -1, idle = 300, total = 3600, patience = 24;
  bool no_stream = false;
  // For who judges.
  std::string device = "auto", size = "tiny";
  int ranks = 0, trials = 5;
};

volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) { interrupted = 1; }

std::vector<problem::Problem> chosen(const fs::path& root, const std::string& list) {
  std::vector<problem::Problem> all = problem::load_all(root), some;
  const auto fail = [&](const std::string& fault) {
    throw InputError({.where = "--problems " + list, .fault = fault, .remedy = "write all, family:NAME, or, for example, 1,2,10-20"});
  };
  const auto add_if = [&](const auto& wanted) {
    const std::size_t before = some.size();
    for (const problem::Problem& each : all)
      if (wanted(each)) some.push_back(each);
    return some.size() > before;
  };
  std::stringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    int first = 0, last = 0;
    const char* const end = word.data() + word.size();
    const auto from = std::from_chars(word.data(), end, first);
    const bool range = from.ec == std::errc() && from.ptr < end && *from.ptr == '-' &&
                       std::from_chars(from.ptr + 1, end, last).ptr == end && last >= first;
    if (word == "all") {
      add_if([](const problem::Problem&) { return true; });
    } else if (word.starts_with("family:")) {
      if (!add_if([&](const problem::Problem& each) { return each.family() == word.substr(7); })) fail("no such family");
    } else if (range) {
      if (!add_if([&](const problem::Problem& each) { return first <= each.id() && each.id() <= last; }))
        fail(fmt::format("no problem has a number from {} to {}", first, last));
    } else {
      some.push_back(problem::find(root, word));
    }
  }
  std::set<int> seen;
  std::erase_if(some, [&](const problem::Problem& each) { return !seen.insert(each.id()).second; });
  if (some.empty()) fail("names no problem");
  return some;
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError({.where = file.string(), .fault = "cannot be read", .remedy = {}});
  return {std::istreambuf_iterator<char>(in), {}};
}

/// From the file, or from the API's usual variable. No program that we start gets a key, of whichever API, and no core
/// file either.
std::string take_key(const GenerateOptions& options) {
  std::string key;
  if (!options.key_file.empty()) {
    key = read_text(options.key_file);
    while (!key.empty() && (key.back() == '\n' || key.back() == '\r' || key.back() == ' ')) key.pop_back();
  } else if (const char* const value = std::getenv(std::string(model::find_api(options.api).key_variable()).c_str())) {
    key = value;
  }
  for (const std::string_view each : model::key_variables()) ::unsetenv(std::string(each).c_str());
  ::prctl(PR_SET_DUMPABLE, 0);
  return key;
}

std::unique_ptr<campaign::Source> source_of(const GenerateOptions& options, std::string key) {
  if (!options.replay.empty()) return campaign::from_recording(options.replay);
  if (options.endpoint.empty() || options.model.empty())
    throw InputError({.where = options.endpoint.empty() ? "--endpoint" : "--model", .fault = "missing", .remedy = "name it, or give --replay FILE"});
  return campaign::from_server({.endpoint = options.endpoint,
                                .api = &model::find_api(options.api),
                                .key = std::move(key),
                                .concurrency = options.concurrency,
                                .requests_per_minute = options.rate,
                                .idle_timeout = model::Seconds(options.idle),
                                .total_timeout = model::Seconds(options.total),
                                .patience = model::Seconds(options.patience * 3600),
                                .seed = std::random_device{}()});
}

/// What makes attempts comparable: a campaign that goes on must have the same.
json settings(const GenerateOptions& options, bool judged) {
  json settings = {{"model", options.model},       {"endpoint", model::public_endpoint(options.endpoint)},   {"api", options.api},
                   {"repairs", options.repairs},   {"continuations", options.continuations}, {"style", options.style},         {"hardware", options.hardware},
                   {"dtype", options.dtype},       {"primitives", options.primitives}, {"system", options.system},
                   {"effort", options.effort},     {"temperature", options.temperature < 0 ? json() : json(options.temperature)},
                   {"max_tokens", options.max_tokens == 0 ? json() : json(options.max_tokens)}};
  if (!options.extra_file.empty()) settings["extra_sha256"] = candidate::sha256(read_text(options.extra_file));
  if (judged) settings.update({{"device", options.device}, {"size", options.size}, {"ranks", options.ranks}, {"trials", options.trials}});
  return settings;
}

campaign::Plan plan_of(const GenerateOptions& options, const std::vector<problem::Problem>& problems) {
  campaign::Plan plan{.problems = {}, .samples = options.samples, .repairs = options.repairs, .continuations = options.continuations, .prompt = {.messages = {}, .model = options.model}, .system = options.system};
  for (const problem::Problem& each : problems) plan.problems.push_back(each.folder().filename());
  if (options.temperature >= 0) plan.prompt.temperature = options.temperature;
  if (options.max_tokens > 0) plan.prompt.max_tokens = options.max_tokens;
  plan.prompt.reasoning_effort = options.effort;
  plan.prompt.stream = !options.no_stream;
  if (!options.extra_file.empty()) {
    plan.prompt.extra = json::parse(read_text(options.extra_file), nullptr, false);
    if (!plan.prompt.extra.is_object())
      throw InputError({.where = options.extra_file, .fault = "is no JSON object", .remedy = {}});
  }
  return plan;
}

/// At most `height` lines: problems under way first, then those that are done, below them how it all stands.
std::vector<std::string> lines_of(const campaign::Campaign& campaign, std::size_t height) {
  std::vector<campaign::Campaign::Standing> all = campaign.standing();
  std::ranges::stable_partition(all, [](const auto& each) { return !each.done; });
  const std::size_t rows = height > 2 ? height - 2 : 0;
  std::vector<std::string> lines;
  for (const auto& each : all) {
    if (lines.size() == rows) break;
    lines.push_back(fmt::format("{:<40} {}", each.problem, fmt::join(each.samples, " | ")));
  }
  if (all.size() > rows) lines.push_back(fmt::format("and {} more problems", all.size() - rows));
  lines.push_back(campaign.summary());
  return lines;
}

void print_summary(const campaign::Campaign& campaign, bool judged, const fs::path& out) {
  const campaign::Tally& tally = campaign.tally();
  if (judged)
    for (const auto& [problem, verdict] : campaign.verdicts()) fmt::print("{:<40} {}\n", problem, verdict);
  fmt::print("{} of {} samples done", tally.done, tally.samples);
  if (judged) fmt::print(", {} correct", tally.correct);
  if (tally.failed > 0) fmt::print(", {} failed on the server's or our side; the same command tries them again", tally.failed);
  fmt::print("; {} input tokens ({} cached), {} output tokens ({} reasoning)", tally.usage.input, tally.usage.cached,
             tally.usage.output, tally.usage.reasoning);
  if (tally.priced && tally.price > 0) fmt::print(", {:.4f} spent", tally.price);
  fmt::print("\n{}\n", out.string());
}

/// The campaign is done and its results are there: pages that lack a library are no reason to fail.
void report_of(const fs::path& campaign, const Installation& here, const std::string& libraries) {
  const fs::path folder = campaign / "report";
  try {
    write_report(report::make_report({campaign}, {.title = campaign.filename().string(), .problems = here.problems()}),
                 std::nullopt, folder, libraries);
  } catch (const EnvironmentError& error) {
    spdlog::warn("{}", error.what());
  }
  if (fs::exists(folder / "summary.md")) fmt::print("{}\n", (folder / "summary.md").string());
}

/// What becomes of replies.
enum class Then : std::uint8_t { keep, judge, judge_and_report };

Exit generate(const GenerateOptions& options, Then then) {
  const bool judged = then != Then::keep;
  std::string key = take_key(options);
  const Installation here = installation();
  const std::vector<problem::Problem> problems = chosen(here.problems(), options.problems);
  const prompt::Options asked = resolve(options);
  const prompt::Sources texts = sources(here, options);
  const fs::path out = options.out;
  const campaign::Prices prices = options.price_file.empty() ? campaign::Prices() : campaign::Prices(options.price_file);
  campaign::Plan plan = plan_of(options, problems);
  campaign::Ledger ledger(out, settings(options, judged));
  const std::unique_ptr<campaign::Source> source = source_of(options, std::move(key));
  LiveView view;
  const campaign::Hooks hooks{
      .task = [&](const std::string& name) { return prompt::task(problem::Problem::load(here.problems() / name), asked, texts); },
      .repair = [&](const json& result) { return prompt::repair(result, texts); },
      .evaluation =
          [&](const campaign::Attempt& which, const fs::path& file) {
            std::vector<std::string> arguments = {
                which.problem, file.string(), "--device", options.device, "--size", options.size, "--dtype", options.dtype,
                "--trials", std::to_string(options.trials), "--out", (out / "results").string()};
            if (options.ranks > 0) arguments.insert(arguments.end(), {"--ranks", std::to_string(options.ranks)});
            return arguments;
          },
      .go_on = prompt::go_on(texts),
      .tell = [&](const std::string& line) {
        view.clear();
        spdlog::info("{}", line);
      },
      .show = [&](const campaign::Campaign& now) { view.show(lines_of(now, view.height())); }};
  std::optional<campaign::Evaluations> evaluations;
  if (judged) evaluations.emplace(judge_candidate, options.jobs);
  campaign::Campaign campaign(std::move(plan), hooks, ledger, *source, prices, evaluations ? &*evaluations : nullptr);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  campaign.run([] { return interrupted != 0; });
  view.clear();
  print_summary(campaign, judged, out);
  if (then == Then::judge_and_report) report_of(out, here, options.libraries);
  if (interrupted != 0) fmt::print("stopped; the same command goes on from here\n");
  return interrupted != 0 || campaign.tally().failed > 0 ? Exit::environment_failed : Exit::done;
}

void add_options(CLI::App& command, GenerateOptions& options) {
  command.add_option("--model", options.model, "The model's name, as the server knows it");
  command.add_option("--endpoint", options.endpoint, "The server's address, for example https://api.openai.com/v1");
  command.add_option("--api", options.api, "How to speak to it")
      ->check(CLI::IsMember({"openai", "openai-responses", "anthropic", "gemini"}))
      ->capture_default_str();
  command.add_option("--problems", options.problems, "all, family:NAME, or numbers and names: 1,2,10-20")->capture_default_str();
  command.add_option("--samples", options.samples, "Independent samples of each problem")->check(CLI::Range(1, 1000))->capture_default_str();
  command.add_option("--concurrency", options.concurrency, "Requests at a time")->check(CLI::Range(1, 1024))->capture_default_str();
  command.add_option("--rate", options.rate, "Requests per minute; 0: no limit")->check(CLI::Range(0., 1e6))->capture_default_str();
  command.add_option("--temperature", options.temperature, "The model's own when left out")->check(CLI::Range(0., 2.));
  command.add_option("--max-tokens", options.max_tokens, "The model's own when left out")->check(CLI::Range(1, 10'000'000));
  command.add_option("--continue", options.continuations, "How often a reply that was cut off is asked to go on")->check(CLI::Range(0, 20))->capture_default_str();
  command.add_option("--reasoning-effort", options.effort, "As the model knows it: low, medium, high...");
  command.add_option("--system", options.system, "A system message");
  command.add_option("--extra-json", options.extra_file, "A file with an object of more members of the request")->check(CLI::ExistingFile);
  command.add_option("--price-file", options.price_file, "What tokens cost: {\"MODEL\": {\"input\": 3, \"output\": 15}}, per million")->check(CLI::ExistingFile);
  command.add_option("--key-file", options.key_file, "The key; else from OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY")->check(CLI::ExistingFile);
  command.add_option("--replay", options.replay, "Recorded replies instead of a server")->check(CLI::ExistingFile);
  command.add_option("--idle-timeout", options.idle, "Seconds without a byte after which a reply is broken off")->check(CLI::Range(1., 86400.))->capture_default_str();
  command.add_option("--total-timeout", options.total, "Seconds that a reply may take")->check(CLI::Range(1., 86400.))->capture_default_str();
  command.add_option("--patience", options.patience, "Hours for which a busy server is asked again")->check(CLI::Range(0., 1000.))->capture_default_str();
  command.add_flag("--no-stream", options.no_stream, "Ask for whole replies");
  command.add_option("--out", options.out, "The campaign's folder; the same one goes on with it")->required();
  command.add_option("--repair", options.repairs, "Rounds in which a model sees the verdict and tries again")->check(CLI::Range(0, 100))->capture_default_str();
  command.add_option("--jobs", options.jobs, "Evaluations at a time")->check(CLI::Range(1, 256))->capture_default_str();
  command.add_option("--device", options.device, "As for eval")->check(CLI::IsMember({"auto", "virtual", "shared", "cuda"}))->capture_default_str();
  command.add_option("--size", options.size, "As for eval")->capture_default_str();
  command.add_option("--ranks", options.ranks, "As for eval; 0: the size's own")->check(CLI::Range(0, 72))->capture_default_str();
  command.add_option("--trials", options.trials, "As for eval")->check(CLI::Range(1, 1000))->capture_default_str();
  add_prompt_options(command, options);
}

}  // namespace

void add_generate(CLI::App& pkb, Exit& exit) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = pkb.add_subcommand("generate", "Ask a model for candidates; judge them only where --repair needs it");
  add_options(*command, *options);
  command->callback([options, &exit] { exit = generate(*options, options->repairs > 0 ? Then::judge : Then::keep); });
}

void add_run(CLI::App& pkb, Exit& exit) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = pkb.add_subcommand("run", "Ask a model, judge its candidates, let it repair them, report");
  add_options(*command, *options);
  command->add_option("--libraries", options->libraries, "As for report")->capture_default_str();
  command->callback([options, &exit] { exit = generate(*options, Then::judge_and_report); });
}

}  // namespace pkb::cli
