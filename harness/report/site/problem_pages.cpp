// SPDX-License-Identifier: Apache-2.0
#include <cmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "harness/report/site/boards.h"
#include "harness/report/site/data_file.h"
#include "harness/report/site/pages.h"

namespace pkb::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A table of so many rows stays below a megabyte.
constexpr std::size_t kRowsPerFile = 3000;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Without raw HTML and without links that could run something.
std::string html_of(const std::string& markdown) {
  const std::unique_ptr<char, decltype(&std::free)> html(
      cmark_markdown_to_html(markdown.data(), markdown.size(), CMARK_OPT_DEFAULT), &std::free);
  return html.get();
}

/// "M = 113, N = 59"
std::string symbols_of(const json& size) {
  std::string text;
  for (const auto& [name, value] : size.items())
    if (value.is_number() || value.is_string())
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name,
                          value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

json tensors_of(const json& list, const char* role) {
  json tensors = json::array();
  for (const json& each : list) {
    std::string shape;
    for (const json& extent : each.value("shape", json::array()))
      shape += (shape.empty() ? "" : ", ") + (extent.is_string() ? extent.get<std::string>() : extent.dump());
    tensors.push_back({{"role", role},
                       {"tensor", each.value("name", "")},
                       {"shape", "(" + shape + ")"},
                       {"type", each.value("dtype", "")},
                       {"doc", each.value("doc", "")}});
  }
  return tensors;
}

/// What the tree's folder says.
json description_of(const fs::path& folder) {
  const json problem = json::parse(read(folder / "problem.json"), nullptr, true, true);
  json tensors = tensors_of(problem.value("inputs", json::array()), "in");
  for (json& each : tensors_of(problem.value("outputs", json::array()), "out")) tensors.push_back(std::move(each));
  json sizes = json::array(), costs = json::array();
  for (const auto& [name, size] : problem.at("sizes").items()) {
    const json ranks = size.value("ranks", json());
    sizes.push_back(
        {{"size", name},
         {"ranks", ranks.is_array() ? fmt::format("{}", fmt::join(ranks.get<std::vector<int>>(), ", ")) : ranks.dump()},
         {"symbols", symbols_of(size)}});
  }
  const json cost = problem.value("cost", json::object());
  for (const auto& [name, formula] : cost.items())
    costs.push_back({{"cost", name}, {"formula", formula.is_string() ? formula.get<std::string>() : formula.dump()}});
  return {{"workload", problem.value("workload", "")},
          {"parallelism", problem.value("parallelism", "")},
          {"statement", html_of(read(folder / "README.md"))},
          {"reference", read(folder / "reference.cpp")},
          {"tensors", std::move(tensors)},
          {"sizes", std::move(sizes)},
          {"costs", std::move(costs)}};
}

}  // namespace

void write_problem_pages(const Report& report, const Site& site, const PageWriter& pages) {
  std::vector<std::vector<Index>> of(report.problems.size());
  for (Index i = 0; i < report.evaluations.size(); ++i) of[report.evaluations[i].problem].push_back(i);
  for (Index problem = 0; problem < report.problems.size(); ++problem) {
    const Problem& each = report.problems[problem];
    const std::string name = page_of(report, problem);
    const std::size_t files = (of[problem].size() + kRowsPerFile - 1) / kRowsPerFile;
    for (std::size_t file = 0; file < files; ++file) {
      JsonText rows(JsonText::Letters::ascii);
      rows.open('[');
      for (std::size_t i = file * kRowsPerFile; i < std::min(of[problem].size(), (file + 1) * kRowsPerFile); ++i)
        add_row(rows, report, of[problem][i]);
      write_data(site.folder, fmt::format("problems/{}-{}", name, file), rows.close(']'));
    }
    json values = {{"root", "../"},
                   {"page_title", fmt::format("{:03} {}", each.id, each.name)},
                   {"number", fmt::format("{:03}", each.id)},
                   {"name", each.name},
                   {"title", each.title},
                   {"family", each.family},
                   {"data", name},
                   {"index", problem},
                   {"files", files}};
    if (each.is_known) values.update(description_of(site.source / "problems" / each.folder));
    pages.write(each.is_known ? "problem" : "unknown_problem", fs::path("problems") / (name + ".html"), std::move(values));
  }
}

}  // namespace pkb::report
