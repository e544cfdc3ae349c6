// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/report_lines.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/store/verdict.h"

namespace pkb::cli {
namespace {

std::string place_of(const nlohmann::json& diagnosis) {
  std::string place;
  if (const int rank = diagnosis.value("rank", -1); rank >= 0) place += fmt::format(" on rank {}", rank);
  if (const int trial = diagnosis.value("trial", -1); trial >= 0) place += fmt::format(", trial {}", trial);
  return place;
}

std::string explanation_line(const nlohmann::json& diagnosis) {
  const std::string what = diagnosis.value("class", ""), sentence = diagnosis.value("explanation", "");
  if (sentence.empty()) return "";
  const auto wrong = diagnosis.value("wrong", std::int64_t{0}), explained = diagnosis.value("explained", std::int64_t{0});
  return fmt::format("  explained by: {} ({}, {}{})\n", sentence, what, diagnosis.value("category", ""),
                     explained == 0       ? ""
                     : explained == wrong ? ", fits every wrong element"
                                          : fmt::format(", fits {} of {} wrong elements", explained, wrong));
}

/// Text that a candidate had a hand in must not command the terminal.
std::string printable(std::string text) {
  for (char& c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) c = '?';
  return text;
}

/// JSON has no infinity.
double number(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::infinity();
}

}  // namespace

std::string diagnosis_lines(const nlohmann::json& result, std::size_t most) {
  std::vector<nlohmann::json> all = result.value("diagnoses", std::vector<nlohmann::json>{});
  std::ranges::stable_sort(all, {}, [](const nlohmann::json& each) {
    return verdict_from(each.value("verdict", "")).value_or(Verdict::correct);
  });
  std::string lines;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) {
    lines += fmt::format("{}{}: {}\n", all[i].value("verdict", ""), place_of(all[i]),
                         printable(all[i].value("text", "")));
    lines += explanation_line(all[i]);
  }
  if (all.size() > most) lines += fmt::format("and {} more, see the result file\n", all.size() - most);
  return lines;
}

std::string phase_table(const nlohmann::json& phases) {
  double total = 0;
  for (const auto& [name, milliseconds] : phases.items()) total += milliseconds.get<double>();
  std::string table;
  for (const auto& [name, milliseconds] : phases.items()) {
    const auto value = milliseconds.get<double>();
    table +=
        fmt::format("  {:<12} {:>9.1f} ms {:>4.0f} %\n", name, value, total > 0 ? 100 * value / total : 0);
  }
  return table + fmt::format("  {:<12} {:>9.1f} ms\n", "total", total);
}

ProgressLine::ProgressLine(bool wanted) : x_wanted(wanted), x_terminal(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (x_wanted && x_terminal) fmt::print(stderr, "\r\033[K");
}

void ProgressLine::show(std::string_view text) {
  if (!x_wanted) return;
  if (x_terminal)
    fmt::print(stderr, "\r\033[K{}", text);
  else
    spdlog::info("{}", text);
}

std::string output_lines(const nlohmann::json& result) {
  struct Worst {
    std::int64_t elements = 0;
    double ratio = 0, rms = 0, baseline_rms = 0;
  };
  std::map<std::string, Worst> outputs;
  for (const nlohmann::json& trial : result.at("trials"))
    for (const nlohmann::json& output : trial.at("outputs")) {
      Worst& worst = outputs[output.at("name").get<std::string>()];
      worst.elements = std::max(worst.elements, output.at("elements").get<std::int64_t>());
      worst.ratio = std::max(worst.ratio, output.at("worst_error_over_bound").get<double>());
      worst.rms = std::max(worst.rms, output.at("candidate_rms").get<double>());
      worst.baseline_rms = std::max(worst.baseline_rms, output.at("baseline_rms").get<double>());
    }
  std::string lines;
  for (const auto& [name, worst] : outputs)
    lines += worst.baseline_rms == 0 && worst.rms == 0
                 ? fmt::format("  {}: {} elements over all ranks, without error\n", name, worst.elements)
                 : fmt::format(
                       "  {}: {} elements over all ranks, largest error {:.3g} of its bound, RMS error "
                       "{:.3g} (baseline {:.3g})\n",
                       name, worst.elements, worst.ratio, worst.rms, worst.baseline_rms);
  return lines;
}

std::string link_line(const nlohmann::json& result) {
  const auto larger = [](const nlohmann::json& links, const char* one, const char* other) {
    return std::max(links.at(one).get<double>(), links.at(other).get<double>());
  };
  nlohmann::json most;
  for (const nlohmann::json& trial : result.value("trials", nlohmann::json::array()))
    if (trial.contains("links") && larger(trial.at("links"), "least_sent", "least_received") > 0 &&
        (most.is_null() || larger(trial.at("links"), "sent", "received") > larger(most, "sent", "received")))
      most = trial.at("links");
  if (most.is_null()) return {};
  return fmt::format("links: kernels of the busiest rank sent {} and received {} bytes, {:.2f} times what the problem needs\n",
                     most.at("sent").get<std::uint64_t>(), most.at("received").get<std::uint64_t>(),
                     larger(most, "sent", "received") / larger(most, "least_sent", "least_received"));
}

std::string timing_lines(const nlohmann::json& result) {
  if (!result.contains("timing")) return {};
  const nlohmann::json& timing = result.at("timing");
  std::string lines;
  for (const char* const name : {"baseline", "candidate"})
    if (timing.contains(name)) {
      const nlohmann::json& series = timing.at(name);
      lines += fmt::format("  {:<9}  {:.4f} ms, 95 % between {:.4f} and {:.4f}, {} iterations; enqueueing took {:.4f} ms\n", name,
                           number(series.at("median_ms")), number(series.at("interval_ms")[0]),
                           number(series.at("interval_ms")[1]), series.at("samples_ms").size(),
                           number(series.at("host_ms")));
    }
  if (timing.contains("speedup"))
    lines += timing.at("speedup").is_null()
                 ? fmt::format("  below the floor of the method, {:.4f} ms for nothing at all: no speedup\n",
                               number(timing.at("floor_ms")))
                 : fmt::format("  speedup    {:.3f}, 95 % between {:.3f} and {:.3f}\n",
                               number(timing.at("speedup").at("value")),
                               number(timing.at("speedup").at("interval")[0]),
                               number(timing.at("speedup").at("interval")[1]));
  if (const nlohmann::json& roofline = timing.at("roofline"); !roofline.is_null())
    for (const auto& [name, utilisation] : roofline.at("utilisation").items())
      lines += fmt::format("  {:<9}  {:.0f} % of the roofline, {:.4f} ms by {} on {}\n", name,
                           100 * number(utilisation), number(roofline.at("least_ms")),
                           roofline.at("limit").get<std::string>(), roofline.at("hardware").get<std::string>());
  if (!timing.at("unstable").is_null())
    lines += fmt::format("  unstable: {}\n", timing.at("unstable").get<std::string>());
  return lines;
}

}  // namespace pkb::cli
